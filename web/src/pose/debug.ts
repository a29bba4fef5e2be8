// With ?debug=1 the page tells tests what it knows, as plain values on `window.ambuloPose`.

import * as store from "./store";
import type { PoseView } from "./view";

export function exposeDebug(view: PoseView): void {
  const state = () => {
    const body = store.hello.value, pose = store.shown.value;
    if (!body || !pose) return null;
    const { parents, names } = body.skeleton;
    const at = (values: Float32Array, i: number) => Array.from(values.subarray(3 * i, 3 * i + 3));
    const bones = parents.flatMap((parent, j) => {
      if (parent < 0 || parents[parent]! < 0) return [];
      const [a, b] = [at(pose.positions, parent), at(pose.positions, j)];
      return [[names[j]!, Math.hypot(a[0]! - b[0]!, a[1]! - b[1]!, a[2]! - b[2]!)] as const];
    });
    return {
      connected: store.connected.value,
      points: Object.fromEntries(body.points.map((point, i) => [point.name, at(pose.points, i)])),
      screen: Object.fromEntries(body.points.map((point, i) => [point.name, view.toScreen(...(at(pose.points, i) as [number, number, number]))])),
      bones: Object.fromEntries(bones),
      ...store.doc.value,
      posed: store.posed.value && { unreached: store.posed.value.unreached, microseconds: store.posed.value.microseconds },
      playing: store.playing.value, problem: store.problem.value, canUndo: store.canUndo.value, canRedo: store.canRedo.value,
    };
  };
  (window as unknown as { ambuloPose: unknown }).ambuloPose = { state };
}
