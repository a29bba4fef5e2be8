// What stands around the character of an exported page: its title, read-out, keys and the stick for thumbs.

import { render } from "preact";
import { THEMES, type ThemeName } from "../scene/theme";
import { isTyping, type Steering } from "../studio/steering";
import { Help, type HelpGroup } from "../ui/help";
import { Icon } from "../ui/icons";
import { offerStick, type Stick } from "../ui/stick";

export interface PageActions {
  pause(): void;
  restart(): void;
  recentre(): void;
  lock(): void;
  theme(name: ThemeName): void;
}

const HELP: HelpGroup[] = [
  { title: "Walk", keys: [[["W", "A", "S", "D"], "or arrow keys: where the camera looks"], [["Shift"], "run"], [["C"], "slowly"], [["Q", "E"], "turn, facing ahead"], [["X"], "keep the facing"]] },
  { title: "Time", keys: [[["Space"], "pause or play"], [["Home"], "back to the start"]] },
  { title: "View", keys: [[["drag"], "orbit"], [["Shift drag"], "pan"], [["wheel", "pinch"], "zoom"], [["V"], "reset the camera"], [["T"], "dark or light"]] },
  { title: "Gamepad", keys: [[["left stick"], "walk"], [["right trigger"], "run"], [["right stick"], "turn the camera"], [["left trigger"], "keep the facing"], [["A"], "pause"]] },
  { title: "Touch", keys: [[["stick"], "walk; run at its rim"], [["drag"], "orbit"], [["pinch"], "zoom"]] },
];

/** Seconds of steering after which nobody needs the hint. */
const HINT = 4;

export class Page {
  readonly stick: Stick;
  private readonly readout = document.createElement("span");
  private readonly hint = document.createElement("div");
  private readonly overlay = document.createElement("div");
  private steeredFor = 0;
  private open = false;

  constructor(private readonly element: HTMLElement, data: { title: string; subtitle: string }, readonly actions: PageActions) {
    const title = document.createElement("div");
    title.className = "title";
    const heading = document.createElement("h2");
    heading.textContent = data.title;
    const subtitle = document.createElement("div");
    subtitle.className = "muted";
    subtitle.textContent = data.subtitle;
    title.append(heading, subtitle);
    this.hint.className = "hint panel";
    this.hint.textContent = window.matchMedia("(pointer: coarse)").matches
      ? "stick walks, at its rim runs · drag orbits · pinch zooms"
      : "W A S D or arrow keys walk · Shift runs · drag orbits · gamepads work · H shows all keys";
    const corner = document.createElement("div");
    corner.className = "corner";
    this.readout.className = "readout";
    const buttons = document.createElement("span");
    render(
      <>
        <button title="Dark or light (T)" aria-label="Dark or light" onClick={() => this.turnTheme()}><Icon name="theme" /></button>
        <button title="Keys (H)" aria-label="Keys" onClick={() => this.showHelp(true)}><Icon name="help" /></button>
      </>,
      buttons,
    );
    corner.append(this.readout, buttons);
    element.append(title, corner, this.hint, this.overlay);
    this.stick = offerStick(element);
    window.addEventListener("keydown", (event) => this.press(event));
  }

  /** Says that somebody steers, for `dt` seconds more. */
  steered(dt: number): void {
    if (this.steeredFor < HINT && (this.steeredFor += dt) >= HINT) this.hint.classList.add("gone");
  }

  read(speed: number, milliseconds: number, hertz: number, steering: Steering): void {
    const also = [steering.strafeLock ? "facing kept" : "", steering.gamepad ?? ""].filter(Boolean).map((text) => ` · ${text}`).join("");
    this.readout.textContent = `${speed.toFixed(2)} m/s · ${milliseconds.toFixed(2)} ms a step · ${hertz.toFixed(0)} Hz${also}`;
  }

  private showHelp(open: boolean): void {
    this.open = open;
    render(open ? <Help groups={HELP} close={() => this.showHelp(false)} /> : null, this.overlay);
  }

  private turnTheme(): void {
    const name: ThemeName = this.element.dataset.theme === "dark" ? "light" : "dark";
    this.element.dataset.theme = name;
    document.body.style.background = THEMES[name].background;
    this.actions.theme(name);
  }

  private press(event: KeyboardEvent): void {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const { pause, restart, recentre, lock } = this.actions;
    const presses: Record<string, () => void> = {
      Space: pause, Home: restart, KeyV: recentre, KeyX: lock, KeyT: () => this.turnTheme(),
      KeyH: () => this.showHelp(!this.open), Slash: () => this.showHelp(!this.open), Escape: () => this.showHelp(false),
    };
    const press = presses[event.code] ?? (event.key === "?" ? presses.KeyH : undefined);
    if (!press) return;
    event.preventDefault();
    press();
  }
}
