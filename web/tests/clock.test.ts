import { describe, expect, test } from "vitest";
import { Clock } from "../src/live/clock";

const STEP = 1 / 60;

describe("the clock", () => {
  test.each([7.5, 24, 30, 59.94, 60, 75, 120, 144, 240])("takes sixty steps a second when drawn at %f Hz", (rate) => {
    const clock = new Clock(STEP);
    let steps = 0;
    for (let i = 0; i < 10 * rate; i++) steps += clock.advance(1 / rate);
    expect(Math.abs(steps - 600)).toBeLessThanOrEqual(1);
  });

  test("says where between two steps the moment lies, so that what is shown goes on evenly", () => {
    const clock = new Clock(STEP);
    let steps = 0, time = 0;
    for (let i = 0; i < 500; i++) {
      const dt = (0.6 + 0.8 * ((i * 0.618) % 1)) / 100;
      time += dt;
      steps += clock.advance(dt);
      expect((steps + clock.share) * STEP).toBeCloseTo(time, 6);
      expect(clock.share).toBeGreaterThanOrEqual(0);
      expect(clock.share).toBeLessThanOrEqual(1);
    }
  });

  test("never asks for more steps than fit: frames do not grow longer and longer", () => {
    const clock = new Clock(STEP);
    const cost = 0.03; // a step takes longer than the time that it stands for
    let frame = STEP, longest = 0;
    for (let i = 0; i < 600; i++) {
      frame = 0.01 + cost * clock.advance(frame, cost);
      longest = Math.max(longest, frame);
    }
    expect(longest).toBeLessThan(0.1);
  });

  test("makes up for slow drawing where steps are cheap, and not for a page that was hidden", () => {
    const clock = new Clock(STEP);
    expect(clock.advance(0.2, 0.002)).toBe(12);
    expect(clock.advance(3600, 0.002)).toBeLessThanOrEqual(15);
    expect(clock.advance(STEP, 0.002)).toBeLessThanOrEqual(2);
    expect(clock.advance(-1)).toBe(0);
  });
});
