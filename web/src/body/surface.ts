// The surface of a body as triangles, by naive surface nets (Gibson 1998): one vertex in every grid cell that the
// surface crosses, one quad for every grid edge that it crosses; the vertices are then drawn onto the exact surface.

import { bodyDistance, type Body } from "./shapes";

export interface Surface {
  positions: Float32Array;
  normals: Float32Array;
  indices: Uint32Array;
}

const BLOCK = 4;

/** Triangulates the body with cells of `cell` metres. Blocks of cells that the surface cannot reach are skipped. */
export function makeSurface(body: Body, cell: number): Surface {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (const shape of body.shapes) {
    for (const [p, r] of [[shape.a, shape.radiusA], [shape.b, shape.radiusB]] as const) {
      p.toArray().forEach((value, axis) => {
        low[axis] = Math.min(low[axis]!, value - r);
        high[axis] = Math.max(high[axis]!, value + r);
      });
    }
  }
  const margin = 2 * cell + body.softness;
  const origin = low.map((value) => value - margin);
  const count = high.map((value, axis) => BLOCK * Math.ceil((value + margin - origin[axis]!) / cell / BLOCK) + 1);
  const [nx, ny, nz] = count as [number, number, number];
  const field = new Float32Array(nx * ny * nz).fill(1);
  const at = (x: number, y: number, z: number) => x + nx * (y + ny * z);

  // Coarse pass. Distances change by at most a metre a metre, so a block whose centre is farther from the surface than its
  // own half diagonal holds none of it, and shapes much farther from the centre than the nearest one play no part in it.
  const half = (BLOCK / 2) * cell;
  const reach = half * Math.sqrt(3) * 1.01;
  const blocks: { x: number; y: number; z: number; local: Body }[] = [];
  const known = new Uint8Array(nx * ny * nz);
  const distances = new Float32Array(body.shapes.length);
  for (let bz = 0; bz + 1 < nz; bz += BLOCK)
    for (let by = 0; by + 1 < ny; by += BLOCK)
      for (let bx = 0; bx + 1 < nx; bx += BLOCK) {
        const d = bodyDistance(body, origin[0]! + bx * cell + half, origin[1]! + by * cell + half, origin[2]! + bz * cell + half, distances);
        if (Math.abs(d) > reach) continue;
        const limit = Math.min(...distances) + 2 * reach + 2.2 * body.softness;
        const local = { ...body, shapes: body.shapes.filter((_, i) => distances[i]! <= limit) };
        blocks.push({ x: bx, y: by, z: bz, local });
        for (let z = bz; z <= bz + BLOCK; z++)
          for (let y = by; y <= by + BLOCK; y++)
            for (let x = bx; x <= bx + BLOCK; x++) {
              const i = at(x, y, z);
              if (known[i]) continue;
              known[i] = 1;
              field[i] = bodyDistance(local, origin[0]! + x * cell, origin[1]! + y * cell, origin[2]! + z * cell);
            }
      }

  // One vertex a crossed cell, at the mean of its edges' crossings.
  const vertexOf = new Int32Array(nx * ny * nz).fill(-1);
  const vertices: number[] = [];
  const corner = [0, 1, nx, nx + 1, nx * ny, nx * ny + 1, nx * ny + nx, nx * ny + nx + 1];
  const edges = [0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 3, 4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7];
  const cells: number[] = [];
  const locals: Body[] = [];
  for (const block of blocks)
    for (let z = block.z; z < block.z + BLOCK; z++)
      for (let y = block.y; y < block.y + BLOCK; y++)
        for (let x = block.x; x < block.x + BLOCK; x++) {
          const i = at(x, y, z);
          let inside = 0;
          for (const c of corner) if (field[i + c]! < 0) inside++;
          if (inside === 0 || inside === 8) continue;
          let sx = 0, sy = 0, sz = 0, crossings = 0;
          for (let e = 0; e < 24; e += 2) {
            const a = edges[e]!, b = edges[e + 1]!;
            const da = field[i + corner[a]!]!, db = field[i + corner[b]!]!;
            if (da < 0 === db < 0) continue;
            const t = da / (da - db);
            sx += (a & 1) + t * ((b & 1) - (a & 1));
            sy += ((a >> 1) & 1) + t * (((b >> 1) & 1) - ((a >> 1) & 1));
            sz += (a >> 2) + t * ((b >> 2) - (a >> 2));
            crossings++;
          }
          vertexOf[i] = vertices.length / 3;
          vertices.push(
            origin[0]! + (x + sx / crossings) * cell, origin[1]! + (y + sy / crossings) * cell, origin[2]! + (z + sz / crossings) * cell,
          );
          cells.push(x, y, z);
          locals.push(block.local);
        }

  // One quad a crossed grid edge, turned so that its front looks outwards.
  const indices: number[] = [];
  const step = [1, nx, nx * ny];
  for (let v = 0; v < cells.length / 3; v++) {
    const i = at(cells[3 * v]!, cells[3 * v + 1]!, cells[3 * v + 2]!);
    for (let axis = 0; axis < 3; axis++) {
      const u = (axis + 1) % 3, w = (axis + 2) % 3;
      const inside = field[i]! < 0;
      if (inside === field[i + step[axis]!]! < 0) continue;
      const a = vertexOf[i]!, b = vertexOf[i - step[u]!]!, c = vertexOf[i - step[u]! - step[w]!]!, d = vertexOf[i - step[w]!]!;
      if (b < 0 || c < 0 || d < 0) continue;
      if (inside) indices.push(a, b, c, a, c, d);
      else indices.push(a, c, b, a, d, c);
    }
  }
  const positions = new Float32Array(vertices);
  settle(locals, positions, cell);
  const triangles = new Uint32Array(indices);
  const smooth = relax(positions, triangles, 2);
  return { positions: smooth, normals: normalsOf(smooth, triangles), indices: triangles };
}

