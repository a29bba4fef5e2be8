// Keys that are pressed once (those that are held to move belong to steering.ts).

import type { HelpGroup } from "../ui/help";
import { LAYERS, type Actions } from "./actions";
import { isTyping } from "./steering";
import * as store from "./store";

export const HELP: HelpGroup[] = [
  {
    title: "Move",
    keys: [
      [["W", "A", "S", "D"], "walk where the camera looks (or the arrow keys)"], [["Shift"], "run"], [["C"], "slowly"],
      [["Q", "E"], "turn the facing and lock it: strafe"], [["X"], "lock or free the facing"],
    ],
  },
  {
    title: "Gamepad",
    keys: [
      [["left stick"], "walk"], [["RT"], "run"], [["right stick"], "camera"], [["LT"], "lock the facing; the right stick aims it"],
      [["A"], "pause"], [["Y"], "lock"], [["B"], "reset the camera"],
    ],
  },
  {
    title: "Time",
    keys: [
      [["Space"], "pause or play on from here"], [[",", "."], "one frame back, on"], [["R"], "hold to rewind"], [["[", "]"], "slower, faster"],
      [["Home"], "back to the origin"],
    ],
  },
  {
    title: "View",
    keys: [
      [["drag"], "orbit"], [["right drag"], "pan"], [["wheel"], "zoom"], [["F"], "follow or stay"], [["V"], "reset the camera"],
      [["1", "…", "5"], "layers"], [["P"], "panels"], [["T"], "dark or light"], [["?"], "this help"],
    ],
  },
];

const REWIND_SPEED = 2;

export function listenToKeys(actions: Actions): void {
  const presses: Record<string, () => void> = {
    Space: actions.pause,
    Comma: () => actions.step(-1),
    Period: () => actions.step(1),
    BracketLeft: () => actions.rate(-1),
    BracketRight: () => actions.rate(1),
    Home: actions.restart,
    KeyX: actions.lock,
    KeyF: actions.follow,
    KeyV: actions.recentre,
    KeyT: actions.theme,
    KeyP: actions.panels,
    KeyH: actions.help,
    Slash: actions.help,
    Escape: () => (store.helpOpen.value = false),
  };
  LAYERS.forEach(([layer], i) => (presses[`Digit${i + 1}`] = () => actions.layer(layer)));

  let rewinding = 0;
  const rewind = () => {
    const now = store.readout.value;
    if (!rewinding || !now) return;
    actions.rewind(now.tick - REWIND_SPEED);
    rewinding = requestAnimationFrame(rewind);
  };
  window.addEventListener("keydown", (event) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.code === "KeyR") {
      event.preventDefault();
      if (!rewinding) rewinding = requestAnimationFrame(rewind);
      return;
    }
    const press = presses[event.code] ?? (event.key === "?" ? actions.help : undefined);
    if (!press) return;
    event.preventDefault();
    if (!event.repeat || event.code === "Comma" || event.code === "Period") press();
  });
  const stop = () => {
    cancelAnimationFrame(rewinding);
    rewinding = 0;
  };
  window.addEventListener("keyup", (event) => event.code === "KeyR" && stop());
  window.addEventListener("blur", stop);
}
