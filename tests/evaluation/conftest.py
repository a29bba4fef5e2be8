"""Footage with known answers: a body whose joints all move as one point, or as a test says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ambulo.evaluation.footage import Footage
from ambulo.motion.skeleton import Skeleton

RATE = 60.0
NAMES = ("root", "hips", "left_foot", "left_toe", "right_foot", "right_toe")


@pytest.fixture(scope="session")
def legs() -> Skeleton:
    """Root, hips and two feet with toes."""
    return Skeleton(
        NAMES,
        np.array([-1, 0, 1, 2, 1, 4]),
        np.array([[0, 0, 0], [0, 0.9, 0], [0.1, -0.8, 0], [0, -0.08, 0.15], [-0.1, -0.8, 0], [0, -0.08, 0.15]]),
        roles={name: joint for joint, name in enumerate(NAMES) if joint},
    )


@pytest.fixture(scope="session")
def make_footage(legs: Skeleton) -> Callable[..., Footage]:
    """Footage of the resting body with chosen global joint positions put in their place."""

    def make(frame_count: int, contacts: object = False, stretch: object = 0, weights: object = 1.0, **joints: object):
        p = np.tile(legs.rest_positions().astype(np.float64), (frame_count, 1, 1))
        for name, values in joints.items():
            p[:, legs.index(name)] = values
        q = np.zeros((frame_count, 6, 4))
        q[..., 3] = 1.0
        return Footage(
            legs,
            RATE,
            p,
            q,
            np.broadcast_to(np.asarray(contacts, bool), (frame_count, 2)).copy(),
            np.broadcast_to(np.asarray(stretch, np.int64), (frame_count,)).copy(),
            np.broadcast_to(np.asarray(weights, np.float64), (frame_count,)).copy(),
        )

    return make
