import { describe, expect, test } from "vitest";
import { isSoftware } from "../src/scene/graphics";
import { FIRST_SOFT, LADDER, Pacer } from "../src/scene/quality";

/** Draws for so many seconds where a frame of a level takes `cost(level)` seconds on a screen of 60 Hz. Returns every level it was at. */
function draw(pacer: Pacer, seconds: number, cost: (level: number) => number, screen = 1 / 60): number[] {
  const levels = [pacer.level];
  for (let time = 0; time < seconds; ) {
    const dt = Math.max(Math.ceil(cost(pacer.level) / screen - 1e-6), 1) * screen;
    time += dt;
    if (pacer.frame(dt)) levels.push(pacer.level);
  }
  return levels;
}

describe("the ladder", () => {
  test("goes from better to cheaper, and ends with the painter that needs no graphics card", () => {
    const ratios = (painter: string) => LADDER.filter((quality) => quality.painter === painter).map((quality) => quality.ratio);
    for (const painter of ["gl", "soft"]) expect(ratios(painter)).toEqual([...ratios(painter)].sort((a, b) => b - a));
    expect(LADDER.findIndex((quality) => quality.painter === "soft")).toBe(FIRST_SOFT);
    expect(LADDER.slice(FIRST_SOFT).every((quality) => quality.painter === "soft")).toBe(true);
  });
});

describe("the pacer", () => {
  test("stays at the best level while frames come in time", () => {
    expect(draw(new Pacer(0), 120, () => 0.004)).toEqual([0]);
  });

  test("steps down one by one until frames come in time, and not for a single hitch", () => {
    const pacer = new Pacer(0);
    expect(draw(pacer, 8, (level) => (level < 2 ? 0.025 : 0.01))).toEqual([0, 1, 2]);
    for (let i = 0; i < 40; i++) pacer.frame(i === 20 ? 0.2 : 1 / 60);
    expect(pacer.level).toBe(2);
  });

  test("is quick where drawing takes far too long", () => {
    const pacer = new Pacer(0);
    draw(pacer, 6, (level) => (level < FIRST_SOFT ? 0.35 : 0.01));
    expect(pacer.level).toBe(FIRST_SOFT);
  });

  test("steps up again when the trouble is over", () => {
    const pacer = new Pacer(0);
    draw(pacer, 5, () => 0.05);
    expect(pacer.level).toBeGreaterThan(0);
    draw(pacer, 60, () => 0.005);
    expect(pacer.level).toBe(0);
  });

  test("tries a level that is too much ever more seldom", () => {
    const tries = (from: number, to: number) => {
      const pacer = new Pacer(0);
      draw(pacer, from, (level) => (level < 1 ? 0.03 : 0.01));
      return draw(pacer, to - from, (level) => (level < 1 ? 0.03 : 0.01)).filter((level) => level === 0).length;
    };
    expect(tries(5, 65)).toBeGreaterThan(0);
    expect(tries(305, 365)).toBeLessThan(tries(5, 65));
  });

  test("gives up where nothing helps, and goes back to where it began", () => {
    const pacer = new Pacer(0);
    const levels = draw(pacer, 60, () => 0.005, 1 / 30);
    expect(levels.at(-1)).toBe(0);
    expect(levels.length).toBe(LADDER.length + 1);
  });

  test("keeps within its bounds, and does not count the time that a page was hidden", () => {
    const pacer = new Pacer(FIRST_SOFT, FIRST_SOFT);
    draw(pacer, 30, (level) => (level < LADDER.length - 1 ? 0.1 : 0.05));
    expect(pacer.level).toBe(LADDER.length - 1);
    draw(pacer, 300, () => 0.001);
    expect(pacer.level).toBe(FIRST_SOFT);
    for (let i = 0; i < 500; i++) pacer.frame(2);
    expect(pacer.level).toBe(FIRST_SOFT);
  });
});

test("drawing by the processor is told by its name", () => {
  for (const name of ["ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero) (0x0000C0DE)), SwiftShader driver)", "llvmpipe (LLVM 15.0.6, 256 bits)", "Microsoft Basic Render Driver", "Apple Software Renderer"]) {
    expect(isSoftware(name)).toBe(true);
  }
  for (const name of ["ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 Direct3D11 vs_5_0 ps_5_0, D3D11)", "Apple GPU", "Adreno (TM) 640", "Mali-G78", "Mesa Intel(R) UHD Graphics 620 (KBL GT2)"]) {
    expect(isSoftware(name)).toBe(false);
  }
});
