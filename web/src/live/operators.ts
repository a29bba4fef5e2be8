// The operators of exported graphs, as ONNX defines them: each is planned once for its shapes, then run again and again.

export interface Tensor {
  shape: number[];
  values: Float32Array;
  constant: boolean;
}

export interface Planned {
  outputs: Tensor[];
  /** Fills the outputs; null where they are another view of the input. */
  run: (() => void) | null;
}

type Attributes = Record<string, number | number[]>;

const size = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);
const make = (shape: number[]): Tensor => ({ shape, values: new Float32Array(size(shape)), constant: false });

const UNARY: Record<string, (x: number) => number> = {
  Neg: (x) => -x, Sqrt: Math.sqrt, Exp: Math.exp, Sin: Math.sin, Cos: Math.cos, Atan: Math.atan, Abs: Math.abs, Floor: Math.floor,
  Ceil: Math.ceil, Not: (x) => (x ? 0 : 1), Relu: (x) => (x > 0 ? x : 0), Tanh: Math.tanh, Sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  Elu: (x) => (x > 0 ? x : Math.expm1(x)), Erf: erf,
  Selu: (x) => 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x)),
};

/** The error function, by its series without cancellation. */
function erf(x: number): number {
  if (Math.abs(x) > 4) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-10 * Math.abs(sum); n++) sum += term *= (2 * x * x) / (2 * n + 1);
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

const BINARY: Record<string, (a: number, b: number) => number> = {
  Add: (a, b) => a + b, Sub: (a, b) => a - b, Mul: (a, b) => a * b, Div: (a, b) => a / b, Max: (a, b) => (a > b ? a : b),
  Min: (a, b) => (a < b ? a : b), Less: (a, b) => (a < b ? 1 : 0), Greater: (a, b) => (a > b ? 1 : 0),
  LessOrEqual: (a, b) => (a <= b ? 1 : 0), GreaterOrEqual: (a, b) => (a >= b ? 1 : 0), Equal: (a, b) => (a === b ? 1 : 0),
  And: (a, b) => (a && b ? 1 : 0), Or: (a, b) => (a || b ? 1 : 0),
};

const VIEWS = new Set(["Identity", "Cast", "Reshape", "Unsqueeze"]);

/** Plans an operator. Throws where there is none of that name. */
export function plan(op: string, inputs: Tensor[], attributes: Attributes): Planned {
  if (VIEWS.has(op)) return view(op, inputs);
  const unary = UNARY[op];
  if (unary) return elementwise(inputs[0]!, unary);
  const binary = BINARY[op];
  if (binary) return broadcast(inputs[0]!, inputs[1]!, binary);
  switch (op) {
    case "Where": return where(inputs[0]!, inputs[1]!, inputs[2]!);
    case "Gather": return gather(inputs[0]!, inputs[1]!, Number(attributes.axis ?? 0));
    case "GatherElements": return gatherElements(inputs[0]!, inputs[1]!);
    case "Slice": return slice(inputs[0]!, inputs[1]!.values[0]!, inputs[2]!.values[0]!, inputs[3]!.values[0]!);
    case "Split": return split(inputs[0]!, [...inputs[1]!.values], Number(attributes.axis ?? 0));
    case "Clip": return clip(inputs[0]!, inputs[1]!.values[0]!, inputs[2]!.values[0]!);
    case "Concat": return concat(inputs, Number(attributes.axis));
    case "MatMul": return matmul(inputs[0]!, inputs[1]!);
    case "Gemm": return gemm(inputs[0]!, inputs[1]!, inputs[2]!);
    case "ReduceSum": return reduce(inputs[0]!, inputs[1]!.values[0]!, attributes, 0, (a, b) => a + b);
    case "ReduceL2": return lengths(inputs[0]!, (attributes.axes as number[])[0]!, attributes);
    case "ArgMax": return largest(inputs[0]!);
    case "ReduceMin": return reduce(inputs[0]!, (attributes.axes as number[])[0]!, attributes, Infinity, (a, b) => (b < a ? b : a));
    case "ReduceMax": return reduce(inputs[0]!, (attributes.axes as number[])[0]!, attributes, -Infinity, (a, b) => (b > a ? b : a));
    case "TopK": return smallest(inputs[0]!, inputs[1]!.values[0]!);
  }
  throw new Error(`nodes: there is no operator ${op} here`);
}

