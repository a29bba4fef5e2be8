// A camera that orbits a followed point: drag to orbit, right-drag or shift-drag to pan, wheel or pinch to zoom.

import { PerspectiveCamera, Vector3 } from "three";

export class OrbitCamera {
  readonly camera = new PerspectiveCamera(38, 1, 0.05, 200);
  /** Angle of the camera about the vertical: 0 looks along -Z (at the front of a character that faces +Z). */
  yaw = Math.PI;
  pitch = 0.3;
  distance = 4.6;
  /** Height over the ground of the point that is looked at, metres. */
  height = 0.92;
  follow = true;
  /** What the camera looks at, metres; eased towards the followed point. */
  readonly target = new Vector3(0, 0.92, 0);
  private readonly pan = new Vector3();
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private readonly stop: () => void;
  private settled = false;
  private readonly goal = new Vector3();

  constructor(element: HTMLElement) {
    const down = (event: PointerEvent) => {
      this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      element.setPointerCapture(event.pointerId);
    };
    const move = (event: PointerEvent) => {
      const last = this.pointers.get(event.pointerId);
      if (!last) return;
      const dx = event.clientX - last.x, dy = event.clientY - last.y;
      if (this.pointers.size === 2) {
        const [a, b] = [...this.pointers.entries()].map(([id, p]) => (id === event.pointerId ? { x: event.clientX, y: event.clientY } : p));
        const [c, d] = [...this.pointers.values()];
        this.zoom(Math.hypot(c!.x - d!.x, c!.y - d!.y) / Math.max(Math.hypot(a!.x - b!.x, a!.y - b!.y), 1));
      } else if (event.buttons === 2 || event.shiftKey) {
        const scale = this.distance / Math.max(element.clientHeight, 1);
        this.pan.x -= dx * scale * Math.cos(this.yaw);
        this.pan.z += dx * scale * Math.sin(this.yaw);
        this.pan.y = Math.min(Math.max(this.pan.y + dy * scale, -1), 3);
      } else this.orbit(-dx * 0.006, dy * 0.005);
      last.x = event.clientX;
      last.y = event.clientY;
    };
    const up = (event: PointerEvent) => this.pointers.delete(event.pointerId);
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.001));
    };
    const menu = (event: Event) => event.preventDefault();
    element.addEventListener("pointerdown", down);
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", up);
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("contextmenu", menu);
    this.stop = () => {
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
      element.removeEventListener("pointercancel", up);
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("contextmenu", menu);
    };
  }

  orbit(yaw: number, pitch: number): void {
    this.yaw += yaw;
    this.pitch = Math.min(Math.max(this.pitch + pitch, -0.05), 1.45);
  }

  zoom(factor: number): void {
    this.distance = Math.min(Math.max(this.distance * factor, 0.8), 40);
  }

  recentre(): void {
    this.pan.set(0, 0, 0);
    this.pitch = 0.3;
    this.distance = 4.6;
  }

  /** Direction on the ground in which the camera looks, unit. */
  forward(out = new Vector3()): Vector3 {
    return out.set(-Math.sin(this.yaw), 0, -Math.cos(this.yaw));
  }

  /** Moves the camera for a frame of `dt` seconds; `followed` is the point on the ground to keep in view. */
  update(dt: number, followed: Vector3 | null): void {
    if (this.follow && followed) {
      const goal = this.goal.set(followed.x + this.pan.x, this.height + this.pan.y, followed.z + this.pan.z);
      if (!this.settled || goal.distanceTo(this.target) > 8) this.target.copy(goal);
      else this.target.lerp(goal, 1 - Math.exp(-dt * 12));
      this.settled = true;
    }
    const flat = Math.cos(this.pitch) * this.distance;
    this.camera.position.set(
      this.target.x + flat * Math.sin(this.yaw),
      Math.max(this.target.y + this.distance * Math.sin(this.pitch), 0.06),
      this.target.z + flat * Math.cos(this.yaw),
    );
    this.camera.lookAt(this.target);
  }

  dispose(): void {
    this.stop();
  }
}
