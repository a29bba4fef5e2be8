// Draws the stage with WebGL: lit ground with its grid, soft shadow.

import {
  BufferAttribute, CircleGeometry, Color, DirectionalLight, HemisphereLight, Mesh, MeshBasicMaterial, MeshLambertMaterial, PCFShadowMap,
  PlaneGeometry, Vector3, WebGLRenderer, type Scene,
} from "three";
import { FILL_COLOR, FILL_INTENSITY, fillDirection, SUN } from "./lights";
import type { Painter, View } from "./painter";
import type { Quality } from "./quality";
import type { Theme } from "./theme";

export class GlPainter implements Painter {
  readonly canvas: HTMLCanvasElement;
  private readonly renderer: WebGLRenderer;
  private readonly sun = new DirectionalLight("#ffffff", 2.6);
  private readonly fill = new DirectionalLight(FILL_COLOR, FILL_INTENSITY);
  private readonly sky = new HemisphereLight("#ffffff", "#444444", 1);
  private readonly ground: Mesh<PlaneGeometry, MeshLambertMaterial>;
  private readonly blot: Mesh<CircleGeometry, MeshBasicMaterial>;
  private readonly gridUniforms = {
    gridMinor: { value: new Color() }, gridMajor: { value: new Color() }, haze: { value: new Color() }, centre: { value: new Vector3() },
  };
  private readonly size = { width: 1, height: 1 };

  /** Throws where there is no WebGL. `lost` is called where the browser takes the context away. */
  constructor(private readonly scene: Scene, private readonly quality: Quality, lost: () => void) {
    this.renderer = new WebGLRenderer({ antialias: quality.antialias, stencil: false, powerPreference: "high-performance" });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.canvas = this.renderer.domElement;
    this.canvas.addEventListener("webglcontextlost", lost);

    this.sun.shadow.radius = 5;
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.012;
    Object.assign(this.sun.shadow.camera, { left: -2.2, right: 2.2, top: 2.2, bottom: -2.2, near: 0.5, far: 14 });
    this.ground = new Mesh(new PlaneGeometry(160, 160).rotateX(-Math.PI / 2), this.groundMaterial());
    this.ground.receiveShadow = true;
    this.blot = new Mesh(blotGeometry(), new MeshBasicMaterial({ color: "#000000", vertexColors: true, transparent: true, depthWrite: false, toneMapped: false }));
    scene.add(this.ground, this.blot, this.sun, this.sun.target, this.fill, this.fill.target, this.sky);
    this.setQuality(quality);
  }

  get triangles(): number {
    return this.renderer.info.render.triangles;
  }

  setQuality(quality: Quality): boolean {
    if (quality.painter !== "gl" || quality.antialias !== this.quality.antialias) return false;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, quality.ratio));
    this.sun.castShadow = quality.shadow > 0;
    this.blot.visible = quality.shadow === 0;
    if (quality.shadow > 0 && this.sun.shadow.mapSize.x !== quality.shadow) {
      this.sun.shadow.mapSize.set(quality.shadow, quality.shadow);
      this.sun.shadow.map?.dispose();
      this.sun.shadow.map = null;
    }
    this.setSize(this.size.width, this.size.height);
    return true;
  }

  setSize(width: number, height: number): void {
    Object.assign(this.size, { width, height });
    this.renderer.setSize(width, height, false);
  }

  setTheme(theme: Theme): void {
    this.scene.background = new Color(theme.background);
    this.ground.material.color.set(theme.ground);
    this.gridUniforms.gridMinor.value.set(theme.gridMinor);
    this.gridUniforms.gridMajor.value.set(theme.gridMajor);
    this.gridUniforms.haze.value.set(theme.background);
    this.sky.color.set(theme.sky);
    this.sky.groundColor.set(theme.earth);
    this.sky.intensity = theme.hemisphere;
    this.sun.intensity = theme.sun;
  }

  render({ scene, camera, target, at, yaw }: View): void {
    this.sun.target.position.set(at.x, 0.8, at.z);
    this.sun.position.copy(this.sun.target.position).add(SUN);
    this.fill.target.position.copy(this.sun.target.position);
    fillDirection(yaw, this.fill.position).add(this.fill.target.position);
    this.ground.position.set(Math.round(at.x / 10) * 10, 0, Math.round(at.z / 10) * 10);
    this.blot.position.set(at.x, 0.001, at.z);
    this.gridUniforms.centre.value.copy(target);
    this.renderer.render(scene, camera);
  }

  dispose(): void {
    this.scene.remove(this.ground, this.blot, this.sun, this.sun.target, this.fill, this.fill.target, this.sky);
    this.scene.background = null;
    this.ground.geometry.dispose();
    this.ground.material.dispose();
    this.blot.geometry.dispose();
    this.blot.material.dispose();
    this.sun.dispose();
    this.renderer.dispose();
    this.canvas.remove();
  }

  private groundMaterial(): MeshLambertMaterial {
    const material = new MeshLambertMaterial();
    material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.gridUniforms);
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nvarying vec3 vGround;")
        .replace("#include <begin_vertex>", "#include <begin_vertex>\nvGround = (modelMatrix * vec4(position, 1.0)).xyz;");
      shader.fragmentShader = shader.fragmentShader
        .replace(
          "#include <common>",
          `#include <common>
          varying vec3 vGround;
          uniform vec3 gridMinor, gridMajor, haze, centre;
          float gridLine(vec2 p, float spacing, float width) {
            vec2 q = p / spacing;
            vec2 d = fwidth(q);
            vec2 w = max(vec2(width / spacing), d);
            vec2 a = 1.0 - smoothstep(w - d, w + d, abs(fract(q - 0.5) - 0.5) * 2.0);
            a *= clamp(vec2(width / spacing) / w * 3.0, 0.0, 1.0) * (1.0 - smoothstep(0.25, 0.6, d));
            return max(a.x, a.y);
          }`,
        )
        .replace(
          "#include <color_fragment>",
          `#include <color_fragment>
          diffuseColor.rgb = mix(diffuseColor.rgb, gridMinor, gridLine(vGround.xz, 0.5, 0.008));
          diffuseColor.rgb = mix(diffuseColor.rgb, gridMajor, gridLine(vGround.xz, 2.5, 0.016));`,
        )
        .replace(
          "#include <dithering_fragment>",
          `#include <dithering_fragment>
          float away = distance(vGround.xz, centre.xz);
          vec3 hazed = haze;
          gl_FragColor.rgb = mix(gl_FragColor.rgb, linearToOutputTexel(vec4(hazed, 1.0)).rgb, smoothstep(5.0, 34.0, away));`,
        );
    };
    return material;
  }
}

/** A dark round spot that fades towards its rim: what is left of a shadow where there is no time for one. */
function blotGeometry(): CircleGeometry {
  const geometry = new CircleGeometry(0.55, 24).rotateX(-Math.PI / 2);
  const count = geometry.attributes.position!.count;
  const colors = new Float32Array(4 * count);
  colors[3] = 0.38;
  geometry.setAttribute("color", new BufferAttribute(colors, 4));
  return geometry;
}
