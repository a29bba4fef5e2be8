// Where the mannequin's skin is dark and where it is light: joints, hands, feet, neck and a visor that shows where the face is.
// One signed number a vertex, metres into the dark part, so that the shader can draw a crisp edge between vertices.

import { Vector3 } from "three";
import { bodyScale } from "./anatomy";
import type { BindPose } from "./bind";
import { isBelow, isHumanoid, type SkeletonData } from "./skeleton";

/** @param owners the joint that carries most of each vertex. */
export function makePanels(skeleton: SkeletonData, bind: BindPose, positions: Float32Array, owners: Uint16Array): Float32Array {
  const panels = new Float32Array(positions.length / 3);
  const s = bodyScale(skeleton, bind);
  if (!isHumanoid(skeleton)) {
    // A ring around every joint.
    for (let v = 0; v < panels.length; v++) {
      const p = new Vector3().fromArray(positions, 3 * v);
      let nearest = Infinity;
      for (const joint of bind.positions) nearest = Math.min(nearest, joint.distanceToSquared(p));
      panels[v] = 0.03 * s - Math.sqrt(nearest);
    }
    return panels;
  }
  const at = (role: string) => bind.positions[skeleton.roles[role]!]!;
  const shoulders = at("left_upper_arm").clone().add(at("right_upper_arm")).multiplyScalar(0.5);
  const head = at("head");
  const headY = Math.min(Math.max(head.y + 0.085 * s, shoulders.y + 0.19 * s), shoulders.y + 0.27 * s);
  const neckFoot = shoulders.clone().add(new Vector3(0, 0.035 * s, -0.01 * s));
  const neckTop = new Vector3(head.x, headY - 0.06 * s, head.z - 0.01 * s);
  const soleY = Math.min(at("left_foot").y, at("right_foot").y) - bind.ankleHeight;

  const p = new Vector3(), q = new Vector3();
  for (let v = 0; v < panels.length; v++) {
    p.fromArray(positions, 3 * v);
    let dark = 0.09 * s - (p.y - soleY); // shoes
    if (Math.abs(p.x) < 0.2 * s) {
      dark = Math.max(dark, Math.min(0.066 * s - distanceToSegment(p, neckFoot, neckTop), p.y - neckFoot.y - 0.005 * s));
      // Visor: a rounded band across the front of the head.
      q.set(Math.abs(p.x - head.x) - 0.03 * s, p.y - (headY + 0.012 * s), 0);
      const band = 0.026 * s - Math.hypot(Math.max(q.x, 0), q.y);
      dark = Math.max(dark, Math.min(band, p.z - (head.z + 0.03 * s)));
    }
    for (const side of ["left", "right"] as const) {
      const carried = (from: string) => isBelow(skeleton, owners[v]!, skeleton.roles[`${side}_${from}`]!);
      if (carried("upper_arm")) {
        const elbow = at(`${side}_forearm`), wrist = at(`${side}_hand`);
        dark = Math.max(dark, ring(p, at(`${side}_upper_arm`), elbow, wrist, 0.024 * s, 0.09 * s));
        if (carried("forearm")) dark = Math.max(dark, q.copy(wrist).sub(elbow).normalize().dot(p.clone().sub(wrist)) + 0.012 * s);
      } else if (carried("upper_leg")) {
        dark = Math.max(dark, ring(p, at(`${side}_upper_leg`), at(`${side}_lower_leg`), at(`${side}_foot`), 0.032 * s, 0.12 * s));
      }
    }
    panels[v] = dark;
  }
  return panels;
}

/** Depth inside a ring around the joint between two bones: `half` metres to each side, within `reach` of the joint. */
function ring(p: Vector3, above: Vector3, joint: Vector3, below: Vector3, half: number, reach: number): number {
  const away = p.clone().sub(joint);
  if (away.length() > reach) return -reach;
  return half - Math.abs(away.dot(below.clone().sub(above).normalize()));
}

function distanceToSegment(p: Vector3, a: Vector3, b: Vector3): number {
  const ab = b.clone().sub(a);
  const t = Math.min(Math.max(p.clone().sub(a).dot(ab) / Math.max(ab.lengthSq(), 1e-9), 0), 1);
  return p.distanceTo(ab.multiplyScalar(t).add(a));
}