/** An axis counted from the front. */
const front = (axis: number, rank: number) => (axis < 0 ? axis + rank : axis);

function view(op: string, [input, wanted]: Tensor[]): Planned {
  const { shape, values, constant } = input!;
  let out = [...shape];
  if (op === "Reshape") {
    out = [...wanted!.values].map((n, i) => (n === 0 ? shape[i]! : n));
    const open = out.indexOf(-1);
    if (open >= 0) out[open] = size(shape) / -size(out);
  } else if (op === "Unsqueeze") {
    const rank = shape.length + wanted!.values.length;
    const added = new Set([...wanted!.values].map((axis) => front(axis, rank)));
    const kept = [...shape];
    out = Array.from({ length: rank }, (_, i) => (added.has(i) ? 1 : kept.shift()!));
  }
  return { outputs: [{ shape: out, values, constant }], run: null };
}

function elementwise(input: Tensor, f: (x: number) => number): Planned {
  const out = make(input.shape);
  return { outputs: [out], run: () => { for (let i = 0; i < out.values.length; i++) out.values[i] = f(input.values[i]!); } };
}

/** The shape of two arrays put over each other. */
function together(a: number[], b: number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => Math.max(a[i - rank + a.length] ?? 1, b[i - rank + b.length] ?? 1));
}

/** For each place of an array of that shape, which place of a smaller one lies under it; null where it is the same one. */
function places(shape: number[], out: number[]): Int32Array | null {
  if (size(shape) === size(out)) return null;
  const index = new Int32Array(size(out));
  const strides = out.map(() => 0);
  for (let i = shape.length - 1, stride = 1; i >= 0; stride *= shape[i]!, i--) strides[i + out.length - shape.length] = shape[i] === 1 ? 0 : stride;
  const at = out.map(() => 0);
  for (let n = 0, place = 0; n < index.length; n++) {
    index[n] = place;
    for (let axis = out.length - 1; axis >= 0; axis--) {
      place += strides[axis]!;
      if (++at[axis]! < out[axis]!) break;
      place -= strides[axis]! * out[axis]!;
      at[axis] = 0;
    }
  }
  return index;
}

function broadcast(a: Tensor, b: Tensor, f: (a: number, b: number) => number): Planned {
  const out = make(together(a.shape, b.shape));
  const { values } = out, x = a.values, y = b.values;
  const i = places(a.shape, out.shape), j = places(b.shape, out.shape);
  const run = i && j
    ? () => { for (let n = 0; n < values.length; n++) values[n] = f(x[i[n]!]!, y[j[n]!]!); }
    : i ? () => { for (let n = 0; n < values.length; n++) values[n] = f(x[i[n]!]!, y[n]!); }
    : j ? () => { for (let n = 0; n < values.length; n++) values[n] = f(x[n]!, y[j[n]!]!); }
    : () => { for (let n = 0; n < values.length; n++) values[n] = f(x[n]!, y[n]!); };
  return { outputs: [out], run };
}

function where(condition: Tensor, yes: Tensor, no: Tensor): Planned {
  const out = make(together(condition.shape, together(yes.shape, no.shape)));
  const [c, y, n] = [condition, yes, no].map((t) => places(t.shape, out.shape));
  const run = () => {
    for (let i = 0; i < out.values.length; i++) {
      out.values[i] = condition.values[c ? c[i]! : i] ? yes.values[y ? y[i]! : i]! : no.values[n ? n[i]! : i]!;
    }
  };
  return { outputs: [out], run };
}

function gather(input: Tensor, indices: Tensor, rawAxis: number): Planned {
  const axis = front(rawAxis, input.shape.length);
  const outer = size(input.shape.slice(0, axis)), length = input.shape[axis]!, inner = size(input.shape.slice(axis + 1));
  const out = make([...input.shape.slice(0, axis), ...indices.shape, ...input.shape.slice(axis + 1)]);
  const count = indices.values.length, from = input.values, to = out.values;
  const run = () => {
    for (let o = 0, place = 0; o < outer; o++) {
      for (let k = 0; k < count; k++) {
        let index = indices.values[k]! | 0;
        if (index < 0) index += length;
        const start = (o * length + Math.min(Math.max(index, 0), length - 1)) * inner;
        for (let i = 0; i < inner; i++) to[place++] = from[start + i]!;
      }
    }
  };
  return { outputs: [out], run };
}

