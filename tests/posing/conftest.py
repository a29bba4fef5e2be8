"""Poses of the embedded takes, and a posing model that learned from them for seconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.learning.config import TrainConfig
from ambulo.learning.training import train
from ambulo.posing.pose_set import PoseSet, take_points
from ambulo.posing.poser import Poser, PoserManifest
from ambulo.posing.poser_task import PoserSettings, PoserTask
from ambulo.synthesis.performance import synthesize


@pytest.fixture(scope="session")
def poses() -> PoseSet:
    """About 600 poses of two minutes of embedded takes."""
    takes = synthesize(seed=3, minutes=2.0)
    points, scales = zip(*(take_points(take.motion, rate=5.0) for take in takes), strict=True)
    points = tuple(part - part[:, :1] * np.array([1.0, 0.0, 1.0], np.float32) for part in points)
    counts = [len(part) for part in points]
    return PoseSet(
        np.concatenate(points),
        np.repeat(np.array(scales, np.float32), counts),
        np.repeat(np.arange(len(takes), dtype=np.int32), counts),
        tuple(take.motion.name for take in takes),
        {},
    )


@pytest.fixture(scope="session")
def poser(poses: PoseSet) -> Poser:
    """A small model after 60 steps: good enough for every property that holds by construction."""
    task = PoserTask(poses, None, PoserSettings(width=64, depth=2))
    train(task, TrainConfig(steps=60, batch=64))
    return Poser(task.completion(), PoserManifest(name="test"))


@pytest.fixture(scope="session")
def gaussian_poser(poser: Poser) -> Poser:
    """The same without its network."""
    return replace(poser, completion=replace(poser.completion, network=None))
