import { describe, expect, test } from "vitest";
import { readShow, unpack, type PackedArray, type PlayerData } from "../src/player/data";

function pack(values: number[], shape: number[], dtype: PackedArray["dtype"] = "float32", scale?: number): PackedArray {
  const array = dtype === "float32" ? new Float32Array(values) : dtype === "int16" ? new Int16Array(values) : new Uint8Array(values);
  const packed: PackedArray = { dtype, shape, data: btoa(String.fromCharCode(...new Uint8Array(array.buffer))) };
  if (scale !== undefined) packed.scale = scale;
  return packed;
}

function show(change: (data: PlayerData) => void = () => {}): PlayerData {
  const T = 3;
  const data: PlayerData = {
    format: "ambulo-player", version: 1, rate: 60,
    skeleton: { names: ["root", "tip"], parents: [-1, 0], roles: {}, offsets: [[0, 0, 0], [0, 1, 0]] },
    characters: [{
      name: "one",
      positions: pack(Array.from({ length: T * 6 }, (_, i) => i), [T, 2, 3]),
      rotations: pack(Array.from({ length: T * 8 }, (_, i) => (i % 4 === 3 ? 1 : 0)), [T, 2, 4]),
    }],
  };
  change(data);
  return data;
}

describe("unpack", () => {
  test("reads each type, scaled", () => {
    expect([...unpack(pack([1.5, -2], [2]), "x", [2])]).toEqual([1.5, -2]);
    expect([...unpack(pack([100, -200], [2], "int16", 0.5), "x", [-1])]).toEqual([50, -100]);
    expect([...unpack(pack([1, 0, 255], [3], "uint8"), "x", [3])]).toEqual([1, 0, 255]);
  });

  test.each([
    ["another shape", pack([1, 2], [2]), "shape"],
    ["too few bytes", { ...pack([1, 2], [2]), shape: [3] }, "do not fill"],
    ["another type", { ...pack([1, 2], [2]), dtype: "float64" as "float32" }, "dtype"],
    ["nothing", undefined, "not a packed array"],
  ])("refuses %s and names the key", (_, packed, complaint) => {
    expect(() => unpack(packed, "characters[0].positions", [packed?.shape?.[0] === 3 ? 3 : 7])).toThrow(/characters\[0\]\.positions/);
    expect(() => unpack(packed, "key", [packed?.shape?.[0] === 3 ? 3 : 7])).toThrow(complaint);
  });
});

describe("readShow", () => {
  test("fills in what is optional", () => {
    const read = readShow(show());
    expect(read.frameCount).toBe(3);
    expect([...read.bind.positions]).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...read.tracks[0]!.rootPath]).toEqual([0, 1, 2, 6, 7, 8, 12, 13, 14]);
    expect(read.tracks[0]!.contacts).toBeNull();
  });

  test.each<[string, (data: PlayerData) => void]>([
    ["format", (data) => ((data as { format: string }).format = "other")],
    ["version", (data) => ((data as { version: number }).version = 2)],
    ["rate", (data) => (data.rate = 0)],
    ["characters", (data) => (data.characters = [])],
    ["skeleton.parents[1]", (data) => (data.skeleton.parents[1] = 1)],
    ["skeleton.roles.head", (data) => (data.skeleton.roles.head = 9)],
    ["skeleton", (data) => data.skeleton.names.push("third")],
    ["characters[0].rotations", (data) => (data.characters[0]!.rotations = pack([0, 0, 0, 1], [1, 1, 4]))],
    ["characters[0].contacts", (data) => (data.characters[0]!.contacts = pack([1], [1, 1], "uint8"))],
    ["bind", (data) => (data.bind = { positions: [[0, 0, 0]], rotations: [[0, 0, 0, 1]] })],
  ])("refuses a wrong %s and says so", (key, change) => {
    expect(() => readShow(show(change))).toThrow(key);
  });
});
