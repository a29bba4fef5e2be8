// The stage: renderer, light, ground with its grid, soft shadow, camera. Knows nothing of skeletons.

import {
  Color, DirectionalLight, HemisphereLight, Mesh, MeshLambertMaterial, PCFShadowMap, PlaneGeometry, Scene, Vector3,
  WebGLRenderer,
} from "three";
import { OrbitCamera } from "./camera";
import { THEMES, type Theme, type ThemeName } from "./theme";

export class Stage {
  readonly scene = new Scene();
  readonly camera: OrbitCamera;
  readonly renderer: WebGLRenderer;
  theme: Theme;
  /** Draw fewer pixels where the machine cannot keep up. */
  adaptive = true;
  private readonly sun = new DirectionalLight("#ffffff", 2.6);
  /** A weak light beside the camera, so that no side is ever in the dark. */
  private readonly fill = new DirectionalLight("#dfe8f5", 0.75);
  private readonly sky = new HemisphereLight("#ffffff", "#444444", 1);
  private readonly ground: Mesh<PlaneGeometry, MeshLambertMaterial>;
  private readonly gridUniforms = {
    gridMinor: { value: new Color() }, gridMajor: { value: new Color() }, haze: { value: new Color() }, centre: { value: new Vector3() },
  };
  private readonly observer: ResizeObserver;
  private inset = { right: 0, bottom: 0 };
  private pace = 1 / 60;
  private slowFor = 0;

  constructor(private readonly host: HTMLElement, theme: ThemeName) {
    this.renderer = new WebGLRenderer({ antialias: true, powerPreference: "high-performance" });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    const canvas = this.renderer.domElement;
    canvas.style.cssText = "display:block;width:100%;height:100%;touch-action:none;outline:none";
    host.appendChild(canvas);
    this.camera = new OrbitCamera(canvas);

    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(1024, 1024);
    this.sun.shadow.radius = 5;
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.012;
    Object.assign(this.sun.shadow.camera, { left: -2.2, right: 2.2, top: 2.2, bottom: -2.2, near: 0.5, far: 14 });
    this.ground = new Mesh(new PlaneGeometry(160, 160).rotateX(-Math.PI / 2), this.groundMaterial());
    this.ground.receiveShadow = true;
    this.scene.add(this.ground, this.sun, this.sun.target, this.fill, this.fill.target, this.sky);
    this.theme = THEMES[theme];
    this.setTheme(theme);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(host);
    this.resize();
  }

  setTheme(name: ThemeName): void {
    const theme = (this.theme = THEMES[name]);
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

  /** Keeps the middle of the picture clear of panels that cover so many pixels at the right and at the bottom. */
  setInset(right: number, bottom: number): void {
    this.inset = { right, bottom };
    this.resize();
  }

  /** Draws one frame; `followed` is the point on the ground that camera, light and ground keep to. */
  render(dt: number, followed: Vector3 | null): void {
    this.adapt(dt);
    this.camera.update(dt, followed);
    const at = followed ?? this.camera.target;
    this.sun.target.position.set(at.x, 0.8, at.z);
    this.sun.position.set(at.x + 2.6, 6.2, at.z + 2.4);
    const { yaw } = this.camera;
    this.fill.target.position.copy(this.sun.target.position);
    this.fill.position.set(at.x + 4 * Math.sin(yaw - 0.6), 2.6, at.z + 4 * Math.cos(yaw - 0.6));
    this.ground.position.set(Math.round(at.x / 10) * 10, 0, Math.round(at.z / 10) * 10);
    this.gridUniforms.centre.value.copy(this.camera.target);
    this.renderer.render(this.scene, this.camera.camera);
  }

  dispose(): void {
    this.observer.disconnect();
    this.camera.dispose();
    this.renderer.dispose();
    this.renderer.domElement.remove();
  }

  private resize(): void {
    const width = Math.max(this.host.clientWidth, 1), height = Math.max(this.host.clientHeight, 1);
    this.renderer.setSize(width, height, false);
    this.camera.camera.aspect = width / height;
    this.camera.camera.setViewOffset(width, height, this.inset.right / 2, this.inset.bottom / 2, width, height);
    this.camera.camera.updateProjectionMatrix();
  }

  /** On a machine that cannot keep up, draws fewer pixels: first without supersampling, then coarser. */
  private adapt(dt: number): void {
    if (!this.adaptive || dt <= 0 || dt > 0.25) return;
    this.pace += 0.05 * (dt - this.pace);
    this.slowFor = this.pace > 1 / 35 ? this.slowFor + dt : 0;
    const ratio = this.renderer.getPixelRatio();
    if (this.slowFor < 2 || ratio <= 0.7) return;
    this.slowFor = 0;
    this.renderer.setPixelRatio(ratio > 1 ? 1 : 0.7);
    this.resize();
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
