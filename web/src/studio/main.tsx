// The studio's entry: wires the connection, the steering, the scene and the panels together.

import "../ui/style.css";
import "./studio.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { PROTOCOL_VERSION, type Rebuild, type ServerMessage } from "../messages";
import { App } from "./app";
import { makeActions } from "./actions";
import { Connection } from "./connection";
import { exposeDebug } from "./debug";
import type { PoseFrame } from "./frames";
import { DropZone } from "./drop_zone";
import { listenToKeys } from "./keys";
import { gaitsFor, Steering, type Wish } from "./steering";
import * as store from "./store";
import { offerStick } from "../ui/stick";
import { World } from "./world";

const READOUT_INTERVAL = 120;
const INPUT_INTERVAL = 250;
const REBUILD_SHOWN = 6000;

const query = new URLSearchParams(location.search);
const root = document.getElementById("app")!;
root.replaceChildren();
root.className = "ambulo studio";
const sceneHost = document.createElement("div");
sceneHost.className = "view";
const chrome = document.createElement("div");
root.append(sceneHost, chrome);

const world = new World(sceneHost, store.theme.value);
const steering = new Steering(world.stage.camera);
let sentWish: Wish = { velocity: [0, 0], facing: [0, 0] };
let sentAt = 0;
let epoch = -1;
let frameCount = 0;
let seenCount = 0;

const connection = new Connection({
  opened: () => {
    store.connected.value = true;
    sentAt = 0;
    frameCount = seenCount = 0;
  },
  closed: () => (store.connected.value = false),
  message: receive,
  frame: (frame) => {
    if (frame.epoch !== epoch) {
      epoch = frame.epoch;
      world.trail.clear();
    }
    frameCount++;
    world.addFrame(frame);
  },
});

function receive(message: ServerMessage): void {
  switch (message.type) {
    case "hello":
      if (message.version !== PROTOCOL_VERSION) {
        store.problem.value = { type: "problem", message: "This page is of another version than the server.", remedy: "Reload the page." };
        return;
      }
      store.choice.value = null;
      store.hello.value = message;
      steering.gaits = gaitsFor(message.summary.top_speed);
      document.title = `${message.project} · ambulo studio`;
      world.setProject(message);
      break;
    case "status": store.status.value = message; break;
    case "choice": store.choice.value = message; break;
    case "stats": store.stats.value = message; break;
    case "input_file": saveFile(message.name, message.text); break;
    case "rebuild": showRebuild(message); break;
    case "training": store.training.value = message; break;
    case "problem": store.problem.value = message; break;
  }
}

let rebuildTimer = 0;

/** Building and failing stay until something else is said; success goes by itself. */
function showRebuild(message: Rebuild): void {
  store.rebuild.value = message;
  window.clearTimeout(rebuildTimer);
  if (message.state === "ready") rebuildTimer = window.setTimeout(() => (store.rebuild.value = null), REBUILD_SHOWN);
}

function saveFile(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const actions = makeActions((message) => connection.send(message), {
  recentre: () => world.stage.camera.recentre(),
  setFollow: (on) => (world.stage.camera.follow = on),
  setLock: (on) => steering.setLock(on),
});
steering.onChange = () => {
  store.strafeLock.value = steering.strafeLock;
  store.gamepad.value = steering.gamepad;
};
steering.onButton = (button) => {
  if (button === 0) actions.pause();
  else if (button === 1) actions.recentre();
  else if (button === 3) actions.lock();
};
steering.stick = offerStick(root).value;
listenToKeys(actions);

effect(() => {
  root.dataset.theme = store.theme.value;
  document.body.style.background = store.theme.value === "dark" ? "#14171c" : "#eef0f3";
  world.setTheme(store.theme.value);
});
effect(() => {
  world.stage.setInset(store.panelsOpen.value && window.innerWidth > 760 ? 342 : 0, 96);
});
effect(() => {
  world.layers = store.layers.value;
});
render(<><App actions={actions} trail={() => world.trail} /><DropZone /></>, chrome);

function sendWish(now: number, dt: number): void {
  const wish = steering.update(dt);
  const apart = (a: [number, number], b: [number, number]) => Math.hypot(a[0] - b[0], a[1] - b[1]);
  const changed = apart(wish.velocity, sentWish.velocity) > 1e-3 || apart(wish.facing, sentWish.facing) > 1e-3;
  // A page at rest keeps still: another page may be steering.
  const repeats = Math.hypot(...wish.velocity) > 0 && now - sentAt >= INPUT_INTERVAL;
  if (!connection.open || !(changed || repeats)) return;
  sentWish = wish;
  sentAt = now;
  connection.send({ type: "input", velocity: wish.velocity, facing: wish.facing });
}

function updateReadout(frame: PoseFrame, drawnHz: number): void {
  store.readout.value = {
    tick: frame.tick, oldest: frame.oldest, newest: frame.newest,
    clip: store.hello.value?.clips[frame.clip]?.name ?? "", clipTime: frame.clipTime,
    speed: Math.hypot(frame.velocity[0]!, frame.velocity[2]!), askedSpeed: Math.hypot(frame.desiredVelocity[0]!, frame.desiredVelocity[2]!),
    latency: connection.latency, drawnHz,
  };
}

// ?pictures=10 draws at most ten pictures a second: for machines without a graphics card, whose keys would lag otherwise.
const pictures = Number(query.get("pictures")) || Infinity;
world.stage.adaptive = pictures === Infinity;
let last = performance.now();
let drawnAt = 0;
let readoutAt = 0;
let drawnHz = 60;
function tick(now: number): void {
  requestAnimationFrame(tick);
  const dt = Math.min(Math.max((now - last) / 1000, 0), 0.5);
  last = now;
  sendWish(now, dt);
  if (frameCount > seenCount) connection.send({ type: "seen", frames: (seenCount = frameCount) });
  const since = Math.min((now - drawnAt) / 1000, 0.5);
  if (since >= 1 / pictures) {
    if (since > 0) drawnHz += 0.05 * (1 / since - drawnHz);
    drawnAt = now;
    world.render(since);
  }
  if (world.latest && now - readoutAt > READOUT_INTERVAL) {
    readoutAt = now;
    updateReadout(world.latest, drawnHz);
  }
}
requestAnimationFrame(tick);

if (query.get("debug") === "1") exposeDebug(world, connection, () => frameCount, () => sentWish);
