import { describe, expect, test } from "vitest";
import { blendPose, MAGIC, readFrame } from "../src/studio/frames";
import { inOrder, nameFor, stemOf } from "../src/studio/dropped_names";
import { curvePath, duration } from "../src/studio/curves";
import { gaitsFor } from "../src/studio/steering";
import { Trail } from "../src/studio/trail";

/** Bytes of a frame as ambulo/studio/frames.py documents them: every block filled with its own number. */
function frameBytes(options: { tick?: number; clip?: number; flags?: number; J?: number; K?: number; M?: number; x?: number } = {}): ArrayBuffer {
  const { tick = 1, clip = 0, flags = 0, J = 2, K = 3, M = 1, x = 0 } = options;
  const sizes = [3 * J, 4 * J, 2, 3 * K, 3 * K, 3 * M, 3 * M, 3, 3, 3];
  const buffer = new ArrayBuffer(64 + 4 * sizes.reduce((a, b) => a + b, 0));
  const view = new DataView(buffer);
  [MAGIC, tick, 0, tick, flags, 1, J, K, 0, 42].forEach((word, i) => view.setUint32(4 * i, word, true));
  view.setInt32(32, -7, true);
  view.setFloat32(40, 0.25, true);
  view.setInt32(52, clip, true);
  view.setUint32(56, 5, true);
  view.setUint32(60, M, true);
  let at = 64;
  sizes.forEach((size, block) => {
    for (let i = 0; i < size; i++, at += 4) view.setFloat32(at, block, true);
  });
  view.setFloat32(64, x, true);
  return buffer;
}

describe("pose frames", () => {
  test("every word and block is where the server puts it", () => {
    const frame = readFrame(frameBytes({ tick: 9, clip: 3, flags: 3 }));
    expect(frame).toMatchObject({
      tick: 9, newest: 9, paused: true, transitioned: true, joints: 2, askedPoints: 3, matchedPoints: 1, databaseFrame: -7, sequence: 42, rate: 0.25,
      clip: 3, epoch: 5,
    });
    const blocks = [
      frame.positions, frame.rotations, frame.contacts, frame.desiredPositions, frame.desiredDirections, frame.matchedPositions,
      frame.matchedDirections, frame.desiredVelocity, frame.velocity, frame.simulationPosition,
    ];
    blocks.forEach((block, i) => expect([...block].slice(1)).toEqual(new Array(block.length - 1).fill(i)));
    expect(blocks.map((block) => block.length)).toEqual([6, 8, 2, 9, 9, 3, 3, 3, 3, 3]);
  });

  test.each([
    ["too short", new ArrayBuffer(12)],
    ["of another kind", new ArrayBuffer(64)],
    ["cut", frameBytes().slice(0, -4)],
  ])("bytes that are %s are refused", (_, buffer) => {
    expect(() => readFrame(buffer)).toThrow();
  });

  test("blending takes the short way and stays on the unit sphere", () => {
    const a = readFrame(frameBytes()), b = readFrame(frameBytes());
    a.rotations.set([0, 0, 0, 1, 0, 0, 0, 1]);
    b.rotations.set([0, 0, 0, -1, 0, Math.SQRT1_2, 0, Math.SQRT1_2]);
    const positions = new Float32Array(6), rotations = new Float32Array(8);
    blendPose(a, b, 0.5, positions, rotations);
    expect(Math.abs(rotations[3]!)).toBeCloseTo(1, 6);
    expect(2 * Math.atan2(rotations[5]!, rotations[7]!)).toBeCloseTo(Math.PI / 4, 5);
  });
});

describe("gaits", () => {
  test.each([0.1, 0.9, 1.5, 3.6, 9])("are ordered and within the data (%f m/s)", (top) => {
    const { slow, walk, run } = gaitsFor(top);
    expect(slow).toBeLessThan(walk);
    expect(walk).toBeLessThan(run);
    expect(run).toBeLessThanOrEqual(Math.max(top, 0.8));
    expect(walk).toBeLessThanOrEqual(1.4);
  });
});

describe("trail", () => {
  test("keeps the newest positions and skips what never came", () => {
    const trail = new Trail(10);
    for (const tick of [1, 2, 3, 5, 12, 13]) trail.add(readFrame(frameBytes({ tick, x: tick })));
    const [line, count] = trail.path(4, 13);
    expect(count).toBe(3);
    expect([line[0], line[3], line[6]]).toEqual([5, 12, 13]);
  });

  test("names the clips that played and where the playhead jumped", () => {
    const trail = new Trail(20);
    for (let tick = 1; tick <= 9; tick++) trail.add(readFrame(frameBytes({ tick, clip: tick < 5 ? 0 : 1, flags: tick === 5 ? 2 : 0 })));
    const { bands, jumps } = trail.bands(1, 9, (clip) => `clip ${clip}`);
    expect(bands).toEqual([
      { start: 1, stop: 5, label: "clip 0", row: 0 },
      { start: 5, stop: 10, label: "clip 1", row: 0 },
    ]);
    expect(jumps).toEqual([5]);
  });
});

describe("dropped files", () => {
  test("takes go before what is said about them", () => {
    const names = ["a.tags.csv", "a.bvh", "b.channels.csv", "b.fbx"].map((name) => ({ name }));
    expect(inOrder(names).map(({ name }) => name)).toEqual(["a.bvh", "b.fbx", "a.tags.csv", "b.channels.csv"]);
  });

  test("annotations follow a take that was given another name", () => {
    const given = new Map([["walk.01", "walk.01_2"]]);
    expect(nameFor("walk.01.tags.csv", given)).toBe("walk.01_2.tags.csv");
    expect(nameFor("walk.01.channels.csv", given)).toBe("walk.01_2.channels.csv");
    expect(nameFor("run.tags.csv", given)).toBe("run.tags.csv");
    expect(nameFor("walk.01.bvh", given)).toBe("walk.01.bvh");
    expect(["walk.01.bvh", "walk.01.tags.csv", "noending"].map(stemOf)).toEqual(["walk.01", "walk.01", "noending"]);
  });
});

describe("a training's curve", () => {
  test("falls on a logarithmic scale, from the left to where the training is", () => {
    expect(curvePath([[0, 100], [50, 10], [100, 1]], 200, 300, 46)).toBe("M0.0 3.0L75.0 23.0L150.0 43.0");
  });

  test("leaves out what is no number", () => {
    expect(curvePath([], 200, 300, 46)).toBe("");
    expect(curvePath([[0, NaN], [10, 0], [20, 5]], 20, 300, 46)).toMatch(/^M300\.0 /);
  });

  test("says how long it takes", () => {
    expect([3.4, 89, 600, 7200, -1].map(duration)).toEqual(["3 s", "89 s", "10 min", "2.0 h", "0 s"]);
  });
});
