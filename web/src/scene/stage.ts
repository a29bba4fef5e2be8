// The stage: what is shown, the camera, and a painter that suits the machine. Knows nothing of skeletons.

import { Scene, type Vector3 } from "three";
import { OrbitCamera } from "./camera";
import { GlPainter } from "./gl_painter";
import { graphicsHere } from "./graphics";
import type { Painter } from "./painter";
import { FIRST_SOFT, LADDER, Pacer } from "./quality";
import { SoftPainter } from "./soft/soft_painter";
import { THEMES, type Theme, type ThemeName } from "./theme";

/** Milliseconds after which a lost context is asked for again, and how often. */
const RETRY = 1500;
const RETRIES = 3;

export class Stage {
  readonly scene = new Scene();
  readonly camera: OrbitCamera;
  theme: Theme;
  /** Draw less well where the machine cannot keep up. */
  adaptive = true;
  private readonly pacer: Pacer;
  private painter: Painter;
  private readonly observer: ResizeObserver;
  private inset = { right: 0, bottom: 0 };
  private losses = 0;
  private disposed = false;

  constructor(private readonly host: HTMLElement, theme: ThemeName) {
    host.style.touchAction = "none";
    this.camera = new OrbitCamera(host);
    this.theme = THEMES[theme];
    // ?painter=gl or soft decides for the machine; the ladder is then climbed within that painter alone.
    const asked = new URLSearchParams(location.search).get("painter");
    const soft = asked === "soft" || (asked !== "gl" && graphicsHere() !== "hardware");
    this.pacer = new Pacer(soft ? FIRST_SOFT : 0, soft ? FIRST_SOFT : 0, asked === "gl" ? FIRST_SOFT - 1 : LADDER.length - 1);
    this.painter = this.hire();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(host);
    this.resize();
  }

  /** How well it is drawn now: a step of the ladder, 0 the best. */
  get level(): number {
    return this.pacer.level;
  }

  get triangles(): number {
    return this.painter.triangles;
  }

  /** Whether the processor draws: details that only a graphics card has time for are then left out. */
  get soft(): boolean {
    return LADDER[this.pacer.level]!.painter === "soft";
  }

  setTheme(name: ThemeName): void {
    this.theme = THEMES[name];
    this.painter.setTheme(this.theme);
  }

  /** Keeps the middle of the picture clear of panels that cover so many pixels at the right and at the bottom. */
  setInset(right: number, bottom: number): void {
    this.inset = { right, bottom };
    this.resize();
  }

  /** Draws one frame; `followed` is the point on the ground that camera, light and ground keep to. */
  render(dt: number, followed: Vector3 | null): void {
    if (this.adaptive && this.pacer.frame(dt) && !this.painter.setQuality(LADDER[this.pacer.level]!)) this.replace();
    this.camera.update(dt, followed);
    const { camera, target, yaw } = this.camera;
    this.painter.render({ scene: this.scene, camera, target, at: followed ?? target, yaw });
  }

  dispose(): void {
    this.disposed = true;
    this.observer.disconnect();
    this.camera.dispose();
    this.painter.dispose();
  }

  /** A painter for the present level; where WebGL refuses, one that needs none. */
  private hire(): Painter {
    const quality = LADDER[this.pacer.level]!;
    let painter: Painter;
    try {
      painter = quality.painter === "gl" ? new GlPainter(this.scene, quality, () => this.lose(painter)) : new SoftPainter(quality);
    } catch (error) {
      if (quality.painter === "soft") throw error;
      this.pacer.level = FIRST_SOFT;
      painter = new SoftPainter(LADDER[FIRST_SOFT]!);
    }
    painter.canvas.style.cssText = "display:block;width:100%;height:100%;outline:none";
    painter.setTheme(this.theme);
    this.host.append(painter.canvas);
    const around = this.host.closest<HTMLElement>(".ambulo");
    if (around) around.dataset.painter = this.soft ? "soft" : "gl";
    return painter;
  }

  private replace(): void {
    this.painter.dispose();
    this.painter = this.hire();
    this.resize();
  }

  /** The graphics card was taken away: go on without, and ask for it again a little later. */
  private lose(painter: Painter): void {
    if (this.disposed || painter !== this.painter) return;
    const level = this.pacer.level;
    this.pacer.level = FIRST_SOFT;
    this.replace();
    if (++this.losses > RETRIES) return;
    window.setTimeout(() => {
      if (this.disposed || !this.soft) return;
      this.pacer.level = level;
      this.replace();
    }, RETRY * this.losses);
  }

  private resize(): void {
    const width = Math.max(this.host.clientWidth, 1), height = Math.max(this.host.clientHeight, 1);
    this.painter.setSize(width, height);
    const { camera } = this.camera;
    camera.aspect = width / height;
    camera.setViewOffset(width, height, this.inset.right / 2, this.inset.bottom / 2, width, height);
    camera.updateProjectionMatrix();
  }
}
