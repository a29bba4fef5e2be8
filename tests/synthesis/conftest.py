"""One round of the synthetic data set, made once for all tests of this folder."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.synthesis.directions import Directions
from ambulo.synthesis.path import Wish
from ambulo.synthesis.performance import Performance, perform, synthesize
from ambulo.synthesis.styles import style_named

RATE = 60.0


@pytest.fixture(scope="session")
def performances() -> list[Performance]:
    """The embedded data set of seed 0."""
    return synthesize(seed=0, minutes=20.0)


@pytest.fixture(scope="session")
def straight():
    """``straight(speed, style="neutral", angle=0, seed=0)``: ten seconds straight on between two rests."""

    def make(speed: float, style: str = "neutral", angle: float = 0.0, seed: int = 0) -> Performance:
        frames = int(13 * RATE)
        time = np.arange(frames) / RATE
        moving = ((time >= 1.0) & (time < 11.0))[:, None]
        velocity = speed * moving * np.array([np.sin(angle), np.cos(angle)])
        half = np.full(frames, 0.2)
        wish = Wish(velocity, np.zeros(frames), half, half)
        directions = Directions("straight", "test", style_named(style), wish, np.zeros(frames))
        return perform(directions, np.random.default_rng(seed), RATE)

    return make