/** Along the last axis of two axes. */
function gatherElements(input: Tensor, indices: Tensor): Planned {
  const out = make(indices.shape);
  const width = input.shape[1]!, count = indices.shape[1]!;
  const rowOf = (row: number) => (input.shape[0] === 1 ? 0 : row);
  const run = () => {
    for (let n = 0; n < out.values.length; n++) out.values[n] = input.values[rowOf(Math.floor(n / count)) * width + indices.values[n]!]!;
  };
  return { outputs: [out], run };
}

function slice(input: Tensor, start: number, stop: number, rawAxis: number): Planned {
  const axis = front(rawAxis, input.shape.length), length = input.shape[axis]!;
  const last = Math.min(stop, length);
  const outer = size(input.shape.slice(0, axis)), inner = size(input.shape.slice(axis + 1));
  const out = make(input.shape.map((n, i) => (i === axis ? last - start : n)));
  const width = (last - start) * inner;
  const run = () => {
    for (let o = 0; o < outer; o++) {
      const from = (o * length + start) * inner;
      for (let i = 0; i < width; i++) out.values[o * width + i] = input.values[from + i]!;
    }
  };
  return { outputs: [out], run };
}

/** Parts end to end along an axis. */
function split(input: Tensor, sizes: number[], rawAxis: number): Planned {
  const axis = front(rawAxis, input.shape.length);
  let start = 0;
  const parts = sizes.map((width) => slice(input, start, (start += width), axis));
  return { outputs: parts.map((part) => part.outputs[0]!), run: () => { for (const part of parts) part.run!(); } };
}

function clip(input: Tensor, low: number, high: number): Planned {
  return elementwise(input, (x) => Math.min(Math.max(x, low), high));
}

/** Roots of sums of squares. */
function lengths(input: Tensor, axis: number, attributes: Attributes): Planned {
  const { outputs, run } = reduce(input, axis, attributes, 0, (a, b) => a + b * b);
  const { values } = outputs[0]!;
  return { outputs, run: () => { run!(); for (let i = 0; i < values.length; i++) values[i] = Math.sqrt(values[i]!); } };
}

/** Where along the last axis, which stays with length 1, the largest is: of equal ones the first. */
function largest(input: Tensor): Planned {
  const width = input.shape.at(-1)!;
  const out = make([...input.shape.slice(0, -1), 1]);
  const run = () => {
    for (let r = 0; r < out.values.length; r++) {
      let best = 0;
      for (let i = 1; i < width; i++) if (input.values[r * width + i]! > input.values[r * width + best]!) best = i;
      out.values[r] = best;
    }
  };
  return { outputs: [out], run };
}

function concat(inputs: Tensor[], rawAxis: number): Planned {
  const first = inputs[0]!.shape, axis = front(rawAxis, first.length);
  const out = make(first.map((n, i) => (i === axis ? inputs.reduce((sum, t) => sum + t.shape[axis]!, 0) : n)));
  const outer = size(first.slice(0, axis)), inner = size(first.slice(axis + 1)), width = out.shape[axis]! * inner;
  const run = () => {
    let start = 0;
    for (const input of inputs) {
      const own = input.shape[axis]! * inner;
      for (let o = 0; o < outer; o++) for (let i = 0; i < own; i++) out.values[o * width + start + i] = input.values[o * own + i]!;
      start += own;
    }
  };
  return { outputs: [out], run };
}

