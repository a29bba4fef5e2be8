// What the posing page shows, as signals.

import { signal } from "@preact/signals";
import type { Posed, PoseHello, Problem } from "../messages";
import { preferredTheme, type ThemeName } from "../scene/theme";
import type { Pins, PoseDocument } from "./document";
import type { WorldPose } from "./forward";

export const hello = signal<PoseHello | null>(null);
export const connected = signal(false);
export const problem = signal<Problem | null>(null);
export const theme = signal<ThemeName>(preferredTheme());
export const helpOpen = signal(false);
export const doc = signal<PoseDocument>({ pins: {}, floor: true, keys: [], time: 0, free: true });
/** The body on the stage, and the answer that it came from; the answer is null between two keys. */
export const shown = signal<WorldPose | null>(null);
export const posed = signal<Posed | null>(null);
/** Seconds, while the keys are played. */
export const playing = signal<number | null>(null);
export const copied = signal<Pins | null>(null);
export const canUndo = signal(false);
export const canRedo = signal(false);
/** The point under the pointer or held by it. */
export const touched = signal<string | null>(null);
