// Triangles into samples with a depth each, and samples into pixels.

import type { Skinned } from "./skinned";

/** Width of the trim between light and dark parts, metres of `panel`; as in the other painter's shader. */
const TRIM = 0.007;

/** Colours 0 to 255 by channel, as the eye takes them: shell, trim and joints. */
export type Palette = Float32Array;

export class Samples {
  width = 0;
  height = 0;
  /** Triangles drawn since `clear`. */
  triangles = 0;
  private color = new Uint32Array(0);
  private depth = new Float32Array(0);

  /** Makes room for so many samples, all empty. */
  clear(width: number, height: number): void {
    const size = width * height;
    if (this.color.length < size) {
      this.color = new Uint32Array(size);
      this.depth = new Float32Array(size);
    } else {
      this.color.fill(0, 0, size);
      this.depth.fill(0, 0, size);
    }
    this.width = width;
    this.height = height;
    this.triangles = 0;
  }

  /** Draws a mesh whose vertices fall on `placed` [n,3]: x and y in samples, and one over the depth (0: not to be drawn). */
  drawMesh(mesh: Skinned, placed: Float32Array, palette: Palette): void {
    const { indices, panels, light } = mesh;
    for (let i = 0; i < indices.length; i += 3) {
      const a = indices[i]!, b = indices[i + 1]!, c = indices[i + 2]!;
      const x0 = placed[3 * a]!, y0 = placed[3 * a + 1]!, x1 = placed[3 * b]!, y1 = placed[3 * b + 1]!, x2 = placed[3 * c]!, y2 = placed[3 * c + 1]!;
      const ux = x1 - x0, uy = y1 - y0, vx = x2 - x0, vy = y2 - y0;
      // Rows grow downwards: what faces the camera turns the other way round.
      const area = ux * vy - vx * uy;
      if (area >= 0) continue;
      const z0 = placed[3 * a + 2]!, z1 = placed[3 * b + 2]!, z2 = placed[3 * c + 2]!;
      if (z0 === 0 || z1 === 0 || z2 === 0) continue;
      const left = Math.max(Math.ceil((x0 < x1 ? (x0 < x2 ? x0 : x2) : x1 < x2 ? x1 : x2) - 0.5), 0);
      const right = Math.min(Math.floor((x0 > x1 ? (x0 > x2 ? x0 : x2) : x1 > x2 ? x1 : x2) - 0.5), this.width - 1);
      const top = Math.max(Math.ceil((y0 < y1 ? (y0 < y2 ? y0 : y2) : y1 < y2 ? y1 : y2) - 0.5), 0);
      const bottom = Math.min(Math.floor((y0 > y1 ? (y0 > y2 ? y0 : y2) : y1 > y2 ? y1 : y2) - 0.5), this.height - 1);
      if (left > right || top > bottom) continue;
      this.triangles++;
      const scale = 1 / area;
      // Share of the second and the third corner, and how both change along a row and from row to row.
      const bx = vy * scale, by = -vx * scale, cx = -uy * scale, cy = ux * scale;
      const dx = left + 0.5 - x0, dy = top + 0.5 - y0;
      const shareB = bx * dx + by * dy, shareC = cx * dx + cy * dy;
      const zb = z1 - z0, zc = z2 - z0;
      const p0 = panels[a]!, pb = panels[b]! - p0, pc = panels[c]! - p0;
      const plain = p0 > 0 && panels[b]! > 0 && panels[c]! > 0 ? 6 : p0 <= -TRIM && panels[b]! <= -TRIM && panels[c]! <= -TRIM ? 0 : -1;
      const r0 = light[3 * a]!, rb = light[3 * b]! - r0, rc = light[3 * c]! - r0;
      const g0 = light[3 * a + 1]!, gb = light[3 * b + 1]! - g0, gc = light[3 * c + 1]! - g0;
      const b0 = light[3 * a + 2]!, bb = light[3 * b + 2]! - b0, bc = light[3 * c + 2]! - b0;
      for (let row = top; row <= bottom; row++) {
        let s = shareB + (row - top) * by, t = shareC + (row - top) * cy;
        const line = row * this.width;
        let entered = false;
        for (let column = left; column <= right; column++, s += bx, t += cx) {
          if (s < 0 || t < 0 || s + t > 1) {
            if (entered) break;
            continue;
          }
          entered = true;
          const z = z0 + s * zb + t * zc;
          if (z <= this.depth[line + column]!) continue;
          this.depth[line + column] = z;
          let part = plain;
          if (part < 0) {
            const panel = p0 + s * pb + t * pc;
            part = panel > 0 ? 6 : panel > -TRIM ? 3 : 0;
          }
          const red = palette[part]! * (r0 + s * rb + t * rc), green = palette[part + 1]! * (g0 + s * gb + t * gc), blue = palette[part + 2]! * (b0 + s * bb + t * bc);
          this.color[line + column] = 0xff000000 | ((blue < 255 ? blue : 255) << 16) | ((green < 255 ? green : 255) << 8) | (red < 255 ? red : 255);
        }
      }
    }
  }

  /** Means of `n` by `n` samples as pixels, with the share of samples that were drawn as their opacity. */
  resolve(n: number, pixels: Uint32Array): void {
    const width = this.width / n, height = this.height / n, { color } = this;
    if (n === 1) {
      pixels.set(color.subarray(0, width * height));
      return;
    }
    for (let y = 0; y < height; y++) {
      let i = 2 * y * this.width;
      for (let x = 0; x < width; x++, i += 2) {
        const a = color[i]!, b = color[i + 1]!, c = color[i + this.width]!, d = color[i + this.width + 1]!;
        const covered = (a >>> 31) + (b >>> 31) + (c >>> 31) + (d >>> 31);
        if (covered === 0) {
          pixels[y * width + x] = 0;
          continue;
        }
        const red = (a & 255) + (b & 255) + (c & 255) + (d & 255);
        const green = ((a >> 8) & 255) + ((b >> 8) & 255) + ((c >> 8) & 255) + ((d >> 8) & 255);
        const blue = ((a >> 16) & 255) + ((b >> 16) & 255) + ((c >> 16) & 255) + ((d >> 16) & 255);
        pixels[y * width + x] = ((covered === 4 ? 255 : covered * 64) << 24) | (((blue / covered) | 0) << 16) | (((green / covered) | 0) << 8) | ((red / covered) | 0);
      }
    }
  }
}
