import { Quaternion, Vector3 } from "three";
import { describe, expect, test } from "vitest";
import { bodyScale, makeBody } from "../src/body/anatomy";
import { makeBindPose } from "../src/body/bind";
import { makeBodyModel } from "../src/body/mannequin";
import { bodyDistance, melt, shapeDistance, type Shape } from "../src/body/shapes";
import { isBelow } from "../src/body/skeleton";
import { makeSkin } from "../src/body/skin";
import { makeSurface } from "../src/body/surface";
import { person, snake } from "./figures";

const CELL = 0.017;

function cone(a: Vector3, b: Vector3, radiusA: number, radiusB: number): Shape {
  return { joint: 0, region: "trunk", a, b, radiusA, radiusB };
}

describe("shapes", () => {
  test("a ball's distance is exact", () => {
    const ball = cone(new Vector3(1, 2, 3), new Vector3(1, 2, 3), 0.5, 0.5);
    expect(shapeDistance(ball, 1, 2, 5)).toBeCloseTo(1.5, 6);
    expect(shapeDistance(ball, 1, 2, 3)).toBeCloseTo(-0.5, 6);
  });

  test("a capsule's distance is exact beside and beyond it", () => {
    const capsule = cone(new Vector3(0, 0, 0), new Vector3(0, 2, 0), 0.3, 0.3);
    expect(shapeDistance(capsule, 1, 1, 0)).toBeCloseTo(0.7, 6);
    expect(shapeDistance(capsule, 0, 3, 0)).toBeCloseTo(0.7, 6);
    expect(shapeDistance(capsule, 0, -1, 0)).toBeCloseTo(0.7, 6);
  });

  test("a rounded cone is the hull of its balls: the nearest of many balls between them", () => {
    const shape = cone(new Vector3(0, 0, 0), new Vector3(0.3, 1, -0.2), 0.4, 0.15);
    for (const [x, y, z] of [[0.9, 0.4, 0.1], [-0.5, 0.9, 0.3], [0, -0.8, 0], [0.4, 1.6, -0.3], [0.1, 0.5, -0.1]] as const) {
      let nearest = Infinity;
      for (let i = 0; i <= 20000; i++) {
        const t = i / 20000;
        nearest = Math.min(nearest, Math.hypot(x - 0.3 * t, y - t, z + 0.2 * t) - (0.4 - 0.25 * t));
      }
      expect(shapeDistance(shape, x, y, z)).toBeCloseTo(nearest, 4);
    }
  });

  test("melting never raises a distance and leaves far ones alone", () => {
    expect(melt(1, 3, 0.5)).toBe(1);
    expect(melt(1, 1, 0.5)).toBeCloseTo(1 - 0.125, 6);
    for (let d = -0.6; d <= 0.6; d += 0.05) expect(melt(1, 1 + d, 0.5)).toBeLessThanOrEqual(Math.min(1, 1 + d) + 1e-9);
  });
});

describe("bind pose", () => {
  test.each([0, 0.7, 2.5, -1.9])("faces +Z from wherever the pose faced (turned by %f)", (angle) => {
    const { skeleton, pose } = person();
    const turn = new Quaternion().setFromAxisAngle(new Vector3(0, 1, 0), angle);
    skeleton.names.forEach((_, j) => {
      new Vector3().fromArray(pose.positions, 3 * j).applyQuaternion(turn).add(new Vector3(5, 0, -3)).toArray(pose.positions, 3 * j);
      turn.clone().multiply(new Quaternion().fromArray(pose.rotations, 4 * j)).toArray(pose.rotations, 4 * j);
    });
    const bind = makeBindPose(skeleton, pose);
    const left = bind.positions[skeleton.roles.left_upper_leg!]!.clone().sub(bind.positions[skeleton.roles.right_upper_leg!]!);
    expect(left.x).toBeGreaterThan(0.17);
    expect(Math.abs(left.z)).toBeLessThan(1e-4);
    expect(bind.positions[skeleton.roles.left_toe!]!.z).toBeGreaterThan(bind.positions[skeleton.roles.left_foot!]!.z + 0.1);
  });

  test("keeps every bone's length", () => {
    const { skeleton, pose } = person();
    const bind = makeBindPose(skeleton, pose);
    skeleton.parents.forEach((parent, j) => {
      if (parent < 0) return;
      const before = Math.hypot(...[0, 1, 2].map((k) => pose.positions[3 * j + k]! - pose.positions[3 * parent + k]!));
      expect(bind.positions[j]!.distanceTo(bind.positions[parent]!)).toBeCloseTo(before, 4);
    });
  });

  test("spreads the arms away from the body", () => {
    const { skeleton, pose } = person();
    const bind = makeBindPose(skeleton, pose);
    expect(bind.positions[skeleton.roles.left_hand!]!.x).toBeGreaterThan(0.4);
    expect(bind.positions[skeleton.roles.right_hand!]!.x).toBeLessThan(-0.4);
  });
});

