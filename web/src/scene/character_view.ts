// One character on the stage: its mannequin, and on the ground its contacts, trajectories and the path it has walked.

import { Vector3 } from "three";
import { Mannequin, type BodyModel } from "../body/mannequin";
import type { SkeletonData } from "../body/skeleton";
import { Chevrons, ContactDisc, Ribbon } from "./ground_marks";
import type { Stage } from "./stage";
import type { Theme } from "./theme";

export interface Layers {
  desired: boolean;
  matched: boolean;
  path: boolean;
  contacts: boolean;
  body: boolean;
}

export const ALL_LAYERS: Layers = { desired: true, matched: true, path: true, contacts: true, body: true };

const TRAJECTORY_CAPACITY = 16;
/** A few hues for crowds; the first is the theme's own. */
const SHELLS = ["", "#8fb7d9", "#d9a68f", "#a3c79b", "#c3a7d6", "#d7c884"];

export class CharacterView {
  readonly root = new Vector3();
  layers: Layers = { ...ALL_LAYERS };
  private readonly body: Mannequin;
  private readonly left: ContactDisc;
  private readonly right: ContactDisc;
  private readonly desired: Ribbon;
  private readonly desiredTicks: Chevrons;
  private readonly matched: Ribbon;
  private readonly matchedTicks: Chevrons;
  private readonly path: Ribbon;
  private readonly feet: [number, number];
  private readonly contact: [number, number] = [0, 0];
  private readonly footAt = new Float32Array(4);
  private readonly points = new Float32Array(3 * (TRAJECTORY_CAPACITY + 1));

  constructor(
    private readonly stage: Stage, skeleton: SkeletonData, model: BodyModel, private readonly index = 0, pathCapacity = 1801,
  ) {
    const theme = stage.theme;
    this.body = new Mannequin(model, this.bodyColors(theme));
    this.left = new ContactDisc(theme.left);
    this.right = new ContactDisc(theme.right);
    this.path = new Ribbon(pathCapacity, theme.path, 0.018, 0.0022, 0.8);
    this.matched = new Ribbon(TRAJECTORY_CAPACITY + 1, theme.matched, 0.028, 0.0032);
    this.matchedTicks = new Chevrons(TRAJECTORY_CAPACITY, theme.matched, 0.085, 0.0036);
    this.desired = new Ribbon(TRAJECTORY_CAPACITY + 1, theme.desired, 0.028, 0.0042);
    this.desiredTicks = new Chevrons(TRAJECTORY_CAPACITY, theme.desired, 0.085, 0.0046);
    const roles = skeleton.roles;
    this.feet = [roles.left_toe ?? roles.left_foot ?? -1, roles.right_toe ?? roles.right_foot ?? -1];
    stage.scene.add(
      this.body.mesh, this.left.mesh, this.right.mesh, this.path.mesh, this.matched.mesh, this.matchedTicks.mesh, this.desired.mesh,
      this.desiredTicks.mesh,
    );
  }

  /** Global positions [J,3] and rotations [J,4] from the given offsets on; joint 0 is followed. */
  setPose(positions: ArrayLike<number>, rotations: ArrayLike<number>, positionOffset = 0, rotationOffset = 0): void {
    this.body.setPose(positions, rotations, positionOffset, rotationOffset);
    this.root.set(positions[positionOffset]!, 0, positions[positionOffset + 2]!);
    for (let foot = 0; foot < 2; foot++) {
      const joint = this.feet[foot]!;
      if (joint < 0) continue;
      this.footAt[2 * foot] = positions[positionOffset + 3 * joint]!;
      this.footAt[2 * foot + 1] = positions[positionOffset + 3 * joint + 2]!;
    }
  }

  setContacts(left: number, right: number): void {
    this.contact[0] = left;
    this.contact[1] = right;
  }

  setDesired(positions: ArrayLike<number>, directions: ArrayLike<number>, count: number, positionOffset = 0, directionOffset = 0): void {
    this.desired.setPoints(this.fromRoot(positions, count, positionOffset), count + 1);
    this.desiredTicks.set(positions, directions, count, positionOffset, directionOffset);
  }

  setMatched(positions: ArrayLike<number>, directions: ArrayLike<number>, count: number, positionOffset = 0, directionOffset = 0): void {
    this.matched.setPoints(this.fromRoot(positions, count, positionOffset), count + 1);
    this.matchedTicks.set(positions, directions, count, positionOffset, directionOffset);
  }

  setPath(points: ArrayLike<number>, count: number, offset = 0): void {
    this.path.setPoints(points, count, offset);
  }

  /** Once a drawn frame: eases the contact discs and applies the layers. */
  update(dt: number): void {
    const { layers } = this;
    for (let foot = 0; foot < 2; foot++) {
      const disc = foot === 0 ? this.left : this.right;
      disc.update(this.footAt[2 * foot]!, this.footAt[2 * foot + 1]!, layers.contacts && this.feet[foot]! >= 0 ? this.contact[foot]! : 0, dt);
    }
    this.body.mesh.visible = layers.body;
    this.path.mesh.visible = layers.path;
    this.desired.mesh.visible = this.desiredTicks.mesh.visible = layers.desired;
    this.matched.mesh.visible = this.matchedTicks.mesh.visible = layers.matched;
  }

  setTheme(theme: Theme): void {
    this.body.setColors(this.bodyColors(theme));
    this.left.setColor(theme.left);
    this.right.setColor(theme.right);
    this.path.setColor(theme.path);
    for (const mark of [this.matched, this.matchedTicks]) mark.setColor(theme.matched);
    for (const mark of [this.desired, this.desiredTicks]) mark.setColor(theme.desired);
  }

  dispose(): void {
    this.stage.scene.remove(this.body.mesh);
    this.body.dispose();
    for (const part of [this.left, this.right, this.path, this.matched, this.matchedTicks, this.desired, this.desiredTicks]) {
      this.stage.scene.remove(part.mesh);
      part.dispose();
    }
  }

  private bodyColors(theme: Theme) {
    return { shell: SHELLS[this.index % SHELLS.length] || theme.shell, joints: theme.joints, trim: theme.trim };
  }

  private fromRoot(positions: ArrayLike<number>, count: number, offset: number): Float32Array {
    this.points[0] = this.root.x;
    this.points[2] = this.root.z;
    for (let i = 0; i < 3 * Math.min(count, TRAJECTORY_CAPACITY); i++) this.points[3 + i] = positions[offset + i]!;
    return this.points;
  }
}
