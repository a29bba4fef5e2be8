// A page with an exported controller in it: AmbuloLive.mount(element, data) plays the character, with no server.

import sharedStyle from "../ui/style.css?inline";
import liveStyle from "./live.css?inline";
import { makeBodyModel } from "../body/mannequin";
import type { SkeletonData } from "../body/skeleton";
import { CharacterView } from "../scene/character_view";
import { Stage } from "../scene/stage";
import { preferredTheme } from "../scene/theme";
import { blendPose } from "../studio/frames";
import { Steering, gaitsFor } from "../studio/steering";
import { Character } from "./character";
import { Clock } from "./clock";
import { decodeFloats, GraphRunner, type GraphData } from "./graph";
import { Page } from "./page";

export { GraphRunner, decodeFloats };

export interface LiveData {
  format: "ambulo-live";
  version: 1;
  title: string;
  subtitle: string;
  rate: number;
  top_speed: number;
  skeleton: SkeletonData;
  state: number[];
  graph: GraphData;
  weights: string;
}

const STEP = 1 / 60;
const TRAIL = 900;
/** Milliseconds between two times that the read-out is written. */
const READOUT_INTERVAL = 250;

export interface Live {
  readonly steps: number;
  /** Milliseconds of the last steps, in the middle. */
  readonly stepMilliseconds: number;
  readonly framesPerSecond: number;
  readonly root: [number, number, number];
  /** Velocity that is asked for now, metres a second. */
  readonly asked: [number, number, number];
  readonly paused: boolean;
  /** How well it is drawn: a step of the ladder in scene/quality.ts, 0 the best. */
  readonly level: number;
  readonly triangles: number;
  run(feeds: Record<string, ArrayLike<number>>): Record<string, number[]>;
}

/** Shows the character inside `element`. Throws, and says so inside the element, where the data cannot be run. */
export function mount(element: HTMLElement, data: LiveData): Live {
  const style = document.createElement("style");
  style.textContent = sharedStyle + liveStyle;
  document.head.append(style);
  element.classList.add("ambulo", "live");
  try {
    return start(element, data);
  } catch (error) {
    const box = document.createElement("div");
    box.className = "failure";
    box.textContent = `This character cannot be played: ${error instanceof Error ? error.message : String(error)}`;
    element.replaceChildren(box);
    throw error;
  }
}

function start(element: HTMLElement, data: LiveData): Live {
  if (data.format !== "ambulo-live" || data.version !== 1) throw new Error("format: not an ambulo-live page of version 1");
  const runner = new GraphRunner(data.graph, decodeFloats(data.weights));
  const character = new Character(runner, data.skeleton, data.state);
  const host = document.createElement("div");
  host.className = "view";
  element.replaceChildren(host);
  const theme = preferredTheme();
  element.dataset.theme = theme;
  const stage = new Stage(host, theme);
  stage.camera.yaw = 0.75;
  const steering = new Steering(stage.camera);
  steering.gaits = gaitsFor(data.top_speed);
  character.restart();
  const pose = () => ({ positions: character.positions.slice(), rotations: character.rotations.slice() });
  const model = makeBodyModel(data.skeleton, pose(), stage.soft);
  const view = new CharacterView(stage, data.skeleton, model, 0, TRAIL);
  // The two last steps, and what lies between them and is shown.
  const before = pose(), shown = pose();
  const trail = new Float32Array(3 * TRAIL);
  let trailLength = 0;

  const page = new Page(element, data, {
    pause: () => (paused = !paused),
    restart: () => {
      character.restart();
      before.positions.set(character.positions);
      before.rotations.set(character.rotations);
      trailLength = 0;
    },
    recentre: () => stage.camera.recentre(),
    lock: () => steering.setLock(!steering.strafeLock),
    theme: (name) => {
      stage.setTheme(name);
      view.setTheme(stage.theme);
    },
  });
  steering.stick = page.stick.value;
  steering.onButton = (button) => {
    if (button === 0) page.actions.pause();
    else if (button === 1) page.actions.recentre();
    else if (button === 3) page.actions.lock();
  };

  const clock = new Clock(STEP);
  const velocity = [0, 0, 0], facing = [0, 0, 0];
  let steps = 0, last = 0, pace = STEP, cost = 0, touched = false, readAt = 0, paused = false;
  const step = () => {
    before.positions.set(character.positions);
    before.rotations.set(character.rotations);
    const began = performance.now();
    character.step(velocity, facing, STEP);
    cost += 0.05 * (performance.now() - began - cost);
    steps++;
    if (trailLength === TRAIL) trail.copyWithin(0, 3);
    else trailLength++;
    trail[3 * trailLength - 3] = character.positions[0]!;
    trail[3 * trailLength - 1] = character.positions[2]!;
  };
  const frame = (now: number) => {
    requestAnimationFrame(frame);
    const dt = Math.max((now - (last || now)) / 1000, 0);
    last = now;
    if (dt > 0) pace += 0.05 * (Math.min(dt, 0.5) - pace);
    const wish = steering.update(Math.min(dt, 0.1));
    if (wish.velocity[0] || wish.velocity[1] || wish.facing[0] || wish.facing[1]) touched = true;
    if (touched) page.steered(dt);
    // Until somebody steers, it walks a figure of its own.
    const [vx, vz] = touched ? wish.velocity : wander(steps * STEP, steering.gaits.walk);
    [velocity[0], velocity[2], facing[0], facing[2]] = [vx, vz, wish.facing[0], wish.facing[1]];
    if (!paused) for (let n = clock.advance(dt, cost / 1000); n > 0; n--) step();
    blendPose(before, character, clock.share, shown.positions, shown.rotations);
    view.setPose(shown.positions, shown.rotations);
    view.setContacts(character.contacts[0]!, character.contacts[1]!);
    view.setPath(trail, trailLength);
    view.update(Math.min(dt, 0.1));
    stage.render(dt, view.root);
    if (now - readAt > READOUT_INTERVAL) {
      readAt = now;
      page.read(character.speed, cost, 1 / pace, steering);
    }
  };
  requestAnimationFrame(frame);
  return {
    get steps() { return steps; },
    get stepMilliseconds() { return cost; },
    get framesPerSecond() { return 1 / pace; },
    get root() { return [character.positions[0]!, character.positions[1]!, character.positions[2]!] as [number, number, number]; },
    get asked() { return [velocity[0]!, 0, velocity[2]!] as [number, number, number]; },
    get paused() { return paused; },
    get level() { return stage.level; },
    get triangles() { return stage.triangles; },
    run: (feeds) => Object.fromEntries(Object.entries(runner.run(feeds)).map(([name, values]) => [name, [...values]])),
  };
}

/** A way that begins at once and bends to and fro. */
function wander(time: number, speed: number): [number, number] {
  const angle = 1.2 * Math.sin(0.35 * time) + 0.25 * time;
  return [speed * Math.sin(angle), speed * Math.cos(angle)];
}