/** Rows times one matrix, or stacks of matrices that are laid over each other. */
function matmul(a: Tensor, b: Tensor): Planned {
  const k = a.shape.at(-1)!, n = b.shape.at(-1)!;
  const left = a.shape.slice(0, -2), right = b.shape.slice(0, -2);
  const stack = together(left, right), one = b.shape.length === 2;
  // With one matrix on the right all rows are of one stack.
  const out = make(one ? [...a.shape.slice(0, -1), n] : [...stack, a.shape.at(-2)!, n]);
  const each = one ? size(a.shape.slice(0, -1)) : a.shape.at(-2)!;
  const counts = one ? 1 : size(stack);
  const i0 = one ? null : places(left, stack), j0 = one ? null : places(right, stack);
  const sums = new Float64Array(n), { values } = out, w = b.values, x = a.values;
  const run = () => {
    for (let s = 0; s < counts; s++) {
      const from = (i0 ? i0[s]! : s) * each * k, matrix = (j0 ? j0[s]! : s) * k * n, to = s * each * n;
      for (let r = 0; r < each; r++) {
        sums.fill(0);
        const row = from + r * k;
        let i = 0;
        for (; i + 4 <= k; i += 4) {  // four rows of the matrix at once: the sums are read and written less often
          const p = x[row + i]!, q = x[row + i + 1]!, u = x[row + i + 2]!, v = x[row + i + 3]!;
          const at = matrix + i * n;
          for (let j = 0; j < n; j++) {
            sums[j] = sums[j]! + (p * w[at + j]! + q * w[at + n + j]! + (u * w[at + 2 * n + j]! + v * w[at + 3 * n + j]!));
          }
        }
        for (; i < k; i++) {
          const p = x[row + i]!, at = matrix + i * n;
          for (let j = 0; j < n; j++) sums[j] = sums[j]! + p * w[at + j]!;
        }
        for (let j = 0; j < n; j++) values[to + r * n + j] = sums[j]!;
      }
    }
  };
  return { outputs: [out], run };
}

/** `a [N, K]` times the transpose of `b [M, K]`, plus `c [M]`. */
function gemm(a: Tensor, b: Tensor, c: Tensor): Planned {
  const [rows, k] = a.shape as [number, number], m = b.shape[0]!;
  const out = make([rows, m]);
  const x = a.values, w = b.values;
  // Half of what follows a rectifier is zero: those weights are not read.
  const active = new Int32Array(k);
  const run = () => {
    for (let r = 0; r < rows; r++) {
      let count = 0;
      for (let i = 0; i < k; i++) if (x[r * k + i] !== 0) active[count++] = i;
      for (let j = 0; j < m; j++) {
        let sum = c.values[j]!;
        const at = j * k;
        for (let i = 0; i < count; i++) sum += x[r * k + active[i]!]! * w[at + active[i]!]!;
        out.values[r * m + j] = sum;
      }
    }
  };
  return { outputs: [out], run };
}

function reduce(input: Tensor, rawAxis: number, attributes: Attributes, first: number, f: (a: number, b: number) => number): Planned {
  const axis = front(rawAxis, input.shape.length), length = input.shape[axis]!;
  const outer = size(input.shape.slice(0, axis)), inner = size(input.shape.slice(axis + 1));
  const keep = attributes.keepdims !== 0;
  const out = make(input.shape.flatMap((n, i) => (i !== axis ? [n] : keep ? [1] : [])));
  const run = () => {
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        let value = first;
        for (let k = 0; k < length; k++) value = f(value, input.values[(o * length + k) * inner + i]!);
        out.values[o * inner + i] = value;
      }
    }
  };
  return { outputs: [out], run };
}

/** The k smallest of each row, ascending, the earlier of equal ones first: values and places. */
function smallest(input: Tensor, k: number): Planned {
  const [rows, width] = input.shape as [number, number];
  const values = make([rows, k]), indices = make([rows, k]);
  const x = input.values, heap = new Int32Array(k);
  // The worst of those that are held lies on top: the larger, of equal ones the later.
  const worse = (a: number, b: number) => x[a]! > x[b]! || (x[a] === x[b] && a > b);
  const sink = (place: number, count: number) => {
    const held = heap[place]!;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= count) break;
      if (child + 1 < count && worse(heap[child + 1]!, heap[child]!)) child++;
      if (!worse(heap[child]!, held)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = held;
  };
  const run = () => {
    for (let r = 0; r < rows; r++) {
      const start = r * width, at = r * k;
      for (let i = 0; i < k; i++) heap[i] = start + i;
      for (let place = (k >> 1) - 1; place >= 0; place--) sink(place, k);
      let limit = x[heap[0]!]!;
      for (let i = start + k; i < start + width; i++) {
        if (!(x[i]! < limit)) continue;  // a later one of equal size is worse
        heap[0] = i;
        sink(0, k);
        limit = x[heap[0]!]!;
      }
      for (let count = k; count > 0; count--) {
        const top = heap[0]!;
        values.values[at + count - 1] = x[top]!;
        indices.values[at + count - 1] = top - start;
        heap[0] = heap[count - 1]!;
        sink(0, count - 1);
      }
    }
  };
  return { outputs: [values, indices], run };
}
