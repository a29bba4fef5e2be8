// From a bind pose to the shapes of a mannequin. Every measure scales with the skeleton's own bones: lengths with the
// bone at hand, girths with the leg (0.84 m on a person of 1.75 m).

import { Vector3 } from "three";
import type { BindPose } from "./bind";
import type { Body, Region, Shape } from "./shapes";
import { childrenOf, isBelow, isHumanoid, pathBetween, type SkeletonData } from "./skeleton";

const FORWARD = new Vector3(0, 0, 1);

/** Girth along a limb: [share of the way, radius in metres on a 1.75 m person], ends included. */
type Profile = readonly (readonly [number, number])[];

const THIGH: Profile = [[0, 0.088], [0.3, 0.082], [0.75, 0.06], [1, 0.05]];
const SHANK: Profile = [[0, 0.048], [0.28, 0.05], [0.7, 0.036], [1, 0.033]];
const UPPER_ARM: Profile = [[0, 0.05], [0.35, 0.046], [0.8, 0.037], [1, 0.035]];
const FOREARM: Profile = [[0, 0.036], [0.25, 0.04], [0.75, 0.029], [1, 0.025]];

export function makeBody(skeleton: SkeletonData, bind: BindPose): Body {
  return isHumanoid(skeleton) ? new Anatomy(skeleton, bind).body() : makeCapsules(skeleton, bind);
}

/** Scale of the body against a person of 1.75 m. */
export function bodyScale(skeleton: SkeletonData, bind: BindPose): number {
  if (isHumanoid(skeleton)) {
    const at = (role: string) => bind.positions[skeleton.roles[role]!]!;
    const leg = at("left_upper_leg").distanceTo(at("left_lower_leg")) + at("left_lower_leg").distanceTo(at("left_foot"));
    return leg / 0.84;
  }
  const heights = bind.positions.map((p) => p.y);
  return Math.max(Math.max(...heights) - Math.min(...heights), 0.3) / 1.75;
}

class Anatomy {
  private readonly shapes: Shape[] = [];
  private readonly s: number;

  constructor(private readonly skeleton: SkeletonData, private readonly bind: BindPose) {
    this.s = bodyScale(skeleton, bind);
  }

  body(): Body {
    this.trunk();
    this.head();
    for (const side of ["left", "right"] as const) {
      this.arm(side);
      this.leg(side);
    }
    this.extras();
    const sole = Math.min(this.at("left_foot").y, this.at("right_foot").y) - this.bind.ankleHeight;
    return { shapes: this.shapes, softness: 0.035 * this.s, sole };
  }

  private joint(role: string): number {
    return this.skeleton.roles[role]!;
  }

  private at(role: string): Vector3 {
    return this.bind.positions[this.joint(role)]!;
  }

  private add(joint: number, region: Region, a: Vector3, b: Vector3, ra: number, rb: number, flatAxis?: Vector3, flat?: number) {
    const shape: Shape = { joint, region, a, b, radiusA: ra * this.s, radiusB: rb * this.s };
    if (flatAxis && flat) Object.assign(shape, { flatAxis, flat });
    this.shapes.push(shape);
  }

