"""Poses of takes: on one floor, of one size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.posing.pose_set import take_points
from ambulo.synthesis.performance import synthesize


def test_floors_of_takes_are_aligned() -> None:
    motion = synthesize(seed=3, minutes=0.5)[0].motion
    plain, scale = take_points(motion)
    for height in (0.12, -0.08):
        positions = motion.positions.copy()
        positions[:, 0, 1] += np.float32(height)
        raised, raised_scale = take_points(replace(motion, positions=positions))
        assert raised_scale == scale
        # Within what a floor is taken to be right as it is.
        off = raised - plain
        assert np.allclose(off[..., [0, 2]], 0.0, atol=1e-5)
        assert np.ptp(off[..., 1]) < 1e-5 and abs(float(off[..., 1].mean())) * scale <= 0.015 + 1e-5
