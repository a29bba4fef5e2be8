// Where the mannequin's skin is dark and where it is light: joints, hands, feet, neck and a visor that shows where the face is.
// One signed number a vertex, metres into the dark part, so that the shader can draw a crisp edge between vertices.

import { Vector3 } from "three";
import { bodyScale } from "./anatomy";
import type { BindPose } from "./bind";
import { isHumanoid, type SkeletonData } from "./skeleton";

export function makePanels(skeleton: SkeletonData, bind: BindPose, positions: Float32Array): Float32Array {
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
  const hips = at("left_upper_leg").clone().add(at("right_upper_leg")).multiplyScalar(0.5);
  const shoulders = at("left_upper_arm").clone().add(at("right_upper_arm")).multiplyScalar(0.5);
  const head = at("head");
  const headY = Math.min(Math.max(head.y + 0.085 * s, shoulders.y + 0.19 * s), shoulders.y + 0.27 * s);
  const neckFoot = shoulders.clone().add(new Vector3(0, 0.035 * s, -0.01 * s));
  const neckTop = new Vector3(head.x, headY - 0.06 * s, head.z - 0.01 * s);
  const soleY = Math.min(at("left_foot").y, at("right_foot").y) - bind.ankleHeight;
  const waistY = hips.y + 0.36 * (shoulders.y - hips.y);

  const p = new Vector3(), q = new Vector3();
  for (let v = 0; v < panels.length; v++) {
    p.fromArray(positions, 3 * v);
    let dark = 0.09 * s - (p.y - soleY); // shoes
    if (Math.abs(p.x) < 0.2 * s) {
      dark = Math.max(dark, 0.035 * s - Math.abs(p.y - waistY + 0.5 * Math.max(0, p.z) * 0.2));
      dark = Math.max(dark, Math.min(0.066 * s - distanceToSegment(p, neckFoot, neckTop), p.y - neckFoot.y - 0.005 * s));
      // Visor: a rounded band across the front of the head.
      q.set(Math.abs(p.x - head.x) - 0.03 * s, p.y - (headY + 0.012 * s), 0);
      const band = 0.026 * s - Math.hypot(Math.max(q.x, 0), q.y);
      dark = Math.max(dark, Math.min(band, p.z - (head.z + 0.03 * s)));
    }
    for (const side of ["left", "right"] as const) {
      dark = Math.max(dark, 0.043 * s - p.distanceTo(at(`${side}_forearm`)));
      dark = Math.max(dark, 0.057 * s - p.distanceTo(at(`${side}_lower_leg`)));
      const wrist = at(`${side}_hand`);
      q.copy(wrist).sub(at(`${side}_forearm`)).normalize();
      const glove = p.clone().sub(wrist);
      if (glove.length() < 0.3 * s) dark = Math.max(dark, glove.dot(q) + 0.012 * s);
    }
    panels[v] = dark;
  }
  return panels;
}

function distanceToSegment(p: Vector3, a: Vector3, b: Vector3): number {
  const ab = b.clone().sub(a);
  const t = Math.min(Math.max(p.clone().sub(a).dot(ab) / Math.max(ab.lengthSq(), 1e-9), 0), 1);
  return p.distanceTo(ab.multiplyScalar(t).add(a));
}
