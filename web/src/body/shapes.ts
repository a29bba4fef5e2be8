// What a body is made of: rounded cones (two balls of different radius and all between them), each owned by a joint,
// optionally flattened across one axis, melted together into one surface.

import { Vector3 } from "three";

/** Which parts may melt into each other: limbs melt into the trunk, never into one another. */
export type Region = "trunk" | "left_arm" | "right_arm" | "left_leg" | "right_leg";

export interface Shape {
  joint: number;
  region: Region;
  a: Vector3;
  b: Vector3;
  radiusA: number;
  radiusB: number;
  /** Unit axis along which the shape is thinner, and by how much (0.6 = 60 % as thick). */
  flatAxis?: Vector3;
  flat?: number;
}

/** Signed distance from a point to a shape, metres; negative inside. Exact for round shapes, a bound for flattened ones. */
export function shapeDistance(s: Shape, x: number, y: number, z: number): number {
  let px = x - s.a.x, py = y - s.a.y, pz = z - s.a.z;
  let bx = s.b.x - s.a.x, by = s.b.y - s.a.y, bz = s.b.z - s.a.z;
  let shrink = 1;
  if (s.flatAxis && s.flat) {
    const n = s.flatAxis;
    const stretch = 1 / s.flat - 1;
    const along = (px * n.x + py * n.y + pz * n.z) * stretch;
    px += along * n.x; py += along * n.y; pz += along * n.z;
    const across = (bx * n.x + by * n.y + bz * n.z) * stretch;
    bx += across * n.x; by += across * n.y; bz += across * n.z;
    shrink = s.flat;
  }
  const length2 = bx * bx + by * by + bz * bz;
  const fall = s.radiusA - s.radiusB;
  if (length2 <= fall * fall + 1e-12) {
    // One ball holds the other.
    const big = s.radiusA >= s.radiusB;
    const d = big ? Math.hypot(px, py, pz) - s.radiusA : Math.hypot(px - bx, py - by, pz - bz) - s.radiusB;
    return d * shrink;
  }
  // Two-dimensional problem in (along the axis, away from the axis), after projecting on the slanted side.
  const length = Math.sqrt(length2);
  const along = (px * bx + py * by + pz * bz) / length;
  const away = Math.sqrt(Math.max(px * px + py * py + pz * pz - along * along, 0));
  const sine = fall / length;
  const cosine = Math.sqrt(1 - sine * sine);
  const foot = along - (away * sine) / cosine;
  let d: number;
  if (foot <= 0) d = Math.hypot(along, away) - s.radiusA;
  else if (foot >= length) d = Math.hypot(along - length, away) - s.radiusB;
  else d = away * cosine + along * sine - s.radiusA;
  return d * shrink;
}

/** The smooth minimum of two distances: within `k` metres of each other they melt. */
export function melt(a: number, b: number, k: number): number {
  const h = Math.max(k - Math.abs(a - b), 0) / k;
  return Math.min(a, b) - h * h * k * 0.25;
}

/** A body: its shapes in a fixed order and how much they melt; `sole` cuts the feet flat. */
export interface Body {
  shapes: Shape[];
  /** Melting range inside one region and between a limb and the trunk, metres. */
  softness: number;
  /** Height under which nothing of the legs is kept; -Infinity for none. */
  sole: number;
}

/** Distance of the whole body at a point. `scratch` receives every shape's own distance where it is given. */
export function bodyDistance(body: Body, x: number, y: number, z: number, scratch?: Float32Array): number {
  const far = 1e3;
  let trunk = far, leftArm = far, rightArm = far, leftLeg = far, rightLeg = far;
  const k = body.softness;
  for (let i = 0; i < body.shapes.length; i++) {
    const shape = body.shapes[i]!;
    const d = shapeDistance(shape, x, y, z);
    if (scratch) scratch[i] = d;
    switch (shape.region) {
      case "trunk": trunk = melt(trunk, d, k); break;
      case "left_arm": leftArm = melt(leftArm, d, k); break;
      case "right_arm": rightArm = melt(rightArm, d, k); break;
      case "left_leg": leftLeg = melt(leftLeg, d, k); break;
      case "right_leg": rightLeg = melt(rightLeg, d, k); break;
    }
  }
  // Legs meet each other with a narrow seam only.
  let legs = melt(leftLeg, rightLeg, k * 0.3);
  if (body.sole > -Infinity) legs = -melt(-legs, y - body.sole, k * 0.5);
  const arms = Math.min(leftArm, rightArm);
  return melt(melt(trunk, legs, k * 1.4), arms, k * 1.2);
}
