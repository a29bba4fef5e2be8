// Replays the recording of an exported controller in Node with onnxruntime-web:
//
//   node web/engines/replay_ort.mjs ORT_WEB CONTROLLER_ONNX GOLDEN_JSON
//
// ORT_WEB is its Node entry (node_modules/onnxruntime-web/dist/ort.node.min.mjs); the rest as in replay.mjs.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [library, model, goldenFile] = process.argv.slice(2);
const ort = await import(pathToFileURL(library).href);
ort.env.wasm.numThreads = 1;
const golden = JSON.parse(readFileSync(goldenFile, "utf8"));
const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(model)), { executionProviders: ["wasm"] });
const tensor = (values, shape) => new ort.Tensor("float32", Float32Array.from(values), shape);
const frames = [];
let state = tensor(golden.state, [1, golden.state.length]);
const began = performance.now();
for (let step = 0; step < golden.in_dt.length; step++) {
  const out = await session.run({
    state, velocity: tensor(golden.in_velocity[step], [1, 3]), facing: tensor(golden.in_facing[step], [1, 3]),
    dt: tensor(golden.in_dt[step], [1]),
  });
  state = out.state_next;
  const names = ["local_positions", "local_rotations", "contacts"];
  frames.push(Object.fromEntries(names.map((name) => [name, [...out[name].data]])));
}
process.stdout.write(JSON.stringify({ frames, milliseconds: (performance.now() - began) / frames.length }));
