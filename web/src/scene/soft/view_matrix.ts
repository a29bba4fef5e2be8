// Where places in the world fall on the canvas, as plain numbers.

import { Matrix4, type PerspectiveCamera } from "three";

/** Nothing nearer to the camera than this is drawn, metres. */
export const NEAR = 0.2;

export class ViewMatrix {
  /** Rows for x and y in pixels times depth, and for depth: [a, b, c, d] each, of a x + b y + c z + d. */
  readonly x = new Float64Array(4);
  readonly y = new Float64Array(4);
  readonly w = new Float64Array(4);
  width = 1;
  height = 1;
  /** How wide a pixel is a metre away, metres. */
  pixel = 0.001;
  private readonly product = new Matrix4();
  private clipped = new Float64Array(256);

  set(camera: PerspectiveCamera, width: number, height: number): void {
    this.width = width;
    this.height = height;
    this.pixel = (2 * Math.tan((camera.fov * Math.PI) / 360)) / height;
    camera.updateMatrixWorld();
    const m = this.product.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse).elements;
    for (let k = 0; k < 4; k++) {
      const w = m[4 * k + 3]!;
      this.w[k] = w;
      this.x[k] = 0.5 * width * (m[4 * k]! + w);
      this.y[k] = 0.5 * height * (w - m[4 * k + 1]!);
    }
  }

  /** Row of the canvas where a point on the ground appears; NaN where it is behind the camera. */
  groundRow(x: number, z: number): number {
    const depth = this.w[0]! * x + this.w[2]! * z + this.w[3]!;
    return depth < NEAR ? NaN : (this.y[0]! * x + this.y[2]! * z + this.y[3]!) / depth;
  }

  /** Adds a line on the ground to a path, as far as it is before the camera and near the canvas. */
  groundLine(path: Pick<CanvasPath, "moveTo" | "lineTo">, x0: number, z0: number, x1: number, z1: number): void {
    const { x, y, w } = this;
    let d0 = w[0]! * x0 + w[2]! * z0 + w[3]!, d1 = w[0]! * x1 + w[2]! * z1 + w[3]!;
    if (d0 < NEAR && d1 < NEAR) return;
    if (d0 < NEAR) {
      const t = (NEAR - d0) / (d1 - d0);
      x0 += t * (x1 - x0);
      z0 += t * (z1 - z0);
      d0 = NEAR;
    } else if (d1 < NEAR) {
      const t = (NEAR - d1) / (d0 - d1);
      x1 += t * (x0 - x1);
      z1 += t * (z0 - z1);
      d1 = NEAR;
    }
    let px = (x[0]! * x0 + x[2]! * z0 + x[3]!) / d0, py = (y[0]! * x0 + y[2]! * z0 + y[3]!) / d0;
    let qx = (x[0]! * x1 + x[2]! * z1 + x[3]!) / d1, qy = (y[0]! * x1 + y[2]! * z1 + y[3]!) / d1;
    // Cut at the canvas: what lies outside is not free for those who fill paths.
    let t0 = 0, t1 = 1;
    const dx = qx - px, dy = qy - py;
    for (let side = 0; side < 4; side++) {
      const along = side === 0 ? -dx : side === 1 ? dx : side === 2 ? -dy : dy;
      const room = side === 0 ? px : side === 1 ? this.width - px : side === 2 ? py : this.height - py;
      if (along === 0) {
        if (room < 0) return;
      } else if (along < 0) t0 = Math.max(t0, room / along);
      else t1 = Math.min(t1, room / along);
    }
    if (t0 >= t1) return;
    qx = px + t1 * dx;
    qy = py + t1 * dy;
    px += t0 * dx;
    py += t0 * dy;
    path.moveTo(px, py);
    path.lineTo(qx, qy);
  }

  /** Adds a polygon on the ground to the path; `points` are [x, z]. Corners that fall on one spot are left out. */
  groundPolygon(path: CanvasPath, points: ArrayLike<number>, count: number): void {
    const corners = this.clip(points, count), at = this.clipped;
    let lastX = Infinity, lastY = Infinity;
    for (let i = 0; i < corners; i++) {
      const X = at[2 * i]!, Z = at[2 * i + 1]!;
      const depth = this.w[0]! * X + this.w[2]! * Z + this.w[3]!;
      const px = (this.x[0]! * X + this.x[2]! * Z + this.x[3]!) / depth, py = (this.y[0]! * X + this.y[2]! * Z + this.y[3]!) / depth;
      if (Math.abs(px - lastX) + Math.abs(py - lastY) < 0.6) continue;
      if (lastX === Infinity) path.moveTo(px, py);
      else path.lineTo(px, py);
      lastX = px;
      lastY = py;
    }
  }

  /** The part of a polygon before the camera, into `clipped`. */
  private clip(points: ArrayLike<number>, count: number): number {
    if (this.clipped.length < 4 * count + 8) this.clipped = new Float64Array(8 * count + 16);
    const out = this.clipped, depthOf = (x: number, z: number) => this.w[0]! * x + this.w[2]! * z + this.w[3]!;
    let n = 0;
    if (count < 3) return 0;
    let px = points[2 * count - 2]!, pz = points[2 * count - 1]!, pd = depthOf(px, pz);
    for (let i = 0; i < count; i++) {
      const x = points[2 * i]!, z = points[2 * i + 1]!, d = depthOf(x, z);
      if (d >= NEAR !== pd >= NEAR) {
        const t = (NEAR - pd) / (d - pd);
        out[2 * n] = px + t * (x - px);
        out[2 * n++ + 1] = pz + t * (z - pz);
      }
      if (d >= NEAR) {
        out[2 * n] = x;
        out[2 * n++ + 1] = z;
      }
      px = x;
      pz = z;
      pd = d;
    }
    return n;
  }
}
