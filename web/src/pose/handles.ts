// The points as buttons over the scene: dragged in the plane that faces the camera, clicked to pin and to let go.

import type { PoseHello } from "../messages";
import { keyAt } from "./document";
import type { Editor } from "./editor";
import * as store from "./store";
import type { PoseView } from "./view";

const DRAG_PIXELS = 4;
const NUDGE_PIXELS = 6;
const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export const spoken = (name: string) => name.replaceAll("_", " ");

export class Handles {
  private buttons: HTMLButtonElement[] = [];
  private readonly lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  private names: string[] = [];

  constructor(private readonly host: HTMLElement, private readonly view: PoseView, private readonly editor: Editor) {
    this.lines.setAttribute("class", "reach");
    this.lines.setAttribute("aria-hidden", "true");
    host.append(this.lines);
  }

  setBody(hello: PoseHello): void {
    for (const button of this.buttons) button.remove();
    this.names = hello.points.map((point) => point.name);
    // The six main ones last: on top of the others.
    this.buttons = hello.points.map((point) => this.makeButton(point.name, point.scheme === 6));
    this.host.append(...[...this.buttons].sort((a, b) => Number(a.classList.contains("main")) - Number(b.classList.contains("main"))));
  }

  /** Puts all in their places; after each picture, and after each edit. */
  update(): void {
    const pose = store.shown.value, doc = store.doc.value;
    this.host.hidden = !pose || store.playing.value !== null;
    if (!pose || this.host.hidden) return;
    const pinned = doc.free || keyAt(doc) ? doc.pins : {};
    const off = new Map(store.posed.value?.unreached.map((pin) => [pin.point, pin.millimetres]));
    const lines: string[] = [];
    this.buttons.forEach((button, i) => {
      const name = this.names[i]!;
      const [x, y, depth] = this.view.toScreen(pose.points[3 * i]!, pose.points[3 * i + 1]!, pose.points[3 * i + 2]!);
      button.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
      button.hidden = depth > 1;
      const pin = pinned[name];
      button.setAttribute("aria-pressed", String(!!pin));
      button.classList.toggle("off", off.has(name));
      if (!pin || !off.has(name)) return;
      const [a, b] = this.view.toScreen(...pin);
      lines.push(
        `<line x1="${x}" y1="${y}" x2="${a}" y2="${b}"/><circle cx="${a}" cy="${b}" r="6"/>`,
        `<text x="${a + 10}" y="${b + 4}">${off.get(name)!.toFixed(0)} mm</text>`,
      );
    });
    this.lines.innerHTML = lines.join("");
  }

  private makeButton(name: string, main: boolean): HTMLButtonElement {
    const button = document.createElement("button");
    button.className = main ? "handle main" : "handle";
    button.setAttribute("aria-label", spoken(name));
    button.dataset.point = name;
    let from: { x: number; y: number; depth: number; dx: number; dy: number; moved: boolean } | null = null;
    button.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      button.setPointerCapture(event.pointerId);
      const [x, y, depth] = this.view.toScreen(...this.editor.placeOf(name));
      from = { x: event.clientX, y: event.clientY, depth, dx: x - event.clientX, dy: y - event.clientY, moved: false };
      store.touched.value = name;
    });
    button.addEventListener("pointermove", (event) => {
      if (!from) return;
      from.moved ||= Math.hypot(event.clientX - from.x, event.clientY - from.y) > DRAG_PIXELS;
      if (from.moved) this.editor.drag(name, this.view.toWorld(event.clientX + from.dx, event.clientY + from.dy, from.depth));
    });
    const end = (event: PointerEvent) => {
      if (!from) return;
      if (from.moved) this.editor.drop();
      else if (event.type === "pointerup") this.editor.toggle(name);
      from = null;
    };
    button.addEventListener("pointerup", end);
    button.addEventListener("pointercancel", end);
    button.addEventListener("pointerenter", () => (store.touched.value = name));
    button.addEventListener("pointerleave", () => !from && (store.touched.value = null));
    button.addEventListener("focus", () => (store.touched.value = name));
    button.addEventListener("keydown", (event) => {
      const arrow = ARROWS[event.key];
      if (arrow) {
        event.preventDefault();
        const [x, y, depth] = this.view.toScreen(...this.editor.placeOf(name));
        this.editor.drag(name, this.view.toWorld(x + NUDGE_PIXELS * arrow[0], y + NUDGE_PIXELS * arrow[1], depth));
        this.editor.drop();
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        event.stopPropagation();
        this.editor.toggle(name);
      }
    });
    return button;
  }
}
