// What a user can do beside steering. One table serves the buttons, the keys and the help overlay.

import type { ClientMessage } from "../messages";
import type { Layers } from "../scene/character_view";
import * as store from "./store";

export const RATES = [0.05, 0.1, 0.25, 0.5, 1];

export interface Actions {
  pause(): void;
  step(frames: number): void;
  rate(change: -1 | 1): void;
  rewind(tick: number): void;
  restart(): void;
  saveInput(): void;
  weights(weights: Record<string, number>): void;
  tags(required: string[]): void;
  controller(name: string): void;
  project(name: string): void;
  train(preset: string, resume: boolean): void;
  stopTraining(): void;
  layer(layer: keyof Layers): void;
  follow(): void;
  recentre(): void;
  lock(): void;
  theme(): void;
  help(): void;
  panels(): void;
}

export const LAYERS: [keyof Layers, string, string][] = [
  ["desired", "asked", "--desired"], ["matched", "matched", "--accent"], ["path", "path", "--muted"], ["contacts", "contacts", "--left"], ["body", "body", "--text"],
];

export function makeActions(send: (message: ClientMessage) => void, view: { recentre(): void; setFollow(on: boolean): void; setLock(on: boolean): void }): Actions {
  return {
    pause: () => send({ type: "pause", paused: !store.status.value?.paused }),
    step: (frames) => send({ type: "step", frames }),
    rate: (change) => {
      const now = store.status.value?.rate ?? 1;
      let index = RATES.findIndex((rate) => Math.abs(rate - now) < 1e-6);
      if (index < 0) index = RATES.length - 1;
      const rate = RATES[Math.min(Math.max(index + change, 0), RATES.length - 1)]!;
      // Taken for granted at once: the next press may come before the server's answer.
      if (store.status.value) store.status.value = { ...store.status.value, rate };
      send({ type: "rate", rate });
    },
    rewind: (tick) => send({ type: "rewind", tick: Math.max(Math.round(tick), 0) }),
    restart: () => send({ type: "restart" }),
    saveInput: () => send({ type: "save_input" }),
    weights: (weights) => send({ type: "set_weights", weights }),
    tags: (required) => send({ type: "set_tags", required }),
    controller: (name) => send({ type: "choose_controller", name }),
    project: (name) => send({ type: "choose_project", name }),
    train: (preset, resume) => send({ type: "train", preset, resume }),
    stopTraining: () => send({ type: "stop_training" }),
    layer: (layer) => (store.layers.value = { ...store.layers.value, [layer]: !store.layers.value[layer] }),
    follow: () => view.setFollow((store.follow.value = !store.follow.value)),
    recentre: () => view.recentre(),
    lock: () => view.setLock(!store.strafeLock.value),
    theme: () => (store.theme.value = store.theme.value === "dark" ? "light" : "dark"),
    help: () => (store.helpOpen.value = !store.helpOpen.value),
    panels: () => (store.panelsOpen.value = !store.panelsOpen.value),
  };
}
