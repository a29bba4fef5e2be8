// The painter without WebGL: its numbers are those of three.js, and what lies nearer is what is seen.

import { PerspectiveCamera, Quaternion, Vector3 } from "three";
import { beforeAll, describe, expect, test } from "vitest";
import { makeBodyModel, Mannequin } from "../src/body/mannequin";
import { Lights } from "../src/scene/lights";
import { Samples } from "../src/scene/soft/samples";
import { Skinned } from "../src/scene/soft/skinned";
import { NEAR, ViewMatrix } from "../src/scene/soft/view_matrix";
import { THEMES } from "../src/scene/theme";
import { person } from "./figures";

const WIDTH = 400, HEIGHT = 300;

function camera(): PerspectiveCamera {
  const made = new PerspectiveCamera(38, WIDTH / HEIGHT, 0.05, 200);
  made.position.set(3, 2, 3);
  made.lookAt(0, 0.9, 0);
  made.setViewOffset(WIDTH, HEIGHT, 40, 10, WIDTH, HEIGHT);
  made.updateMatrixWorld();
  return made;
}

function view(): ViewMatrix {
  const made = new ViewMatrix();
  made.set(camera(), WIDTH, HEIGHT);
  return made;
}

/** A path that remembers its corners. */
function recorder() {
  const points: [number, number][] = [];
  const note = (x: number, y: number) => void points.push([x, y]);
  return { points, path: { moveTo: note, lineTo: note } as unknown as CanvasPath };
}

const pixelOf = (x: number, y: number, z: number) => {
  const at = new Vector3(x, y, z).project(camera());
  return [((at.x + 1) / 2) * WIDTH, ((1 - at.y) / 2) * HEIGHT] as const;
};

describe("the view", () => {
  test("puts polygons where three.js would", () => {
    const { points, path } = recorder();
    const corners = [0, 0, 1, 0, 1, 1.5, -0.5, 1];
    view().groundPolygon(path, corners, 4);
    expect(points.length).toBe(4);
    points.forEach(([x, y], i) => {
      const [wantedX, wantedY] = pixelOf(corners[2 * i]!, 0, corners[2 * i + 1]!);
      expect(x).toBeCloseTo(wantedX, 3);
      expect(y).toBeCloseTo(wantedY, 3);
    });
    expect(view().groundRow(0.5, -2)).toBeCloseTo(pixelOf(0.5, 0, -2)[1], 3);
  });

  test("cuts what reaches behind the camera", () => {
    const made = view(), { points, path } = recorder();
    made.groundPolygon(path, [0, -1, 40, 40, -1, 0], 3);
    expect(points.length).toBe(4);
    for (const [x, y] of points) expect(Number.isFinite(x) && Number.isFinite(y)).toBe(true);
    const behind = recorder();
    made.groundPolygon(behind.path, [30, 30, 31, 30, 30, 31], 3);
    made.groundLine(behind.path, 30, 30, 31, 31);
    expect(behind.points).toEqual([]);
    expect(Number.isNaN(made.groundRow(30, 30))).toBe(true);
  });

  test("keeps lines inside the canvas", () => {
    for (let i = -10; i <= 10; i++) {
      const { points, path } = recorder();
      view().groundLine(path, -30, i, 30, i);
      for (const [x, y] of points) {
        expect(x).toBeGreaterThanOrEqual(-1e-6);
        expect(x).toBeLessThanOrEqual(WIDTH + 1e-6);
        expect(y).toBeGreaterThanOrEqual(-1e-6);
        expect(y).toBeLessThanOrEqual(HEIGHT + 1e-6);
      }
    }
  });
});

