"""Small takes of a walking figure, written as ordinary files, and a project around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.database import download
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.synthesis.body import default_skeleton

from .web_site import Site, serve


def walker(seed: int = 0, seconds: float = 1.0, rate: float = 30.0, skeleton: Skeleton | None = None) -> Motion:
    """A figure with its arms down that swings its legs and walks along +Z; the seed sets pace and phase."""
    skeleton = skeleton or default_skeleton()
    frames = round(seconds * rate) + 1
    t = np.arange(frames) / rate
    rng = np.random.default_rng(seed)
    pace, phase = rng.uniform(1.5, 2.5), rng.uniform(0.0, 6.0)
    swing = 0.4 * np.sin(2 * np.pi * pace * t / 2 + phase)
    angles = np.zeros((frames, skeleton.joint_count, 3), np.float32)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        angles[:, skeleton.role(f"{side}_upper_leg"), 0] = sign * swing - 0.1
        angles[:, skeleton.role(f"{side}_lower_leg"), 0] = 0.2 + 0.2 * np.sin(2 * np.pi * pace * t / 2 + phase + sign)
        angles[:, skeleton.role(f"{side}_upper_arm"), 2] = -sign * 1.3
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    positions[:, 0] += np.stack([0.1 * np.sin(t + seed), 0.01 * np.sin(4 * t), (0.6 + 0.1 * pace) * t], axis=-1)
    rotations = quaternions.from_scaled_angle_axis(angles)
    return Motion(skeleton, positions, rotations, rate, f"walker_{seed}")


def write_take(path: Path, seed: int = 0, **options: float) -> Path:
    """Write a walker to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ambulo.save(walker(seed, **options), path)
    return path


def other_skeleton() -> Skeleton:
    """The default skeleton with one joint renamed."""
    body = default_skeleton()
    names = tuple("Skull" if name == "Head" else name for name in body.names)
    return Skeleton(names, body.parents, body.offsets, body.end_offsets, body.roles)


PROJECT = """\
name = "tiny"
[[sources]]
path = "takes"
licence = "CC0-1.0"
tags = ["locomotion"]
"""


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Path]:
    """Makes a project of some takes: names of files, each with its own seed."""

    def make(*names: str, text: str = PROJECT, folder: str = "project") -> Path:
        root = tmp_path / folder
        root.mkdir()
        (root / "ambulo.toml").write_text(text)
        for seed, name in enumerate(names):
            write_take(root / "takes" / name, seed)
        return root

    return make


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server whose files, and misbehaviour, a test decides on."""
    monkeypatch.setattr(download, "_PAUSES", (0.0,) * 5)
    with serve() as state:
        yield state
