// Where three.js puts the joints of a .glb, .gltf or .bvh file, as JSON on stdout:
//
//   node web/engines/positions.mjs FILE '[0, 0.5, 1]'
//
// gives {"animations": [{"name", "duration", "positions": [for each time: {joint: [x, y, z]}]}], "rest": {joint: [...]},
// "meshes": [number of vertices]}. A joint is the index of its node in a glTF, and its place in the file, end sites not
// counted, in a BVH. The tests compare this with what ambulo says of the same file.
import { readFileSync } from "node:fs";
import { AnimationMixer, Box3, Group, LoopOnce, SkinnedMesh, Vector3 } from "three";
import { BVHLoader } from "three/addons/loaders/BVHLoader.js";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

globalThis.self = globalThis;
globalThis.ProgressEvent ??= class extends Event {};

const [file, timesText] = process.argv.slice(2);
const times = JSON.parse(timesText);

function places(root, joints) {
  root.updateMatrixWorld(true);
  return Object.fromEntries(joints.map(([key, object]) => [key, object.getWorldPosition(new Vector3()).toArray()]));
}

function play(root, clips, joints) {
  const rest = places(root, joints);
  const animations = clips.map((clip) => {
    const mixer = new AnimationMixer(root);
    const action = mixer.clipAction(clip);
    action.setLoop(LoopOnce, 1);
    action.clampWhenFinished = true;
    action.play();
    const positions = times.map((time) => {
      action.time = 0;
      action.paused = false;
      action.enabled = true;
      mixer.setTime(Math.min(time, clip.duration));
      return places(root, joints);
    });
    mixer.stopAllAction();
    return { name: clip.name, duration: clip.duration, positions };
  });
  return { rest, animations };
}

async function loadGltf(path) {
  const data = readFileSync(path);
  const content = path.endsWith(".glb") ? data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) : data.toString("utf8");
  const gltf = await new GLTFLoader().parseAsync(content, "");
  const joints = [];
  const meshes = [];
  gltf.scene.traverse((object) => {
    const node = gltf.parser.associations.get(object)?.nodes;
    if (node !== undefined) joints.push([node, object]);
    if (object instanceof SkinnedMesh) meshes.push(object);
  });
  const result = play(gltf.scene, gltf.animations, joints);
  gltf.scene.updateMatrixWorld(true);
  result.meshes = meshes.map((mesh) => {
    mesh.skeleton.update();
    mesh.computeBoundingBox();
    const box = new Box3().copy(mesh.boundingBox);
    return { vertices: mesh.geometry.attributes.position.count, low: box.min.toArray(), high: box.max.toArray() };
  });
  return result;
}

function loadBvh(path) {
  const { skeleton, clip } = new BVHLoader().parse(readFileSync(path, "utf8"));
  const root = new Group();
  root.add(skeleton.bones[0]);
  const joints = skeleton.bones.filter((bone) => bone.name !== "ENDSITE").map((bone, place) => [place, bone]);
  return play(root, [clip], joints);
}

const result = file.endsWith(".bvh") ? loadBvh(file) : await loadGltf(file);
process.stdout.write(JSON.stringify(result));
