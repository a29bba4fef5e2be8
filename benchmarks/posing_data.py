"""Poses and models of ``benchmarks/posing.py``: gathered and trained once, kept in the benchmarks' cache."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import harness
import numpy as np

from ambulo.learning.config import TrainConfig
from ambulo.learning.training import train
from ambulo.posing.points import POINTS
from ambulo.posing.pose_set import PoseSet, gather_poses, take_points
from ambulo.posing.poser import Poser, PoserManifest
from ambulo.posing.poser_training import PoserPreset, train_on
from ambulo.posing.scheme_networks import SchemeNetwork, SchemeTask

SETS = {
    "karate": "free/cmu_karate",
    "bollywood": "free/cmu_bollywood",
    "salsa": "free/cmu_salsa_pairs",
    "loco": "free/cmu_loco",
    "bandai1": "noncommercial/bandai1",
}
"""What the combat model learns from; models of it are never shipped, for bandai1 is not for commercial use."""

_ACTIONS = ("dance", "kick", "punch", "slash")


def cache() -> Path:
    """The folder in which poses and models are kept; remove it to begin anew."""
    folder = harness.PEERS_FOLDER / "posing"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True)
class Split:
    """Poses to learn from and poses to measure on.

    Attributes:
        name: ``clips``, ``frames`` or ``embedded``.
        training: to learn from.
        held_out: to measure on.
    """

    name: str
    training: PoseSet
    held_out: PoseSet


def combat_poses(data: Path) -> PoseSet:
    """Poses of the five sets, 15 a second; takes are named ``SET/FILE``."""
    file = cache() / "poses.npz"
    if not file.is_file():
        parts = []
        for name, place in SETS.items():
            print(f"reading {name} ...", file=sys.stderr)
            parts.append((name, gather_poses(sorted((data / place).rglob("*.bvh")))))
        names: list[str] = []
        takes = []
        for name, part in parts:
            takes.append(part.takes + len(names))
            names += [f"{name}/{take}" for take in part.names]
        np.savez(
            file,
            points=np.concatenate([part.points for _, part in parts]),
            scales=np.concatenate([part.scales for _, part in parts]),
            takes=np.concatenate(takes).astype(np.int32),
            names=np.array(names),
            layout=np.array(POINTS),
        )
    with np.load(file) as kept:
        if tuple(kept["layout"]) != POINTS:
            raise SystemExit(f"{file} has other points: remove it")
        return PoseSet(kept["points"], kept["scales"], kept["takes"], tuple(map(str, kept["names"])), {})


def by_clips(poses: PoseSet) -> Split:
    """Whole takes held out: one each of karate and bollywood, two of salsa, a fifth of loco, and all of bandai1's
    dances, kicks, punches and slashes, actions that are then in no training take of that set."""
    held = np.zeros(len(poses.names), bool)
    loco = 0
    for index, name in enumerate(poses.names):
        source, _, file = name.partition("/")
        if source == "loco":
            held[index] = loco % 5 == 3
            loco += 1
        elif source == "bandai1":
            held[index] = any(action in file for action in _ACTIONS)
        else:
            held[index] = file in ("135_08.bvh", "94_08.bvh", "60_03.bvh", "61_03.bvh")
    return Split("clips", poses.of_takes(~held), poses.of_takes(held))


def by_frames(poses: PoseSet) -> Split:
    """A twentieth of all frames held out (S1.9); neighbours of each stay in the training."""
    held = np.random.default_rng(0).random(len(poses)) < 0.05
    return Split("frames", _only(poses, ~held), _only(poses, held))


def embedded(minutes: float) -> Split:
    """The embedded takes, every fourth held out, where there is no real capture."""
    from ambulo.synthesis.performance import synthesize

    found = [take_points(take.motion) for take in synthesize(0, minutes)]
    counts = [len(points) for points, _ in found]
    poses = PoseSet(
        np.concatenate([points for points, _ in found]),
        np.repeat(np.array([scale for _, scale in found], np.float32), counts),
        np.repeat(np.arange(len(found), dtype=np.int32), counts),
        tuple(str(index) for index in range(len(found))),
        {},
    )
    held = np.arange(len(found)) % 4 == 3
    return Split("embedded", poses.of_takes(~held), poses.of_takes(held))


def our_model(split: Split, steps: int) -> Poser:
    """The one model of a split, trained if it is not in the cache."""
    folder = cache() / split.name / "poser"
    if not (folder / "manifest.json").is_file():
        print(f"training poser on {len(split.training):,} poses ({steps:,} steps) ...", file=sys.stderr)
        manifest = PoserManifest(data=f"benchmark, split by {split.name}")
        preset = PoserPreset(steps, 512)
        train_on(
            split.training, split.held_out, folder, name="combat", preset=preset, precision="float32", manifest=manifest
        )
    return Poser.load(folder)


def scheme_network(split: Split, scheme: int, steps: int) -> tuple[SchemeNetwork, float]:
    """The published network of a scheme, trained if it is not in the cache, and its training's processor seconds."""
    from ambulo.learning.weights import pack_layers, unpack_layers

    file = cache() / split.name / f"scheme_{scheme}.npz"
    if not file.is_file():
        print(f"training the network of {scheme} points on {len(split.training):,} poses ...", file=sys.stderr)
        task = SchemeTask(split.training, None, scheme)
        done = train(task, TrainConfig(steps=steps, batch=512))
        made = task.network()
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            file, known=made.known, unknown=made.unknown, sizes=np.array(made.layers.sizes),
            cpu_seconds=done.cpu_seconds, steps=done.steps, **pack_layers("network", made.layers),
        )  # fmt: skip
    with np.load(file) as kept:
        arrays = {name: kept[name] for name in kept.files if name.startswith("network.")}
        layers = unpack_layers("network", arrays, kept["sizes"].tolist(), "selu")
        return SchemeNetwork(kept["known"], kept["unknown"], layers), float(kept["cpu_seconds"])