describe.each([["a person", person], ["a skeleton without roles", snake]])("the body of %s", (_, make) => {
  const { skeleton, pose } = make();
  const bind = makeBindPose(skeleton, pose);
  const scale = bodyScale(skeleton, bind);
  const body = makeBody(skeleton, bind);
  const surface = makeSurface(body, CELL * scale);

  test("is one closed surface: every edge borders exactly two triangles, in opposite directions", () => {
    const edges = new Map<string, number>();
    const { indices } = surface;
    for (let i = 0; i < indices.length; i += 3) {
      for (let k = 0; k < 3; k++) {
        const key = `${indices[i + k]}>${indices[i + ((k + 1) % 3)]}`;
        edges.set(key, (edges.get(key) ?? 0) + 1);
      }
    }
    expect(edges.size).toBeGreaterThan(500);
    for (const [key, count] of edges) {
      const [a, b] = key.split(">");
      expect(count).toBe(edges.get(`${b}>${a}`));
    }
  });

  test("lies on the shapes and looks outwards", () => {
    for (let v = 0; v < surface.positions.length; v += 30) {
      const [x, y, z] = surface.positions.subarray(v, v + 3) as unknown as [number, number, number];
      const [nx, ny, nz] = surface.normals.subarray(v, v + 3) as unknown as [number, number, number];
      expect(Math.abs(bodyDistance(body, x, y, z))).toBeLessThan(CELL * scale);
      expect(bodyDistance(body, x + 0.03 * nx, y + 0.03 * ny, z + 0.03 * nz)).toBeGreaterThan(bodyDistance(body, x, y, z));
      expect(Math.hypot(nx, ny, nz)).toBeCloseTo(1, 4);
    }
  });

  test("is carried by joints with weights that add up", () => {
    const skin = makeSkin(skeleton, body, surface, 0.026 * scale);
    for (let v = 0; v < surface.positions.length / 3; v++) {
      const weights = skin.weights.subarray(4 * v, 4 * v + 4);
      expect(weights.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 4);
      for (let k = 0; k < 4; k++) expect(skin.joints[4 * v + k]).toBeLessThan(skeleton.names.length);
    }
  });
});

test("no limb pulls at another", () => {
  const { skeleton, pose } = person();
  const bind = makeBindPose(skeleton, pose);
  const scale = bodyScale(skeleton, bind);
  const body = makeBody(skeleton, bind);
  const surface = makeSurface(body, CELL * scale);
  const skin = makeSkin(skeleton, body, surface, 0.026 * scale);
  const limbs = ["left_lower_leg", "right_lower_leg", "left_forearm", "right_forearm"].map((role) => skeleton.roles[role]!);
  for (let v = 0; v < surface.positions.length / 3; v++) {
    const touching = limbs.filter((limb) => [0, 1, 2, 3].some((k) => skin.weights[4 * v + k]! > 0.01 && isBelow(skeleton, skin.joints[4 * v + k]!, limb)));
    expect(touching.length).toBeLessThanOrEqual(1);
  }
});

test("a person is as tall and as broad as a person", () => {
  const { skeleton, pose } = person();
  const { geometry } = makeBodyModel(skeleton, pose);
  geometry.computeBoundingBox();
  const { min, max } = geometry.boundingBox!;
  expect(max.y - min.y).toBeGreaterThan(1.65);
  expect(max.y - min.y).toBeLessThan(1.9);
  expect(max.z - min.z).toBeLessThan(0.45);
  expect(geometry.index!.count / 3).toBeLessThan(30000);
});

test("what lies between parts of the body is darker than what looks out", () => {
  const { skeleton, pose } = person();
  const { geometry } = makeBodyModel(skeleton, pose, true);
  const { position, occlusion } = geometry.attributes;
  const open = [...(occlusion!.array as Float32Array)];
  expect(Math.min(...open)).toBeGreaterThanOrEqual(0.35 - 1e-6);
  expect(Math.max(...open)).toBeLessThanOrEqual(1);
  const at = new Vector3();
  const mean = (inside: (p: Vector3) => boolean) => {
    const chosen = open.filter((_, v) => inside(at.fromBufferAttribute(position!, v)));
    expect(chosen.length).toBeGreaterThan(5);
    return chosen.reduce((sum, value) => sum + value, 0) / chosen.length;
  };
  geometry.computeBoundingBox();
  const crown = geometry.boundingBox!.max.y;
  const top = mean((p) => p.y > crown - 0.05);
  const thighs = mean((p) => Math.abs(p.x) < 0.04 && p.y > 0.72 && p.y < 0.83 && Math.abs(p.z) < 0.05);
  expect(top).toBeGreaterThan(0.9);
  expect(thighs).toBeLessThan(0.75 * top);
});
