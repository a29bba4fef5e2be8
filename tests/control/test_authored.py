"""Authored clips: exactly these frames, into them and out of them without a pop (S0.51)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control.authored import mirrored_twin, play_clip
from ambulo.control.intent import Intent
from ambulo.control.motion_matching import MotionMatching
from ambulo.database.database import Database
from ambulo.errors import ControlError, QueryError
from ambulo.prepare.mirror import mirror_clip
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import synthesize

AHEAD = np.array([[0.0, 0.0, 1.4]] * 2, np.float32)


def test_exactly_this_part_is_played_and_then_matching_goes_on(
    stack: Any, bare: MotionMatching, database: Database
) -> None:
    clip = database.clips[2]
    for controller in (bare, stack):
        state = controller.start(2)
        for _ in range(50):
            state, last = controller.step(state, Intent(AHEAD), 1 / 60)
        state = play_clip(controller, state, clip.name, clip.start_time + 1.0, clip.start_time + 2.0, characters=[1])
        shown, positions, jumps = [], [last.global_positions], []
        for _ in range(100):
            state, pose = controller.step(state, Intent(AHEAD), 1 / 60)
            shown.append(pose.frames)
            positions.append(pose.global_positions)
            jumps.append(pose.transitioned)
        first = clip.start + 60
        assert_array_equal(np.array(shown)[:59, 1], np.arange(first + 1, first + 60))
        assert jumps[0][1] and any(jump[1] for jump in jumps[59:61])
        # The one who was not asked went on as before, and the one who was is where matching can go on.
        assert not (np.array(shown)[:59, 0] == np.array(shown)[:59, 1]).any()
        steps = np.linalg.norm(np.diff(np.array(positions), axis=0), axis=-1)
        if controller is stack:
            assert steps.max() < 0.2


def test_the_root_moves_as_it_was_captured(bare: MotionMatching, database: Database) -> None:
    clip = next(clip for clip in database.clips if clip.name.startswith("run"))
    start = clip.start_time + 6.0
    state = play_clip(bare, bare.start(), clip.name, start, start + 1.5)
    roots, frames = [], []
    for _ in range(89):
        state, pose = bare.step(state, Intent(-AHEAD[:1]), 1 / 60)
        roots.append(pose.root_position[0].astype(np.float64))
        frames.append(int(pose.frames[0]))
    captured = database.positions[frames, 0].astype(np.float64)
    assert_allclose(
        np.linalg.norm(np.diff(roots, axis=0), axis=1), np.linalg.norm(np.diff(captured, axis=0), axis=1), atol=2e-4
    )


def test_the_mirrored_twin_is_the_mirror_image() -> None:
    motion = synthesize(0, 1.0)[0].motion
    clip = prepare_take(motion)
    database = Database.from_clips([clip, mirror_clip(clip)])
    one, two = database.clips
    rows = (one, two._replace(name=f"{two.name}_mirrored", mirrored=True))
    database.clips = rows
    assert mirrored_twin(database, rows[0]) == rows[1] and mirrored_twin(database, rows[1]) == rows[0]
    ways = [database.positions[row.start : row.stop, 0, 0] - database.positions[row.start, 0, 0] for row in rows]
    assert_allclose(np.abs(ways[0]), np.abs(ways[1]), atol=0.5)
    database.clips = rows[:1]
    with pytest.raises(QueryError, match="no mirrored twin"):
        mirrored_twin(database, rows[0])


def test_what_is_not_there_is_refused(bare: MotionMatching, stack: Any, database: Database) -> None:
    clip = database.clips[0]
    with pytest.raises(QueryError, match="no clip"):
        play_clip(bare, bare.start(), clip.name + "x")
    with pytest.raises(QueryError, match="goes from"):
        play_clip(bare, bare.start(), clip.name, clip.start_time + 5.0, clip.start_time + 4.0)
    with pytest.raises(ControlError, match="no such character"):
        play_clip(stack, stack.start(2), clip.name, characters=[2])
    with pytest.raises(ControlError, match="plays no clips"):
        play_clip(object(), bare.start(), clip.name)  # type: ignore[arg-type]
