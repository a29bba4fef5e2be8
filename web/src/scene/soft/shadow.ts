// The shadow of a body on the ground: its triangles along the sun onto the plane, softened.

import type { Vector3 } from "three";
import type { Skinned } from "./skinned";
import type { ViewMatrix } from "./view_matrix";
import { NEAR } from "./view_matrix";

/** Pixels of the canvas for a pixel of the shadow along each axis. */
const COARSE = 2;
const BLUR = 2;

export class Shadow {
  private mask = new Uint8Array(0);
  private other = new Uint8Array(0);
  private placed = new Float32Array(0);
  private image: ImageData | null = null;
  private readonly canvas = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d", { willReadFrequently: true })!;

  /** Draws it onto `context`; `strength` 1 leaves nothing of the ground's light. */
  draw(context: CanvasRenderingContext2D, mesh: Skinned, view: ViewMatrix, sun: Vector3, strength: number): void {
    const { positions, count } = mesh;
    if (this.placed.length < 2 * count) this.placed = new Float32Array(2 * count);
    const { placed } = this, { x: mx, y: my, w: mw } = view;
    const slopeX = sun.x / sun.y, slopeZ = sun.z / sun.y;
    let low0 = Infinity, low1 = Infinity, high0 = -Infinity, high1 = -Infinity;
    for (let v = 0; v < count; v++) {
      const height = positions[3 * v + 1]!, X = positions[3 * v]! - slopeX * height, Z = positions[3 * v + 2]! - slopeZ * height;
      const depth = mw[0]! * X + mw[2]! * Z + mw[3]!;
      if (depth < NEAR) return; // the camera stands in it
      const px = (mx[0]! * X + mx[2]! * Z + mx[3]!) / depth / COARSE, py = (my[0]! * X + my[2]! * Z + my[3]!) / depth / COARSE;
      placed[2 * v] = px;
      placed[2 * v + 1] = py;
      if (px < low0) low0 = px;
      if (px > high0) high0 = px;
      if (py < low1) low1 = py;
      if (py > high1) high1 = py;
    }
    const edge = 2 * BLUR + 1;
    const left = Math.floor(Math.max(low0, 0)) - edge, top = Math.floor(Math.max(low1, 0)) - edge;
    const width = Math.ceil(Math.min(high0, view.width / COARSE)) + edge - left, height = Math.ceil(Math.min(high1, view.height / COARSE)) + edge - top;
    if (width <= 2 * edge || height <= 2 * edge) return;
    this.reserve(width, height);
    this.fill(mesh.indices, left, top, width, height);
    blur(this.mask, this.other, width, height, 1, width);
    blur(this.other, this.mask, height, width, width, 1);
    blur(this.mask, this.other, width, height, 1, width);
    blur(this.other, this.mask, height, width, width, 1);
    const pixels = new Uint32Array(this.image!.data.buffer), wide = this.image!.width;
    const dark = Math.round(255 * strength);
    for (let row = 0; row < height; row++) for (let i = 0; i < width; i++) pixels[row * wide + i] = ((this.mask[row * width + i]! * dark) >> 8) << 24;
    this.context.putImageData(this.image!, 0, 0, 0, 0, width, height);
    context.imageSmoothingEnabled = true;
    context.drawImage(this.canvas, 0, 0, width, height, left * COARSE, top * COARSE, width * COARSE, height * COARSE);
  }

  private reserve(width: number, height: number): void {
    if (this.mask.length < width * height) {
      this.mask = new Uint8Array(width * height);
      this.other = new Uint8Array(width * height);
    }
    this.mask.fill(0, 0, width * height);
    if (!this.image || this.image.width < width || this.image.height < height) {
      this.canvas.width = Math.max(width + 32, this.image?.width ?? 0);
      this.canvas.height = Math.max(height + 32, this.image?.height ?? 0);
      this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    }
  }

  private fill(indices: ArrayLike<number>, left: number, top: number, width: number, height: number): void {
    const { placed, mask } = this;
    for (let i = 0; i < indices.length; i += 3) {
      const a = 2 * indices[i]!, b = 2 * indices[i + 1]!, c = 2 * indices[i + 2]!;
      const x0 = placed[a]! - left, y0 = placed[a + 1]! - top, x1 = placed[b]! - left, y1 = placed[b + 1]! - top, x2 = placed[c]! - left, y2 = placed[c + 1]! - top;
      const ux = x1 - x0, uy = y1 - y0, vx = x2 - x0, vy = y2 - y0;
      const area = ux * vy - vx * uy;
      // Only what faces the sun: the other side falls on the same spots.
      if (area >= 0) continue;
      const from = Math.max(Math.ceil(Math.min(x0, x1, x2) - 0.5), 0), to = Math.min(Math.floor(Math.max(x0, x1, x2) - 0.5), width - 1);
      const first = Math.max(Math.ceil(Math.min(y0, y1, y2) - 0.5), 0), last = Math.min(Math.floor(Math.max(y0, y1, y2) - 0.5), height - 1);
      if (from > to || first > last) continue;
      const bx = vy / area, by = -vx / area, cx = -uy / area, cy = ux / area;
      for (let row = first; row <= last; row++) {
        const dx = from + 0.5 - x0, dy = row + 0.5 - y0;
        let s = bx * dx + by * dy, t = cx * dx + cy * dy;
        for (let column = from; column <= to; column++, s += bx, t += cx) if (s >= 0 && t >= 0 && s + t <= 1) mask[row * width + column] = 255;
      }
    }
  }
}

/** Mean along lines of `length`, `2 BLUR + 1` wide; `step` and `stride` are the ways along and between lines. */
function blur(from: Uint8Array, to: Uint8Array, length: number, lines: number, step: number, stride: number): void {
  const share = 65536 / (2 * BLUR + 1) + 1;
  for (let line = 0; line < lines; line++) {
    const start = line * stride;
    let sum = 0;
    for (let i = 0; i < BLUR; i++) sum += from[start + i * step]!;
    for (let i = 0; i < length; i++) {
      if (i + BLUR < length) sum += from[start + (i + BLUR) * step]!;
      if (i - BLUR - 1 >= 0) sum -= from[start + (i - BLUR - 1) * step]!;
      to[start + i * step] = (sum * share) >> 16;
    }
  }
}
