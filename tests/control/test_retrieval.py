"""Several places with weights: the best first, apart from each other, and one pose between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ambulo.control.foot_lock import FootLock
from ambulo.control.intent import Intent
from ambulo.control.retrieval import retrieve
from ambulo.database.database import Database
from ambulo.database.pointer import blend_pointers
from ambulo.errors import ControlError

AHEAD = np.array([[0.0, 0.0, 1.4]], np.float32)


@pytest.fixture(scope="module")
def walking(stack: FootLock) -> Any:
    state = stack.start()
    for _ in range(90):
        state, _ = stack.step(state, Intent(AHEAD, required_tags=("walk",)), 1 / 60)
    return state


def test_the_best_come_first_and_weigh_most(stack: FootLock, walking: Any, database: Database) -> None:
    found = retrieve(stack, walking, 5)
    assert len(found.pointers) == 5
    assert found.weights.sum() == pytest.approx(1.0)
    assert (np.diff(found.costs) >= 0).all() and (np.diff(found.weights) <= 0).all()
    assert found.weights[1] / found.weights[0] == pytest.approx(np.exp(found.costs[0] - found.costs[1]))
    frames = [pointer.resolve(database) for pointer in found.pointers]
    assert database.mask(("walk",))[frames].all()
    for n, frame in enumerate(frames):
        for other in frames[:n]:
            assert abs(frame - other) >= 30 or database.clip_of_frame(frame) != database.clip_of_frame(other)
    # No frame that could be shown is cheaper than the first: that is the exact search.
    bare: Any = stack.inner.inner  # type: ignore[attr-defined]
    inner = walking.inner.inner
    best = bare.index.search(
        inner.query, mask=bare.frame_sets.of(("walk",), ()).mask, weights=bare.frame_search.weights_for(False, ())
    )
    assert frames[0] == best.frames[0] and found.costs[0] == pytest.approx(float(best.costs[0]), rel=1e-4)


def test_they_blend_into_one_pose(stack: FootLock, walking: Any, database: Database) -> None:
    found = retrieve(stack, walking, 3)
    pose = blend_pointers(database, found.pointers, found.weights)
    frames = [pointer.resolve(database) for pointer in found.pointers]
    low, high = database.positions[frames].min(axis=0), database.positions[frames].max(axis=0)
    assert (pose.positions[1:] >= low[1:] - 1e-5).all() and (pose.positions[1:] <= high[1:] + 1e-5).all()
    sharp = retrieve(stack, walking, 3, softness=1e-6)
    np.testing.assert_allclose(sharp.weights, [1.0, 0.0, 0.0], atol=1e-12)


def test_what_makes_no_sense_is_refused(stack: FootLock, walking: Any) -> None:
    for wrong in ({"count": 0}, {"softness": 0.0}, {"separation": -1.0}, {"character": 1}):
        with pytest.raises(ControlError):
            retrieve(stack, walking, **{"count": 2, **wrong})
    with pytest.raises(ControlError, match="searches no database"):
        retrieve(object(), walking)