  /** Two balls' worth of breadth at each height, from the hip joints to the base of the neck. */
  private trunk(): void {
    const s = this.s;
    const hips = this.at("left_upper_leg").clone().add(this.at("right_upper_leg")).multiplyScalar(0.5);
    const arms = this.at("left_upper_arm").clone().add(this.at("right_upper_arm")).multiplyScalar(0.5);
    const hipHalf = this.at("left_upper_leg").distanceTo(this.at("right_upper_leg")) / 2;
    const armHalf = this.at("left_upper_arm").distanceTo(this.at("right_upper_arm")) / 2;
    const top = arms.clone();
    const spine = pathBetween(this.skeleton, this.joint("hips"), this.joint("chest"));

    // Share of the way up, half breadth, half depth, forward shift: pelvis, waist, ribs, shoulder line.
    const rings: [number, number, number, number][] = [
      [-0.02, Math.max(hipHalf + 0.052 * s, 0.135 * s), 0.098 * s, -0.004 * s],
      [0.14, Math.max(hipHalf + 0.045 * s, 0.135 * s), 0.1 * s, -0.006 * s],
      [0.36, 0.118 * s, 0.088 * s, 0.008 * s],
      [0.62, 0.132 * s, 0.102 * s, 0.012 * s],
      [0.82, Math.min(0.15 * s, armHalf * 0.88), 0.1 * s, 0.008 * s],
      [0.97, Math.min(0.125 * s, armHalf * 0.7), 0.07 * s, -0.004 * s],
    ];
    const centre = (share: number, shift: number) => hips.clone().lerp(top, share).addScaledVector(FORWARD, shift);
    for (let i = 0; i + 1 < rings.length; i++) {
      const [t0, w0, d0, z0] = rings[i]!;
      const [t1, w1, d1, z1] = rings[i + 1]!;
      const joint = this.spineJoint(spine, (t0 + t1) / 2, hips, top);
      for (const side of [1, -1]) {
        const a = centre(t0, z0).add(new Vector3(side * Math.max(w0 - d0, 0), 0, 0));
        const b = centre(t1, z1).add(new Vector3(side * Math.max(w1 - d1, 0), 0, 0));
        this.add(joint, "trunk", a, b, d0 / s, d1 / s);
      }
    }
    const chest = this.joint("chest");
    const pelvis = this.joint("hips");
    for (const [side, x] of [["left", 1], ["right", -1]] as const) {
      // Buttocks, breast and the yoke from neck to shoulder.
      const seat = this.at(`${side}_upper_leg`).clone().add(new Vector3(-0.008 * x * s, -0.005 * s, -0.038 * s));
      this.add(pelvis, "trunk", seat, seat.clone().add(new Vector3(0, 0.02 * s, 0)), 0.082, 0.07);
      const breast = centre(0.78, 0.055 * s).add(new Vector3(x * 0.068 * s, 0, 0));
      this.add(chest, "trunk", breast, breast.clone().add(new Vector3(x * 0.03 * s, 0.015 * s, -0.008 * s)), 0.062, 0.052);
      const neckBase = this.neckBase();
      const shoulder = this.at(`${side}_upper_arm`).clone().add(new Vector3(-x * 0.01 * s, 0.012 * s, 0));
      const collar = this.skeleton.roles[`${side}_shoulder`] ?? chest;
      this.add(collar, "trunk", neckBase.clone().add(new Vector3(x * 0.03 * s, -0.01 * s, -0.01 * s)), shoulder, 0.05, 0.048);
      this.add(collar, "trunk", centre(0.9, 0).add(new Vector3(x * 0.07 * s, 0, 0)), shoulder, 0.07, 0.05);
    }
  }

  /** The spine joint that carries the trunk at a share of the height. */
  private spineJoint(spine: number[], share: number, hips: Vector3, top: Vector3): number {
    const y = hips.y + share * (top.y - hips.y);
    let best = spine[0]!;
    for (const joint of spine) if (this.bind.positions[joint]!.y <= y + 0.01 * this.s) best = joint;
    return best;
  }

  private neckBase(): Vector3 {
    const chest = this.at("left_upper_arm").clone().add(this.at("right_upper_arm")).multiplyScalar(0.5);
    const base = this.skeleton.roles.neck !== undefined ? this.at("neck").clone() : chest.clone().lerp(this.at("head"), 0.3);
    base.y = Math.max(base.y, chest.y + 0.01 * this.s);
    return base;
  }

  private head(): void {
    const s = this.s;
    const head = this.joint("head");
    const neck = this.skeleton.roles.neck ?? this.joint("chest");
    const base = this.neckBase();
    // Some files put "head" at the skull's base, some at its middle: the crown's height over the shoulders settles it.
    const pivot = this.at("head").clone();
    const shoulders = (this.at("left_upper_arm").y + this.at("right_upper_arm").y) / 2;
    const centre = pivot.clone().add(new Vector3(0, 0.085 * s, 0.022 * s));
    centre.y = Math.min(Math.max(centre.y, shoulders + 0.19 * s), shoulders + 0.27 * s);
    this.add(neck, "trunk", base.clone().add(new Vector3(0, -0.02 * s, -0.012 * s)), centre.clone().add(new Vector3(0, -0.05 * s, -0.03 * s)), 0.054, 0.05);
    this.add(head, "trunk", centre.clone().add(new Vector3(0, 0.022 * s, -0.02 * s)), centre.clone().add(new Vector3(0, 0.02 * s, 0.012 * s)), 0.088, 0.082);
    this.add(head, "trunk", centre.clone().add(new Vector3(0, -0.01 * s, 0.018 * s)), centre.clone().add(new Vector3(0, -0.075 * s, 0.034 * s)), 0.07, 0.04);
  }

