// Draws the stage without WebGL: the ground and its marks by the canvas, bodies by triangles of our own. It is made for
// machines without a graphics card, where a browser's WebGL draws by the processor too, and takes several times as long.

import { Color, Vector3, type Mesh, type SkinnedMesh } from "three";
import type { BodyColors } from "../../body/mannequin";
import type { Mark } from "../ground_marks";
import { Lights } from "../lights";
import type { Painter, View } from "../painter";
import type { Quality } from "../quality";
import type { Theme } from "../theme";
import { Ground } from "./ground";
import { Samples } from "./samples";
import { Shadow } from "./shadow";
import { Skinned } from "./skinned";
import { NEAR, ViewMatrix } from "./view_matrix";

/** A body that covers more pixels is drawn with one sample each. */
const MOST_SAMPLED = 260_000;

export class SoftPainter implements Painter {
  readonly canvas = document.createElement("canvas");
  triangles = 0;
  private readonly context: CanvasRenderingContext2D;
  private readonly view = new ViewMatrix();
  private readonly lights = new Lights();
  private readonly ground = new Ground();
  private readonly shadow = new Shadow();
  private readonly samples = new Samples();
  private readonly bodies = new WeakMap<SkinnedMesh, Skinned>();
  private readonly body = document.createElement("canvas");
  private readonly bodyContext: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private placed = new Float32Array(0);
  private readonly palette = new Float32Array(9);
  private readonly color = new Color();
  private readonly size = { width: 1, height: 1 };
  private shadowStrength = 0.5;

  constructor(private quality: Quality) {
    const context = this.canvas.getContext("2d", { alpha: false });
    const bodyContext = this.body.getContext("2d", { willReadFrequently: true });
    if (!context || !bodyContext) throw new Error("this browser can draw neither with WebGL nor on a canvas");
    this.context = context;
    this.bodyContext = bodyContext;
  }

  setQuality(quality: Quality): boolean {
    if (quality.painter !== "soft") return false;
    this.quality = quality;
    this.setSize(this.size.width, this.size.height);
    return true;
  }

  setSize(width: number, height: number): void {
    Object.assign(this.size, { width, height });
    const ratio = Math.min(window.devicePixelRatio, this.quality.ratio);
    const [w, h] = [Math.max(Math.round(width * ratio), 1), Math.max(Math.round(height * ratio), 1)];
    if (this.canvas.width !== w) this.canvas.width = w;
    if (this.canvas.height !== h) this.canvas.height = h;
  }

  setTheme(theme: Theme): void {
    this.lights.setTheme(theme);
    this.ground.setTheme(theme);
    const open = this.lights.onGround(new Color()).convertLinearToSRGB(), dark = this.lights.inShadow(new Color()).convertLinearToSRGB();
    this.shadowStrength = 1 - dark.g / open.g;
  }

  render({ scene, camera, target, yaw }: View): void {
    const { context, view } = this;
    view.set(camera, this.canvas.width, this.canvas.height);
    this.lights.setYaw(yaw);
    this.triangles = 0;
    this.ground.draw(context, view, this.lights, target, camera.position, yaw);
    const bodies: SkinnedMesh[] = [], marks: { mesh: Mesh; mark: Mark }[] = [];
    for (const child of scene.children) {
      if (!child.visible) continue;
      if ((child as SkinnedMesh).isSkinnedMesh) bodies.push(child as SkinnedMesh);
      else if (child.userData.mark) marks.push({ mesh: child as Mesh, mark: child.userData.mark as Mark });
    }
    for (const mesh of bodies) this.skinned(mesh).pose();
    if (this.quality.shadow) for (const mesh of bodies) this.shadow.draw(context, this.skinned(mesh), view, this.lights.sunDirection, this.shadowStrength);
    marks.sort((a, b) => a.mesh.renderOrder - b.mesh.renderOrder);
    for (const { mark } of marks) this.drawMark(mark);
    const away = (mesh: SkinnedMesh) => {
      const { low, high } = this.skinned(mesh);
      return Math.hypot((low[0]! + high[0]!) / 2 - camera.position.x, (low[2]! + high[2]!) / 2 - camera.position.z);
    };
    if (bodies.length > 1) bodies.sort((a, b) => away(b) - away(a));
    for (const mesh of bodies) this.drawBody(mesh, camera.position);
  }

