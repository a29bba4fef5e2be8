"""Full poses from few points: linear regression, nearest neighbour, the published networks, Gaussians, our one model.

All are measured on the same held-out takes of real capture where it is present (else on embedded takes), each split's
models trained on the rest and kept in the benchmarks' cache; with ``--quick`` models that are missing are trained for
a processor minute each, and fewer poses are measured. Errors are mean distances over points that are not set, in cm at
the captured bodies' size.

    python benchmarks/posing.py [--quick] [--json] [--steps 14000] [--network-steps N]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402
import posing_data  # noqa: E402

from ambulo.posing.completion import Completion, facing_yaws, from_facing  # noqa: E402
from ambulo.posing.observations import observe_points, turn_vectors  # noqa: E402
from ambulo.posing.points import MIRRORED, POINT_COUNT, POINTS, SCHEMES, mirror_points, point_indices  # noqa: E402
from ambulo.posing.pose_set import PoseSet  # noqa: E402
from ambulo.posing.scheme_networks import COMBINED, SchemeStack  # noqa: E402

Complete = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A method: set points (indices) and where they are, metres of the standard body, to all points."""

STEPS = 14_000
NETWORK_STEPS = {6: 15_000, 16: 15_000, 28: 7_000}
"""Of the published networks, which so get a little more processor time together than our one model."""
SUBSETS = 10
"""Random sets of points of each size."""
COMMON = np.setdiff1d(np.arange(POINT_COUNT), point_indices(SCHEMES[16]))
"""Points that neither the six nor the 16 set: errors on these tell schemes apart, not what they leave open (S1.16)."""


def errors(complete: Complete, held_out: PoseSet, chosen: np.ndarray) -> np.ndarray:
    """Distances ``[N, 43]`` in cm."""
    points = complete(chosen, held_out.points[:, chosen].astype(np.float64))
    return 100.0 * np.linalg.norm(points - held_out.points, axis=-1) * held_out.scales[:, None]


def unknown(chosen: np.ndarray) -> np.ndarray:
    return np.setdiff1d(np.arange(POINT_COUNT), chosen)


def by_completion(completion: Completion) -> Complete:
    return lambda chosen, positions: completion.complete(observe_points(chosen, positions))


def linear(completion: Completion) -> Complete:
    """Linear regression from set points to all points, for poses that face every way."""

    def complete(chosen: np.ndarray, positions: np.ndarray) -> np.ndarray:
        middle = positions.mean(axis=1) * [1.0, 0.0, 1.0]
        return completion.turned.condition(observe_points(chosen, positions - middle[:, None]))[0] + middle[:, None]

    return complete


def by_stack(stack: SchemeStack, base: Complete) -> Complete:
    """The published networks; those of the six that are not set come from linear regression."""

    def complete(chosen: np.ndarray, positions: np.ndarray) -> np.ndarray:
        whole = set(stack.networks[6].known.tolist()) <= set(chosen.tolist())
        return stack.complete(chosen, positions, None if whole else base(chosen, positions))

    return complete


def scheme_rows(methods: dict[str, Complete], held_out: PoseSet) -> list[Row]:
    """Errors by scheme, on its own unknown points and on common ones, with the bars of S1.14 and S1.16."""
    rows, means, commons = [], {}, {}
    for size, names in SCHEMES.items():
        chosen = point_indices(names)
        for method, complete in methods.items():
            found = errors(complete, held_out, chosen)
            own = found[:, unknown(chosen)]
            means[method, size], commons[method, size] = own.mean(), found[:, COMMON].mean()
            bar = 3.5 if (method, size) == ("ours", 6) else None
            rows.append(Row(f"{size} points: {method}", len(held_out), float(own.mean()), "cm", bar=bar))
            rows.append(Row(f"{size} points, 95th percentile: {method}", len(held_out), _tail(own), "cm"))
            if size <= 16:
                rows.append(Row(f"{size} points, common points: {method}", len(held_out), commons[method, size], "cm"))
    count = len(held_out)
    rows.append(Row("6 points: ours to linear", count, means["ours", 6] / means["linear", 6], "x", bar=0.65))
    rows.append(Row("16 to 6 points: ours", count, means["ours", 16] / means["ours", 6], "x", bar=0.5))
    rows.append(
        Row("16 to 6 points, common points: ours", count, commons["ours", 16] / commons["ours", 6], "x", bar=0.5)
    )
    for size in (6, 16):
        ratio = means["ours", size] / means["SELU", size]
        rows.append(Row(f"{size} points: ours to SELU", count, ratio, "x", bar=1.0))
    return rows


