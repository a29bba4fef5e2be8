// The project: which one, which controller, what it holds, and the tags that can be asked for.

import type { Actions } from "./actions";
import { hello, status } from "./store";

export function ProjectPanel({ actions }: { actions: Actions }) {
  const project = hello.value;
  const now = status.value;
  if (!project || !now) return null;
  const { summary } = project;
  const required = new Set(now.required_tags);
  const toggle = (tag: string) => {
    if (required.has(tag)) required.delete(tag);
    else required.add(tag);
    actions.tags([...required]);
  };
  return (
    <section class="panel block" aria-label="Project">
      <Choose label="project" value={project.project} options={project.projects} choose={actions.project} />
      <Choose label="controller" value={now.controller} options={project.controllers} choose={actions.controller} />
      <div class="muted small facts" title={`${summary.joint_count} joints, ${summary.dimension_count} dimensions`}>
        {summary.clip_count} clips, {summary.minutes.toFixed(1)} min, {summary.frame_count.toLocaleString("en")} frames, {summary.megabytes.toFixed(0)} MB
      </div>
      {project.tags.length > 0 && (
        <>
          <div class="row">
            <h3 class="grow">Required tags</h3>
            <button class="small" disabled={required.size === 0} onClick={() => actions.tags([])}>none</button>
          </div>
          {required.size === 0 && project.default_tags.length > 0 && (
            <div class="muted small">shown by default: {project.default_tags.join(", ")}</div>
          )}
          <div class="chips">
            {project.tags.map((tag) => (
              <button key={tag.name} class="chip" aria-pressed={required.has(tag.name)} title={`${tag.seconds.toFixed(0)} s of the data`} onClick={() => toggle(tag.name)}>
                {tag.name}
              </button>
            ))}
          </div>
        </>
      )}
    </section>
  );
}

function Choose(props: { label: string; value: string; options: string[]; choose: (value: string) => void }) {
  return (
    <label class="row choose">
      <span class="muted">{props.label}</span>
      {props.options.length > 1 ? (
        <select
          class="grow" value={props.value}
          onChange={(event) => {
            props.choose(event.currentTarget.value);
            event.currentTarget.blur();
          }}
        >
          {props.options.map((option) => <option key={option} value={option}>{option.replaceAll("_", " ")}</option>)}
        </select>
      ) : <strong class="grow cut">{props.value.replaceAll("_", " ")}</strong>}
    </label>
  );
}
