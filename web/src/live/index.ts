// A page with an exported controller in it: AmbuloLive.mount(element, data) plays the character, with no server.

import sharedStyle from "../ui/style.css?inline";
import liveStyle from "./live.css?inline";
import { makeBodyModel } from "../body/mannequin";
import type { SkeletonData } from "../body/skeleton";
import { CharacterView } from "../scene/character_view";
import { Stage } from "../scene/stage";
import { preferredTheme } from "../scene/theme";
import { Steering, gaitsFor } from "../studio/steering";
import { Character } from "./character";
import { decodeFloats, GraphRunner, type GraphData } from "./graph";

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
/** Steps that are made up for after a frame that came late. */
const MOST_STEPS = 4;

export interface Live {
  readonly steps: number;
  /** Milliseconds of the last steps, in the middle. */
  readonly stepMilliseconds: number;
  readonly framesPerSecond: number;
  readonly root: [number, number, number];
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
  const title = document.createElement("div");
  title.className = "title";
  const heading = document.createElement("h2");
  heading.textContent = data.title;
  const subtitle = document.createElement("div");
  subtitle.className = "muted";
  subtitle.textContent = data.subtitle;
  title.append(heading, subtitle);
  const hint = document.createElement("div");
  hint.className = "hint panel";
  hint.textContent = "W A S D or arrow keys walk · Shift runs · C slowly · Q E turn the facing · drag orbits · gamepads work";
  const readout = document.createElement("div");
  readout.className = "readout";
  element.replaceChildren(host, title, readout, hint);

  const theme = preferredTheme();
  element.dataset.theme = theme;
  const stage = new Stage(host, theme);
  stage.camera.yaw = 0.75;
  const steering = new Steering(stage.camera);
  steering.gaits = gaitsFor(data.top_speed);
  character.step([0, 0, 0], [0, 0, 0], STEP);
  const model = makeBodyModel(data.skeleton, { positions: character.positions.slice(), rotations: character.rotations.slice() });
  const view = new CharacterView(stage, data.skeleton, model, 0, TRAIL);
  const trail: number[] = [];

  let steps = 0, last = 0, owed = 0, pace = STEP, cost = 0, touched = false, shown = 0;
  window.addEventListener("keydown", () => (touched = true));
  const frame = (now: number) => {
    requestAnimationFrame(frame);
    const dt = Math.min((now - (last || now)) / 1000, 0.1);
    last = now;
    if (dt > 0) pace += 0.05 * (dt - pace);
    const wish = steering.update(dt);
    if (wish.velocity[0] || wish.velocity[1]) touched = true;
    // Until somebody steers, it walks a figure of its own.
    const [vx, vz] = touched ? wish.velocity : wander(steps * STEP, steering.gaits.walk);
    owed = Math.min(owed + dt, MOST_STEPS * STEP);
    while (owed >= STEP - 1e-4) {
      const began = performance.now();
      character.step([vx, 0, vz], [wish.facing[0], 0, wish.facing[1]], STEP);
      cost += 0.05 * (performance.now() - began - cost);
      owed -= STEP;
      steps++;
      trail.push(character.positions[0]!, 0, character.positions[2]!);
      if (trail.length > 3 * TRAIL) trail.splice(0, 3);
    }
    view.setPose(character.positions, character.rotations);
    view.setContacts(character.contacts[0]!, character.contacts[1]!);
    view.setPath(trail, trail.length / 3);
    view.update(dt);
    stage.render(dt, view.root);
    if (now - shown > 250) {
      shown = now;
      readout.textContent = `${character.speed.toFixed(2)} m/s · ${cost.toFixed(2)} ms a step · ${(1 / pace).toFixed(0)} Hz`;
    }
  };
  requestAnimationFrame(frame);
  return {
    get steps() { return steps; },
    get stepMilliseconds() { return cost; },
    get framesPerSecond() { return 1 / pace; },
    get root() { return [character.positions[0]!, character.positions[1]!, character.positions[2]!] as [number, number, number]; },
    run: (feeds) => Object.fromEntries(Object.entries(runner.run(feeds)).map(([name, values]) => [name, [...values]])),
  };
}

/** A way that begins at once and bends to and fro. */
function wander(time: number, speed: number): [number, number] {
  const angle = 1.2 * Math.sin(0.35 * time) + 0.25 * time;
  return [speed * Math.sin(angle), speed * Math.cos(angle)];
}
