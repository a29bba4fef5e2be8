// The pose in which the body is modelled. Files disagree about what "all rotations zero" looks like (a T, an A, or every
// bone along one axis), so the body is built around a pose that really occurred, turned to face +Z, with arms and legs
// spread a little so that the skin of one limb never touches another's.

import { Quaternion, Vector3 } from "three";
import { isBelow, isHumanoid, type GlobalPose, type SkeletonData } from "./skeleton";

const UP = new Vector3(0, 1, 0);

export interface BindPose {
  positions: Vector3[];
  rotations: Quaternion[];
  /** Height of the ankles and toe bases over the ground, metres: how thick a foot is. */
  ankleHeight: number;
  toeHeight: number;
}

/** The bind pose made from any pose that occurred, preferably standing with both feet on the ground. */
export function makeBindPose(skeleton: SkeletonData, pose: GlobalPose): BindPose {
  const positions = skeleton.names.map((_, j) => new Vector3().fromArray(pose.positions, 3 * j));
  const rotations = skeleton.names.map((_, j) => new Quaternion().fromArray(pose.rotations, 4 * j).normalize());
  const bind: BindPose = { positions, rotations, ankleHeight: 0.08, toeHeight: 0.02 };
  if (!isHumanoid(skeleton)) return bind;

  const role = (name: string) => skeleton.roles[name]!;
  const at = (name: string) => positions[role(name)]!;
  faceForward(skeleton, bind);

  const leg = at("left_upper_leg").distanceTo(at("left_lower_leg")) + at("left_lower_leg").distanceTo(at("left_foot"));
  const ground = Math.min(...positions.slice(1).map((p) => p.y), 0);
  bind.ankleHeight = clamp(Math.min(at("left_foot").y, at("right_foot").y) - ground, 0.05 * leg, 0.2 * leg);
  bind.toeHeight = 0.02 * leg;
  if (skeleton.roles.left_toe !== undefined && skeleton.roles.right_toe !== undefined) {
    const lowest = Math.min(at("left_toe").y, at("right_toe").y) - ground;
    bind.toeHeight = clamp(lowest, 0.012 * leg, 0.6 * bind.ankleHeight);
  }

  // Upright first, then the limbs from the trunk outwards: each turn carries everything below it along.
  aim(skeleton, bind, "hips", "chest", new Vector3(0, 1, 0.02));
  if (skeleton.roles.neck !== undefined) aim(skeleton, bind, "neck", "head", new Vector3(0, 1, 0.12));
  for (const [side, x] of [["left", 1], ["right", -1]] as const) {
    aim(skeleton, bind, `${side}_upper_arm`, `${side}_forearm`, new Vector3(0.72 * x, -1, 0));
    aim(skeleton, bind, `${side}_forearm`, `${side}_hand`, new Vector3(0.66 * x, -1, 0.14));
    aim(skeleton, bind, `${side}_upper_leg`, `${side}_lower_leg`, new Vector3(0.09 * x, -1, 0.015));
    aim(skeleton, bind, `${side}_lower_leg`, `${side}_foot`, new Vector3(0.05 * x, -1, -0.03));
    if (skeleton.roles[`${side}_toe`] !== undefined) {
      const length = at(`${side}_foot`).distanceTo(at(`${side}_toe`));
      const drop = Math.min(bind.ankleHeight - bind.toeHeight, 0.85 * length);
      const flat = Math.sqrt(Math.max(length * length - drop * drop, 1e-6));
      aim(skeleton, bind, `${side}_foot`, `${side}_toe`, new Vector3(0.09 * x * flat, -drop, flat));
    }
  }
  return bind;
}

/** Turns the whole pose about the vertical until the hips face +Z, and puts the hips over the origin. */
function faceForward(skeleton: SkeletonData, bind: BindPose): void {
  const left = bind.positions[skeleton.roles.left_upper_leg!]!.clone().sub(bind.positions[skeleton.roles.right_upper_leg!]!);
  const turn = new Quaternion().setFromAxisAngle(UP, Math.atan2(left.z, left.x));
  const hips = bind.positions[skeleton.roles.hips!]!.clone();
  for (const position of bind.positions) {
    position.x -= hips.x;
    position.z -= hips.z;
    position.applyQuaternion(turn);
  }
  for (const rotation of bind.rotations) rotation.premultiply(turn);
}

/** Turns a joint with all below it by the shortest arc so that the bone to `toward` points along `direction`. */
function aim(skeleton: SkeletonData, bind: BindPose, from: string, toward: string, direction: Vector3): void {
  const joint = skeleton.roles[from]!;
  const pivot = bind.positions[joint]!.clone();
  const now = bind.positions[skeleton.roles[toward]!]!.clone().sub(pivot);
  if (now.lengthSq() < 1e-8) return;
  const turn = new Quaternion().setFromUnitVectors(now.normalize(), direction.clone().normalize());
  for (let j = joint; j < bind.positions.length; j++) {
    if (!isBelow(skeleton, j, joint)) continue;
    bind.positions[j]!.sub(pivot).applyQuaternion(turn).add(pivot);
    bind.rotations[j]!.premultiply(turn);
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
