// Runs an exported controller: a graph of plain operators on tensors of fixed shapes, planned once, then stepped.
//
// All numbers are float32; whole numbers and truth values are float32 too (0 and 1), which is exact below 2^24.

import { plan, type Tensor } from "./operators";

/** What export/engine/web_graph.py writes: nodes in order, and where each constant lies in the weights. */
export interface GraphData {
  format: "ambulo-graph";
  version: 1;
  inputs: { name: string; shape: number[] }[];
  outputs: { name: string; shape: number[] }[];
  constants: { name: string; shape: number[]; offset: number }[];
  nodes: { op: string; inputs: string[]; outputs: string[]; attributes: Record<string, number | number[]> }[];
}

export class GraphRunner {
  private readonly tensors = new Map<string, Tensor>();
  private readonly steps: (() => void)[] = [];

  /** `weights` holds all constants, float32, end to end. Throws where an operator is not known, or a shape is not kept. */
  constructor(readonly data: GraphData, weights: Float32Array) {
    if (data.format !== "ambulo-graph") throw new Error('format: not "ambulo-graph"');
    if (data.version !== 1) throw new Error(`version: ${String(data.version)} is not 1, the only one that this runs`);
    for (const input of data.inputs) {
      this.tensors.set(input.name, { shape: input.shape, values: new Float32Array(sizeOf(input.shape)), constant: false });
    }
    for (const { name, shape, offset } of data.constants) {
      const values = weights.subarray(offset, offset + sizeOf(shape));
      if (values.length !== sizeOf(shape)) throw new Error(`weights: they end within the constant ${name}`);
      this.tensors.set(name, { shape, values, constant: true });
    }
    for (const node of data.nodes) {
      const inputs = node.inputs.map((name) => this.get(name));
      const planned = plan(node.op, inputs, node.attributes);
      planned.outputs.forEach((tensor, i) => this.tensors.set(node.outputs[i]!, tensor));
      if (planned.run) this.steps.push(planned.run);
    }
    for (const { name, shape } of data.outputs) {
      const found = this.get(name).shape;
      if (found.join() !== shape.join()) throw new Error(`outputs.${name}: is [${found}], the graph says [${shape}]`);
    }
  }

  /** Runs the graph once. The outputs are views that the next run overwrites. */
  run(feeds: Record<string, ArrayLike<number>>): Record<string, Float32Array> {
    for (const { name } of this.data.inputs) {
      const given = feeds[name], held = this.get(name).values;
      if (!given || given.length !== held.length) throw new Error(`${name}: ${given?.length ?? "no"} numbers, not ${held.length}`);
      held.set(given);
    }
    for (const step of this.steps) step();
    return Object.fromEntries(this.data.outputs.map(({ name }) => [name, this.get(name).values]));
  }

  private get(name: string): Tensor {
    const tensor = this.tensors.get(name);
    if (!tensor) throw new Error(`nodes: ${name} is used before it is made`);
    return tensor;
  }
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

/** Float32 numbers from base64, little endian. */
export function decodeFloats(text: string): Float32Array {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}
