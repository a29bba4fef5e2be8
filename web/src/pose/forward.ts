// From local poses to the world: joints, and the points that sit on them.

import type { PoseHello } from "../messages";

/** A local pose: positions [J,3] in metres and rotations [J,4]. */
export interface LocalPose {
  positions: ArrayLike<number>;
  rotations: ArrayLike<number>;
}

export interface WorldPose {
  positions: Float32Array;
  rotations: Float32Array;
  /** [43,3]. */
  points: Float32Array;
}

type Quaternion = [number, number, number, number];

function multiply(a: ArrayLike<number>, i: number, b: ArrayLike<number>, j: number): Quaternion {
  const [x, y, z, w] = [a[i]!, a[i + 1]!, a[i + 2]!, a[i + 3]!];
  const [p, q, r, s] = [b[j]!, b[j + 1]!, b[j + 2]!, b[j + 3]!];
  return [w * p + x * s + y * r - z * q, w * q - x * r + y * s + z * p, w * r + x * q - y * p + z * s, w * s - x * p - y * q - z * r];
}

function rotate(q: ArrayLike<number>, i: number, v: ArrayLike<number>, j: number): [number, number, number] {
  const [x, y, z, w] = [q[i]!, q[i + 1]!, q[i + 2]!, q[i + 3]!];
  const [a, b, c] = [v[j]!, v[j + 1]!, v[j + 2]!];
  const [s, t, u] = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [a + w * s + y * u - z * t, b + w * t + z * s - x * u, c + w * u + x * t - y * s];
}

/** Joints and points in the world. */
export function forward(body: PoseHello, pose: LocalPose): WorldPose {
  const { parents } = body.skeleton;
  const positions = new Float32Array(3 * parents.length), rotations = new Float32Array(4 * parents.length);
  parents.forEach((parent, j) => {
    if (parent < 0) {
      for (let k = 0; k < 3; k++) positions[3 * j + k] = pose.positions[3 * j + k]!;
      for (let k = 0; k < 4; k++) rotations[4 * j + k] = pose.rotations[4 * j + k]!;
      return;
    }
    const away = rotate(rotations, 4 * parent, pose.positions, 3 * j);
    for (let k = 0; k < 3; k++) positions[3 * j + k] = positions[3 * parent + k]! + away[k]!;
    rotations.set(multiply(rotations, 4 * parent, pose.rotations, 4 * j), 4 * j);
  });
  const points = new Float32Array(3 * body.points.length);
  body.points.forEach((point, i) => {
    const away = rotate(rotations, 4 * point.joint, point.offset, 0);
    for (let k = 0; k < 3; k++) points[3 * i + k] = positions[3 * point.joint + k]! + away[k]!;
  });
  return { positions, rotations, points };
}

/** The pose part of the way from one to another: rotations by slerp, positions by line. */
export function between(a: LocalPose, b: LocalPose, share: number): LocalPose {
  const positions = new Float32Array(a.positions.length), rotations = new Float32Array(a.rotations.length);
  for (let i = 0; i < positions.length; i++) positions[i] = a.positions[i]! + share * (b.positions[i]! - a.positions[i]!);
  for (let i = 0; i < rotations.length; i += 4) {
    let cosine = 0;
    for (let k = 0; k < 4; k++) cosine += a.rotations[i + k]! * b.rotations[i + k]!;
    const sign = cosine < 0 ? -1 : 1;
    const angle = Math.acos(Math.min(Math.abs(cosine), 1)), sine = Math.sin(angle);
    const [p, q] = sine < 1e-4 ? [1 - share, share] : [Math.sin((1 - share) * angle) / sine, Math.sin(share * angle) / sine];
    let length = 0;
    for (let k = 0; k < 4; k++) {
      rotations[i + k] = p * a.rotations[i + k]! + sign * q * b.rotations[i + k]!;
      length += rotations[i + k]! ** 2;
    }
    for (let k = 0; k < 4; k++) rotations[i + k]! /= Math.sqrt(length) || 1;
  }
  return { positions, rotations };
}
