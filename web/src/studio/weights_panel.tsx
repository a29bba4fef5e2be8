// One slider a feature group. A slider acts while it is dragged: no rebuild, no button.

import { useRef, useState } from "preact/hooks";
import type { Actions } from "./actions";
import { choice, groupColor, hello, status } from "./store";

const LARGEST = 5;
const SEND_EVERY = 40;
/** Milliseconds after the last change for which a slider shows the hand's value: answers to earlier ones are on their way. */
const HAND_HOLDS = 500;

export function WeightsPanel({ actions }: { actions: Actions }) {
  const groups = hello.value?.groups ?? [];
  const weights = status.value?.weights ?? {};
  const pending = useRef<Record<string, number>>({});
  const timer = useRef(0);
  const [held, setHeld] = useState<Record<string, number>>({});
  const letGo = useRef(0);
  const set = (name: string, weight: number) => {
    setHeld((before) => ({ ...before, [name]: weight }));
    window.clearTimeout(letGo.current);
    letGo.current = window.setTimeout(() => setHeld({}), HAND_HOLDS);
    pending.current[name] = weight;
    if (timer.current) return;
    const flush = () => {
      timer.current = 0;
      actions.weights(pending.current);
      pending.current = {};
    };
    flush();
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      if (Object.keys(pending.current).length) flush();
    }, SEND_EVERY);
  };
  const changed = groups.some((group) => Math.abs((weights[group.name] ?? group.weight) - group.schema_weight) > 1e-6);
  return (
    <section class="panel block" aria-label="Weights">
      <div class="row">
        <h3 class="grow">Weights</h3>
        <button class="small" disabled={!changed} onClick={() => actions.weights(Object.fromEntries(groups.map((group) => [group.name, group.schema_weight])))}>
          reset
        </button>
      </div>
      {groups.map((group) => {
        const weight = held[group.name] ?? weights[group.name] ?? group.weight;
        return (
          <label class="weight" key={group.name} title={`${group.meaning}; ${group.dimension_count} dimensions`}>
            <span class="dot" style={`background:${groupColor(group.name)}`} />
            <span class="grow cut">{group.name.replaceAll("_", " ")}</span>
            <span class="muted small number">{choice.value?.winner.costs[group.name]?.toFixed(2) ?? ""}</span>
            <input
              type="range" min={0} max={LARGEST} step={0.05} value={weight} data-group={group.name} aria-label={`Weight of ${group.name}`}
              onInput={(event) => set(group.name, Number(event.currentTarget.value))} onPointerUp={(event) => event.currentTarget.blur()}
            />
            <span class={Math.abs(weight - group.schema_weight) > 1e-6 ? "number changed" : "number"}>{weight.toFixed(2)}</span>
          </label>
        );
      })}
    </section>
  );
}
