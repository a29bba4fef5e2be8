// What the panels show, as signals. The scene itself does not go through here: sixty frames a second need no diffing.

import { signal } from "@preact/signals";
import type { Choice, Hello, Problem, Rebuild, Stats, Status, Training } from "../messages";
import { ALL_LAYERS, type Layers } from "../scene/character_view";
import { preferredTheme, type ThemeName } from "../scene/theme";

export interface Readout {
  tick: number;
  oldest: number;
  newest: number;
  clip: string;
  clipTime: number;
  speed: number;
  askedSpeed: number;
  latency: number | null;
  drawnHz: number;
}

export const hello = signal<Hello | null>(null);
export const status = signal<Status | null>(null);
export const choice = signal<Choice | null>(null);
export const stats = signal<Stats | null>(null);
export const problem = signal<Problem | null>(null);
/** What became of the last change to the project's files; null once it was read. */
export const rebuild = signal<Rebuild | null>(null);
export const training = signal<Training | null>(null);
export const connected = signal(false);
export const readout = signal<Readout | null>(null);
export const theme = signal<ThemeName>(preferredTheme());
export const layers = signal<Layers>({ ...ALL_LAYERS });
export const follow = signal(true);
export const strafeLock = signal(false);
export const gamepad = signal<string | null>(null);
export const helpOpen = signal(false);
export const panelsOpen = signal(window.innerWidth > 900);

/** Colours of the feature groups: one each, in the order of the schema, told apart on dark and light ground. */
const GROUP_COLORS = ["#4fa8e8", "#39c2b0", "#8c7ae6", "#d66fb8", "#e8a13c", "#5cc46e", "#e5705f", "#b8b04a", "#7c93ad", "#c58a5a"];

export function groupColor(name: string): string {
  const index = hello.value?.groups.findIndex((group) => group.name === name) ?? 0;
  return GROUP_COLORS[Math.max(index, 0) % GROUP_COLORS.length]!;
}
