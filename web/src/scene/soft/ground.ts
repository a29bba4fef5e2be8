// The ground without WebGL: a gradient for the haze, and the grid as lines that fade with it.

import { Color, type Vector3 } from "three";
import type { Lights } from "../lights";
import type { Theme } from "../theme";
import type { ViewMatrix } from "./view_matrix";

const MINOR = 0.5;
const MAJOR = 2.5;
/** How far from the middle lines are drawn, metres. */
const MINOR_REACH = 13;
const MAJOR_REACH = 34;
/** Haze begins and ends, metres from what is looked at. */
const HAZE = [5, 34] as const;
/** Where colours are worked out, metres beyond the middle. */
const STOPS = [-4, -2, 0, 2, 4, 5.5, 7, 9, 11.5, 14, 17, 20.5, 24, 28, 34];

export class Ground {
  private background = new Color();
  private readonly albedo = { ground: new Color(), minor: new Color(), major: new Color() };
  private readonly lit = { ground: new Color(), minor: new Color(), major: new Color() };
  private readonly light = new Color();
  private readonly mixed = new Color();
  private readonly rows = new Float64Array(STOPS.length);

  setTheme(theme: Theme): void {
    // All mixing is done in sRGB, as the eye and the shader of the other painter do.
    this.background.set(theme.background).convertLinearToSRGB();
    this.albedo.ground.set(theme.ground);
    this.albedo.minor.set(theme.gridMinor);
    this.albedo.major.set(theme.gridMajor);
  }

  draw(context: CanvasRenderingContext2D, view: ViewMatrix, lights: Lights, target: Vector3, eye: Vector3, yaw: number): void {
    const { width, height } = view;
    lights.onGround(this.light);
    for (const part of ["ground", "minor", "major"] as const) this.lit[part].copy(this.albedo[part]).multiply(this.light).convertLinearToSRGB();
    const ahead = { x: -Math.sin(yaw), z: -Math.cos(yaw) };
    STOPS.forEach((away, i) => (this.rows[i] = view.groundRow(target.x + away * ahead.x, target.z + away * ahead.z)));
    const bottom = height, top = Math.min(Math.max(this.rows[STOPS.length - 1]!, 0), bottom) || 0;
    context.fillStyle = css(this.background);
    context.fillRect(0, 0, width, Math.ceil(top) + 1);
    if (top >= bottom) return;
    context.fillStyle = this.gradient(context, top, bottom, this.lit.ground, () => 1);
    context.fillRect(0, top, width, bottom - top);

    context.lineWidth = Math.max(1, height / 720);
    const flat = Math.hypot(eye.x - target.x, eye.z - target.z);
    // Metres that a pixel covers: across, and in depth where the ground is seen at a slant.
    const pixel = (2 * Math.tan(((38 / 2) * Math.PI) / 180)) / height;
    for (const [spacing, reach, thickness, color] of [[MINOR, MINOR_REACH, 0.008, this.lit.minor], [MAJOR, MAJOR_REACH, 0.016, this.lit.major]] as const) {
      for (const alongX of [true, false]) {
        const across = Math.abs(alongX ? Math.sin(yaw) : Math.cos(yaw)), deep = Math.abs(alongX ? Math.cos(yaw) : Math.sin(yaw));
        const strength = (away: number) => {
          const distance = Math.max(flat + away, 0.4), range = Math.hypot(distance, eye.y);
          const footprint = pixel * range * (across + (deep * range) / Math.max(eye.y, 0.05));
          return Math.min((3 * thickness) / Math.max(footprint, thickness), 1) * (1 - smoothstep(0.25, 0.6, footprint / spacing));
        };
        context.strokeStyle = this.gradient(context, top, bottom, color, strength);
        context.beginPath();
        this.lines(context, view, target, spacing, reach, alongX);
        context.stroke();
      }
    }
  }

  /** Parallel lines within a circle around the middle. */
  private lines(path: CanvasPath, view: ViewMatrix, target: Vector3, spacing: number, reach: number, alongX: boolean): void {
    const middle = alongX ? target.z : target.x, other = alongX ? target.x : target.z;
    for (let k = Math.ceil((middle - reach) / spacing); k <= Math.floor((middle + reach) / spacing); k++) {
      if (spacing === MINOR && k % Math.round(MAJOR / MINOR) === 0) continue;
      const at = k * spacing, half = Math.sqrt(Math.max(reach * reach - (at - middle) ** 2, 0));
      if (alongX) view.groundLine(path, other - half, at, other + half, at);
      else view.groundLine(path, at, other - half, at, other + half);
    }
  }

  private gradient(context: CanvasRenderingContext2D, top: number, bottom: number, color: Color, strength: (away: number) => number): CanvasGradient {
    const gradient = context.createLinearGradient(0, top, 0, bottom);
    for (let i = STOPS.length - 1; i >= 0; i--) {
      const row = this.rows[i]!;
      // Behind the camera, or below the canvas: the nearest stop holds from there on.
      const place = Number.isNaN(row) ? 1 : (row - top) / (bottom - top);
      const haze = smoothstep(HAZE[0], HAZE[1], Math.abs(STOPS[i]!));
      gradient.addColorStop(Math.min(Math.max(place, 0), 1), css(this.mixed.copy(color).lerp(this.background, haze), strength(STOPS[i]!)));
      if (place >= 1) break;
    }
    return gradient;
  }
}

function smoothstep(from: number, to: number, x: number): number {
  const t = Math.min(Math.max((x - from) / (to - from), 0), 1);
  return t * t * (3 - 2 * t);
}

/** A colour that is in sRGB already. */
function css(color: Color, alpha = 1): string {
  const byte = (value: number) => Math.round(255 * Math.min(Math.max(value, 0), 1));
  return `rgba(${byte(color.r)},${byte(color.g)},${byte(color.b)},${alpha.toFixed(3)})`;
}
