// Reads an FBX file with three.js and prints the world position of every node at some times, as JSON.
// node read_fbx.mjs FOLDER_OF_THREE FILE [TIMES]
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [, , folder, file, times] = process.argv;
globalThis.window = globalThis;
const { AnimationMixer, LoopOnce, Vector3 } = await import(join(folder, "build", "three.module.js"));
const { FBXLoader } = await import(join(folder, "examples", "jsm", "loaders", "FBXLoader.js"));

const bytes = readFileSync(file);
const root = new FBXLoader().parse(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength), "");
const mixer = new AnimationMixer(root);
const action = mixer.clipAction(root.animations[0]).setLoop(LoopOnce);
action.clampWhenFinished = true;
action.play();
const result = JSON.parse(times).map((time) => {
  mixer.setTime(time);
  root.updateMatrixWorld(true);
  const positions = {};
  root.traverse((node) => {
    positions[node.name] = new Vector3().setFromMatrixPosition(node.matrixWorld).toArray();
  });
  return positions;
});
console.log(JSON.stringify(result));
