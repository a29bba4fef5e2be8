// What is drawn flat on the ground: ribbons for paths and trajectories, chevrons for directions, discs for contacts.

import {
  BufferAttribute, BufferGeometry, CircleGeometry, DoubleSide, DynamicDrawUsage, InstancedMesh, Matrix4, Mesh, MeshBasicMaterial, Quaternion, Vector3,
} from "three";

const UP = new Vector3(0, 1, 0);

/** What a painter without triangles asks of a mark; its mesh holds it as `userData.mark`. */
export interface Mark {
  readonly mesh: Mesh<BufferGeometry, MeshBasicMaterial>;
  /** Hands out polygons on the ground, [x, z] each, and how many corners they have. The array is used again. */
  outline(polygon: (points: Float32Array, count: number) => void): void;
}

function paint(color: string, opacity: number): MeshBasicMaterial {
  return new MeshBasicMaterial({ color, opacity, transparent: true, depthWrite: false, toneMapped: false, side: DoubleSide });
}

/** A line of constant width on the ground through up to `capacity` points. */
export class Ribbon implements Mark {
  readonly mesh: Mesh<BufferGeometry, MeshBasicMaterial>;
  private readonly vertices: Float32Array;
  private readonly border: Float32Array;
  private count = 0;

  constructor(private readonly capacity: number, color: string, private readonly width: number, private readonly height: number, opacity = 0.9) {
    this.vertices = new Float32Array(6 * capacity);
    this.border = new Float32Array(4 * capacity);
    const indices: number[] = [];
    for (let i = 0; i + 1 < capacity; i++) indices.push(2 * i, 2 * i + 1, 2 * i + 2, 2 * i + 2, 2 * i + 1, 2 * i + 3);
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(this.vertices, 3).setUsage(DynamicDrawUsage));
    geometry.setIndex(indices);
    geometry.setDrawRange(0, 0);
    this.mesh = new Mesh(geometry, paint(color, opacity));
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 1 + height * 100;
    this.mesh.userData.mark = this;
  }

  outline(polygon: (points: Float32Array, count: number) => void): void {
    const { border, vertices, count } = this;
    if (count < 2) return;
    for (let i = 0; i < count; i++) {
      const back = 2 * (2 * count - 1 - i);
      border[2 * i] = vertices[6 * i]!;
      border[2 * i + 1] = vertices[6 * i + 2]!;
      border[back] = vertices[6 * i + 3]!;
      border[back + 1] = vertices[6 * i + 5]!;
    }
    polygon(border, 2 * count);
  }

  /** Draws the ribbon through points [count, 3] of an array; heights are replaced by the ribbon's own. */
  setPoints(points: ArrayLike<number>, count: number, offset = 0): void {
    count = Math.min(count, this.capacity);
    const v = this.vertices;
    const half = this.width / 2;
    let nx = 0, nz = 0;
    for (let i = 0; i < count; i++) {
      const a = offset + 3 * Math.max(i - 1, 0), b = offset + 3 * Math.min(i + 1, count - 1);
      const dx = points[b]! - points[a]!, dz = points[b + 2]! - points[a + 2]!;
      const length = Math.hypot(dx, dz);
      if (length > 1e-5) { nx = -dz / length; nz = dx / length; }
      const x = points[offset + 3 * i]!, z = points[offset + 3 * i + 2]!;
      v[6 * i] = x + nx * half;
      v[6 * i + 1] = v[6 * i + 4] = this.height;
      v[6 * i + 2] = z + nz * half;
      v[6 * i + 3] = x - nx * half;
      v[6 * i + 5] = z - nz * half;
    }
    this.count = count;
    this.mesh.geometry.setDrawRange(0, Math.max(count - 1, 0) * 6);
    this.mesh.geometry.attributes.position!.needsUpdate = true;
  }

  setColor(color: string): void {
    this.mesh.material.color.set(color);
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}

/** An arrow head that points along z: its tip, its right, its notch, its left. */
const HEAD = [0, 1, 0.62, -0.5, 0, -0.15, -0.62, -0.5];