  dispose(): void {
    this.canvas.remove();
  }

  private skinned(mesh: SkinnedMesh): Skinned {
    let found = this.bodies.get(mesh);
    if (!found) this.bodies.set(mesh, (found = new Skinned(mesh)));
    return found;
  }

  private drawMark(mark: Mark): void {
    const { context } = this;
    const { color, opacity } = mark.mesh.material;
    context.beginPath();
    mark.outline((points, count) => this.view.groundPolygon(context, points, count));
    context.globalAlpha = opacity;
    context.fillStyle = `#${color.getHexString()}`;
    context.fill();
    context.globalAlpha = 1;
  }

  private drawBody(mesh: SkinnedMesh, eye: Vector3): void {
    const skin = this.skinned(mesh), { view } = this;
    skin.shade(this.lights, eye);
    if (this.placed.length < 3 * skin.count) this.placed = new Float32Array(3 * skin.count);
    const { placed } = this, { positions } = skin, { x: mx, y: my, w: mw } = view;
    let low0 = Infinity, low1 = Infinity, high0 = -Infinity, high1 = -Infinity;
    for (let v = 0; v < 3 * skin.count; v += 3) {
      const X = positions[v]!, Y = positions[v + 1]!, Z = positions[v + 2]!;
      const depth = mw[0]! * X + mw[1]! * Y + mw[2]! * Z + mw[3]!;
      if (depth < NEAR) {
        placed[v + 2] = 0;
        continue;
      }
      const inverse = 1 / depth;
      const px = (mx[0]! * X + mx[1]! * Y + mx[2]! * Z + mx[3]!) * inverse, py = (my[0]! * X + my[1]! * Y + my[2]! * Z + my[3]!) * inverse;
      placed[v] = px;
      placed[v + 1] = py;
      placed[v + 2] = inverse;
      if (px < low0) low0 = px;
      if (px > high0) high0 = px;
      if (py < low1) low1 = py;
      if (py > high1) high1 = py;
    }
    const left = Math.max(Math.floor(low0), 0), top = Math.max(Math.floor(low1), 0);
    const width = Math.min(Math.ceil(high0), view.width) - left, height = Math.min(Math.ceil(high1), view.height) - top;
    if (!(width > 0 && height > 0)) return;
    const n = this.quality.antialias && width * height < MOST_SAMPLED ? 2 : 1;
    for (let v = 0; v < 3 * skin.count; v += 3) {
      placed[v] = n * (placed[v]! - left);
      placed[v + 1] = n * (placed[v + 1]! - top);
    }
    this.mix(mesh.userData.colors as BodyColors);
    this.samples.clear(n * width, n * height);
    this.samples.drawMesh(skin, placed, this.palette);
    this.triangles += this.samples.triangles;
    if (!this.image || this.image.width !== width || this.image.height !== height) this.image = this.bodyContext.createImageData(width, height);
    this.samples.resolve(n, new Uint32Array(this.image.data.buffer));
    if (this.body.width < width || this.body.height < height) {
      this.body.width = Math.max(this.body.width, width + 64);
      this.body.height = Math.max(this.body.height, height + 64);
    }
    this.bodyContext.putImageData(this.image, 0, 0);
    this.context.drawImage(this.body, 0, 0, width, height, left, top, width, height);
  }

  private mix(colors: BodyColors): void {
    for (const [i, part] of [colors.shell, colors.trim, colors.joints].entries()) {
      this.color.copy(part).convertLinearToSRGB().toArray(this.palette, 3 * i);
    }
    for (let i = 0; i < 9; i++) this.palette[i]! *= 255;
  }
}