  /** A limb segment: cones along the joints between two roles (twist joints included), with a girth profile. */
  private limb(region: Region, from: string, to: string, profile: Profile): void {
    const chain = pathBetween(this.skeleton, this.joint(from), this.joint(to));
    const start = this.at(from), end = this.at(to);
    const length = Math.max(start.distanceTo(end), 1e-4);
    for (let i = 0; i + 1 < profile.length; i++) {
      const [t0, r0] = profile[i]!;
      const [t1, r1] = profile[i + 1]!;
      let owner = this.joint(from);
      for (const joint of chain.slice(0, -1)) {
        if (this.bind.positions[joint]!.distanceTo(start) / length <= (t0 + t1) / 2 + 1e-3) owner = joint;
      }
      this.add(owner, region, start.clone().lerp(end, t0), start.clone().lerp(end, t1), r0, r1);
    }
  }

  private arm(side: "left" | "right"): void {
    const s = this.s;
    const region: Region = `${side}_arm`;
    this.limb(region, `${side}_upper_arm`, `${side}_forearm`, UPPER_ARM);
    this.limb(region, `${side}_forearm`, `${side}_hand`, FOREARM);
    const shoulder = this.at(`${side}_upper_arm`);
    const down = this.at(`${side}_forearm`).clone().sub(shoulder).normalize();
    this.add(this.joint(`${side}_upper_arm`), region, shoulder, shoulder.clone().addScaledVector(down, 0.07 * s), 0.058, 0.047);

    // A mitten: palm, fingers and a thumb towards the front. Its flat side follows the arm and the thumb.
    const hand = this.joint(`${side}_hand`);
    const wrist = this.at(`${side}_hand`);
    const along = wrist.clone().sub(this.at(`${side}_forearm`)).normalize();
    const thumb = FORWARD.clone().addScaledVector(along, -FORWARD.dot(along)).normalize();
    const palm = new Vector3().crossVectors(along, thumb).normalize();
    const point = (out: number, front: number) => wrist.clone().addScaledVector(along, out * s).addScaledVector(thumb, front * s);
    this.add(hand, region, point(0.012, 0), point(0.06, 0.002), 0.03, 0.043, palm, 0.52);
    this.add(hand, region, point(0.07, 0.012), point(0.155, 0.012), 0.027, 0.016, palm, 0.62);
    this.add(hand, region, point(0.07, -0.012), point(0.145, -0.012), 0.027, 0.015, palm, 0.62);
    this.add(hand, region, point(0.022, 0.022), point(0.085, 0.052), 0.02, 0.0125);
  }