def subset_rows(methods: dict[str, Complete], held_out: PoseSet) -> list[Row]:
    """Errors on random sets of 3 to 12 points; ours to be better than the Gaussians and the networks at every size."""
    random = np.random.default_rng(1)
    others = ("linear", "Gaussian", "SELU")
    rows: list[Row] = []
    ratios: dict[str, list[float]] = {other: [] for other in others}
    for size in range(3, 13):
        sums = dict.fromkeys(methods, 0.0)
        for _ in range(SUBSETS):
            chosen = random.choice(POINT_COUNT, size, replace=False)
            for method, complete in methods.items():
                sums[method] += float(errors(complete, held_out, chosen)[:, unknown(chosen)].mean()) / SUBSETS
        rows += [Row(f"{size} random: {method}", len(held_out), value, "cm") for method, value in sums.items()]
        for other in others:
            ratios[other].append(sums["ours"] / sums[other])
    count = len(held_out)
    worst = [Row(f"3 to 12 random, worst size: ours to {o}", count, max(ratios[o]), "x", bar=1.0) for o in others]
    return [*worst, *rows]


def property_rows(methods: dict[str, Complete], held_out: PoseSet, training: PoseSet) -> list[Row]:
    """Whether turned and mirrored questions have turned and mirrored answers, jumps, and what the data is biased to."""
    six = point_indices(SCHEMES[6])
    asked = held_out.points[:: max(len(held_out) // 200, 1), six].astype(np.float64)
    count, rows = len(asked), []
    yaws = np.linspace(-3.0, 3.0, count)
    order = np.argsort(MIRRORED[six])
    for method in ("SELU", "ours"):
        complete = methods[method]
        plain = complete(six, asked)
        turned = complete(six, turn_vectors(asked, yaws)) - turn_vectors(plain, yaws)
        mirrored = complete(MIRRORED[six][order], (asked * [-1.0, 1.0, 1.0])[:, order]) - mirror_points(plain)
        bar = 0.01 if method == "ours" else None
        rows.append(Row(f"turned question, largest difference: {method}", count, _largest(turned), "cm", bar=bar))
        rows.append(Row(f"mirrored question, largest difference: {method}", count, _largest(mirrored), "cm", bar=bar))
        elbow = point_indices(["left_elbow"])
        more = complete(np.concatenate([six, elbow]), np.concatenate([asked, plain[:, elbow]], axis=1))
        rows.append(Row(f"elbow set where it is, mean jump: {method}", count, _mean(more - plain), "cm"))
        rows.append(Row(f"elbow set where it is, largest jump: {method}", count, _largest(more - plain), "cm"))
    # S1.18. A neutral question: standing poses' six points with left and right made the same, so that nothing in them
    # says that head or feet should turn, asked from 36 sides.
    standing = _standing(held_out)
    neutral = 0.5 * (standing + mirror_points(standing))
    around = turn_vectors(np.repeat(neutral[None], 36, axis=0), np.arange(36) * np.pi / 18.0)
    for method in ("SELU", "ours"):
        out = turn_vectors(methods[method](six, around[:, six]), -np.arange(36) * np.pi / 18.0)
        for part, (tip, base) in _PARTS.items():
            rows.append(Row(f"neutral question, {part} yaw: {method}", 36, _yaw(out, tip, base), "deg"))
        rows.append(Row(f"neutral question, left side ahead: {method}", 36, _lead(out), "cm"))
    ahead = from_facing(training.points, -facing_yaws(training.points), np.zeros((len(training), 3)))
    for part, (tip, base) in _PARTS.items():
        rows.append(Row(f"training poses, mean {part} yaw", len(training), _yaw(ahead, tip, base), "deg"))
    rows.append(Row("training poses, left foot ahead", len(training), _lead(ahead), "cm"))
    return rows


_PARTS = {
    "head": ("head_front", "head"),
    "left foot": ("left_toe", "left_ankle"),
    "right foot": ("right_toe", "right_ankle"),
}


def _yaw(points: np.ndarray, tip: str, base: str) -> float:
    """Mean heading in degrees, left positive, of bodies that face +Z."""
    way = points[:, POINTS.index(tip)] - points[:, POINTS.index(base)]
    return float(np.degrees(np.arctan2(way[:, 0], way[:, 2]).mean()))


def _lead(points: np.ndarray) -> float:
    """How far left ankle and shoulder are ahead of the right ones on average, cm."""
    pairs = [("left_ankle", "right_ankle"), ("left_upper_arm", "right_upper_arm")]
    return float(np.mean([100.0 * (points[:, POINTS.index(a)] - points[:, POINTS.index(b)])[:, 2] for a, b in pairs]))


def _standing(poses: PoseSet) -> np.ndarray:
    """The mean of the tenth of poses whose hips are highest, facing +Z, hips over the origin."""
    points = poses.points.astype(np.float64)
    points = points - points[:, :1] * [1.0, 0.0, 1.0]
    facing = turn_vectors(points, -facing_yaws(points))
    high = facing[:, 0, 1] >= np.quantile(facing[:, 0, 1], 0.9)
    return np.asarray(facing[high].mean(axis=0))


def speed_rows(complete: Complete, held_out: PoseSet, repeats: int) -> list[Row]:
    """Milliseconds of one pose, from wishes to points: by the clock, and of the processor, which other work on the
    machine does not lengthen."""
    rows = []
    for size in (6, 16):
        chosen = point_indices(SCHEMES[size])
        times, processor = [], []
        for index in range(repeats + 20):
            asked = held_out.points[index % len(held_out), chosen][None].astype(np.float64)
            start, begun = time.perf_counter(), time.process_time()
            complete(chosen, asked)
            processor.append(1000.0 * (time.process_time() - begun))
            times.append(1000.0 * (time.perf_counter() - start))
        for name, part in (("p50", 50), ("p99", 99)):
            for kind, found in (("", times), (" (processor)", processor)):
                value = float(np.percentile(found[20:], part))
                rows.append(Row(f"one pose of {size} points, {name}{kind}: ours", repeats, value, "ms", bar=5.0))
    return rows


def split_rows(poses: PoseSet, stride: int) -> list[Row]:
    """The same methods where frames, not takes, are held out: how much a split by frame flatters (S1.9)."""
    from ambulo.posing.poser_task import PoserSettings, PoserTask

    split = posing_data.by_frames(poses)
    held_out = _every(split.held_out, stride)
    completion = PoserTask(split.training, None, PoserSettings(width=8)).completion()
    six = point_indices(SCHEMES[6])
    methods = {
        "linear": linear(completion),
        "Gaussian": by_completion(replace(completion, network=None, passes=1)),
        "nearest neighbour": posing_data.nearest_neighbour(split.training),
    }
    return [
        Row(f"split by frame, 6 points: {name}", len(held_out), _own(complete, held_out, six), "cm")
        for name, complete in methods.items()
    ]


def _own(complete: Complete, held_out: PoseSet, chosen: np.ndarray) -> float:
    return float(errors(complete, held_out, chosen)[:, unknown(chosen)].mean())


def _every(poses: PoseSet, stride: int) -> PoseSet:
    keep = slice(None, None, stride)
    return PoseSet(poses.points[keep], poses.scales[keep], poses.takes[keep], poses.names, {})


def _tail(values: np.ndarray) -> float:
    return float(np.percentile(values, 95))


def _largest(difference: np.ndarray) -> float:
    return float(100.0 * np.linalg.norm(difference, axis=-1).max())


def _mean(difference: np.ndarray) -> float:
    return float(100.0 * np.linalg.norm(difference, axis=-1).mean())


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", type=int, default=None, help="for our model, where it is not in the cache")
    parser.add_argument("--network-steps", type=int, default=None, help="for each published network, likewise")
    parser.add_argument("--embedded", action="store_true", help="use the embedded takes although capture is there")


def main() -> None:
    args = harness.arguments("Posing from few points", extend)
    data: Path | None = None if args.embedded else harness.shared_folder("data")
    if data is None:
        print("measuring on embedded takes", file=sys.stderr)
    poses = None if data is None else posing_data.combat_poses(data)
    split = posing_data.embedded(4.0 if args.quick else 20.0) if poses is None else posing_data.by_clips(poses)
    stride = 8 if args.quick else 1
    poser = posing_data.our_model(split, args.steps or (1_500 if args.quick else STEPS))
    steps = {k: args.network_steps or (1_500 if args.quick else NETWORK_STEPS[k]) for k in COMBINED}
    networks = {scheme: posing_data.scheme_network(split, scheme, steps[scheme]) for scheme in COMBINED}
    base = linear(poser.completion)
    stack = SchemeStack({scheme: network for scheme, (network, _) in networks.items()})
    methods: dict[str, Complete] = {
        "linear": base,
        "nearest neighbour": posing_data.nearest_neighbour(split.training),
        "SELU": by_stack(stack, base),
        "Gaussian": by_completion(replace(poser.completion, network=None, passes=1)),
        "ours": by_completion(poser.completion),
    }
    held_out = _every(split.held_out, stride)
    rows = [
        Row("poses learned from", len(split.training), len(split.training), "poses"),
        Row("training of our one model", len(split.training), poser.manifest.cpu_seconds / 60, "cpu min", bar=30.0),
        *(
            Row(f"training of the SELU network of {scheme}", len(split.training), seconds / 60, "cpu min")
            for scheme, (_, seconds) in networks.items()
        ),
        *scheme_rows(methods, held_out),
        *subset_rows({name: m for name, m in methods.items() if name != "nearest neighbour"}, _every(held_out, 2)),
        *property_rows(methods, held_out, split.training),
        *speed_rows(methods["ours"], held_out, 200 if args.quick else 1000),
    ]
    if poses is not None:
        rows += split_rows(poses, stride)
    harness.report(rows, args)


if __name__ == "__main__":
    main()
