// The player: a recorded show on a stage, with a timeline, speed, steps and layers.

import { render } from "preact";
import { useEffect, useReducer } from "preact/hooks";
import { makeBodyModel } from "../body/mannequin";
import { CharacterView, type Layers } from "../scene/character_view";
import { Ribbon } from "../scene/ground_marks";
import { Stage } from "../scene/stage";
import { preferredTheme, type ThemeName } from "../scene/theme";
import { Help, type HelpGroup } from "../ui/help";
import { Icon } from "../ui/icons";
import { Timeline, type Band } from "../ui/timeline";
import type { Show } from "./data";

export interface PlayerOptions {
  autoplay?: boolean;
  loop?: boolean;
  theme?: ThemeName;
}

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];
const TRAIL = 1800;
/** Milliseconds between two times that the read-outs and the timeline are drawn while it plays. */
const CHROME_INTERVAL = 60;

const HELP: HelpGroup[] = [
  { title: "Time", keys: [[["Space"], "play or pause"], [["←", "→"], "one frame back, on"], [["↓", "↑"], "slower, faster"], [["Home"], "to the start"]] },
  { title: "View", keys: [[["drag"], "orbit"], [["Shift drag"], "pan"], [["wheel"], "zoom"], [["F"], "follow or stay"], [["R"], "reset the camera"]] },
  { title: "Layers", keys: [[["1"], "asked trajectory"], [["2"], "matched trajectory"], [["3"], "path"], [["4"], "contacts"], [["5"], "body"]] },
];

const LAYER_NAMES: [keyof Layers, string, string][] = [
  ["desired", "asked", "--desired"], ["matched", "matched", "--accent"], ["path", "path", "--muted"], ["contacts", "contacts", "--left"], ["body", "body", "--text"],
];

export class Player {
  frame = 0;
  playing: boolean;
  speed = 1;
  help = false;
  readonly stage: Stage;
  readonly views: CharacterView[];
  private readonly askedPaths: Ribbon[] = [];
  private readonly chrome: HTMLElement;
  private changed: () => void = () => {};
  private last = 0;
  private toldAt = 0;
  private handle = 0;
  private visible = true;
  private readonly observer: IntersectionObserver;
  private readonly media = window.matchMedia("(prefers-color-scheme: light)");
  private readonly followMedia: () => void;

  constructor(private readonly element: HTMLElement, readonly show: Show, private readonly options: PlayerOptions) {
    this.playing = options.autoplay ?? false;
    element.classList.add("ambulo", "player");
    element.tabIndex = 0;
    const canvasHost = document.createElement("div");
    canvasHost.className = "view";
    this.chrome = document.createElement("div");
    element.append(canvasHost, this.chrome);
    const theme = options.theme ?? preferredTheme();
    this.stage = new Stage(canvasHost, theme);
    element.dataset.theme = theme;
    const model = makeBodyModel(show.skeleton, show.bind, this.stage.soft);
    this.views = show.tracks.map((_, i) => new CharacterView(this.stage, show.skeleton, model, i, TRAIL));
    for (const path of show.paths) {
      const count = path.points.length / 3;
      const points = path.closed ? new Float32Array([...path.points, ...path.points.slice(0, 3)]) : path.points;
      const ribbon = new Ribbon(count + 1, this.stage.theme.asked, 0.03, 0.0016, 0.45);
      ribbon.setPoints(points, points.length / 3);
      this.stage.scene.add(ribbon.mesh);
      this.askedPaths.push(ribbon);
    }
    this.stage.setInset(0, 86);
    this.placeCamera();
    this.apply();
    render(<Chrome player={this} subscribe={(changed) => (this.changed = changed)} />, this.chrome);
    element.addEventListener("keydown", this.key);
    this.followMedia = () => options.theme === undefined && this.setTheme(preferredTheme());
    this.media.addEventListener("change", this.followMedia);
    this.observer = new IntersectionObserver((entries) => (this.visible = entries.at(-1)!.isIntersecting));
    this.observer.observe(element);
    this.handle = requestAnimationFrame(this.tick);
  }

