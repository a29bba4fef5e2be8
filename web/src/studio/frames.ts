// Pose frames as the server sends them: see ambulo/studio/frames.py, which documents every word.

export const MAGIC = 0x31424d41;
const HEADER_WORDS = 16;

export interface PoseFrame {
  tick: number;
  oldest: number;
  newest: number;
  paused: boolean;
  transitioned: boolean;
  characters: number;
  joints: number;
  askedPoints: number;
  matchedPoints: number;
  databaseFrame: number;
  sequence: number;
  rate: number;
  stepMicroseconds: number;
  clipTime: number;
  clip: number;
  epoch: number;
  positions: Float32Array;
  rotations: Float32Array;
  contacts: Float32Array;
  desiredPositions: Float32Array;
  desiredDirections: Float32Array;
  matchedPositions: Float32Array;
  matchedDirections: Float32Array;
  desiredVelocity: Float32Array;
  velocity: Float32Array;
  simulationPosition: Float32Array;
}

/** Reads a frame; throws where the bytes are not one. The blocks are views on the buffer, not copies. */
export function readFrame(buffer: ArrayBuffer): PoseFrame {
  if (buffer.byteLength < 4 * HEADER_WORDS || buffer.byteLength % 4) throw new Error(`${buffer.byteLength} bytes are not a pose frame`);
  const view = new DataView(buffer);
  const word = (i: number) => view.getUint32(4 * i, true);
  const real = (i: number) => view.getFloat32(4 * i, true);
  if (word(0) !== MAGIC) throw new Error("not a pose frame: wrong magic number");
  const N = word(5), J = word(6), K = word(7), M = word(15);
  const expected = 4 * (HEADER_WORDS + N * (7 * J + 2 + 6 * K + 6 * M + 9));
  if (buffer.byteLength !== expected) throw new Error(`a pose frame of ${N} characters, ${J} joints, ${K} and ${M} points has ${expected} bytes, not ${buffer.byteLength}`);
  let at = 4 * HEADER_WORDS;
  const block = (count: number) => {
    const values = new Float32Array(buffer, at, N * count);
    at += 4 * N * count;
    return values;
  };
  return {
    tick: word(1), oldest: word(2), newest: word(3), paused: (word(4) & 1) !== 0, transitioned: (word(4) & 2) !== 0,
    characters: N, joints: J, askedPoints: K, matchedPoints: M, databaseFrame: view.getInt32(32, true), sequence: word(9), rate: real(10), stepMicroseconds: real(11),
    clipTime: real(12), clip: view.getInt32(52, true), epoch: word(14),
    positions: block(3 * J), rotations: block(4 * J), contacts: block(2),
    desiredPositions: block(3 * K), desiredDirections: block(3 * K), matchedPositions: block(3 * M), matchedDirections: block(3 * M),
    desiredVelocity: block(3), velocity: block(3), simulationPosition: block(3),
  };
}

interface Moment {
  readonly positions: Float32Array;
  readonly rotations: Float32Array;
}

/** The pose between two others: positions by line, rotations by normalised quaternion sum. */
export function blendPose(a: Moment, b: Moment, share: number, positions: Float32Array, rotations: Float32Array): void {
  for (let i = 0; i < positions.length; i++) positions[i] = a.positions[i]! + share * (b.positions[i]! - a.positions[i]!);
  for (let i = 0; i < rotations.length; i += 4) {
    let dot = 0, length = 0;
    for (let k = 0; k < 4; k++) dot += a.rotations[i + k]! * b.rotations[i + k]!;
    const sign = dot < 0 ? -1 : 1;
    for (let k = 0; k < 4; k++) {
      const value = (1 - share) * a.rotations[i + k]! + share * sign * b.rotations[i + k]!;
      rotations[i + k] = value;
      length += value * value;
    }
    length = Math.sqrt(length) || 1;
    for (let k = 0; k < 4; k++) rotations[i + k]! /= length;
  }
}
