// Learned motion matching, trained on the project that is open: what it takes, how far it is, its curves.

import { useSignal } from "@preact/signals";
import type { NetworkCurve, Training } from "../messages";
import type { Actions } from "./actions";
import { curvePath, duration } from "./curves";
import { hello, training } from "./store";

const WIDTH = 300, HEIGHT = 46;

export function TrainPanel({ actions }: { actions: Actions }) {
  const now = training.value;
  const preset = useSignal("");
  if (!now) return null;
  const chosen = preset.value || now.preset;
  const busy = now.state === "running" || now.state === "stopping";
  const trained = hello.value?.controllers.includes("lmm") ?? false;
  return (
    <section class="panel block train" aria-label="Learned motion matching">
      <h3>Learned motion matching</h3>
      {now.state === "impossible" ? (
        <div class="muted small">{now.text}{now.remedy && <>: <span class="selectable">{now.remedy}</span></>}</div>
      ) : (
        <div class="row">
          {busy ? (
            <button class="solid" disabled={now.state === "stopping"} onClick={actions.stopTraining}>stop</button>
          ) : (
            <>
              <button class="solid" title="Three small networks learn to play this project without its database" onClick={() => actions.train(chosen, false)}>
                {trained ? "train LMM again" : "train LMM"}
              </button>
              <select aria-label="preset" value={chosen} title="quick: a minute or two; base: for keeps" onChange={(event) => (preset.value = event.currentTarget.value)}>
                {now.presets.map((name) => <option key={name} value={name}>{name}</option>)}
              </select>
              {now.state === "stopped" && <button class="solid" onClick={() => actions.train(now.preset, true)}>go on</button>}
            </>
          )}
          <span class="grow" />
          {busy && <span class="muted small">{duration(now.seconds)}</span>}
        </div>
      )}
      {now.state !== "impossible" && now.text && (
        <div class={`small ${now.state === "failed" ? "failed" : "muted"}`} role="status">
          {now.project && now.project !== hello.value?.project && `${now.project}: `}{now.text}
          {now.state === "failed" && now.remedy && <div class="muted">{now.remedy}</div>}
        </div>
      )}
      <Curves now={now} />
    </section>
  );
}

function Curves({ now }: { now: Training }) {
  const begun = now.networks.filter((network) => network.loss.length > 0);
  if (begun.length === 0) return null;
  return (
    <>
      {begun.map((network) => <Curve key={network.name} network={network} running={now.state === "running"} />)}
      <div class="muted small"><span class="legend" />loss <span class="legend held" />on held-out data</div>
    </>
  );
}

function Curve({ network, running }: { network: NetworkCurve; running: boolean }) {
  const measures = network.validation[network.validation.length - 1]?.[1] ?? {};
  const first = Object.keys(measures)[0];
  const held = first ? network.validation.map(([step, values]) => [step, values[first] ?? NaN] as [number, number]) : [];
  const path = curvePath(network.loss, network.steps, WIDTH, HEIGHT), heldPath = curvePath(held, network.steps, WIDTH, HEIGHT);
  const last = network.loss[network.loss.length - 1]![1];
  return (
    <div class="curve" role="img" aria-label={`${network.name}: step ${network.step} of ${network.steps}, loss ${last.toPrecision(3)}`}>
      <div class="row small">
        <strong class="grow">{network.name}</strong>
        <span class="muted number">
          {network.step.toLocaleString("en")} of {network.steps.toLocaleString("en")}
          {running && network.remaining !== null && network.step < network.steps && `, ${duration(network.remaining)} left`}
        </span>
        <span class="number">{last.toPrecision(3)}</span>
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path class="loss" d={path} />
        {held.length > 1 && <path class="held" d={heldPath} />}
      </svg>
      {first && (
        <div class="muted small cut" title="On held-out data">
          {Object.entries(measures).slice(0, 3).map(([name, value]) => `${name.replaceAll("_", " ")} ${value.toPrecision(3)}`).join(" · ")}
        </div>
      )}
    </div>
  );
}
