// Keys on a timeline: put, moved, deleted, played, saved.

import { useRef } from "preact/hooks";
import { Icon } from "../ui/icons";
import { keyAt, LONGEST, toFrame } from "./document";
import type { Editor } from "./editor";
import { doc, playing } from "./store";

export function KeyBar({ editor }: { editor: Editor }) {
  const { keys, time } = doc.value;
  const now = playing.value ?? time;
  const here = keyAt(doc.value);
  return (
    <div class="panel key-bar" aria-label="Keys">
      <Track editor={editor} now={now} />
      <div class="row controls">
        <button disabled={keys.length < 2} title="Play the keys (Space)" aria-label={playing.value === null ? "Play" : "Pause"} onClick={() => editor.play()}>
          <Icon name={playing.value === null ? "play" : "pause"} />
        </button>
        <span class="at">{now.toFixed(2)} s</span>
        <button class="solid" title="Key this pose here (K)" onClick={() => editor.putKey()}>key</button>
        <button disabled={!here} title="Delete the key (Delete)" onClick={() => editor.removeKey()}>delete key</button>
        <span class="muted small">{keys.length === 0 ? "no keys" : keys.length === 1 ? "1 key" : `${keys.length} keys`}</span>
        <span class="grow" />
        <span class="muted small">save</span>
        <button class="solid" title="Save as BVH" onClick={() => void editor.save("bvh")}>BVH</button>
        <button class="solid" title="Save as GLB" onClick={() => void editor.save("glb")}>GLB</button>
      </div>
    </div>
  );
}

function Track({ editor, now }: { editor: Editor; now: number }) {
  const track = useRef<HTMLDivElement>(null);
  const { keys, time } = doc.value;
  const last = keys[keys.length - 1]?.time ?? 0;
  const length = Math.min(Math.max(4, Math.ceil(Math.max(last, time) + 1)), LONGEST);
  const percent = (at: number) => `${(100 * at) / length}%`;
  const timeAt = (event: PointerEvent) => {
    const box = track.current!.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width) * length;
  };
  const scrub = (event: PointerEvent) => {
    if (event.type === "pointerdown") track.current!.setPointerCapture(event.pointerId);
    if (track.current!.hasPointerCapture(event.pointerId)) editor.seek(timeAt(event));
  };
  const seconds = Array.from({ length: length + 1 }, (_, i) => i).filter((i) => i % Math.ceil(length / 12) === 0);
  return (
    <div class="track" ref={track} role="slider" aria-label="Time" aria-valuemin={0} aria-valuemax={length} aria-valuenow={now} onPointerDown={scrub} onPointerMove={scrub}>
      {seconds.map((second) => <span key={second} class="second" style={`left:${percent(second)}`}>{second}</span>)}
      {keys.map((key) => <KeyMark key={key.time} editor={editor} time={key.time} left={percent(key.time)} here={toFrame(now) === key.time} timeAt={timeAt} />)}
      <span class="playhead" style={`left:${percent(now)}`} />
    </div>
  );
}

interface KeyMarkProps {
  editor: Editor;
  time: number;
  left: string;
  here: boolean;
  timeAt: (event: PointerEvent) => number;
}

/** A key: clicked to go there, dragged to another time. The page listens, since a moved key is another element. */
function KeyMark({ editor, time, left, here, timeAt }: KeyMarkProps) {
  const down = (event: PointerEvent) => {
    event.stopPropagation();
    editor.seek(time);
    let at = time;
    const move = (moved: PointerEvent) => {
      const to = toFrame(timeAt(moved));
      if (to === at) return;
      editor.moveKey(at, to);
      if (doc.value.keys.some((key) => key.time === to) && doc.value.time === to) at = to;
    };
    const up = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      editor.drop();
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
  };
  return <button class="key-mark" aria-label={`Key at ${time.toFixed(2)} s`} aria-pressed={here} style={`left:${left}`} onPointerDown={down} onClick={() => editor.seek(time)} />;
}
