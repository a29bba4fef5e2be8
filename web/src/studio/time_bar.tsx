// The last thirty seconds: a timeline to scrub, and the buttons of time.

import { Icon } from "../ui/icons";
import { Timeline } from "../ui/timeline";
import { LAYERS, type Actions } from "./actions";
import { follow, hello, layers, readout, status, strafeLock } from "./store";
import type { Trail } from "./trail";

export function TimeBar({ actions, trail }: { actions: Actions; trail: () => Trail }) {
  const now = readout.value;
  const project = hello.value;
  const set = status.value;
  if (!now || !project || !set) return null;
  const span = project.history_seconds * 60;
  const { bands, jumps } = trail().bands(now.oldest, now.newest, (clip) => project.clips[clip]?.name ?? "");
  const behind = (now.tick - now.newest) / 60;
  return (
    <div class="panel time-bar">
      <Timeline
        start={now.newest - span} stop={now.newest} playhead={now.tick} filledFrom={now.oldest} bands={bands} ticks={jumps}
        label="The last seconds" seek={actions.rewind}
      />
      <div class="row controls">
        <button title="Pause or play on (Space)" aria-label={set.paused ? "Play" : "Pause"} onClick={actions.pause}>
          <Icon name={set.paused ? "play" : "pause"} />
        </button>
        <button title="One frame back (,)" aria-label="One frame back" onClick={() => actions.step(-1)}><Icon name="back" /></button>
        <button title="One frame on (.)" aria-label="One frame on" onClick={() => actions.step(1)}><Icon name="forward" /></button>
        <button title="Slower ([)" aria-label="Slower" onClick={() => actions.rate(-1)}>−</button>
        <span class="rate">{set.rate}×</span>
        <button title="Faster (])" aria-label="Faster" onClick={() => actions.rate(1)}>+</button>
        <span class="behind muted">{behind < 0 ? `${behind.toFixed(2)} s` : set.paused ? "paused" : "live"}</span>
        <button class="layer muted" title="Save what was asked in these seconds: ambulo simulate --input takes the file" onClick={actions.saveInput}>
          save input
        </button>
        <span class="grow" />
        {LAYERS.map(([layer, name, color], i) => (
          <button key={layer} class="layer" aria-pressed={layers.value[layer]} title={`${name} (${i + 1})`} onClick={() => actions.layer(layer)}>
            <span class="dot" style={`background:var(${color});opacity:${layers.value[layer] ? 1 : 0.3}`} />{name}
          </button>
        ))}
        <button aria-pressed={strafeLock.value} title="Lock the facing to the camera (X)" onClick={actions.lock}>strafe</button>
        <button aria-pressed={follow.value} title="Follow the character (F)" onClick={actions.follow}><Icon name="follow" />follow</button>
      </div>
    </div>
  );
}
