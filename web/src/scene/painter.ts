// What a stage asks of whoever draws it.

import type { PerspectiveCamera, Scene, Vector3 } from "three";
import type { Quality } from "./quality";
import type { Theme } from "./theme";

export interface View {
  scene: Scene;
  camera: PerspectiveCamera;
  /** What the camera looks at. */
  target: Vector3;
  /** Point on the ground that light and ground keep to. */
  at: Vector3;
  /** Angle of the camera about the vertical. */
  yaw: number;
}

export interface Painter {
  readonly canvas: HTMLCanvasElement;
  /** Triangles drawn in the last frame. */
  readonly triangles: number;
  /** False where this painter would have to be made anew for that quality. */
  setQuality(quality: Quality): boolean;
  /** CSS pixels. */
  setSize(width: number, height: number): void;
  setTheme(theme: Theme): void;
  render(view: View): void;
  dispose(): void;
}
