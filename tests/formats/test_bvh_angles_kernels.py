"""Euler angles on the way out: the same rotation, and smooth in time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.formats import bvh_angles_kernels as kernels
from ambulo.maths import quaternions


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), middle=st.sampled_from([None, 90.0, -90.0, 89.9999, -89.9999, 90.00001]))
def test_euler_angles_give_the_rotation_back(order: str, seed: int, middle: float | None) -> None:
    random = np.random.default_rng(seed)
    angles = random.uniform(-400, 400, (6, 2, 3))
    if middle is not None:
        angles[:, :, 1] = middle
    q = quaternions.from_euler(np.radians(angles), order).astype(np.float32)
    degrees = np.empty((6, 2, 3))
    i, j, k = ("XYZ".index(axis) for axis in order)
    kernels.quaternions_to_euler(q, i, j, k, degrees)
    again = quaternions.from_euler(np.radians(degrees), order)
    assert np.degrees(quaternions.angle_between(quaternions.normalize(q.astype(np.float64)), again)).max() < 2e-5


def test_euler_angles_are_smooth_over_whole_turns_and_through_the_pole() -> None:
    turn = np.linspace(0.0, 1080.0, 200)
    degrees = np.empty((200, 1, 3))
    for axis, letter in enumerate("XYZ"):
        q = quaternions.unroll(quaternions.from_euler(np.radians(turn)[:, None], letter))[:, None].astype(np.float32)
        kernels.quaternions_to_euler(q, 0, 1, 2, degrees)
        # The middle angle passes its poles too: the other set of angles carries it over.
        np.testing.assert_allclose(degrees[:, 0, axis], turn, atol=1e-3)
        assert np.abs(np.delete(degrees[:, 0], axis, axis=1)).max() < 1e-3
