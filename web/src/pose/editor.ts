// All that can be done to a pose. Edits are documents; this asks for the poses that they need and shows them.

import { batch } from "@preact/signals";
import type { Posed } from "../messages";
import * as edit from "./document";
import type { Pins, Place, PoseDocument } from "./document";
import { between, forward, type LocalPose } from "./forward";
import type { Link } from "./link";
import * as store from "./store";

export class Editor {
  private readonly history = new edit.History();
  /** The document before a drag that is not over. */
  private held: PoseDocument | null = null;
  private request = 0;
  /** The newest request that was answered: what comes later than its successor is not shown. */
  private answered = 0;

  constructor(private readonly link: Link) {}

  /** Begins anew with the body that was told; a document that was edited survives a lost connection. */
  start(): void {
    const now = store.doc.value;
    if (Object.keys(now.pins).length === 0) this.show({ ...now, pins: this.startPins() });
    else this.show(now);
  }

  // --- pins ------------------------------------------------------------------------------------------------------------

  placeOf(name: string): Place {
    const pin = store.doc.value.pins[name];
    if (pin && store.posed.value) return [...pin];
    const index = store.hello.value!.points.findIndex((point) => point.name === name);
    return Array.from(store.shown.value!.points.subarray(3 * index, 3 * index + 3)) as Place;
  }

  /** While a point is dragged; `drop` ends it, and it is undone as one. */
  drag(name: string, place: Place): void {
    this.held ??= store.doc.value;
    this.show(edit.pin(this.settled(), name, place));
  }

  drop(): void {
    if (this.held) this.keep(this.held);
    this.held = null;
  }

  /** Pins a point where it is, or lets it go. */
  toggle(name: string): void {
    const now = this.settled();
    this.change(now.pins[name] ? edit.unpin(now, name) : edit.pin(now, name, this.placeOf(name)));
  }

  mirror(): void {
    const points = store.hello.value!.points;
    const partner = Object.fromEntries(points.map((point) => [point.name, points[point.mirrored]!.name]));
    const now = this.settled();
    this.change(edit.withPins(now, edit.mirrored(now.pins, partner, this.placeOf("hips")[0])));
  }

  copy(): void {
    store.copied.value = this.settled().pins;
    // Also for other programs; a browser that does not allow it takes nothing away.
    void navigator.clipboard?.writeText(edit.toText(store.copied.value)).catch(() => {});
  }

  paste(text?: string): void {
    const names = new Set(store.hello.value!.points.map((point) => point.name));
    const pins = (text && edit.fromText(text, names)) || store.copied.value;
    if (pins) this.change(edit.withPins(this.settled(), pins));
  }

  reset(): void {
    this.change(edit.withPins(store.doc.value, this.startPins()));
  }

  floor(): void {
    this.change({ ...store.doc.value, floor: !store.doc.value.floor });
  }

  // --- time ------------------------------------------------------------------------------------------------------------

  seek(time: number): void {
    const now = store.doc.value;
    const at = edit.toFrame(time);
    const key = edit.keyAt(now, at);
    this.show({ ...now, time: at, pins: key?.pins ?? now.pins, free: now.keys.length === 0 });
  }

  putKey(): void {
    this.change(edit.putKey(this.settled()));
  }

  removeKey(): void {
    if (edit.keyAt(store.doc.value)) this.change(edit.removeKey(store.doc.value));
  }

  moveKey(from: number, to: number): void {
    this.held ??= store.doc.value;
    this.show(edit.moveKey(store.doc.value, from, to));
  }

  undo(): void {
    this.show(this.history.undo(store.doc.value));
  }

  redo(): void {
    this.show(this.history.redo(store.doc.value));
  }

  play(): void {
    const { keys, time } = store.doc.value;
    if (store.playing.value !== null) {
      const at = store.playing.value;
      store.playing.value = null;
      this.seek(at);
    } else if (keys.length > 1) {
      for (const key of keys) this.link.ask(key.pins, store.doc.value.floor, () => {}, false);
      const last = keys[keys.length - 1]!.time;
      store.playing.value = time >= last - 1e-6 || time < keys[0]!.time ? keys[0]!.time : time;
    }
  }

