import { expect, test } from "vitest";
import { plan, type Tensor } from "../src/live/operators";

const tensor = (shape: number[], values: number[]): Tensor => ({ shape, values: Float32Array.from(values), constant: false });

/** What an operator makes of its inputs: shape and numbers of each output. */
function run(op: string, inputs: Tensor[], attributes: Record<string, number | number[]> = {}): [number[], number[]][] {
  const planned = plan(op, inputs, attributes);
  planned.run?.();
  return planned.outputs.map(({ shape, values }) => [shape, [...values]]);
}

const near = (found: number[], wanted: number[]) => {
  expect(found).toHaveLength(wanted.length);
  found.forEach((value, i) => expect(value).toBeCloseTo(wanted[i]!, 6));
};

test("splits along an axis", () => {
  const found = run("Split", [tensor([1, 3, 2], [1, 2, 3, 4, 5, 6]), tensor([2], [1, 2])], { axis: 1 });
  expect(found).toEqual([[[1, 1, 2], [1, 2]], [[1, 2, 2], [3, 4, 5, 6]]]);
});

test("gives lengths along the last axis", () => {
  expect(run("ReduceL2", [tensor([2, 2], [3, 4, 0, 0])], { axes: [-1], keepdims: 1 })).toEqual([[[2, 1], [5, 0]]]);
});

test("says where the largest is, of equal ones the first", () => {
  expect(run("ArgMax", [tensor([2, 3], [1, 7, 7, -1, -2, -3])], { axis: -1, keepdims: 1 })).toEqual([[[2, 1], [1, 0]]]);
});

test("keeps numbers between two", () => {
  expect(run("Clip", [tensor([3], [-2, 0.5, 9]), tensor([], [0]), tensor([], [1])])).toEqual([[[3], [0, 0.5, 1]]]);
});

test("multiplies rows, stacks, and stacks that are laid over each other", () => {
  const matrix = tensor([2, 2], [0, 1, 2, 0]);
  expect(run("MatMul", [tensor([2], [1, 10]), matrix])).toEqual([[[2], [20, 1]]]);
  expect(run("MatMul", [tensor([1, 2, 2], [1, 0, 0, 1]), matrix])).toEqual([[[1, 2, 2], [0, 1, 2, 0]]]);
  // One matrix from the left over two stacked ones.
  const two = tensor([2, 2, 1], [1, 2, 3, 4]);
  expect(run("MatMul", [matrix, two])).toEqual([[[2, 2, 1], [2, 2, 4, 6]]]);
  // A stack of one over a stack of two.
  const one = tensor([1, 1, 2, 2], [0, 1, 2, 0]);
  expect(run("MatMul", [one, tensor([1, 2, 2, 1], [1, 2, 3, 4])])).toEqual([[[1, 2, 2, 1], [2, 2, 4, 6]]]);
});

test("knows the activations of trained networks", () => {
  near(run("Erf", [tensor([5], [0, 0.5, -1, 3.5, 9])])[0]![1], [0, 0.5204999, -0.8427008, 0.9999993, 1]);
  near(run("Selu", [tensor([2], [1, -1])])[0]![1], [1.050701, -1.1113307]);
  near(run("Elu", [tensor([2], [2, -1])])[0]![1], [2, -0.6321206]);
});

test("finds the smallest in order, of equal ones the first first", () => {
  const numbers = Array.from({ length: 500 }, (_, i) => Math.round(50 * Math.sin(12.9898 * i)) / 10);
  const places = numbers.map((_, i) => i).sort((a, b) => numbers[a]! - numbers[b]! || a - b);
  for (const k of [1, 2, 7, 64, 500]) {
    const [values, indices] = run("TopK", [tensor([1, 500], numbers), tensor([1], [k])]);
    expect(indices![1]).toEqual(places.slice(0, k));
    near(values![1], places.slice(0, k).map((place) => numbers[place]!));
  }
});
