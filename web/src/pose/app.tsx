// The page around the body: what can be done at the top, the keys at the bottom.

import { Help, type HelpGroup } from "../ui/help";
import { Icon } from "../ui/icons";
import type { Editor } from "./editor";
import { spoken } from "./handles";
import { KeyBar } from "./key_bar";
import { canRedo, canUndo, connected, copied, doc, hello, helpOpen, posed, problem, shown, theme, touched } from "./store";

const HELP: HelpGroup[] = [
  {
    title: "Points",
    keys: [
      [["drag"], "move a point: the body follows"], [["click"], "pin it where it is, or let it go"],
      [["Tab", "arrows"], "the same by keys; Enter pins"],
    ],
  },
  {
    title: "Pose",
    keys: [[["Ctrl Z"], "undo"], [["Ctrl Y"], "redo"], [["M"], "mirror"], [["Ctrl C"], "copy"], [["Ctrl V"], "paste"], [["G"], "ground: feet stay above it"]],
  },
  { title: "Time", keys: [[["K"], "key this pose"], [["Delete"], "delete the key"], [[",", "."], "one frame back, on"], [["Space"], "play the keys"]] },
  { title: "View", keys: [[["drag"], "orbit"], [["right drag"], "pan"], [["wheel"], "zoom"], [["V"], "to the middle"], [["T"], "dark or light"]] },
];

export function App({ editor, centre }: { editor: Editor; centre: () => void }) {
  const body = hello.value;
  return (
    <>
      <div class="pose-head">
        <div class="row"><a class="solid" href="./">← studio</a><h1>Pose</h1></div>
        <Told />
      </div>
      {body && shown.value && (
        <>
          <div class="panel pose-tools" role="toolbar" aria-label="Pose">
            <button disabled={!canUndo.value} title="Undo (Ctrl Z)" onClick={() => editor.undo()}>undo</button>
            <button disabled={!canRedo.value} title="Redo (Ctrl Y)" onClick={() => editor.redo()}>redo</button>
            <span class="gap" />
            <button title="Mirror (M)" onClick={() => editor.mirror()}>mirror</button>
            <button title="Copy the pose (Ctrl C): the text is what ambulo pose --points reads" onClick={() => editor.copy()}>copy</button>
            <button disabled={!copied.value} title="Paste the pose (Ctrl V)" onClick={() => editor.paste()}>paste</button>
            <button title="Stand, with the six main points pinned" onClick={() => editor.reset()}>reset</button>
            <button aria-pressed={doc.value.floor} title="No point goes below the ground (G)" onClick={() => editor.floor()}>ground</button>
          </div>
          <KeyBar editor={editor} />
        </>
      )}
      <div class="corner">
        <button title="To the middle (V)" aria-label="To the middle" onClick={centre}><Icon name="follow" /></button>
        <button title="Dark or light (T)" aria-label="Dark or light" onClick={() => (theme.value = theme.value === "dark" ? "light" : "dark")}><Icon name="theme" /></button>
        <button title="Keys (?)" aria-label="Keys" onClick={() => (helpOpen.value = true)}><Icon name="help" /></button>
      </div>
      {problem.value && (
        <div class="panel problem" role="alert">
          <div class="grow">
            {problem.value.message}
            {problem.value.remedy && <div class="muted">{problem.value.remedy}</div>}
          </div>
          <button aria-label="Dismiss" onClick={() => (problem.value = null)}>✕</button>
        </div>
      )}
      {!body && !problem.value && <div class="panel offline" role="status">{connected.value ? "Getting the body ready…" : "Waiting for the studio…"}</div>}
      {body && !connected.value && <div class="panel offline" role="status">The studio is not answering. Waiting for it…</div>}
      {helpOpen.value && <Help groups={HELP} close={() => (helpOpen.value = false)} />}
    </>
  );
}

/** What is under the pointer, what is out of reach, and how long the pose took. */
function Told() {
  const answer = posed.value;
  const count = Object.keys(doc.value.pins).length;
  const far = answer?.unreached ?? [];
  return (
    <div class="muted small" role="status" aria-label="Pose state">
      <div class="cut" title={hello.value?.model}>{hello.value && `${hello.value.project} · ${count} of ${hello.value.points.length} points pinned`}{answer && ` · ${(answer.microseconds / 1000).toFixed(1)} ms`}</div>
      <div class="touched">{touched.value ? spoken(touched.value) : " "}</div>
      {far.length > 0 && <div class="far">out of reach: {far.slice(0, 3).map((pin) => `${spoken(pin.point)} ${pin.millimetres.toFixed(0)} mm`).join(", ")}{far.length > 3 && ` and ${far.length - 3} more`}</div>}
    </div>
  );
}