  get layers(): Layers {
    return this.views[0]!.layers;
  }

  toggle(layer: keyof Layers): void {
    for (const view of this.views) view.layers[layer] = !view.layers[layer];
    this.changed();
  }

  seek(frame: number): void {
    this.frame = Math.min(Math.max(frame, 0), this.show.frameCount - 1);
    this.apply();
    this.changed();
  }

  setPlaying(playing: boolean): void {
    if (playing && this.frame >= this.show.frameCount - 1) this.frame = 0;
    this.playing = playing;
    this.changed();
  }

  setSpeed(speed: number): void {
    this.speed = speed;
    this.changed();
  }

  setHelp(open: boolean): void {
    this.help = open;
    this.changed();
  }

  setFollow(follow: boolean): void {
    this.stage.camera.follow = follow;
    this.changed();
  }

  setTheme(theme: ThemeName): void {
    this.element.dataset.theme = theme;
    this.stage.setTheme(theme);
    for (const view of this.views) view.setTheme(this.stage.theme);
    for (const ribbon of this.askedPaths) ribbon.setColor(this.stage.theme.asked);
    this.changed();
  }

  dispose(): void {
    cancelAnimationFrame(this.handle);
    this.observer.disconnect();
    this.media.removeEventListener("change", this.followMedia);
    this.element.removeEventListener("keydown", this.key);
    render(null, this.chrome);
    for (const view of this.views) view.dispose();
    for (const ribbon of this.askedPaths) ribbon.dispose();
    this.stage.dispose();
    this.element.replaceChildren();
  }

  /** Looks at the character from behind and to the side, or from the front where it never moves. */
  private placeCamera(): void {
    const path = this.show.tracks[0]!.rootPath;
    const n = path.length - 3;
    const moved = Math.hypot(path[n]! - path[0]!, path[n + 2]! - path[2]!) > 0.3;
    this.stage.camera.yaw = moved ? 0.75 : 0.5;
  }

  private readonly tick = (now: number) => {
    this.handle = requestAnimationFrame(this.tick);
    const dt = Math.min((now - (this.last || now)) / 1000, 0.1);
    this.last = now;
    if (!this.visible) return;
    if (this.playing) {
      this.frame += dt * this.speed * this.show.rate;
      if (this.frame >= this.show.frameCount - 1) {
        if (this.options.loop ?? true) this.frame %= Math.max(this.show.frameCount - 1, 1);
        else {
          this.frame = this.show.frameCount - 1;
          this.playing = false;
        }
      }
      this.apply();
      if (now - this.toldAt > CHROME_INTERVAL || !this.playing) {
        this.toldAt = now;
        this.changed();
      }
    }
    for (const view of this.views) view.update(dt);
    this.stage.render(dt, this.views[0]!.root);
  };

  private readonly key = (event: KeyboardEvent) => {
    const index = SPEEDS.indexOf(this.speed);
    const actions: Record<string, () => void> = {
      " ": () => this.setPlaying(!this.playing),
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      ArrowDown: () => this.setSpeed(SPEEDS[Math.max(index - 1, 0)]!),
      ArrowUp: () => this.setSpeed(SPEEDS[Math.min(index + 1, SPEEDS.length - 1)]!),
      Home: () => this.seek(0),
      f: () => this.setFollow(!this.stage.camera.follow),
      r: () => this.stage.camera.recentre(),
      "?": () => this.setHelp(!this.help),
      Escape: () => this.setHelp(false),
    };
    LAYER_NAMES.forEach(([layer], i) => (actions[String(i + 1)] = () => this.toggle(layer)));
    const action = actions[event.key] ?? actions[event.key.toLowerCase()];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  };

  step(frames: number): void {
    this.playing = false;
    this.seek(Math.round(this.frame) + frames);
  }

