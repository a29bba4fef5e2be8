// The posing page's scene: one body, and where its points are on the screen.

import { Vector3 } from "three";
import type { PoseHello } from "../messages";
import { makeBodyModel, Mannequin } from "../body/mannequin";
import { Stage } from "../scene/stage";
import type { ThemeName } from "../scene/theme";
import type { Place } from "./document";
import type { WorldPose } from "./forward";

export class PoseView {
  readonly stage: Stage;
  private body: Mannequin | null = null;
  private readonly anchor = new Vector3();
  private readonly at = new Vector3();
  private dirty = true;
  private seen = "";

  constructor(private readonly host: HTMLElement, theme: ThemeName) {
    this.stage = new Stage(host, theme);
    this.stage.camera.yaw = 0.55;
    this.stage.camera.distance = 4.2;
  }

  setBody(hello: PoseHello): void {
    if (this.body) {
      this.stage.scene.remove(this.body.mesh);
      this.body.dispose();
    }
    const bind = { positions: new Float32Array(hello.bind.positions.flat()), rotations: new Float32Array(hello.bind.rotations.flat()) };
    this.body = new Mannequin(makeBodyModel({ ...hello.skeleton }, bind, this.stage.soft), this.colors());
    this.stage.scene.add(this.body.mesh);
    this.dirty = true;
  }

  setPose(pose: WorldPose): void {
    this.body?.setPose(pose.positions, pose.rotations);
    this.dirty = true;
  }

  setTheme(theme: ThemeName): void {
    this.stage.setTheme(theme);
    this.body?.setColors(this.colors());
    this.dirty = true;
  }

  /** Brings the body into the middle. */
  centre(pose: WorldPose, hips: number): void {
    this.anchor.set(pose.points[3 * hips]!, 0, pose.points[3 * hips + 2]!);
    this.stage.camera.recentre();
  }

  /** Draws, where anything has changed. Returns whether it has. */
  render(dt: number): boolean {
    const { camera } = this.stage;
    camera.update(dt, this.anchor);
    const seen = [...camera.camera.position.toArray(), ...camera.target.toArray(), this.host.clientWidth, this.host.clientHeight].map((x) => x.toFixed(4)).join();
    if (!this.dirty && seen === this.seen) return false;
    this.dirty = false;
    this.seen = seen;
    this.stage.render(0, this.anchor);
    return true;
  }

  /** Pixels from the left and the top, and how deep (-1 to 1; beyond 1 it is behind the camera). */
  toScreen(x: number, y: number, z: number): [number, number, number] {
    const { camera } = this.stage.camera;
    this.at.set(x, y, z).project(camera);
    return [((this.at.x + 1) / 2) * this.host.clientWidth, ((1 - this.at.y) / 2) * this.host.clientHeight, this.at.z];
  }

  /** The place under a pixel, in the plane of that depth that faces the camera. */
  toWorld(x: number, y: number, depth: number): Place {
    const { camera } = this.stage.camera;
    this.at.set((2 * x) / this.host.clientWidth - 1, 1 - (2 * y) / this.host.clientHeight, depth).unproject(camera);
    const within = (value: number) => Math.min(Math.max(value, -19), 19);
    return [within(this.at.x), within(this.at.y), within(this.at.z)];
  }

  private colors() {
    const { shell, joints, trim } = this.stage.theme;
    return { shell, joints, trim };
  }
}
