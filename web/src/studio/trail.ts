// What the page remembers of the last seconds: where the root was, which clip played, where the playhead jumped. It mirrors
// the server's ring of moments, tick by tick.

import type { Band } from "../ui/timeline";
import type { PoseFrame } from "./frames";

export class Trail {
  private readonly points: Float32Array;
  private readonly clips: Int32Array;
  private readonly ticks: Float64Array;
  private readonly jumps: Uint8Array;
  private readonly line: Float32Array;

  constructor(readonly capacity: number) {
    this.points = new Float32Array(3 * capacity);
    this.clips = new Int32Array(capacity);
    this.ticks = new Float64Array(capacity).fill(-1);
    this.jumps = new Uint8Array(capacity);
    this.line = new Float32Array(3 * capacity);
  }

  clear(): void {
    this.ticks.fill(-1);
  }

  add(frame: PoseFrame): void {
    const i = frame.tick % this.capacity;
    this.points.set(frame.positions.subarray(0, 3), 3 * i);
    this.clips[i] = frame.clip;
    this.jumps[i] = frame.transitioned ? 1 : 0;
    this.ticks[i] = frame.tick;
  }

  /** The path walked up to a tick: an array of points and how many of it count. */
  path(oldest: number, tick: number): [Float32Array, number] {
    let count = 0;
    for (let t = Math.max(oldest, tick - this.capacity + 1); t <= tick; t++) {
      const i = t % this.capacity;
      if (this.ticks[i] !== t) continue;
      this.line[3 * count] = this.points[3 * i]!;
      this.line[3 * count + 1] = this.points[3 * i + 1]!;
      this.line[3 * count++ + 2] = this.points[3 * i + 2]!;
    }
    return [this.line, count];
  }

  /** Clips played and jumps made between two ticks, for the timeline. */
  bands(oldest: number, newest: number, nameOf: (clip: number) => string): { bands: Band[]; jumps: number[] } {
    const bands: Band[] = [];
    const jumps: number[] = [];
    let open: { start: number; clip: number } | null = null;
    const close = (stop: number) => {
      if (open) bands.push({ start: open.start, stop, label: nameOf(open.clip), row: 0 });
      open = null;
    };
    for (let t = oldest; t <= newest; t++) {
      const i = t % this.capacity;
      // Frames that a slow page skipped leave gaps; what played before is taken to have gone on.
      if (this.ticks[i] !== t) continue;
      if (this.jumps[i]) jumps.push(t);
      const playing = open as { start: number; clip: number } | null;
      if (playing?.clip !== this.clips[i]) {
        close(t);
        open = { start: t, clip: this.clips[i]! };
      }
    }
    close(newest + 1);
    return { bands, jumps };
  }
}