  private apply(): void {
    const J = this.show.skeleton.names.length;
    this.show.tracks.forEach((track, i) => {
      const view = this.views[i]!;
      const t = Math.min(Math.round(this.frame), track.frameCount - 1);
      view.setPose(track.positions, track.rotations, 3 * J * t, 4 * J * t);
      view.setContacts(track.contacts?.[2 * t] ?? 0, track.contacts?.[2 * t + 1] ?? 0);
      const from = Math.max(t + 1 - TRAIL, 0);
      view.setPath(track.rootPath, t + 1 - from, 3 * from);
      for (const [trajectory, set] of [[track.desired, view.setDesired], [track.matched, view.setMatched]] as const) {
        if (trajectory) set.call(view, trajectory.positions, trajectory.directions, trajectory.count, 3 * trajectory.count * t, 3 * trajectory.count * t);
      }
    });
  }
}

function Chrome({ player, subscribe }: { player: Player; subscribe: (changed: () => void) => void }) {
  const [, refresh] = useReducer((n: number) => n + 1, 0);
  useEffect(() => subscribe(() => refresh(0)), []);
  const { show } = player;
  const t = Math.round(player.frame);
  const track = show.tracks[0]!;
  const clip = track.clips.find((range) => range.start <= t && t < range.stop);
  const bands: Band[] = [
    ...track.clips.map((range) => ({ start: range.start, stop: range.stop, label: range.name, row: 0 as const })),
    ...show.ranges.map((range) => ({ start: range.start, stop: range.stop, label: range.label, row: 1 as const })),
  ];
  const available = (layer: keyof Layers) =>
    layer === "desired" ? track.desired : layer === "matched" ? track.matched : layer === "contacts" ? track.contacts : true;
  return (
    <>
      <div class="title">
        <h2>{show.title}</h2>
        <div class="muted">{show.subtitle}</div>
      </div>
      <div class="readout">
        {track.speed && <div>{track.speed[t]!.toFixed(2)} m/s{track.desiredSpeed && <span class="muted"> of {track.desiredSpeed[t]!.toFixed(2)} asked</span>}</div>}
        {clip && <div class="muted small">{clip.name} {(clip.time + (t - clip.start) / show.rate).toFixed(2)} s</div>}
      </div>
      <div class="bar panel">
        <Timeline
          start={0} stop={show.frameCount - 1} playhead={player.frame} bands={bands} ticks={track.transitions} label="Frame"
          seek={(frame) => player.seek(frame)}
        />
        <div class="row controls">
          <button title="Play or pause (Space)" aria-label={player.playing ? "Pause" : "Play"} onClick={() => player.setPlaying(!player.playing)}>
            <Icon name={player.playing ? "pause" : "play"} />
          </button>
          <button title="One frame back (←)" aria-label="One frame back" onClick={() => player.step(-1)}><Icon name="back" /></button>
          <button title="One frame on (→)" aria-label="One frame on" onClick={() => player.step(1)}><Icon name="forward" /></button>
          <span class="clock">{(t / show.rate).toFixed(2)} <span class="muted">/ {((show.frameCount - 1) / show.rate).toFixed(2)} s</span></span>
          <button title="Speed (↓ ↑)" onClick={() => player.setSpeed(SPEEDS[(SPEEDS.indexOf(player.speed) + 1) % SPEEDS.length]!)}>{player.speed}×</button>
          <span class="grow" />
          {LAYER_NAMES.map(([layer, name, color]) => available(layer) && (
            <button key={layer} aria-pressed={player.layers[layer]} onClick={() => player.toggle(layer)}>
              <span class="dot" style={`background:var(${color});opacity:${player.layers[layer] ? 1 : 0.3}`} />{name}
            </button>
          ))}
          <button title="Follow the character (F)" aria-pressed={player.stage.camera.follow} onClick={() => player.setFollow(!player.stage.camera.follow)}>
            <Icon name="follow" />follow
          </button>
          <button title="Keys (?)" aria-label="Keys" onClick={() => player.setHelp(true)}><Icon name="help" /></button>
        </div>
      </div>
      {player.help && <Help groups={HELP} close={() => player.setHelp(false)} />}
    </>
  );
}
