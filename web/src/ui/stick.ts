// A stick under the thumb, for screens that are touched.

const REACH = 46;

export class Stick {
  readonly element = document.createElement("div");
  /** To the right and ahead, each -1 to 1; their length is how far it is pushed. */
  readonly value: [number, number] = [0, 0];
  private readonly knob = document.createElement("span");
  private pointer: number | null = null;

  constructor() {
    this.element.className = "stick";
    this.element.setAttribute("aria-label", "Walk");
    this.element.append(this.knob);
    this.element.addEventListener("pointerdown", (event) => {
      this.pointer = event.pointerId;
      this.element.setPointerCapture(event.pointerId);
      this.move(event);
    });
    this.element.addEventListener("pointermove", (event) => event.pointerId === this.pointer && this.move(event));
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"] as const) {
      this.element.addEventListener(kind, (event) => event.pointerId === this.pointer && this.release());
    }
    this.element.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  private move(event: PointerEvent): void {
    const box = this.element.getBoundingClientRect();
    let x = (event.clientX - box.left - box.width / 2) / REACH, y = (event.clientY - box.top - box.height / 2) / REACH;
    const size = Math.hypot(x, y);
    if (size > 1) {
      x /= size;
      y /= size;
    }
    this.value[0] = x;
    this.value[1] = -y;
    this.knob.style.transform = `translate(${x * REACH}px, ${y * REACH}px)`;
  }

  private release(): void {
    this.pointer = null;
    this.value[0] = this.value[1] = 0;
    this.knob.style.transform = "";
  }
}

/** Shows the stick once a finger touches `element`, and from the start where fingers are all there is. */
export function offerStick(element: HTMLElement): Stick {
  const stick = new Stick();
  element.append(stick.element);
  const show = () => element.classList.add("touched");
  if (window.matchMedia("(pointer: coarse)").matches) show();
  window.addEventListener("pointerdown", (event) => event.pointerType === "touch" && show());
  return stick;
}
