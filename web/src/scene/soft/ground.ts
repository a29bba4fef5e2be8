// The ground without WebGL: bands of colour for the haze, and the grid as lines that fade band by band. Bands, because a
// canvas that the processor draws takes twenty times as long for a line in a gradient as for one of a single colour.

import { Color, type Vector3 } from "three";
import type { Lights } from "../lights";
import type { Theme } from "../theme";
import type { ViewMatrix } from "./view_matrix";

const MINOR = 0.5;
const MAJOR = 2.5;
/** How far from the middle lines are drawn, metres. */
const MINOR_REACH = 14;
const MAJOR_REACH = 34;
const THICKNESS = { minor: 0.008, major: 0.016 };
/** Haze begins and ends, metres from what is looked at. */
const HAZE = [5, 34] as const;
/** Where one band ends and the next begins, metres beyond the middle; the last lies at the haze's end. */
const BORDERS = [
  -3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.75, 16, 17.25, 18.5, 20, 21.5, 23, 25, 27,
  29.5, 34,
];
/** A line weaker than this is not drawn. */
const FAINT = 0.02;

type Part = "ground" | "minor" | "major";

/** Ends of lines on the canvas, [x, y] twice each. */
class Lines {
  readonly ends: number[] = [];

  moveTo(x: number, y: number): void {
    this.ends.push(x, y);
  }

  lineTo(x: number, y: number): void {
    this.ends.push(x, y);
  }
}

export class Ground {
  private readonly background = new Color();
  private readonly albedo: Record<Part, Color> = { ground: new Color(), minor: new Color(), major: new Color() };
  private readonly lit: Record<Part, Color> = { ground: new Color(), minor: new Color(), major: new Color() };
  private readonly light = new Color();
  private readonly mixed = new Color();
  /** Row of the canvas of every border; NaN behind the camera. */
  private readonly rows = new Float64Array(BORDERS.length);
  private readonly lines = new Lines();

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
    const aheadX = -Math.sin(yaw), aheadZ = -Math.cos(yaw);
    for (let i = 0; i < BORDERS.length; i++) this.rows[i] = view.groundRow(target.x + BORDERS[i]! * aheadX, target.z + BORDERS[i]! * aheadZ);
    const horizon = Math.min(Math.max(Math.round(this.rows[BORDERS.length - 1]!), 0), height);
    context.fillStyle = css(this.background);
    context.fillRect(0, 0, width, horizon);
    this.eachBand(height, (top, bottom, away) => {
      context.fillStyle = css(this.hazed("ground", away));
      context.fillRect(0, Math.round(top), width, Math.round(bottom) - Math.round(top));
    });

    const flat = Math.hypot(eye.x - target.x, eye.z - target.z);
    // Metres that a pixel covers: across, and in depth where the ground is seen at a slant.
    const pixel = view.pixel;
    for (const [part, spacing, reach] of [["minor", MINOR, MINOR_REACH], ["major", MAJOR, MAJOR_REACH]] as const) {
      const thickness = THICKNESS[part];
      for (const alongX of [true, false]) {
        const across = Math.abs(alongX ? aheadX : aheadZ), deep = Math.abs(alongX ? aheadZ : aheadX);
        this.gather(view, target, spacing, reach, alongX);
        this.eachBand(height, (top, bottom, away) => {
          const range = Math.hypot(Math.max(flat + away, 0.4), eye.y);
          const footprint = pixel * range * (across + (deep * range) / Math.max(eye.y, 0.05));
          const fits = 1 - smoothstep(0.25, 0.6, footprint / spacing);
          const strength = Math.min((3 * thickness) / Math.max(footprint, thickness), 1) * fits;
          if (strength < FAINT) return;
          context.lineWidth = Math.min(Math.max(thickness / footprint, 1), 2.5);
          context.strokeStyle = css(this.hazed(part, away), strength);
          this.stroke(context, top, bottom);
        });
      }
    }
  }

  /** Bands from the nearest to the farthest: rows from `top` to `bottom`, and how far away their middle is. */
  private eachBand(height: number, draw: (top: number, bottom: number, away: number) => void): void {
    let bottom = height;
    for (let i = 0; i < BORDERS.length && bottom > 0; i++) {
      const row = this.rows[i]!;
      if (Number.isNaN(row) || row >= bottom) continue;
      const top = Math.max(row, 0);
      draw(top, bottom, i === 0 ? BORDERS[0]! : (BORDERS[i - 1]! + BORDERS[i]!) / 2);
      bottom = top;
    }
  }

  private hazed(part: Part, away: number): Color {
    return this.mixed.copy(this.lit[part]).lerp(this.background, smoothstep(HAZE[0], HAZE[1], Math.abs(away)));
  }

  /** Parallel lines within a circle around the middle. */
  private gather(view: ViewMatrix, target: Vector3, spacing: number, reach: number, alongX: boolean): void {
    const middle = alongX ? target.z : target.x, other = alongX ? target.x : target.z;
    this.lines.ends.length = 0;
    for (let k = Math.ceil((middle - reach) / spacing); k <= Math.floor((middle + reach) / spacing); k++) {
      if (spacing === MINOR && k % Math.round(MAJOR / MINOR) === 0) continue;
      const at = k * spacing, half = Math.sqrt(Math.max(reach * reach - (at - middle) ** 2, 0));
      if (alongX) view.groundLine(this.lines, other - half, at, other + half, at);
      else view.groundLine(this.lines, at, other - half, at, other + half);
    }
  }

  /** The parts of the gathered lines between two rows. */
  private stroke(context: CanvasRenderingContext2D, top: number, bottom: number): void {
    const { ends } = this.lines;
    context.beginPath();
    for (let i = 0; i < ends.length; i += 4) {
      const x0 = ends[i]!, y0 = ends[i + 1]!, x1 = ends[i + 2]!, y1 = ends[i + 3]!, fall = y1 - y0;
      let from = 0, to = 1;
      if (Math.abs(fall) > 1e-3) {
        const a = (top - y0) / fall, b = (bottom - y0) / fall;
        from = Math.max(Math.min(a, b), 0);
        to = Math.min(Math.max(a, b), 1);
        if (from >= to) continue;
      } else if (y0 < top || y0 >= bottom) continue;
      context.moveTo(x0 + from * (x1 - x0), y0 + from * fall);
      context.lineTo(x0 + to * (x1 - x0), y0 + to * fall);
    }
    context.stroke();
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
