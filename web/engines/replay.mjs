// Replays the recording of an exported controller in Node, with the runtime that exported pages carry:
//
//   node web/engines/replay.mjs LIVE_JS DATA_JSON GOLDEN_JSON
//
// DATA_JSON is what stands in the page (see web/src/live/index.ts), GOLDEN_JSON has the arrays of golden.npz, flat, a
// list a frame. Prints the outputs of all frames, and milliseconds a step, as JSON.
import { readFileSync } from "node:fs";

const [script, dataFile, goldenFile] = process.argv.slice(2);
const { GraphRunner, decodeFloats } = new Function(`${readFileSync(script, "utf8")};return AmbuloLive;`)();
const data = JSON.parse(readFileSync(dataFile, "utf8"));
const golden = JSON.parse(readFileSync(goldenFile, "utf8"));
const runner = new GraphRunner(data.graph, decodeFloats(data.weights));
const frames = [];
let state = golden.state;
const began = performance.now();
for (let step = 0; step < golden.in_dt.length; step++) {
  const out = runner.run({
    state, velocity: golden.in_velocity[step], facing: golden.in_facing[step], dt: golden.in_dt[step], tag_set: [0],
  });
  state = out.state_next.slice();
  const { local_positions, local_rotations, contacts } = out;
  frames.push({ local_positions: [...local_positions], local_rotations: [...local_rotations], contacts: [...contacts] });
}
process.stdout.write(JSON.stringify({ frames, milliseconds: (performance.now() - began) / frames.length }));
