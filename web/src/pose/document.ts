// What is posed: pins now, and keys on the timeline. Plain values; every edit makes a new one, so that undoing is keeping.

export type Place = [number, number, number];
export type Pins = Readonly<Record<string, Place>>;

export interface Key {
  readonly time: number;
  readonly pins: Pins;
}

export interface PoseDocument {
  /** What is pinned at the playhead. */
  readonly pins: Pins;
  readonly floor: boolean;
  /** Sorted by time, no two at one. */
  readonly keys: readonly Key[];
  /** Seconds. */
  readonly time: number;
  /** The pins are shown although the playhead stands between keys: they were changed there and are no key yet. */
  readonly free: boolean;
}

/** Times are whole frames of this rate. */
export const RATE = 30;
export const LONGEST = 120;

export const toFrame = (time: number) => Math.min(Math.max(Math.round(time * RATE) / RATE, 0), LONGEST);
const same = (a: number, b: number) => Math.abs(a - b) < 0.5 / RATE;
const sorted = (keys: Key[]) => keys.sort((a, b) => a.time - b.time);

export function keyAt(doc: PoseDocument, time = doc.time): Key | undefined {
  return doc.keys.find((key) => same(key.time, time));
}

/** Other pins; a key under the playhead takes them at once. */
export function withPins(doc: PoseDocument, pins: Pins): PoseDocument {
  const key = keyAt(doc);
  const keys = key ? doc.keys.map((one) => (one === key ? { ...one, pins } : one)) : doc.keys;
  return { ...doc, pins, keys, free: !key };
}

export function pin(doc: PoseDocument, name: string, place: Place): PoseDocument {
  return withPins(doc, { ...doc.pins, [name]: place });
}

/** Without a pin; the last one stays, since a body that nothing holds could be anywhere. */
export function unpin(doc: PoseDocument, name: string): PoseDocument {
  const { [name]: _gone, ...rest } = doc.pins;
  return Object.keys(rest).length ? withPins(doc, rest) : doc;
}

/** The pins of the mirrored body, turned over at a plane through x. */
export function mirrored(pins: Pins, partner: Readonly<Record<string, string>>, x: number): Pins {
  return Object.fromEntries(Object.entries(pins).map(([name, place]) => [partner[name] ?? name, [2 * x - place[0], place[1], place[2]] as Place]));
}

export function putKey(doc: PoseDocument): PoseDocument {
  const others = doc.keys.filter((key) => !same(key.time, doc.time));
  return { ...doc, keys: sorted([...others, { time: doc.time, pins: doc.pins }]), free: false };
}

export function removeKey(doc: PoseDocument, time = doc.time): PoseDocument {
  return { ...doc, keys: doc.keys.filter((key) => !same(key.time, time)), free: true };
}

/** A key at another time; nothing happens where another one is. The playhead goes along. */
export function moveKey(doc: PoseDocument, from: number, to: number): PoseDocument {
  const time = toFrame(to);
  if (same(from, time) || keyAt(doc, time)) return doc;
  const keys = sorted(doc.keys.map((key) => (same(key.time, from) ? { ...key, time } : key)));
  return { ...doc, keys, time, pins: keys.find((key) => same(key.time, time))?.pins ?? doc.pins, free: false };
}

/** The keys before and after a time, and the part of the way between them. */
export function between(keys: readonly Key[], time: number): { before: Key; after: Key; share: number } | null {
  const first = keys[0], last = keys[keys.length - 1];
  if (!first || !last) return null;
  const next = keys.findIndex((key) => key.time > time + 1e-9);
  if (next === 0) return { before: first, after: first, share: 0 };
  if (next < 0) return { before: last, after: last, share: 0 };
  const before = keys[next - 1]!, after = keys[next]!;
  return { before, after, share: (time - before.time) / (after.time - before.time) };
}

/** Text to copy: what `ambulo pose --points` reads. */
export function toText(pins: Pins): string {
  return JSON.stringify(pins);
}

/** Pins out of copied text; null where it is something else. */
export function fromText(text: string, names: ReadonlySet<string>): Pins | null {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return null;
  const entries = Object.entries(raw as Record<string, unknown>);
  const fits = ([name, place]: [string, unknown]) =>
    names.has(name) && Array.isArray(place) && place.length === 3 && place.every((x) => typeof x === "number" && Math.abs(x) <= 20);
  return entries.length > 0 && entries.every(fits) ? (Object.fromEntries(entries) as Pins) : null;
}

const DEEPEST = 200;

/** Documents that were, and that were undone. */
export class History {
  private past: PoseDocument[] = [];
  private future: PoseDocument[] = [];

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  /** Keeps what was before an edit. */
  keep(before: PoseDocument): void {
    this.past.push(before);
    if (this.past.length > DEEPEST) this.past.shift();
    this.future = [];
  }

  undo(now: PoseDocument): PoseDocument {
    const before = this.past.pop();
    if (!before) return now;
    this.future.push(now);
    return before;
  }

  redo(now: PoseDocument): PoseDocument {
    const after = this.future.pop();
    if (!after) return now;
    this.past.push(now);
    return after;
  }
}
