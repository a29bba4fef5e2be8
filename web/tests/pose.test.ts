import { describe, expect, test } from "vitest";
import * as edit from "../src/pose/document";
import { between, forward } from "../src/pose/forward";
import type { PoseHello } from "../src/messages";

const empty: edit.PoseDocument = { pins: { hips: [0, 1, 0], left_wrist: [0.5, 1.2, 0] }, floor: true, keys: [], time: 0, free: true };

describe("pins", () => {
  test("the last one cannot be let go", () => {
    const one = edit.unpin(empty, "hips");
    expect(Object.keys(one.pins)).toEqual(["left_wrist"]);
    expect(edit.unpin(one, "left_wrist")).toBe(one);
  });

  test("are mirrored at a plane, sides swapped, and twice is nothing", () => {
    const partner = { hips: "hips", left_wrist: "right_wrist", right_wrist: "left_wrist" };
    const once = edit.mirrored(empty.pins, partner, 0.1);
    expect(once).toEqual({ hips: [0.2, 1, 0], right_wrist: [0.2 - 0.5, 1.2, 0] });
    expect(edit.mirrored(once, partner, 0.1).left_wrist![0]).toBeCloseTo(0.5);
  });

  test("travel as text, and other text is none", () => {
    const names = new Set(["hips", "left_wrist"]);
    expect(edit.fromText(edit.toText(empty.pins), names)).toEqual(empty.pins);
    for (const text of ["", "hello", "[]", "{}", '{"hips": [0, 1]}', '{"hips": [0, 1, "x"]}', '{"hip": [0, 1, 0]}', '{"hips": [0, 1e9, 0]}']) {
      expect(edit.fromText(text, names)).toBeNull();
    }
  });
});

describe("keys", () => {
  const two = edit.putKey({ ...edit.putKey(empty), time: 2, pins: { hips: [0, 0.5, 0] } });

  test("are sorted, and one at a time", () => {
    expect(two.keys.map((key) => key.time)).toEqual([0, 2]);
    expect(edit.putKey(two).keys).toHaveLength(2);
    expect(edit.keyAt(two)?.pins).toEqual({ hips: [0, 0.5, 0] });
  });

  test("take what is pinned at their time", () => {
    const after = edit.pin(two, "neck", [0, 1, 0]);
    expect(Object.keys(after.keys[1]!.pins)).toEqual(["hips", "neck"]);
    expect(after.keys[0]).toBe(two.keys[0]);
    expect(after.free).toBe(false);
    expect(edit.pin({ ...two, time: 1 }, "neck", [0, 1, 0]).free).toBe(true);
  });

  test("move to whole frames, but not onto each other", () => {
    const moved = edit.moveKey(two, 2, 1.51);
    expect(moved.keys.map((key) => key.time)).toEqual([0, 45 / 30]);
    expect(moved.time).toBe(1.5);
    expect(edit.moveKey(two, 2, 0.005)).toBe(two);
    expect(edit.removeKey(two, 0).keys.map((key) => key.time)).toEqual([2]);
  });

  test("have a way between them", () => {
    expect(edit.between([], 1)).toBeNull();
    expect(edit.between(two.keys, 0.5)!.share).toBe(0.25);
    expect(edit.between(two.keys, 9)!).toMatchObject({ before: { time: 2 }, after: { time: 2 }, share: 0 });
  });
});

test("history goes back and forth, and an edit forgets what was undone", () => {
  const history = new edit.History();
  const [a, b, c] = [empty, { ...empty, time: 1 }, { ...empty, time: 2 }];
  history.keep(a);
  history.keep(b);
  expect(history.undo(c)).toBe(b);
  expect(history.undo(b)).toBe(a);
  expect(history.undo(a)).toBe(a);
  expect(history.redo(a)).toBe(b);
  history.keep(b);
  expect(history.canRedo).toBe(false);
});

describe("poses", () => {
  const half = Math.SQRT1_2;
  const body = {
    skeleton: { names: ["a", "b"], parents: [-1, 0] }, points: [{ name: "tip", joint: 1, offset: [0, 1, 0] }],
  } as unknown as PoseHello;

  test("are put together from the root on", () => {
    const world = forward(body, { positions: [1, 0, 0, 0, 2, 0], rotations: [0, 0, half, half, half, 0, 0, half] });
    expect([...world.positions].map((x) => Math.round(x * 1e5) / 1e5)).toEqual([1, 0, 0, -1, 0, 0]);
    // A quarter about Z takes up to -X; a quarter about X, within that, takes the tip to +Z.
    expect([...world.points].map((x) => Math.round(x * 1e5) / 1e5 + 0)).toEqual([-1, 0, 1]);
  });

  test("meet half way at half the angle, the shorter way round", () => {
    const a = { positions: [0, 0, 0], rotations: [0, 0, 0, 1] };
    const b = { positions: [0, 2, 0], rotations: [-0, -half, -0, -half] };
    const middle = between(a, b, 0.5);
    expect(middle.positions[1]).toBe(1);
    expect(middle.rotations[1]!).toBeCloseTo(Math.sin(Math.PI / 8));
    expect(middle.rotations[3]!).toBeCloseTo(Math.cos(Math.PI / 8));
  });
});
