// The light of the stage, for both painters: a sun, a weak light beside the camera, and the sky.

import { Color, Vector3 } from "three";
import type { Theme } from "./theme";

/** From the lit point towards the sun. */
export const SUN = new Vector3(2.6, 5.4, 2.4);
/** So that no side is ever in the dark. */
export const FILL_COLOR = "#dfe8f5";
export const FILL_INTENSITY = 0.75;

/** Towards the light beside the camera. */
export function fillDirection(yaw: number, out: Vector3): Vector3 {
  return out.set(4 * Math.sin(yaw - 0.6), 1.8, 4 * Math.cos(yaw - 0.6));
}

/** The same lights as plain numbers: what a white matt surface gives back, linear, by channel. */
export class Lights {
  readonly sky = new Color();
  readonly earth = new Color();
  readonly fill = new Color(FILL_COLOR).multiplyScalar(FILL_INTENSITY / Math.PI);
  readonly sunDirection = SUN.clone().normalize();
  readonly fillDirection = new Vector3(0, 1, 0);
  sun = 0;

  setTheme(theme: Theme): void {
    this.sky.set(theme.sky).multiplyScalar(theme.hemisphere / Math.PI);
    this.earth.set(theme.earth).multiplyScalar(theme.hemisphere / Math.PI);
    this.sun = theme.sun / Math.PI;
  }

  setYaw(yaw: number): void {
    fillDirection(yaw, this.fillDirection).normalize();
  }

  /** Light on the open ground. */
  onGround(out: Color): Color {
    const fill = Math.max(this.fillDirection.y, 0), sun = this.sun * this.sunDirection.y;
    return out.setRGB(this.sky.r + sun + this.fill.r * fill, this.sky.g + sun + this.fill.g * fill, this.sky.b + sun + this.fill.b * fill);
  }

  /** Light on the ground in shadow. */
  inShadow(out: Color): Color {
    const fill = Math.max(this.fillDirection.y, 0);
    return out.setRGB(this.sky.r + this.fill.r * fill, this.sky.g + this.fill.g * fill, this.sky.b + this.fill.b * fill);
  }
}
