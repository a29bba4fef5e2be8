// Keys of the posing page.

import { RATE } from "./document";
import type { Editor } from "./editor";
import { doc, helpOpen, theme } from "./store";

export function listenToKeys(editor: Editor, centre: () => void): void {
  const plain: Record<string, () => void> = {
    KeyM: () => editor.mirror(),
    KeyK: () => editor.putKey(),
    KeyG: () => editor.floor(),
    KeyV: centre,
    KeyT: () => (theme.value = theme.value === "dark" ? "light" : "dark"),
    Delete: () => editor.removeKey(),
    Backspace: () => editor.removeKey(),
    Space: () => editor.play(),
    Comma: () => editor.seek(doc.value.time - 1 / RATE),
    Period: () => editor.seek(doc.value.time + 1 / RATE),
    KeyH: () => (helpOpen.value = !helpOpen.value),
    Slash: () => (helpOpen.value = !helpOpen.value),
    Escape: () => (helpOpen.value = false),
  };
  window.addEventListener("keydown", (event) => {
    if (event.altKey) return;
    let act: (() => void) | undefined;
    if (event.ctrlKey || event.metaKey) {
      if (event.code === "KeyZ") act = event.shiftKey ? () => editor.redo() : () => editor.undo();
      else if (event.code === "KeyY") act = () => editor.redo();
      else if (event.code === "KeyC") act = () => editor.copy();
      // Ctrl+V comes as a paste, with what other programs copied.
    } else act = plain[event.code];
    if (!act) return;
    event.preventDefault();
    act();
  });
  window.addEventListener("paste", (event) => editor.paste(event.clipboardData?.getData("text")));
}
