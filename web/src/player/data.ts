// The player's data: what export/page.py writes, checked and unpacked. web/README.md documents the format.

import type { GlobalPose, SkeletonData } from "../body/skeleton";

/** An array as base64, little endian, C order; a value is `stored * scale`. */
export interface PackedArray {
  dtype: "float32" | "int16" | "uint8";
  shape: number[];
  data: string;
  scale?: number;
}

export interface PackedTrajectory {
  positions: PackedArray;
  directions: PackedArray;
}

export interface PlayerCharacter {
  name: string;
  positions: PackedArray;
  rotations: PackedArray;
  contacts?: PackedArray;
  root_path?: PackedArray;
  desired_trajectory?: PackedTrajectory;
  matched_trajectory?: PackedTrajectory;
  desired_speed?: PackedArray;
  speed?: PackedArray;
  transitions?: number[];
  clips?: { start: number; stop: number; name: string; time: number }[];
}

export interface PlayerData {
  format: "ambulo-player";
  version: 1;
  title?: string;
  subtitle?: string;
  rate: number;
  skeleton: SkeletonData;
  characters: PlayerCharacter[];
  paths?: { name: string; points: PackedArray; closed?: boolean }[];
  ranges?: { start: number; stop: number; label: string }[];
  bind?: { positions: number[][]; rotations: number[][] };
}

export interface Trajectory {
  positions: Float32Array;
  directions: Float32Array;
  count: number;
}

export interface Track {
  name: string;
  frameCount: number;
  positions: Float32Array;
  rotations: Float32Array;
  contacts: Float32Array | null;
  rootPath: Float32Array;
  desired: Trajectory | null;
  matched: Trajectory | null;
  desiredSpeed: Float32Array | null;
  speed: Float32Array | null;
  transitions: number[];
  clips: { start: number; stop: number; name: string; time: number }[];
}

export interface Show {
  title: string;
  subtitle: string;
  rate: number;
  frameCount: number;
  skeleton: SkeletonData;
  bind: GlobalPose;
  tracks: Track[];
  paths: { name: string; points: Float32Array; closed: boolean }[];
  ranges: { start: number; stop: number; label: string }[];
}

const BYTES = { float32: 4, int16: 2, uint8: 1 };

/** Unpacks an array and checks its shape; `shape` has -1 where any length will do. */
export function unpack(packed: PackedArray | undefined, key: string, shape: number[]): Float32Array {
  if (!packed || typeof packed.data !== "string" || !Array.isArray(packed.shape)) throw new Error(`${key}: not a packed array`);
  if (!(packed.dtype in BYTES)) throw new Error(`${key}: dtype ${JSON.stringify(packed.dtype)} is not one of float32, int16, uint8`);
  const right = packed.shape.length === shape.length && packed.shape.every((n, i) => shape[i] === -1 || n === shape[i]);
  if (!right) throw new Error(`${key}: shape [${packed.shape}] should be [${shape.map((n) => (n < 0 ? "any" : n))}]`);
  const text = atob(packed.data);
  const count = packed.shape.reduce((a, b) => a * b, 1);
  if (text.length !== count * BYTES[packed.dtype]) {
    throw new Error(`${key}: ${text.length} bytes do not fill ${packed.dtype} [${packed.shape}]`);
  }
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const out = new Float32Array(count);
  const scale = packed.scale ?? 1;
  for (let i = 0; i < count; i++) {
    const raw = packed.dtype === "float32" ? view.getFloat32(4 * i, true) : packed.dtype === "int16" ? view.getInt16(2 * i, true) : bytes[i]!;
    out[i] = raw * scale;
  }
  return out;
}

/** Checks and unpacks a whole show. Throws an Error that names the key at fault. */
export function readShow(data: PlayerData): Show {
  if (data?.format !== "ambulo-player") throw new Error('format: not "ambulo-player"');
  if (data.version !== 1) throw new Error(`version: ${String(data.version)} is not 1, the only one that this player reads`);
  const { skeleton, rate } = data;
  const J = skeleton?.names?.length ?? 0;
  if (!J || skeleton.parents?.length !== J || skeleton.offsets?.length !== J) {
    throw new Error("skeleton: names, parents and offsets must have one entry a joint");
  }
  skeleton.parents.forEach((parent, joint) => {
    if (!(Number.isInteger(parent) && parent >= -1 && parent < joint)) throw new Error(`skeleton.parents[${joint}]: ${parent} does not come before its child`);
  });
  for (const [role, joint] of Object.entries(skeleton.roles ?? {})) {
    if (!(Number.isInteger(joint) && joint >= 0 && joint < J)) throw new Error(`skeleton.roles.${role}: joint ${joint} does not exist`);
  }
  if (!(rate > 0)) throw new Error(`rate: ${rate} frames a second is not possible`);
  if (!data.characters?.length) throw new Error("characters: there is none");
  const tracks = data.characters.map((character, i) => readTrack(character, `characters[${i}]`, J));
  const bind = data.bind
    ? { positions: new Float32Array(data.bind.positions.flat()), rotations: new Float32Array(data.bind.rotations.flat()) }
    : { positions: tracks[0]!.positions.slice(0, 3 * J), rotations: tracks[0]!.rotations.slice(0, 4 * J) };
  if (bind.positions.length !== 3 * J || bind.rotations.length !== 4 * J) throw new Error("bind: one position and rotation a joint");
  return {
    title: data.title ?? "", subtitle: data.subtitle ?? "", rate, skeleton: { ...skeleton, roles: skeleton.roles ?? {} }, bind, tracks,
    frameCount: Math.max(...tracks.map((track) => track.frameCount)),
    paths: (data.paths ?? []).map((path, i) => ({ name: path.name, closed: path.closed ?? false, points: unpack(path.points, `paths[${i}].points`, [-1, 3]) })),
    ranges: data.ranges ?? [],
  };
}

function readTrack(character: PlayerCharacter, key: string, J: number): Track {
  const positions = unpack(character.positions, `${key}.positions`, [-1, J, 3]);
  const T = positions.length / (3 * J);
  if (T < 1) throw new Error(`${key}.positions: no frames`);
  const rotations = unpack(character.rotations, `${key}.rotations`, [T, J, 4]);
  const optional = (packed: PackedArray | undefined, name: string, shape: number[]) => (packed ? unpack(packed, `${key}.${name}`, shape) : null);
  const trajectory = (packed: PackedTrajectory | undefined, name: string): Trajectory | null => {
    if (!packed) return null;
    const p = unpack(packed.positions, `${key}.${name}.positions`, [T, -1, 3]);
    return { positions: p, directions: unpack(packed.directions, `${key}.${name}.directions`, packed.positions.shape), count: p.length / (3 * T) };
  };
  let rootPath = optional(character.root_path, "root_path", [T, 3]);
  if (!rootPath) {
    rootPath = new Float32Array(3 * T);
    for (let t = 0; t < T; t++) rootPath.set(positions.subarray(3 * J * t, 3 * J * t + 3), 3 * t);
  }
  return {
    name: character.name, frameCount: T, positions, rotations, rootPath,
    contacts: optional(character.contacts, "contacts", [T, 2]),
    desired: trajectory(character.desired_trajectory, "desired_trajectory"),
    matched: trajectory(character.matched_trajectory, "matched_trajectory"),
    desiredSpeed: optional(character.desired_speed, "desired_speed", [T]),
    speed: optional(character.speed, "speed", [T]),
    transitions: character.transitions ?? [],
    clips: character.clips ?? [],
  };
}