def nearest_neighbour(training: PoseSet) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The training pose (or its mirror image) whose set points fit best, turned and moved to fit, then with the set
    points put where they are set."""
    from ambulo.posing.points import mirror_points

    poses = np.concatenate([training.points, mirror_points(training.points)]).astype(np.float32)

    def complete(chosen: np.ndarray, positions: np.ndarray) -> np.ndarray:
        def flat(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            across = points[..., 2] + 1j * points[..., 0]
            middle = across.mean(axis=1, keepdims=True)
            return (across - middle).astype(np.complex64), points[..., 1], middle

        known, heights, middles = flat(poses[:, chosen])
        sizes = (np.abs(known) ** 2).sum(axis=1) + (heights**2).sum(axis=1)
        out = np.empty((len(positions), len(POINTS), 3))
        for start in range(0, len(positions), 256):
            asked, asked_heights, asked_middles = flat(positions[start : start + 256].astype(np.float32))
            products = asked @ known.conj().T
            # Least squares over all turns and moves has a closed form in complex numbers.
            fit = sizes - 2.0 * np.abs(products) - 2.0 * asked_heights @ heights.T
            best = fit.argmin(axis=1)
            turn = products[np.arange(len(best)), best]
            turn /= np.maximum(np.abs(turn), 1e-9)
            found = poses[best]
            across = (found[..., 2] + 1j * found[..., 0] - middles[best]) * turn[:, None] + asked_middles
            rows = slice(start, start + len(best))
            out[rows, :, 0], out[rows, :, 1], out[rows, :, 2] = across.imag, found[..., 1], across.real
        out[:, chosen] = positions
        return out

    return complete


def _only(poses: PoseSet, keep: np.ndarray) -> PoseSet:
    return PoseSet(poses.points[keep], poses.scales[keep], poses.takes[keep], poses.names, {})
