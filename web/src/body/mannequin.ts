// A skinned mannequin for any skeleton: one smooth mesh, moved by global joint positions and rotations.

import {
  Bone, BufferAttribute, BufferGeometry, Color, Matrix4, MeshStandardMaterial, Quaternion, Skeleton, SkinnedMesh, Vector3,
} from "three";
import { bodyScale, makeBody } from "./anatomy";
import { makeBindPose } from "./bind";
import { makeOcclusion } from "./occlusion";
import { makePanels } from "./panels";
import { makeSkin } from "./skin";
import type { GlobalPose, SkeletonData } from "./skeleton";
import { makeSurface } from "./surface";

export interface MannequinColors {
  shell: string;
  joints: string;
  trim: string;
}

/** The same as numbers; the body's mesh holds them as `userData.colors`. */
export interface BodyColors {
  shell: Color;
  joints: Color;
  trim: Color;
}

/** Edge of a cell of the body's surface on a person of 1.75 m, metres; coarse is for processors that draw. */
const FINE = 0.017;
const COARSE = 0.023;

/** Shape and skin of a body, shared by all characters on one skeleton. */
export interface BodyModel {
  geometry: BufferGeometry;
  inverses: Matrix4[];
  jointCount: number;
}

export function makeBodyModel(skeleton: SkeletonData, pose: GlobalPose, coarse = false): BodyModel {
  const bind = makeBindPose(skeleton, pose);
  const scale = bodyScale(skeleton, bind);
  const body = makeBody(skeleton, bind);
  const surface = makeSurface(body, (coarse ? COARSE : FINE) * scale);
  const skin = makeSkin(skeleton, body, surface, 0.026 * scale);
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(surface.positions, 3));
  geometry.setAttribute("normal", new BufferAttribute(surface.normals, 3));
  geometry.setAttribute("skinIndex", new BufferAttribute(skin.joints, 4));
  geometry.setAttribute("skinWeight", new BufferAttribute(skin.weights, 4));
  const owners = skin.joints.filter((_, i) => i % 4 === 0);
  geometry.setAttribute("panel", new BufferAttribute(makePanels(skeleton, bind, surface.positions, owners), 1));
  geometry.setAttribute("occlusion", new BufferAttribute(makeOcclusion(body, surface, scale), 1));
  geometry.setIndex(new BufferAttribute(surface.indices, 1));
  const one = new Vector3(1, 1, 1);
  const inverses = bind.positions.map((p, j) => new Matrix4().compose(p, bind.rotations[j]!, one).invert());
  return { geometry, inverses, jointCount: skeleton.names.length };
}

export class Mannequin {
  readonly mesh: SkinnedMesh;
  private readonly bones: Bone[];
  private readonly position = new Vector3();
  private readonly rotation = new Quaternion();
  private readonly one = new Vector3(1, 1, 1);
  private readonly colors: BodyColors;

  constructor(model: BodyModel, colors: MannequinColors) {
    this.colors = { shell: new Color(colors.shell), joints: new Color(colors.joints), trim: new Color(colors.trim) };
    this.bones = model.inverses.map(() => {
      const bone = new Bone();
      bone.matrixAutoUpdate = false;
      bone.matrixWorldAutoUpdate = false;
      return bone;
    });
    this.mesh = new SkinnedMesh(model.geometry, this.material());
    this.mesh.bind(new Skeleton(this.bones, model.inverses), new Matrix4());
    this.mesh.userData.colors = this.colors;
    this.mesh.castShadow = true;
    this.mesh.receiveShadow = true;
    this.mesh.frustumCulled = false;
  }

  /** Moves the body to a global pose: `positions` [J,3] and `rotations` [J,4] from the given offsets on. */
  setPose(positions: ArrayLike<number>, rotations: ArrayLike<number>, positionOffset = 0, rotationOffset = 0): void {
    for (let j = 0; j < this.bones.length; j++) {
      this.position.fromArray(positions as number[], positionOffset + 3 * j);
      this.rotation.fromArray(rotations as number[], rotationOffset + 4 * j);
      this.bones[j]!.matrixWorld.compose(this.position, this.rotation, this.one);
    }
  }

  setColors(colors: MannequinColors): void {
    this.colors.shell.set(colors.shell);
    this.colors.joints.set(colors.joints);
    this.colors.trim.set(colors.trim);
  }

  dispose(): void {
    this.mesh.skeleton.dispose();
    (this.mesh.material as MeshStandardMaterial).dispose();
  }

  private material(): MeshStandardMaterial {
    const material = new MeshStandardMaterial({ roughness: 0.62, metalness: 0.0 });
    material.onBeforeCompile = (shader) => {
      shader.uniforms.shellColor = { value: this.colors.shell };
      shader.uniforms.jointColor = { value: this.colors.joints };
      shader.uniforms.trimColor = { value: this.colors.trim };
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nattribute float panel, occlusion;\nvarying float vPanel, vOcclusion;")
        .replace("#include <begin_vertex>", "#include <begin_vertex>\nvPanel = panel;\nvOcclusion = occlusion;");
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", "#include <common>\nvarying float vPanel, vOcclusion;\nuniform vec3 shellColor;\nuniform vec3 jointColor;\nuniform vec3 trimColor;")
        .replace(
          "#include <color_fragment>",
          `#include <color_fragment>
          float edge = max(fwidth(vPanel), 1e-5);
          float dark = smoothstep(-edge, edge, vPanel);
          float trim = smoothstep(-edge, edge, vPanel + 0.007) * (1.0 - dark);
          diffuseColor.rgb = mix(mix(shellColor, trimColor, trim), jointColor, dark);`,
        )
        .replace(
          "#include <aomap_fragment>",
          `#include <aomap_fragment>
          reflectedLight.indirectDiffuse *= vOcclusion;
          reflectedLight.directDiffuse *= mix(0.55, 1.0, vOcclusion);
          reflectedLight.directSpecular *= vOcclusion;`,
        )
        .replace("#include <roughnessmap_fragment>", "#include <roughnessmap_fragment>\nroughnessFactor = mix(roughnessFactor, 0.78, dark);");
    };
    return material;
  }
}
