// The studio's scene: the stage, the character of the project and its marks, fed by pose frames.

import type { Hello } from "../messages";
import { makeBodyModel } from "../body/mannequin";
import { ALL_LAYERS, CharacterView, type Layers } from "../scene/character_view";
import { Stage } from "../scene/stage";
import type { ThemeName } from "../scene/theme";
import { blendPose, type PoseFrame } from "./frames";
import { Trail } from "./trail";

export class World {
  private known = "";
  readonly stage: Stage;
  layers: Layers = { ...ALL_LAYERS };
  latest: PoseFrame | null = null;
  trail = new Trail(1801);
  private previous: PoseFrame | null = null;
  private arrived = 0;
  private view: CharacterView | null = null;
  private joints = 0;
  private fresh = false;
  private positions = new Float32Array(0);
  private rotations = new Float32Array(0);

  constructor(host: HTMLElement, theme: ThemeName) {
    this.stage = new Stage(host, theme);
    this.stage.camera.yaw = Math.PI;
  }

  /** Makes the body of a project; frames of other skeletons are ignored. */
  setProject(hello: Hello): void {
    const known = JSON.stringify([hello.project, hello.skeleton, hello.history_seconds]);
    if (this.view && known === this.known) return; // built again: the same body goes on
    this.known = known;
    this.view?.dispose();
    const bind = {
      positions: new Float32Array(hello.bind.positions.flat()),
      rotations: new Float32Array(hello.bind.rotations.flat()),
    };
    this.joints = hello.skeleton.names.length;
    const skeleton = { ...hello.skeleton };
    this.trail = new Trail(Math.round(hello.history_seconds * 60) + 1);
    this.view = new CharacterView(this.stage, skeleton, makeBodyModel(skeleton, bind, this.stage.soft), 0, this.trail.capacity);
    this.positions = new Float32Array(3 * this.joints);
    this.rotations = new Float32Array(4 * this.joints);
    this.latest = this.previous = null;
  }

  addFrame(frame: PoseFrame): void {
    if (!this.view || frame.joints !== this.joints) return;
    if (!this.latest) performance.mark("ambulo-first-pose");
    this.trail.add(frame);
    this.previous = this.latest;
    this.latest = frame;
    this.arrived = performance.now();
    this.fresh = true;
  }

  setTheme(theme: ThemeName): void {
    this.stage.setTheme(theme);
    this.view?.setTheme(this.stage.theme);
  }

  render(dt: number): void {
    const { view, latest, previous } = this;
    if (view && latest) {
      if (this.fresh) this.show(view, latest);
      // In slow motion fewer frames come than are drawn: the pose glides from one to the next.
      if (previous && latest.rate < 1 && !latest.paused && latest.tick === previous.tick + 1) {
        const share = Math.min(((performance.now() - this.arrived) / 1000) * 60 * latest.rate, 1);
        blendPose(previous, latest, share, this.positions, this.rotations);
        view.setPose(this.positions, this.rotations);
      }
      view.layers = this.layers;
      view.update(dt);
    }
    this.stage.render(dt, view && latest ? view.root : null);
  }

  private show(view: CharacterView, frame: PoseFrame): void {
    this.fresh = false;
    view.setContacts(frame.contacts[0]!, frame.contacts[1]!);
    view.setPose(frame.positions, frame.rotations);
    view.setDesired(frame.desiredPositions, frame.desiredDirections, frame.askedPoints);
    view.setMatched(frame.matchedPositions, frame.matchedDirections, frame.matchedPoints);
    view.setPath(...this.trail.path(frame.oldest, frame.tick));
  }
}
