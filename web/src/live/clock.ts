// Steps of one length out of frames of any: what is simulated does not depend on how often it is drawn.

/** A longer frame than this is a page that was hidden: its time is not made up for. */
const LONGEST = 0.25;
/** Share of a frame that steps may take. What does not fit is dropped: time then passes slower, and frames still come. */
const SHARE = 0.6;

export class Clock {
  /** Between the last two steps: which share of the way from one to the other the present moment lies at. */
  share = 0;
  private owed = 0;

  /** @param step seconds. */
  constructor(readonly step: number) {}

  /** How many steps a frame of `seconds` asks for; `cost` is what a step takes, seconds. */
  advance(seconds: number, cost = 0): number {
    this.owed += Math.min(Math.max(seconds, 0), LONGEST);
    const most = cost > 0 ? Math.max(Math.floor((SHARE * Math.max(seconds, this.step)) / cost), 1) : Infinity;
    const due = Math.floor(this.owed / this.step + 1e-6);
    this.owed = Math.max(this.owed - due * this.step, 0);
    this.share = Math.min(this.owed / this.step, 1);
    return Math.min(due, most);
  }
}
