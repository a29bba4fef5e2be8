// How much of the sky each vertex sees past the rest of the body: armpits, neck and the inside of legs lie in a dusk of
// their own. Measured once, in the bind pose, by the distance to the body on the way outwards.

import { bodyDistance, type Body } from "./shapes";
import type { Surface } from "./surface";

/** How far out it is looked, metres on a person of 1.75 m, and what each look counts. */
const LOOKS = [[0.03, 0.2], [0.075, 0.35], [0.15, 0.45]] as const;
/** Nobody is darker than this: the pose changes, and arms leave the sides. */
const DARKEST = 0.35;

/** 1 where nothing is in the way, one number a vertex. */
export function makeOcclusion(body: Body, surface: Surface, scale: number): Float32Array {
  const { positions, normals } = surface;
  return Float32Array.from({ length: positions.length / 3 }, (_, v) => {
    const [x, y, z] = [positions[3 * v]!, positions[3 * v + 1]!, positions[3 * v + 2]!];
    const [nx, ny, nz] = [normals[3 * v]!, normals[3 * v + 1]!, normals[3 * v + 2]!];
    let open = 0;
    for (const [way, share] of LOOKS) {
      const h = way * scale;
      const free = bodyDistance(body, x + h * nx, y + h * ny, z + h * nz) / h;
      open += share * Math.min(Math.max(free, 0), 1);
    }
    return DARKEST + (1 - DARKEST) * open;
  });
}