  private leg(side: "left" | "right"): void {
    const s = this.s;
    const region: Region = `${side}_leg`;
    this.limb(region, `${side}_upper_leg`, `${side}_lower_leg`, THIGH);
    this.limb(region, `${side}_lower_leg`, `${side}_foot`, SHANK);
    const knee = this.at(`${side}_lower_leg`), ankle = this.at(`${side}_foot`);
    const calf = (share: number, back: number) => knee.clone().lerp(ankle, share).add(new Vector3(0, 0, -back * s));
    this.add(this.joint(`${side}_lower_leg`), region, calf(0.12, 0.014), calf(0.55, 0.01), 0.046, 0.03);

    const foot = this.joint(`${side}_foot`);
    const toeRole = this.skeleton.roles[`${side}_toe`];
    const x = side === "left" ? 1 : -1;
    const heading = new Vector3(0.09 * x, 0, 1).normalize();
    const soleY = ankle.y - this.bind.ankleHeight;
    const floor = (out: number, height: number) => {
      const p = ankle.clone().addScaledVector(heading, out * s);
      p.y = soleY + height * s;
      return p;
    };
    const flat = toeRole === undefined ? 0 : this.at(`${side}_toe`).clone().setY(0).distanceTo(ankle.clone().setY(0));
    const ball = flat > 0.05 * s ? Math.min(flat / s, 0.2) : 0.13;
    this.add(foot, region, ankle.clone(), floor(-0.02, 0.04), 0.036, 0.036);
    this.add(foot, region, floor(-0.028, 0.03), floor(ball * 0.55, 0.03), 0.036, 0.038);
    this.add(foot, region, ankle.clone().add(new Vector3(0, -0.015 * s, 0.01 * s)), floor(ball * 0.85, 0.03), 0.036, 0.036);
    const toes = toeRole ?? foot;
    this.add(toes, region, floor(ball * 0.95, 0.026), floor(ball + 0.062, 0.02), 0.042, 0.032);
  }

  /** Chains that no role speaks of (tails, props) get capsules; fingers and face joints stay inside the mitten and head. */
  private extras(): void {
    const { skeleton, bind } = this;
    const roles = new Set(Object.values(skeleton.roles));
    const onPath = new Set<number>();
    for (const joint of roles) for (let at = joint; at >= 0; at = skeleton.parents[at]!) onPath.add(at);
    const ends = ["head", "left_hand", "right_hand", "left_foot", "right_foot", "chest"].map((role) => this.joint(role));
    skeleton.parents.forEach((parent, joint) => {
      if (parent < 0 || onPath.has(joint) || ends.some((end) => isBelow(skeleton, joint, end))) return;
      const a = bind.positions[parent]!, b = bind.positions[joint]!;
      const girth = Math.min(0.1 * a.distanceTo(b), 0.03 * this.s);
      if (girth > 0.006 * this.s && onPath.has(parent) === false) this.add(parent, "trunk", a.clone(), b.clone(), girth / this.s, girth / this.s);
    });
  }
}

/** The body of a skeleton whose roles are unknown: a tapered capsule on every bone, thicker where more hangs below it. */
function makeCapsules(skeleton: SkeletonData, bind: BindPose): Body {
  const s = bodyScale(skeleton, bind);
  const below = new Array<number>(skeleton.names.length).fill(0);
  for (let j = skeleton.names.length - 1; j > 0; j--) {
    const parent = skeleton.parents[j]!;
    if (parent >= 0) below[parent]! += below[j]! + bind.positions[j]!.distanceTo(bind.positions[parent]!);
  }
  const girth = (joint: number) => Math.min(0.018 + 0.02 * Math.sqrt(below[joint]! / s), 0.06) * s;
  const shapes: Shape[] = [];
  const children = childrenOf(skeleton);
  skeleton.parents.forEach((parent, joint) => {
    const p = bind.positions[joint]!;
    const virtual = parent < 0 && p.y < 0.02 * s;
    if (parent >= 0 && !(skeleton.parents[parent]! < 0 && bind.positions[parent]!.y < 0.02 * s)) {
      const a = bind.positions[parent]!;
      const limit = Math.max(0.3 * a.distanceTo(p), 0.006 * s);
      shapes.push({ joint: parent, region: "trunk", a: a.clone(), b: p.clone(), radiusA: Math.min(girth(parent), limit), radiusB: Math.min(girth(joint), limit) });
    }
    const end = skeleton.end_offsets?.[joint];
    if (children[joint]!.length === 0 && end) {
      const tip = new Vector3().fromArray(end).applyQuaternion(bind.rotations[joint]!).add(p);
      shapes.push({ joint, region: "trunk", a: p.clone(), b: tip, radiusA: girth(joint), radiusB: girth(joint) * 0.7 });
    } else if (!virtual && children[joint]!.length === 0) {
      shapes.push({ joint, region: "trunk", a: p.clone(), b: p.clone(), radiusA: girth(joint), radiusB: girth(joint) });
    }
  });
  return { shapes, softness: 0.02 * s, sole: -Infinity };
}
