// Files dropped anywhere on the page go into the project's folder of takes; the server checks them, and builds.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { hello, problem } from "./store";
import { inOrder, nameFor, stemOf } from "./dropped_names";

export function DropZone() {
  const over = useSignal(false);
  const sending = useSignal("");
  useEffect(() => {
    let depth = 0;
    const withFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!withFiles(event)) return;
      event.preventDefault();
      depth++;
      over.value = true;
    };
    const leave = () => {
      depth = Math.max(depth - 1, 0);
      if (depth === 0) over.value = false;
    };
    const move = (event: DragEvent) => withFiles(event) && event.preventDefault();
    const drop = (event: DragEvent) => {
      if (!withFiles(event)) return;
      event.preventDefault();
      depth = 0;
      over.value = false;
      void sendAll(Array.from(event.dataTransfer!.files), (name) => (sending.value = name));
    };
    const listeners: [string, (event: DragEvent) => void][] = [["dragenter", enter], ["dragleave", leave], ["dragover", move], ["drop", drop]];
    for (const [name, listener] of listeners) window.addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of listeners) window.removeEventListener(name, listener as EventListener);
    };
  }, []);
  return (
    <>
      {over.value && (
        <div class="drop-zone" role="status">
          <div><strong>Drop takes here</strong><div class="muted">and their .tags.csv: they go into {hello.value?.project ?? "the project"}</div></div>
        </div>
      )}
      {sending.value && <div class="panel sending" role="status">taking {sending.value}…</div>}
    </>
  );
}

/** Takes first, then what is said about them: under the name that its take was given. */
async function sendAll(files: File[], tell: (name: string) => void): Promise<void> {
  const given = new Map<string, string>();
  for (const file of inOrder(files)) {
    tell(file.name);
    const name = nameFor(file.name, given);
    const refused = await send(file, name, given);
    if (refused) problem.value = refused;
  }
  tell("");
}

async function send(file: File, name: string, given: Map<string, string>) {
  try {
    const answer = await fetch(`/takes?name=${encodeURIComponent(name)}`, { method: "POST", body: file });
    const text = await answer.text();
    if (answer.ok) {
      given.set(stemOf(file.name), stemOf((JSON.parse(text) as { file: string }).file));
      return null;
    }
    const { message, remedy } = answer.status === 400 && text ? (JSON.parse(text) as { message: string; remedy: string | null }) : { message: text, remedy: null };
    return { type: "problem" as const, message, key: null, remedy };
  } catch {
    return { type: "problem" as const, message: `${file.name} could not be sent`, key: null, remedy: "Is the studio still running?" };
  }
}
