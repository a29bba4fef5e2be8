"""A small database of synthetic walking, running, strafing and standing, made once a session."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.control.create import create_controller
from ambulo.control.foot_lock import FootLock
from ambulo.control.inertialization import Inertialize
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.recording import Recording
from ambulo.control.scripts import random_sticks
from ambulo.control.simulation import simulate
from ambulo.database.database import Database
from ambulo.matching.features import compute_features
from ambulo.matching.index import SearchIndex
from ambulo.matching.schema import FeatureSchema
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import synthesize


@pytest.fixture(scope="session")
def database() -> Database:
    """Six minutes of neutral locomotion, and a first part of the runs tagged junk."""
    performances = synthesize(0, 6.0)
    clips = [prepare_take(performance.motion) for performance in performances]
    tags = [[(tag.start, tag.stop, tag.tag) for tag in performance.tags] for performance in performances]
    place = next(i for i, performance in enumerate(performances) if performance.motion.name.startswith("run"))
    tags[place].append((0.0, 5.0, "junk"))
    return Database.from_clips(clips, tags)


@pytest.fixture(scope="session")
def index(database: Database) -> SearchIndex:
    """The default 27 dimensions."""
    schema = FeatureSchema.compile(skeleton=database.skeleton, rate=database.rate)
    return SearchIndex.build(
        compute_features(database, schema), database.clip_starts, database.clip_stops, database.valid
    )


@pytest.fixture(scope="session")
def bare(database: Database, index: SearchIndex) -> MotionMatching:
    """Motion matching without wrappers."""
    return MotionMatching(database, index)


@pytest.fixture(scope="session")
def stack(database: Database, index: SearchIndex) -> FootLock:
    """The whole stack."""
    controller = create_controller("motion_matching", database, index)
    assert isinstance(controller, FootLock)
    assert isinstance(controller.inner, Inertialize)
    return controller


@pytest.fixture(scope="session")
def blocks(database: Database, index: SearchIndex) -> FootLock:
    """The whole stack around the one-second-block controller."""
    controller = create_controller("blocks", database, index)
    assert isinstance(controller, FootLock)
    return controller


@pytest.fixture(scope="session")
def recording(stack: FootLock) -> Recording:
    """Twenty seconds of a restless stick."""
    return simulate(stack, random_sticks(3, 20.0), 20.0)


@pytest.fixture(scope="session")
def wishes() -> list[tuple[np.ndarray, np.ndarray]]:
    """Velocities and facings of five characters that change their minds, 2 seconds at 60 steps a second."""
    generator = np.random.default_rng(5)
    result = []
    for step in range(120):
        if step % 24 == 0:
            velocity = np.zeros((5, 3), np.float32)
            velocity[:, [0, 2]] = generator.uniform(-2.0, 2.0, (5, 2))
            velocity[step % 5] = 0.0
            facing = np.zeros((5, 3), np.float32)
            facing[1, [0, 2]] = generator.normal(size=2)
        result.append((velocity, facing))
    return result
