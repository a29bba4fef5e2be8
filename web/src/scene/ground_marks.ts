// What is drawn flat on the ground: ribbons for paths and trajectories, chevrons for directions, discs for contacts.

import {
  BufferAttribute, BufferGeometry, CircleGeometry, DoubleSide, DynamicDrawUsage, InstancedMesh, Matrix4, Mesh, MeshBasicMaterial, Quaternion, Vector3,
} from "three";

const UP = new Vector3(0, 1, 0);

function paint(color: string, opacity: number): MeshBasicMaterial {
  return new MeshBasicMaterial({ color, opacity, transparent: true, depthWrite: false, toneMapped: false, side: DoubleSide });
}

/** A line of constant width on the ground through up to `capacity` points. */
export class Ribbon {
  readonly mesh: Mesh<BufferGeometry, MeshBasicMaterial>;
  private readonly vertices: Float32Array;

  constructor(private readonly capacity: number, color: string, private readonly width: number, private readonly height: number, opacity = 0.9) {
    this.vertices = new Float32Array(6 * capacity);
    const indices: number[] = [];
    for (let i = 0; i + 1 < capacity; i++) indices.push(2 * i, 2 * i + 1, 2 * i + 2, 2 * i + 2, 2 * i + 1, 2 * i + 3);
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(this.vertices, 3).setUsage(DynamicDrawUsage));
    geometry.setIndex(indices);
    geometry.setDrawRange(0, 0);
    this.mesh = new Mesh(geometry, paint(color, opacity));
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 1 + height * 100;
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
      v.set([x + nx * half, this.height, z + nz * half, x - nx * half, this.height, z - nz * half], 6 * i);
    }
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

/** Arrow heads on the ground, one a sample of a trajectory. */
export class Chevrons {
  readonly mesh: InstancedMesh<BufferGeometry, MeshBasicMaterial>;
  private readonly matrix = new Matrix4();
  private readonly turn = new Quaternion();
  private readonly at = new Vector3();
  private readonly size: Vector3;

  constructor(capacity: number, color: string, size: number, private readonly height: number) {
    const geometry = new BufferGeometry();
    const shape = [0, 0, 1, 0.62, 0, -0.5, 0, 0, -0.15, 0, 0, 1, 0, 0, -0.15, -0.62, 0, -0.5];
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(shape), 3));
    this.mesh = new InstancedMesh(geometry, paint(color, 0.95), capacity);
    this.mesh.frustumCulled = false;
    this.mesh.count = 0;
    this.mesh.renderOrder = 2 + height * 100;
    this.size = new Vector3(size, size, size);
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

/** A disc under a foot that fades in while the foot is in contact. */
export class ContactDisc {
  readonly mesh: Mesh<CircleGeometry, MeshBasicMaterial>;

  constructor(color: string) {
    this.mesh = new Mesh(new CircleGeometry(0.085, 40).rotateX(-Math.PI / 2), paint(color, 0));
    this.mesh.renderOrder = 5;
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