describe("a body", () => {
  const { skeleton, pose } = person();
  let body: Mannequin, skin: Skinned;

  beforeAll(() => {
    body = new Mannequin(makeBodyModel(skeleton, pose, true), { shell: "#ffffff", joints: "#202020", trim: "#ff8000" });
    const rotations = pose.rotations.slice();
    const bent = new Quaternion().setFromAxisAngle(new Vector3(1, 0, 0), -0.9);
    bent.toArray(rotations, 4 * skeleton.roles.left_lower_leg!);
    body.setPose(pose.positions, rotations);
    skin = new Skinned(body.mesh);
    skin.pose();
  });

  test("is skinned as three.js does it", () => {
    const at = new Vector3(), rest = body.mesh.geometry.attributes.position!;
    let worst = 0;
    for (let v = 0; v < skin.count; v += 7) {
      at.fromBufferAttribute(rest, v);
      body.mesh.applyBoneTransform(v, at);
      worst = Math.max(worst, at.distanceTo(new Vector3().fromArray(skin.positions, 3 * v)));
    }
    expect(worst).toBeLessThan(0.01);
  });

  test("is coarser than the one for graphics cards, and of the same size", () => {
    const fine = makeBodyModel(skeleton, pose).geometry;
    fine.computeBoundingBox();
    const coarse = body.mesh.geometry;
    coarse.computeBoundingBox();
    expect(coarse.index!.count).toBeLessThan(0.65 * fine.index!.count);
    expect(coarse.boundingBox!.max.distanceTo(fine.boundingBox!.max)).toBeLessThan(0.02);
    expect(coarse.boundingBox!.min.distanceTo(fine.boundingBox!.min)).toBeLessThan(0.02);
  });

  test("covers its joints, and little beside them", () => {
    const made = view(), samples = new Samples();
    const lights = new Lights();
    lights.setTheme(THEMES.dark);
    lights.setYaw(0.7);
    skin.shade(lights, camera().position);
    const placed = new Float32Array(3 * skin.count);
    for (let v = 0; v < skin.count; v++) {
      const [x, y, z] = skin.positions.subarray(3 * v, 3 * v + 3) as unknown as [number, number, number];
      const depth = made.w[0]! * x + made.w[1]! * y + made.w[2]! * z + made.w[3]!;
      expect(depth).toBeGreaterThan(NEAR);
      placed[3 * v] = (made.x[0]! * x + made.x[1]! * y + made.x[2]! * z + made.x[3]!) / depth;
      placed[3 * v + 1] = (made.y[0]! * x + made.y[1]! * y + made.y[2]! * z + made.y[3]!) / depth;
      placed[3 * v + 2] = 1 / depth;
    }
    samples.clear(WIDTH, HEIGHT);
    samples.drawMesh(skin, placed, new Float32Array([200, 200, 200, 255, 128, 0, 30, 30, 30]));
    const pixels = new Uint32Array(WIDTH * HEIGHT);
    samples.resolve(1, pixels);
    for (const role of ["head", "chest", "hips", "left_forearm", "right_lower_leg", "right_foot"]) {
      const j = skeleton.roles[role]!;
      const [x, y] = pixelOf(pose.positions[3 * j]!, pose.positions[3 * j + 1]!, pose.positions[3 * j + 2]!);
      expect(pixels[Math.floor(y) * WIDTH + Math.floor(x)]! >>> 24, role).toBe(255);
    }
    const covered = pixels.reduce((count, pixel) => count + (pixel >>> 31), 0);
    expect(covered).toBeGreaterThan(2000);
    expect(covered).toBeLessThan(9000);
    expect(samples.triangles).toBeGreaterThan(1000);
  });
});

describe("samples", () => {
  const flat = (indices: number[], light: number[]) =>
    ({ indices, panels: new Float32Array(light.length).fill(-1), light: Float32Array.from(light.flatMap((value) => [value, value, value])) }) as unknown as Skinned;
  const white = new Float32Array(9).fill(255);

  test("show what is nearer, in whatever order it is drawn, and nothing from behind", () => {
    for (const indices of [[0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]]) {
      const samples = new Samples(), pixels = new Uint32Array(64);
      samples.clear(8, 8);
      samples.drawMesh(flat(indices, [1, 1, 1, 0.5, 0.5, 0.5]), Float32Array.from([0, 0, 2, 0, 20, 2, 20, 0, 2, 0, 0, 1, 0, 20, 1, 20, 0, 1]), white);
      samples.resolve(1, pixels);
      expect([...new Set(pixels)]).toEqual([0xffffffff]);
    }
    const samples = new Samples(), pixels = new Uint32Array(64);
    samples.clear(8, 8);
    samples.drawMesh(flat([0, 1, 2], [1, 1, 1]), Float32Array.from([0, 0, 1, 20, 0, 1, 0, 20, 1]), white);
    samples.resolve(1, pixels);
    expect(samples.triangles).toBe(0);
    expect([...new Set(pixels)]).toEqual([0]);
  });

  test("become pixels that are as opaque as they are covered", () => {
    const samples = new Samples(), pixels = new Uint32Array(16);
    samples.clear(8, 8);
    // Everything left of the middle of the second column of pixels.
    samples.drawMesh(flat([0, 1, 2, 0, 2, 3], [1, 1, 1, 1]), Float32Array.from([0, 0, 1, 0, 8, 1, 3, 8, 1, 3, 0, 1]), white);
    samples.resolve(2, pixels);
    expect([...pixels.slice(0, 4)].map((pixel) => pixel >>> 24)).toEqual([255, 128, 0, 0]);
    expect(pixels[1]! & 0xffffff).toBe(0xffffff);
  });
});
