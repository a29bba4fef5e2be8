// How well to draw, and when to draw less well: a ladder of qualities, and who climbs it.

export interface Quality {
  /** "gl" draws with WebGL, "soft" with this page's own code: without a graphics card that takes a third of the time. */
  painter: "gl" | "soft";
  /** Pixels drawn a CSS pixel, at most; never more than the screen has. */
  ratio: number;
  /** gl: smooth edges. soft: samples a pixel along each axis of the body. */
  antialias: boolean;
  /** Side of the shadow map in gl, 0 for a blot in its place; any other number than 0 is a true shadow in soft. */
  shadow: number;
}

export const LADDER: readonly Quality[] = [
  { painter: "gl", ratio: 2, antialias: true, shadow: 1024 },
  { painter: "gl", ratio: 1.25, antialias: true, shadow: 1024 },
  { painter: "gl", ratio: 1, antialias: false, shadow: 512 },
  { painter: "gl", ratio: 0.75, antialias: false, shadow: 0 },
  { painter: "soft", ratio: 1, antialias: true, shadow: 1 },
  { painter: "soft", ratio: 1, antialias: false, shadow: 1 },
  { painter: "soft", ratio: 0.75, antialias: false, shadow: 1 },
  { painter: "soft", ratio: 0.5, antialias: false, shadow: 0 },
];

export const FIRST_SOFT = LADDER.findIndex((quality) => quality.painter === "soft");

const TARGET = 1 / 60;
/** A frame is late when it took so many times its share; a screen of 60 Hz gives whole multiples of that share. */
const LATE = 1.35;
/** Frames that are judged together, and after how many seconds fewer do. */
const WINDOW = 40;
const WINDOW_SECONDS = 1.2;
const MANY_LATE = 0.2;
const FEW_LATE = 0.05;
/** Windows in a row before a step down. */
const PATIENCE = 2;
/** Windows without trouble before a step up is tried; doubled each time that a try fails. */
const FIRST_WAIT = 6;
const LONGEST_WAIT = 384;
/** Frames after a step that are not judged, and for how many seconds at most: what is new has to be made. */
const SETTLING = 12;
const SETTLING_SECONDS = 0.6;
/** Where frames take so many times their share, two steps are taken at once, after one window. */
const FAR_TOO_SLOW = 4;
/** A longer gap says that the page was hidden, not that it is slow. */
const PAUSE = 0.9;

/**
 * Steps down a ladder where frames come late for a while, and up again where they have not for long. Steps that do not
 * help are taken back (a screen of 30 Hz, a battery saver), and steps up that fail are tried ever more seldom.
 */
export class Pacer {
  private frames = 0;
  private late = 0;
  private seconds = 0;
  private skip = SETTLING;
  private bad = 0;
  private good = 0;
  private wait = FIRST_WAIT;
  /** The level that a step up came from, while it is on trial. */
  private tried = -1;
  /** Mean interval and level before the steps down that go on now. */
  private before: { level: number; interval: number } | null = null;
  /** Frames come late whatever is drawn: so many good windows are waited for before anything is changed. */
  private resigned = 0;

  /** @param level where to begin; @param top the best level that may ever be reached; @param last the worst. */
  constructor(public level: number, readonly top = 0, readonly last = LADDER.length - 1) {}

  /** Counts a frame that came `dt` seconds after the one before. Returns whether the level has changed. */
  frame(dt: number): boolean {
    if (dt > PAUSE || dt <= 0) {
      this.restart(SETTLING);
      return false;
    }
    this.seconds += dt;
    if (this.skip > 0) {
      if (--this.skip === 0 || this.seconds > SETTLING_SECONDS) this.restart(0);
      return false;
    }
    this.frames++;
    if (dt > LATE * TARGET) this.late++;
    if (this.frames < WINDOW && this.seconds < WINDOW_SECONDS) return false;
    const share = this.late / this.frames, interval = this.seconds / this.frames;
    this.restart(0);
    return this.judge(share, interval);
  }

  private judge(share: number, interval: number): boolean {
    if (share > MANY_LATE) {
      this.good = 0;
      if (this.resigned > 0) {
        this.resigned--;
        return false;
      }
      const clear = this.tried >= 0 || interval > FAR_TOO_SLOW * TARGET;
      if (++this.bad < (clear ? 1 : PATIENCE)) return false;
      return this.down(interval);
    }
    this.bad = 0;
    if (share > FEW_LATE) {
      this.good = 0;
      return false;
    }
    this.before = null;
    this.resigned = 0;
    this.good++;
    if (this.tried >= 0 && this.good >= PATIENCE) {
      // The better level holds.
      this.tried = -1;
    }
    if (this.good < this.wait || this.level <= this.top) return false;
    this.tried = this.level;
    return this.go(this.level - 1);
  }

  private down(interval: number): boolean {
    if (this.tried >= 0) {
      const back = this.tried;
      this.tried = -1;
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
      return this.go(back);
    }
    this.before ??= { level: this.level, interval };
    if (this.level >= this.last) {
      const { level, interval: first } = this.before;
      this.before = null;
      this.bad = 0;
      this.resigned = LONGEST_WAIT / 4;
      // As slow at the bottom as at the top: it is not the drawing.
      return interval > 0.9 * first && level < this.level ? this.go(level) : false;
    }
    return this.go(Math.min(this.level + (interval > FAR_TOO_SLOW * TARGET ? 2 : 1), this.last));
  }

  private go(level: number): boolean {
    this.level = level;
    this.good = this.bad = 0;
    this.restart(SETTLING);
    return true;
  }

  private restart(skip: number): void {
    this.frames = this.late = this.seconds = 0;
    this.skip = skip;
  }
}