/** Arrow heads on the ground, one a sample of a trajectory. */
export class Chevrons implements Mark {
  readonly mesh: InstancedMesh<BufferGeometry, MeshBasicMaterial>;
  private readonly border = new Float32Array(8);
  private readonly matrix = new Matrix4();
  private readonly turn = new Quaternion();
  private readonly at = new Vector3();
  private readonly size: Vector3;

  constructor(capacity: number, color: string, size: number, private readonly height: number) {
    const geometry = new BufferGeometry();
    const shape = [0, 1, 2, 0, 2, 3].flatMap((i) => [HEAD[2 * i]!, 0, HEAD[2 * i + 1]!]);
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(shape), 3));
    this.mesh = new InstancedMesh(geometry, paint(color, 0.95), capacity);
    this.mesh.frustumCulled = false;
    this.mesh.count = 0;
    this.mesh.renderOrder = 2 + height * 100;
    this.mesh.userData.mark = this;
    this.size = new Vector3(size, size, size);
  }

  outline(polygon: (points: Float32Array, count: number) => void): void {
    const { border, mesh } = this, matrices = mesh.instanceMatrix.array;
    for (let i = 0; i < mesh.count; i++) {
      const at = 16 * i;
      for (let k = 0; k < 4; k++) {
        const x = HEAD[2 * k]!, z = HEAD[2 * k + 1]!;
        border[2 * k] = matrices[at]! * x + matrices[at + 8]! * z + matrices[at + 12]!;
        border[2 * k + 1] = matrices[at + 2]! * x + matrices[at + 10]! * z + matrices[at + 14]!;
      }
      polygon(border, 4);
    }
  }

  set(positions: ArrayLike<number>, directions: ArrayLike<number>, count: number, positionOffset = 0, directionOffset = 0): void {
    this.mesh.count = count;
    for (let i = 0; i < count; i++) {
      const p = positionOffset + 3 * i, d = directionOffset + 3 * i;
      this.turn.setFromAxisAngle(UP, Math.atan2(directions[d]!, directions[d + 2]!));
      this.at.set(positions[p]!, this.height, positions[p + 2]!);
      this.mesh.setMatrixAt(i, this.matrix.compose(this.at, this.turn, this.size));
    }
    this.mesh.instanceMatrix.needsUpdate = true;
  }

  setColor(color: string): void {
    this.mesh.material.color.set(color);
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
    this.mesh.dispose();
  }
}

const DISC_RADIUS = 0.085;
const DISC_CORNERS = 40;

/** A disc under a foot that fades in while the foot is in contact. */
export class ContactDisc implements Mark {
  readonly mesh: Mesh<CircleGeometry, MeshBasicMaterial>;
  private readonly border = new Float32Array(2 * DISC_CORNERS);

  constructor(color: string) {
    this.mesh = new Mesh(new CircleGeometry(DISC_RADIUS, DISC_CORNERS).rotateX(-Math.PI / 2), paint(color, 0));
    this.mesh.renderOrder = 5;
    this.mesh.userData.mark = this;
  }

  outline(polygon: (points: Float32Array, count: number) => void): void {
    const { x, z } = this.mesh.position;
    for (let i = 0; i < DISC_CORNERS; i++) {
      const angle = (2 * Math.PI * i) / DISC_CORNERS;
      this.border[2 * i] = x + DISC_RADIUS * Math.cos(angle);
      this.border[2 * i + 1] = z + DISC_RADIUS * Math.sin(angle);
    }
    polygon(this.border, DISC_CORNERS);
  }

  update(x: number, z: number, contact: number, dt: number): void {
    this.mesh.position.set(x, 0.004, z);
    const material = this.mesh.material;
    material.opacity += (0.75 * contact - material.opacity) * (1 - Math.exp(-dt * 22));
    this.mesh.visible = material.opacity > 0.01;
  }

  setColor(color: string): void {
    this.mesh.material.color.set(color);
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}
