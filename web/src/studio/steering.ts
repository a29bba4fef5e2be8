// Keyboard, mouse and gamepad become one wish: a velocity and a facing in the world, relative to where the camera looks.

import type { OrbitCamera } from "../scene/camera";

export interface Gaits {
  slow: number;
  walk: number;
  run: number;
}

export interface Wish {
  velocity: [number, number];
  facing: [number, number];
}

const MOVES: Record<string, [number, number]> = {
  KeyW: [0, 1], ArrowUp: [0, 1], KeyS: [0, -1], ArrowDown: [0, -1], KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0],
};
const HELD = new Set([...Object.keys(MOVES), "ShiftLeft", "ShiftRight", "KeyC", "KeyQ", "KeyE"]);
const TURN_SPEED = 2.2;
const STICK_DEAD = 0.14;

/** Gaits that the data can walk at: usual human speeds, held below what it contains. */
export function gaitsFor(topSpeed: number): Gaits {
  const run = Math.min(Math.max(topSpeed, 0.8), 3.6);
  const walk = Math.min(1.4, 0.85 * run);
  return { slow: 0.5 * walk, walk, run: Math.max(run, walk) };
}

export class Steering {
  gaits: Gaits = gaitsFor(3.6);
  /** The character faces where the camera looks instead of where it goes. */
  strafeLock = false;
  gamepad: string | null = null;
  /** A stick on the screen: to the right and ahead, each -1 to 1. */
  stick: readonly [number, number] = [0, 0];
  onChange: () => void = () => {};
  private readonly held = new Set<string>();
  private stickFacing: [number, number] | null = null;
  private buttons: boolean[] = [];
  /** Presses of gamepad buttons: A pauses, B resets the camera, Y toggles the lock. */
  onButton: (button: number) => void = () => {};

  constructor(private readonly camera: OrbitCamera) {
    window.addEventListener("keydown", (event) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || !HELD.has(event.code)) return;
      event.preventDefault();
      this.held.add(event.code);
      if ((event.code === "KeyQ" || event.code === "KeyE") && !this.strafeLock) this.setLock(true);
    });
    window.addEventListener("keyup", (event) => this.held.delete(event.code));
    window.addEventListener("blur", () => this.held.clear());
    document.addEventListener("visibilitychange", () => this.held.clear());
  }

  setLock(locked: boolean): void {
    this.strafeLock = locked;
    this.stickFacing = null;
    this.onChange();
  }

  /** Reads all devices for a frame of `dt` seconds; turns the camera where they say so. */
  update(dt: number): Wish {
    let right = 0, forward = 0;
    for (const code of this.held) {
      const move = MOVES[code];
      if (move) {
        right += move[0];
        forward += move[1];
      }
    }
    const length = Math.hypot(right, forward);
    let speed = this.down("ShiftLeft", "ShiftRight") ? this.gaits.run : this.down("KeyC") ? this.gaits.slow : this.gaits.walk;
    if (length > 0) {
      right /= length;
      forward /= length;
    } else speed = 0;
    const turn = (this.down("KeyQ") ? 1 : 0) - (this.down("KeyE") ? 1 : 0);
    if (turn) this.camera.orbit(turn * TURN_SPEED * dt, 0);

    const pad = this.readGamepad(dt);
    if (pad && pad.size > 0 && length === 0) {
      right = pad.right;
      forward = pad.forward;
      speed = pad.size * (pad.run ? this.gaits.run : this.gaits.walk);
    }

    const reach = Math.hypot(...this.stick);
    if (reach > STICK_DEAD && length === 0) {
      [right, forward] = [this.stick[0] / reach, this.stick[1] / reach];
      // The first two thirds of the way go from standing to a walk, the rest on to a run.
      const { walk, run } = this.gaits;
      speed = reach < 0.66 ? (walk * reach) / 0.66 : walk + ((run - walk) * (reach - 0.66)) / 0.34;
    }

    const yaw = this.camera.yaw;
    const ahead: [number, number] = [-Math.sin(yaw), -Math.cos(yaw)];
    // To the right of the camera on the ground.
    const side: [number, number] = [Math.cos(yaw), -Math.sin(yaw)];
    const world = (r: number, f: number): [number, number] => [r * side[0] + f * ahead[0], r * side[1] + f * ahead[1]];
    const direction = world(right, forward);
    const facing: [number, number] = this.strafeLock ? (this.stickFacing ? world(...this.stickFacing) : ahead) : [0, 0];
    return { velocity: [direction[0] * speed, direction[1] * speed], facing };
  }

  private down(...codes: string[]): boolean {
    return codes.some((code) => this.held.has(code));
  }

  private readGamepad(dt: number): { right: number; forward: number; size: number; run: boolean } | null {
    const pad = navigator.getGamepads?.().find((candidate) => candidate?.connected && candidate.mapping === "standard") ?? null;
    const name = pad ? pad.id.replace(/\s*\(.*\)\s*/, "") : null;
    if (name !== this.gamepad) {
      this.gamepad = name;
      this.onChange();
    }
    if (!pad) return null;
    pad.buttons.forEach((button, i) => {
      if (button.pressed && !this.buttons[i]) this.onButton(i);
      this.buttons[i] = button.pressed;
    });
    const locked = (pad.buttons[6]?.value ?? 0) > 0.3;
    if (locked !== this.strafeLock && (locked || this.padLocked)) this.setLock(locked);
    this.padLocked = locked;
    const [x = 0, y = 0, lookX = 0, lookY = 0] = pad.axes;
    const look = Math.hypot(lookX, lookY);
    if (look > STICK_DEAD) {
      if (locked) this.stickFacing = [lookX / look, -lookY / look];
      else this.camera.orbit(-lookX * TURN_SPEED * dt, lookY * 1.4 * dt);
    }
    const size = Math.hypot(x, y);
    if (size < STICK_DEAD) return { right: 0, forward: 0, size: 0, run: false };
    const reach = Math.min((size - STICK_DEAD) / (1 - STICK_DEAD), 1);
    return { right: x / size, forward: -y / size, size: reach, run: (pad.buttons[7]?.value ?? 0) > 0.3 };
  }

  private padLocked = false;
}

/** True where a key belongs to a text field or a slider and not to the character. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
