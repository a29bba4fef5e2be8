// Why this pose: what was chosen, the runner-up and what going on would have cost, each as one bar of feature groups.

import type { CandidateInfo } from "../messages";
import { choice, groupColor, hello, status } from "./store";

export function ChoicePanel() {
  const why = choice.value;
  const project = hello.value;
  if (!why || !project) return null;
  const continues = why.continuing !== null && why.continuing.frame === why.winner.frame;
  const rows: [string, CandidateInfo | null, string][] = [
    ["chosen", why.winner, continues ? "went on" : "jumped"],
    ["runner-up", why.runner_up, ""],
    ["going on", continues ? null : why.continuing, ""],
  ];
  const largest = Math.max(...rows.map(([, candidate]) => candidate?.cost ?? 0), 1e-6);
  const filtered = Object.entries(why.filtered).filter(([, count]) => count > 0);
  const required = status.value?.required_tags ?? [];
  const shown = required.length > 0 ? required : project.default_tags;
  // Nobody may have chosen a tag: the project's own default is what leaves the rest out.
  const named = (reason: string) => (reason === "required tags" && shown.length > 0 ? `outside ${shown.join(" + ")}` : reason);
  return (
    <section class="panel block" aria-label="Why this pose">
      <h3>Why this pose</h3>
      {rows.map(([name, candidate, note]) => (
        <div class="candidate" key={name}>
          <div class="row">
            <span class="name">{name}</span>
            <span class="cut muted small" title={candidate?.clip}>
              {candidate ? candidate.clip : name === "going on" ? (continues ? "is what was chosen" : "not possible here") : "none"}
            </span>
            <span class="grow when muted small">
              {candidate && `${candidate.time.toFixed(2)} s`}
              {note && candidate && <em> {note}</em>}
            </span>
            <span class="number">{candidate ? candidate.cost.toFixed(2) : ""}</span>
          </div>
          <div class="stack">
            {candidate && Object.entries(candidate.costs).map(([group, cost]) => (
              <span key={group} title={`${group}: ${cost.toFixed(3)}`} style={`width:${(100 * cost) / largest}%;background:${groupColor(group)}`} />
            ))}
          </div>
        </div>
      ))}
      <div class="muted small">
        {why.candidate_count.toLocaleString("en")} candidates{filtered.length > 0 && ", without "}
        {filtered.map(([reason, count]) => `${count.toLocaleString("en")} ${named(reason)}`).join(", ")}
      </div>
    </section>
  );
}
