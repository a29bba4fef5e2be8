// The skeleton as every view of the front-end knows it: the Python `Skeleton`, plus one global pose to model a body in.

export interface SkeletonData {
  names: string[];
  /** Index of the parent, -1 for a root; parents come before children. */
  parents: number[];
  /** Humanoid role -> joint, e.g. {"left_foot": 17}. May be empty. */
  roles: Record<string, number>;
  /** Joint in its parent's frame at rest, metres. */
  offsets: number[][];
  /** Tip of a leaf bone in the joint's own frame; null where the file has none. */
  end_offsets?: (number[] | null)[];
}

/** One global pose: positions [J,3] in metres and rotations [J,4] as (x, y, z, w). */
export interface GlobalPose {
  positions: Float32Array;
  rotations: Float32Array;
}

/** Indices of the direct children of every joint. */
export function childrenOf(skeleton: SkeletonData): number[][] {
  const children: number[][] = skeleton.names.map(() => []);
  skeleton.parents.forEach((parent, joint) => {
    if (parent >= 0) children[parent]!.push(joint);
  });
  return children;
}

/** The joints from an ancestor down to a descendant, both included; empty where the one is not above the other. */
export function pathBetween(skeleton: SkeletonData, above: number, below: number): number[] {
  const path: number[] = [];
  for (let joint = below; joint >= 0; joint = skeleton.parents[joint]!) {
    path.push(joint);
    if (joint === above) return path.reverse();
  }
  return [];
}

/** True where `joint` is `above` or hangs below it. */
export function isBelow(skeleton: SkeletonData, joint: number, above: number): boolean {
  for (let at = joint; at >= 0; at = skeleton.parents[at]!) if (at === above) return true;
  return false;
}

/** Roles without which the humanoid body cannot be modelled; a skeleton that lacks one gets a capsule on every bone. */
export const HUMANOID_ROLES = [
  "hips", "chest", "head",
  "left_upper_arm", "left_forearm", "left_hand", "right_upper_arm", "right_forearm", "right_hand",
  "left_upper_leg", "left_lower_leg", "left_foot", "right_upper_leg", "right_lower_leg", "right_foot",
] as const;

export function isHumanoid(skeleton: SkeletonData): boolean {
  return HUMANOID_ROLES.every((role) => skeleton.roles[role] !== undefined);
}
