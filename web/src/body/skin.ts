// Which joints carry which vertex. A vertex starts with the joint whose shapes lie nearest, shared with that joint's
// neighbours in the tree; the weights are then smoothed along the surface, so that a bend has no crease and a limb that
// merely passes close by takes no part.

import { shapeDistance, type Body } from "./shapes";
import type { SkeletonData } from "./skeleton";
import type { Surface } from "./surface";

export interface Skin {
  /** Four joints a vertex, the strongest first. */
  joints: Uint16Array;
  /** Their weights, summing to one. */
  weights: Float32Array;
}

const TRUNK_PASSES = 10;
const LIMB_PASSES = 3;

/** @param softness range over which two neighbouring joints share a vertex before smoothing, metres. */
export function makeSkin(skeleton: SkeletonData, body: Body, surface: Surface, softness: number): Skin {
  const owners = [...new Set(body.shapes.map((shape) => shape.joint))];
  const n = owners.length;
  const slot = new Map(owners.map((joint, i) => [joint, i]));
  const near = owners.map((a) => owners.map((b) => hops(skeleton, slot, a, b) <= 1));
  const trunkOwners = new Set(body.shapes.filter((shape) => shape.region === "trunk").map((shape) => slot.get(shape.joint)!));
  const { positions } = surface;
  const count = positions.length / 3;
  let shares = new Float32Array(count * n);
  const trunk = new Uint8Array(count);
  const distance = new Float32Array(n);
  for (let v = 0; v < count; v++) {
    distance.fill(1e3);
    for (const shape of body.shapes) {
      const i = slot.get(shape.joint)!;
      distance[i] = Math.min(distance[i]!, shapeDistance(shape, positions[3 * v]!, positions[3 * v + 1]!, positions[3 * v + 2]!));
    }
    let best = 0;
    for (let i = 1; i < n; i++) if (distance[i]! < distance[best]!) best = i;
    trunk[v] = trunkOwners.has(best) ? 1 : 0;
    let total = 0;
    for (let i = 0; i < n; i++) {
      if (!near[best]![i]) continue;
      const share = Math.exp(-(((distance[i]! - distance[best]!) / softness) ** 2));
      shares[v * n + i] = share;
      total += share;
    }
    for (let i = 0; i < n; i++) shares[v * n + i]! /= total;
  }

  const [starts, neighbours] = adjacency(surface.indices, count);
  for (let pass = 0; pass < TRUNK_PASSES; pass++) {
    const next = shares.slice();
    for (let v = 0; v < count; v++) {
      const from = starts[v]!, to = starts[v + 1]!;
      if ((pass >= LIMB_PASSES && !trunk[v]) || from === to) continue;
      for (let i = 0; i < n; i++) {
        let sum = 0;
        for (let k = from; k < to; k++) sum += shares[neighbours[k]! * n + i]!;
        next[v * n + i] = 0.4 * shares[v * n + i]! + (0.6 * sum) / (to - from);
      }
    }
    shares = next;
  }

  const joints = new Uint16Array(4 * count);
  const weights = new Float32Array(4 * count);
  for (let v = 0; v < count; v++) {
    const row = shares.subarray(v * n, v * n + n);
    let total = 0;
    for (let k = 0; k < 4; k++) {
      let best = 0;
      for (let i = 1; i < n; i++) if (row[i]! > row[best]!) best = i;
      joints[4 * v + k] = owners[best]!;
      weights[4 * v + k] = row[best]!;
      total += row[best]!;
      row[best] = 0;
    }
    for (let k = 0; k < 4; k++) weights[4 * v + k]! /= total;
  }
  return { joints, weights };
}

/** Neighbours of every vertex along edges: those of `v` are `neighbours[starts[v]..starts[v + 1]]`, an inner edge twice. */
function adjacency(indices: Uint32Array, count: number): [Uint32Array, Uint32Array] {
  const starts = new Uint32Array(count + 1);
  for (const v of indices) starts[v + 1]! += 2;
  for (let v = 0; v < count; v++) starts[v + 1]! += starts[v]!;
  const cursor = starts.slice();
  const neighbours = new Uint32Array(2 * indices.length);
  for (let i = 0; i < indices.length; i += 3) {
    const [a, b, c] = [indices[i]!, indices[i + 1]!, indices[i + 2]!];
    for (const [from, to] of [[a, b], [a, c], [b, a], [b, c], [c, a], [c, b]] as const) neighbours[cursor[from]!++] = to;
  }
  return [starts, neighbours];
}

/** Steps between two owners when joints that own no shape are skipped; 2 stands for "more than one". */
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