/** Draws vertices onto the surface with two Newton steps; `locals` are the shapes near each vertex. */
function settle(locals: Body[], positions: Float32Array, cell: number): void {
  const h = cell * 0.15;
  for (let v = 0; v < positions.length; v += 3) {
    const body = locals[v / 3]!;
    let x = positions[v]!, y = positions[v + 1]!, z = positions[v + 2]!;
    for (let pass = 0; pass < 2; pass++) {
      const d = bodyDistance(body, x, y, z);
      const gx = (bodyDistance(body, x + h, y, z) - d) / h;
      const gy = (bodyDistance(body, x, y + h, z) - d) / h;
      const gz = (bodyDistance(body, x, y, z + h) - d) / h;
      const slope2 = gx * gx + gy * gy + gz * gz || 1;
      const move = Math.max(Math.min(d, cell), -cell) / slope2;
      x -= gx * move; y -= gy * move; z -= gz * move;
    }
    positions[v] = x; positions[v + 1] = y; positions[v + 2] = z;
  }
}

/** Moves every vertex half way to the middle of its neighbours, a few times: creases where shapes meet become soft. */
function relax(positions: Float32Array, triangles: Uint32Array, passes: number): Float32Array {
  const count = positions.length / 3;
  for (let pass = 0; pass < passes; pass++) {
    const sums = new Float32Array(positions.length);
    const parts = new Uint16Array(count);
    for (let i = 0; i < triangles.length; i += 3) {
      for (let k = 0; k < 3; k++) {
        const v = triangles[i + k]!;
        for (let axis = 0; axis < 3; axis++) {
          sums[3 * v + axis]! += positions[3 * triangles[i + ((k + 1) % 3)]! + axis]! + positions[3 * triangles[i + ((k + 2) % 3)]! + axis]!;
        }
        parts[v]! += 2;
      }
    }
    positions = positions.map((value, i) => {
      const n = parts[Math.floor(i / 3)]!;
      return n ? 0.5 * value + (0.5 * sums[i]!) / n : value;
    });
  }
  return positions;
}

/** Unit normals, each the mean of its triangles' by area. */
function normalsOf(positions: Float32Array, triangles: Uint32Array): Float32Array {
  const normals = new Float32Array(positions.length);
  const side = (a: number, b: number, axis: number) => positions[3 * b + axis]! - positions[3 * a + axis]!;
  for (let i = 0; i < triangles.length; i += 3) {
    const [a, b, c] = [triangles[i]!, triangles[i + 1]!, triangles[i + 2]!];
    for (let axis = 0; axis < 3; axis++) {
      const u = (axis + 1) % 3, w = (axis + 2) % 3;
      const area = side(a, b, u) * side(a, c, w) - side(a, b, w) * side(a, c, u);
      for (const v of [a, b, c]) normals[3 * v + axis]! += area;
    }
  }
  for (let v = 0; v < normals.length; v += 3) {
    const length = Math.hypot(normals[v]!, normals[v + 1]!, normals[v + 2]!) || 1;
    for (let axis = 0; axis < 3; axis++) normals[v + axis]! /= length;
  }
  return normals;
}
