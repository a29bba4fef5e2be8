// With ?debug=1 the page tells tests what it knows, as plain values on `window.ambulo`.

import type { Connection } from "./connection";
import * as store from "./store";
import type { Wish } from "./steering";
import type { World } from "./world";

export function exposeDebug(world: World, connection: Connection, frameCount: () => number, sentWish: () => Wish): void {
  const state = () => {
    const frame = world.latest;
    if (!frame) return null;
    const [x, y, z, w] = frame.rotations as unknown as [number, number, number, number];
    return {
      connected: store.connected.value,
      frames: frameCount(),
      tick: frame.tick, oldest: frame.oldest, newest: frame.newest, paused: frame.paused, rate: frame.rate, epoch: frame.epoch,
      position: Array.from(frame.positions.subarray(0, 3)),
      // Where +Z of the root points.
      facing: [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
      velocity: Array.from(frame.velocity), asked: Array.from(frame.desiredVelocity),
      // The direction that the character is asked to face, as the page sent it last.
      faces: [sentWish().facing[0], 0, sentWish().facing[1]],
      cameraForward: world.stage.camera.forward().toArray(), cameraYaw: world.stage.camera.yaw,
      latency: connection.latency,
      clip: store.hello.value?.clips[frame.clip]?.name ?? null,
      status: store.status.value, choice: store.choice.value, stats: store.stats.value, problem: store.problem.value, rebuild: store.rebuild.value, training: store.training.value, clips: store.hello.value?.clips.map((clip) => clip.name) ?? [],
      triangles: world.stage.triangles, level: world.stage.level,
    };
  };
  (window as unknown as { ambulo: unknown }).ambulo = { state, hello: () => store.hello.value, send: connection.send.bind(connection) };
}
