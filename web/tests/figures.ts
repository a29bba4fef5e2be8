// Two skeletons for the tests: a person of 1.75 m that stands, arms hanging, and a snake without roles.

import type { GlobalPose, SkeletonData } from "../src/body/skeleton";

const JOINTS: [string, string | null, [number, number, number]][] = [
  ["root", null, [0, 0, 0]],
  ["hips", "root", [0, 0.95, 0]],
  ["spine", "hips", [0, 0.12, 0]],
  ["chest", "spine", [0, 0.2, 0]],
  ["neck", "chest", [0, 0.2, 0]],
  ["head", "neck", [0, 0.1, 0.02]],
  ...(["left", "right"] as const).flatMap((side): [string, string, [number, number, number]][] => {
    const x = side === "left" ? 1 : -1;
    return [
      [`${side}_shoulder`, "chest", [0.03 * x, 0.16, 0]],
      [`${side}_upper_arm`, `${side}_shoulder`, [0.15 * x, 0, 0]],
      [`${side}_forearm`, `${side}_upper_arm`, [0.02 * x, -0.28, 0]],
      [`${side}_hand`, `${side}_forearm`, [0, -0.25, 0.03]],
      [`${side}_upper_leg`, "hips", [0.09 * x, -0.04, 0]],
      [`${side}_lower_leg`, `${side}_upper_leg`, [0, -0.42, 0]],
      [`${side}_foot`, `${side}_lower_leg`, [0, -0.41, -0.02]],
      [`${side}_toe`, `${side}_foot`, [0, -0.06, 0.14]],
    ];
  }),
];

export function person(): { skeleton: SkeletonData; pose: GlobalPose } {
  const names = JOINTS.map(([name]) => name);
  const parents = JOINTS.map(([, parent]) => (parent === null ? -1 : names.indexOf(parent)));
  const offsets = JOINTS.map(([, , offset]) => [...offset]);
  const roles = Object.fromEntries(names.slice(1).map((name, i) => [name, i + 1]));
  return { skeleton: { names, parents, roles, offsets }, pose: standing(parents, offsets) };
}

export function snake(): { skeleton: SkeletonData; pose: GlobalPose } {
  const names = ["a", "b", "c", "d", "e"];
  const parents = [-1, 0, 1, 2, 3];
  const offsets = [[0, 0.1, 0], [0, 0, 0.3], [0, 0, 0.3], [0, 0, 0.3], [0, 0, 0.3]];
  return { skeleton: { names, parents, roles: {}, offsets }, pose: standing(parents, offsets) };
}

function standing(parents: number[], offsets: number[][]): GlobalPose {
  const positions = new Float32Array(3 * parents.length);
  const rotations = new Float32Array(4 * parents.length);
  parents.forEach((parent, j) => {
    for (let k = 0; k < 3; k++) positions[3 * j + k] = offsets[j]![k]! + (parent < 0 ? 0 : positions[3 * parent + k]!);
    rotations[4 * j + 3] = 1;
  });
  return { positions, rotations };
}
