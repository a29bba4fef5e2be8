// The posing page's entry: wires the connection, the editor, the scene and what lies over it.

import "../ui/style.css";
import "../studio/studio.css";
import "./pose.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app";
import { exposeDebug } from "./debug";
import { Editor } from "./editor";
import { Handles } from "./handles";
import { listenToKeys } from "./keys";
import { Link } from "./link";
import * as store from "./store";
import { PoseView } from "./view";

const query = new URLSearchParams(location.search);
const root = document.getElementById("app")!;
root.replaceChildren();
root.className = "ambulo studio pose";
const place = (name: string) => {
  const element = document.createElement("div");
  element.className = name;
  root.append(element);
  return element;
};
const sceneHost = place("view");
const handleHost = place("handles");
const chrome = place("chrome");

const view = new PoseView(sceneHost, store.theme.value);
const link: Link = new Link({
  hello: (hello) => {
    store.hello.value = hello;
    view.setBody(hello);
    handles.setBody(hello);
    editor.start();
  },
  problem: (problem) => (store.problem.value = problem),
  connected: (open) => (store.connected.value = open),
});
const editor = new Editor(link);
const handles = new Handles(handleHost, view, editor);

function centre(): void {
  const pose = store.shown.value, hips = store.hello.value?.points.findIndex((point) => point.name === "hips") ?? -1;
  if (pose && hips >= 0) view.centre(pose, hips);
}
listenToKeys(editor, centre);

effect(() => {
  root.dataset.theme = store.theme.value;
  document.body.style.background = store.theme.value === "dark" ? "#14171c" : "#eef0f3";
  view.setTheme(store.theme.value);
});
effect(() => {
  if (store.shown.value) view.setPose(store.shown.value);
});
let stale = true;
effect(() => {
  void [store.shown.value, store.doc.value, store.posed.value, store.playing.value];
  stale = true;
});
view.stage.setInset(0, 96);
render(<App editor={editor} centre={centre} />, chrome);

// ?pictures=10 draws at most ten pictures a second: for machines without a graphics card.
const pictures = Number(query.get("pictures")) || Infinity;
let last = performance.now();
let drawnAt = 0;
function tick(now: number): void {
  requestAnimationFrame(tick);
  const dt = Math.min(Math.max((now - last) / 1000, 0), 0.5);
  last = now;
  editor.advance(dt);
  if (now - drawnAt < 1000 / pictures) return;
  const drawn = view.render(Math.min((now - drawnAt) / 1000, 0.5));
  drawnAt = now;
  if (drawn || stale) handles.update();
  stale = false;
}
requestAnimationFrame(tick);

if (query.get("debug") === "1") exposeDebug(view);