  /** Once a drawn frame: goes on where keys are played, from the last to the first. */
  advance(dt: number): void {
    if (store.playing.value === null) return;
    const { keys } = store.doc.value;
    const first = keys[0]?.time ?? 0, last = keys[keys.length - 1]?.time ?? 0;
    let time = store.playing.value + dt;
    if (time > last) time = first + ((time - first) % Math.max(last - first, 1e-6));
    const pose = this.interpolated(time);
    batch(() => {
      store.playing.value = time;
      if (pose) store.shown.value = forward(store.hello.value!, pose);
      store.posed.value = null;
    });
  }

  /** The keys (or the one pose, where there are none) as a file. */
  async save(format: "bvh" | "glb"): Promise<void> {
    const { keys, pins, floor } = store.doc.value;
    const body = { keys: keys.length ? keys : [{ time: 0, pins }], format, floor, rate: edit.RATE };
    try {
      const answer = await fetch("/pose/save", { method: "POST", body: JSON.stringify(body) });
      if (!answer.ok) {
        const told = (await answer.json()) as { message: string; remedy: string | null };
        store.problem.value = { type: "problem", ...told };
        return;
      }
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await answer.blob());
      link.download = `pose.${format}`;
      link.click();
      window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } catch {
      store.problem.value = { type: "problem", message: "The file could not be made.", remedy: "Is the studio still running?" };
    }
  }

  // --- inside ----------------------------------------------------------------------------------------------------------

  private startPins(): Pins {
    return store.hello.value!.start as unknown as Pins;
  }

  /** The document with pins that hold what is seen: between two keys, those of either, where the body is now. */
  private settled(): PoseDocument {
    const now = store.doc.value;
    if (now.free || edit.keyAt(now)) return now;
    const near = edit.between(now.keys, now.time);
    if (!near) return now;
    const names = Object.keys({ ...near.before.pins, ...near.after.pins });
    return { ...now, pins: Object.fromEntries(names.map((name) => [name, this.placeOf(name)])), free: true };
  }

  private change(after: PoseDocument): void {
    const before = store.doc.value;
    if (after === before) return;
    this.show(after);
    this.keep(before);
  }

  private keep(before: PoseDocument): void {
    this.history.keep(before);
    this.tellHistory();
  }

  private tellHistory(): void {
    store.canUndo.value = this.history.canUndo;
    store.canRedo.value = this.history.canRedo;
  }

  private show(doc: PoseDocument): void {
    store.playing.value = null;
    store.doc.value = doc;
    this.tellHistory();
    const mine = ++this.request;
    if (doc.free || edit.keyAt(doc)) {
      this.link.ask(doc.pins, doc.floor, (posed) => this.put(posed, mine));
      return;
    }
    const near = edit.between(doc.keys, doc.time);
    if (!near) return;
    const put = () => {
      const pose = mine === this.request ? this.interpolated(doc.time) : null;
      if (pose) this.answered = mine;
      if (pose) batch(() => ((store.shown.value = forward(store.hello.value!, pose)), (store.posed.value = null)));
    };
    for (const key of new Set([near.before, near.after])) this.link.ask(key.pins, doc.floor, put, false);
  }

  private put(posed: Posed, request: number): void {
    if (store.playing.value !== null || request < this.answered) return;
    this.answered = request;
    batch(() => {
      store.posed.value = posed;
      store.shown.value = forward(store.hello.value!, posed);
    });
  }

  private interpolated(time: number): LocalPose | null {
    const { keys, floor } = store.doc.value;
    const near = edit.between(keys, time);
    const a = near && this.link.recall(near.before.pins, floor), b = near && this.link.recall(near.after.pins, floor);
    return near && a && b ? between(a, b, near.share) : null;
  }
}
