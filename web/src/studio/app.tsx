// The page around the scene: read-outs on top, panels at the right, time at the bottom.

import { Help } from "../ui/help";
import { Icon } from "../ui/icons";
import type { Actions } from "./actions";
import { ChoicePanel } from "./choice_panel";
import { HELP } from "./keys";
import { ProjectPanel } from "./project_panel";
import { connected, gamepad, helpOpen, panelsOpen, problem, readout, rebuild, stats, strafeLock } from "./store";
import { TimeBar } from "./time_bar";
import { TrainPanel } from "./train_panel";
import type { Trail } from "./trail";
import { WeightsPanel } from "./weights_panel";

export function App({ actions, trail }: { actions: Actions; trail: () => Trail }) {
  return (
    <>
      <Head />
      <div class="corner">
        <Pace />
        <a class="link" href="pose.html" title="Pose this body by a few points">pose</a>
        <button title="Panels (P)" aria-pressed={panelsOpen.value} onClick={actions.panels}>panels</button>
        <button title="Dark or light (T)" aria-label="Dark or light" onClick={actions.theme}><Icon name="theme" /></button>
        <button title="Keys (?)" aria-label="Keys" onClick={actions.help}><Icon name="help" /></button>
      </div>
      {panelsOpen.value && (
        <aside class="side">
          <ProjectPanel actions={actions} />
          <TrainPanel actions={actions} />
          <ChoicePanel />
          <WeightsPanel actions={actions} />
        </aside>
      )}
      <TimeBar actions={actions} trail={trail} />
      {problem.value && (
        <div class="panel problem" role="alert">
          <div class="grow">
            {problem.value.message}
            {problem.value.remedy && <div class="muted">{problem.value.remedy}</div>}
          </div>
          <button aria-label="Dismiss" onClick={() => (problem.value = null)}>✕</button>
        </div>
      )}
      <RebuildLine />
      {!connected.value && <div class="panel offline" role="status">The studio is not answering. Waiting for it…</div>}
      {helpOpen.value && <Help groups={HELP} close={actions.help} />}
    </>
  );
}

/** What becomes of a change to the project's files: the character plays on meanwhile. */
function RebuildLine() {
  const now = rebuild.value;
  if (!now) return null;
  return (
    <div class={`panel rebuild ${now.state}`} role="status" aria-label="Project files">
      <span class="mark" aria-hidden="true" />
      <div class="grow">
        <strong>{now.project}</strong> {now.text}
        {now.state === "failed" && <div class="muted">{now.remedy ?? ""} The character plays on as it was.</div>}
      </div>
      {now.state !== "building" && <button aria-label="Dismiss" onClick={() => (rebuild.value = null)}>✕</button>}
    </div>
  );
}

function Head() {
  const now = readout.value;
  if (!now) return null;
  const largest = Math.max(now.askedSpeed, now.speed, 4);
  return (
    <div class="head">
      <div class="speed">
        <strong>{now.speed.toFixed(2)}</strong> m/s <span class="muted">of {now.askedSpeed.toFixed(2)} asked</span>
      </div>
      <div class="gauge" aria-hidden="true">
        <span class="actual" style={`width:${(100 * now.speed) / largest}%`} />
        <span class="asked" style={`left:${(100 * now.askedSpeed) / largest}%`} />
      </div>
      <div class="muted playing"><span class="cut" title={now.clip}>{now.clip}</span><span class="number">{now.clipTime.toFixed(2)} s</span></div>
      {(strafeLock.value || gamepad.value) && (
        <div class="small muted">{[strafeLock.value ? "facing locked" : "", gamepad.value ?? ""].filter(Boolean).join(" · ")}</div>
      )}
    </div>
  );
}

function Pace() {
  const now = readout.value;
  const pace = stats.value;
  return (
    <span class="muted small pace">
      {pace && <span title={`A step costs ${pace.step_p50.toFixed(0)} µs (p99 ${pace.step_p99.toFixed(0)} µs)`}>{pace.hz.toFixed(0)} Hz · {pace.step_p50.toFixed(0)} µs</span>}
      {now && <span title="Pictures drawn a second"> · {now.drawnHz.toFixed(0)} fps</span>}
      {now?.latency != null && <span title="From key to pose"> · {now.latency.toFixed(0)} ms</span>}
    </span>
  );
}
