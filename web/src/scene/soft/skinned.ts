// A skinned mesh moved by the processor: its vertices in the world, and the light that falls on each.

import { Matrix4, type SkinnedMesh, type Vector3 } from "three";
import type { Lights } from "../lights";

/** Weights below this one are left out: three of four vertices are then carried by one or two joints. */
const LEAST = 0.02;
const CURVE = Float32Array.from({ length: 1025 }, (_, i) => (i / 512) ** (1 / 2.2));

export class Skinned {
  readonly count: number;
  readonly indices: ArrayLike<number>;
  readonly panels: ArrayLike<number>;
  /** In the world, [n,3]. */
  readonly positions: Float32Array;
  readonly normals: Float32Array;
  /** What a white matt surface gives back there, for the eye: to the power 1/2.2, [n,3]. */
  readonly light: Float32Array;
  readonly low = [0, 0, 0];
  readonly high = [0, 0, 0];
  private readonly starts: Uint32Array;
  private readonly joints: Uint16Array;
  private readonly weights: Float32Array;
  private readonly occlusion: ArrayLike<number>;
  private readonly rest: ArrayLike<number>;
  private readonly restNormals: ArrayLike<number>;
  private readonly matrices: Float32Array;
  private readonly product = new Matrix4();

  constructor(private readonly mesh: SkinnedMesh) {
    const { attributes, index } = mesh.geometry;
    this.rest = attributes.position!.array;
    this.restNormals = attributes.normal!.array;
    this.occlusion = attributes.occlusion!.array;
    this.panels = attributes.panel!.array;
    this.indices = index!.array;
    const n = (this.count = attributes.position!.count);
    this.positions = new Float32Array(3 * n);
    this.normals = new Float32Array(3 * n);
    this.light = new Float32Array(3 * n);
    this.matrices = new Float32Array(12 * mesh.skeleton.bones.length);
    const joints = attributes.skinIndex!.array, weights = attributes.skinWeight!.array;
    this.starts = new Uint32Array(n + 1);
    const keptJoints: number[] = [], keptWeights: number[] = [];
    for (let v = 0; v < n; v++) {
      let total = 0;
      for (let k = 0; k < 4; k++) if (weights[4 * v + k]! >= LEAST) total += weights[4 * v + k]!;
      for (let k = 0; k < 4; k++) {
        const weight = weights[4 * v + k]!;
        if (weight < LEAST) continue;
        keptJoints.push(joints[4 * v + k]!);
        keptWeights.push(weight / total);
      }
      this.starts[v + 1] = keptJoints.length;
    }
    this.joints = Uint16Array.from(keptJoints);
    this.weights = Float32Array.from(keptWeights);
  }

  /** Puts the vertices where the bones are now. */
  pose(): void {
    const { matrices, starts, joints, weights, rest, restNormals, positions, normals, low, high } = this;
    const { bones, boneInverses } = this.mesh.skeleton;
    for (let j = 0; j < bones.length; j++) {
      const e = this.product.multiplyMatrices(bones[j]!.matrixWorld, boneInverses[j]!).elements;
      for (let row = 0; row < 3; row++) for (let column = 0; column < 4; column++) matrices[12 * j + 4 * row + column] = e[4 * column + row]!;
    }
    low.fill(Infinity);
    high.fill(-Infinity);
    for (let v = 0; v < this.count; v++) {
      let k = starts[v]!;
      const end = starts[v + 1]!;
      let at = 12 * joints[k]!, w = weights[k]!;
      let a = w * matrices[at]!, b = w * matrices[at + 1]!, c = w * matrices[at + 2]!, d = w * matrices[at + 3]!;
      let e = w * matrices[at + 4]!, f = w * matrices[at + 5]!, g = w * matrices[at + 6]!, h = w * matrices[at + 7]!;
      let i = w * matrices[at + 8]!, j = w * matrices[at + 9]!, l = w * matrices[at + 10]!, m = w * matrices[at + 11]!;
      for (k++; k < end; k++) {
        at = 12 * joints[k]!;
        w = weights[k]!;
        a += w * matrices[at]!; b += w * matrices[at + 1]!; c += w * matrices[at + 2]!; d += w * matrices[at + 3]!;
        e += w * matrices[at + 4]!; f += w * matrices[at + 5]!; g += w * matrices[at + 6]!; h += w * matrices[at + 7]!;
        i += w * matrices[at + 8]!; j += w * matrices[at + 9]!; l += w * matrices[at + 10]!; m += w * matrices[at + 11]!;
      }
      const x = rest[3 * v]!, y = rest[3 * v + 1]!, z = rest[3 * v + 2]!;
      const X = a * x + b * y + c * z + d, Y = e * x + f * y + g * z + h, Z = i * x + j * y + l * z + m;
      positions[3 * v] = X;
      positions[3 * v + 1] = Y;
      positions[3 * v + 2] = Z;
      if (X < low[0]!) low[0] = X;
      if (X > high[0]!) high[0] = X;
      if (Y < low[1]!) low[1] = Y;
      if (Y > high[1]!) high[1] = Y;
      if (Z < low[2]!) low[2] = Z;
      if (Z > high[2]!) high[2] = Z;
      const nx = restNormals[3 * v]!, ny = restNormals[3 * v + 1]!, nz = restNormals[3 * v + 2]!;
      normals[3 * v] = a * nx + b * ny + c * nz;
      normals[3 * v + 1] = e * nx + f * ny + g * nz;
      normals[3 * v + 2] = i * nx + j * ny + l * nz;
    }
  }

  /** Lights every vertex; `eye` is where the camera stands. */
  shade(lights: Lights, eye: Vector3): void {
    const { normals, positions, light, occlusion } = this;
    const { sunDirection: s, fillDirection: f, sky, earth, fill, sun } = lights;
    for (let v = 0; v < 3 * this.count; v += 3) {
      const nx = normals[v]!, ny = normals[v + 1]!, nz = normals[v + 2]!;
      // Half of the unlit side still sees some of the sun's glow: soft, as a large light is.
      const open = occlusion[v / 3]!, lit = 0.55 + 0.45 * open;
      const direct = lit * sun * Math.max(0.94 * (nx * s.x + ny * s.y + nz * s.z) + 0.06, 0);
      const beside = lit * Math.max(nx * f.x + ny * f.y + nz * f.z, 0);
      const up = 0.5 + 0.5 * ny;
      const ex = eye.x - positions[v]!, ey = eye.y - positions[v + 1]!, ez = eye.z - positions[v + 2]!;
      const grazing = 1 - Math.max((nx * ex + ny * ey + nz * ez) / Math.sqrt(ex * ex + ey * ey + ez * ez), 0);
      const rim = open * (1 + 0.5 * grazing * grazing * grazing * up);
      light[v] = CURVE[Math.min((512 * ((earth.r + (sky.r - earth.r) * up) * rim + direct + fill.r * beside)) | 0, 1024)]!;
      light[v + 1] = CURVE[Math.min((512 * ((earth.g + (sky.g - earth.g) * up) * rim + direct + fill.g * beside)) | 0, 1024)]!;
      light[v + 2] = CURVE[Math.min((512 * ((earth.b + (sky.b - earth.b) * up) * rim + direct + fill.b * beside)) | 0, 1024)]!;
    }
  }
}
