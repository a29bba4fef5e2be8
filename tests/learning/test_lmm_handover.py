"""A character goes on with learned motion matching where motion matching had it, and as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.control.handover import hand_over
from ambulo.control.intent import Intent
from ambulo.learning.create import create_controller

DT = 1.0 / 60.0


@pytest.mark.parametrize("count", [1, 3])
def test_motion_matching_hands_over(data: Any, trained: Any, count: int) -> None:
    models = Path(trained.folder).parent
    before, after = (
        create_controller(name, data.database, data.index, data.settings, models) for name in ("motion_matching", "lmm")
    )
    ahead = Intent(np.tile(np.array([[0.4, 0.0, 1.2]], np.float32), (count, 1)))
    state = before.start(count, position=np.arange(count)[:, None] * [2.0, 0.0, 0.0])
    for _ in range(100):
        state, pose = before.step(state, ahead, DT)
    arrived = hand_over(state, before, after, ahead)
    last, jumps = pose, []
    for _ in range(30):
        arrived, now = after.step(arrived, ahead, DT)
        jumps.append(np.linalg.norm(now.global_positions - last.global_positions, axis=-1).max())
        last = now
    # A joint that walks moves some centimetres a step; a pop to another pose would be tens of them.
    assert max(jumps) < 0.12
    assert np.linalg.norm(last.root_position - pose.root_position, axis=-1).min() > 0.2
    started = after.start(count)
    fresh = after.step(started, ahead, DT)[1]
    assert np.abs(fresh.root_position - pose.root_position).max() > 0.5  # it was not just begun anew
