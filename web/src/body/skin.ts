// Which joints carry which vertex. A vertex belongs to the joint whose shapes lie nearest and shares, within a soft
// range, with that joint's neighbours in the tree; never with a limb that merely passes close by.

import { shapeDistance, type Body } from "./shapes";
import type { SkeletonData } from "./skeleton";

export interface Skin {
  /** Four joints a vertex. */
  joints: Uint16Array;
  /** Their weights, summing to one. */
  weights: Float32Array;
}

/** @param softness range over which two neighbouring joints share a vertex, metres; the trunk bends over twice that. */
export function makeSkin(skeleton: SkeletonData, body: Body, positions: Float32Array, softness: number): Skin {
  const owners = [...new Set(body.shapes.map((shape) => shape.joint))];
  const slot = new Map(owners.map((joint, i) => [joint, i]));
  // Owners next to each other in the tree, over joints that own nothing.
  const near: boolean[][] = owners.map((a) => owners.map((b) => hops(skeleton, slot, a, b) <= 1));
  const count = positions.length / 3;
  const joints = new Uint16Array(4 * count);
  const weights = new Float32Array(4 * count);
  const distance = new Float32Array(owners.length);
  const trunk = new Set(body.shapes.filter((shape) => shape.region === "trunk").map((shape) => shape.joint));
  for (let v = 0; v < count; v++) {
    distance.fill(1e3);
    for (const shape of body.shapes) {
      const i = slot.get(shape.joint)!;
      const d = shapeDistance(shape, positions[3 * v]!, positions[3 * v + 1]!, positions[3 * v + 2]!);
      if (d < distance[i]!) distance[i] = d;
    }
    let best = 0;
    for (let i = 1; i < owners.length; i++) if (distance[i]! < distance[best]!) best = i;
    const range = trunk.has(owners[best]!) ? 2 * softness : softness;
    const ranked = owners
      .map((joint, i) => ({ joint, weight: near[best]![i] ? Math.exp(-Math.pow((distance[i]! - distance[best]!) / range, 2)) : 0 }))
      .filter((entry) => entry.weight > 0.02)
      .sort((a, b) => b.weight - a.weight)
      .slice(0, 4);
    const total = ranked.reduce((sum, entry) => sum + entry.weight, 0);
    ranked.forEach((entry, k) => {
      joints[4 * v + k] = entry.joint;
      weights[4 * v + k] = entry.weight / total;
    });
  }
  return { joints, weights };
}

/** Steps between two owners when joints that own no shape are skipped. */
function hops(skeleton: SkeletonData, slot: Map<number, number>, a: number, b: number): number {
  const ancestors = (joint: number) => {
    const chain: number[] = [];
    for (let at = joint; at >= 0; at = skeleton.parents[at]!) if (slot.has(at)) chain.push(at);
    return chain;
  };
  const up = ancestors(a), other = ancestors(b);
  for (let i = 0; i < up.length; i++) {
    const j = other.indexOf(up[i]!);
    if (j >= 0) return i + j;
  }
  return 2;
}
