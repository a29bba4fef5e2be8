// One character that a graph moves: its state goes round, its local joints become places in the world.

import { Quaternion, Vector3 } from "three";
import type { SkeletonData } from "../body/skeleton";
import type { GraphRunner } from "./graph";

export class Character {
  /** Global, [J,3] and [J,4]. */
  readonly positions: Float32Array;
  readonly rotations: Float32Array;
  contacts = new Float32Array(2);
  /** Metres a second over the ground. */
  speed = 0;
  private readonly state: Float32Array;
  private readonly dt = new Float32Array(1);
  private readonly tagSet = new Float32Array(1);
  private readonly p = new Vector3();
  private readonly q = new Quaternion();
  private readonly up = new Quaternion();

  constructor(private readonly runner: GraphRunner, private readonly skeleton: SkeletonData, private readonly start: ArrayLike<number>) {
    const joints = skeleton.names.length;
    this.positions = new Float32Array(3 * joints);
    this.rotations = new Float32Array(4 * joints);
    this.state = Float32Array.from(start);
  }

  /** Back to the first moment. */
  restart(): void {
    this.state.set(this.start);
    this.step([0, 0, 0], [0, 0, 0], 1 / 60);
    this.speed = 0;
  }

  /** One step of `dt` seconds towards a velocity and a facing in the world. */
  step(velocity: ArrayLike<number>, facing: ArrayLike<number>, dt: number): void {
    this.dt[0] = dt;
    const out = this.runner.run({ state: this.state, velocity, facing, dt: this.dt, tag_set: this.tagSet });
    this.state.set(out.state_next!);
    this.contacts.set(out.contacts!);
    const [x, z] = [this.positions[0]!, this.positions[2]!];
    this.forward(out.local_positions!, out.local_rotations!);
    this.speed += 0.1 * (Math.hypot(this.positions[0]! - x, this.positions[2]! - z) / dt - this.speed);
  }

  private forward(locals: Float32Array, turns: Float32Array): void {
    this.skeleton.parents.forEach((parent, joint) => {
      this.p.fromArray(locals, 3 * joint);
      this.q.fromArray(turns, 4 * joint);
      if (parent >= 0) {
        this.up.fromArray(this.rotations, 4 * parent);
        this.p.applyQuaternion(this.up);
        this.p.x += this.positions[3 * parent]!;
        this.p.y += this.positions[3 * parent + 1]!;
        this.p.z += this.positions[3 * parent + 2]!;
        this.q.premultiply(this.up);
      }
      this.p.toArray(this.positions, 3 * joint);
      this.q.toArray(this.rotations, 4 * joint);
    });
  }
}
