// The player bundle's one door: AmbuloPlayer.mount(element, data).

import sharedStyle from "../ui/style.css?inline";
import playerStyle from "./player.css?inline";
import { readShow, type PlayerData } from "./data";
import { Player, type PlayerOptions } from "./player";

export interface MountedPlayer {
  readonly time: number;
  readonly playing: boolean;
  play(): void;
  pause(): void;
  /** Jumps to a time in seconds. */
  seek(seconds: number): void;
  /** Places the camera: angles in radians, distance in metres; yaw 0 stands in front of a character that faces +Z. */
  setCamera(view: { yaw?: number; pitch?: number; distance?: number; height?: number }): void;
  dispose(): void;
}

/** Shows `data` inside `element`. Throws, and says so inside the element, where the data is malformed. */
export function mount(element: HTMLElement, data: PlayerData, options: PlayerOptions = {}): MountedPlayer {
  if (!document.getElementById("ambulo-player-style")) {
    const style = document.createElement("style");
    style.id = "ambulo-player-style";
    style.textContent = sharedStyle + playerStyle;
    document.head.append(style);
  }
  if (element.clientHeight < 40) element.style.aspectRatio ||= "16 / 9";
  let player: Player;
  try {
    player = new Player(element, readShow(data), options);
  } catch (error) {
    element.classList.add("ambulo", "player");
    const box = document.createElement("div");
    box.className = "failure";
    box.textContent = `This motion cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    element.replaceChildren(box);
    throw error;
  }
  return {
    get time() { return player.frame / player.show.rate; },
    get playing() { return player.playing; },
    play: () => player.setPlaying(true),
    pause: () => player.setPlaying(false),
    seek: (seconds) => player.seek(seconds * player.show.rate),
    setCamera: (view) => Object.assign(player.stage.camera, view),
    dispose: () => player.dispose(),
  };
}
