"""Training data: windows stay in their clips, held-out stretches hide from mirrored twins, rows are the poses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control.frame_sets import FrameSets
from ambulo.control.settings import SearchSettings
from ambulo.learning.lmm_frames import gather_frames, pick, search_weights
from ambulo.learning.pose_space import PoseSpace
from ambulo.maths import quaternions


def test_windows_never_leave_a_clip_or_meet_a_glitch(data: Any) -> None:
    database, index = data.database, data.index
    spoiled = np.ones(database.frame_count, np.bool_)
    spoiled[[100, 101, 2000]] = False
    stops = np.array(data.frame_set.run_stops)
    frames = gather_frames(database, index, data.frame_set.allowed & spoiled, stops, data.frames.weights)
    clip_of = database.clip_of_frame(np.arange(database.frame_count))
    for length in (2, 21):
        starts = frames.window_starts(length)
        windows = frames.frames[starts[:, None] + np.arange(length)]
        assert (np.diff(windows, axis=1) == 1).all()
        assert_array_equal(clip_of[windows].min(axis=1), clip_of[windows].max(axis=1))
        assert not np.isin(windows, [100, 101, 2000]).any()
        assert not frames.held_out[starts[:, None] + np.arange(length)].any()
        held = frames.window_starts(length, held_out=True)
        assert len(held) and frames.held_out[held[:, None] + np.arange(length)].all()
        # Nothing is wasted: a start that is left out has a gap, a clip's edge or a held-out frame after it.
        left = np.setdiff1d(np.arange(len(frames.frames) - length), np.concatenate([starts, held]))
        after = left[:, None] + np.arange(length)
        gap = (np.diff(frames.frames[after], axis=1) != 1).any(axis=1)
        edge = clip_of[frames.frames[after]].min(axis=1) != clip_of[frames.frames[after]].max(axis=1)
        assert (gap | edge | frames.held_out[after].any(axis=1)).all()


def test_what_is_held_out_is_held_out_of_the_mirrored_twin_too(data: Any) -> None:
    database, frames = data.database, data.frames
    held = np.zeros(database.frame_count, np.bool_)
    held[frames.frames[frames.held_out]] = True
    used = np.zeros(database.frame_count, np.bool_)
    used[frames.frames] = True
    twins = {clip.name: clip for clip in database.clips}
    compared = 0
    for name, clip in twins.items():
        twin = twins.get(f"{name}_mirrored")
        if twin is not None:
            both = used[clip.start : clip.stop] & used[twin.start : twin.stop]
            assert_array_equal(held[clip.start : clip.stop][both], held[twin.start : twin.stop][both])
            compared += int(held[clip.start : clip.stop].sum())
    assert compared > 30


def test_rows_are_the_poses(data: Any) -> None:
    frames, database = data.frames, data.database
    space = PoseSpace(frames.layout)
    rows = np.arange(0, len(frames.frames), 97)
    poses = torch.from_numpy(frames.poses[rows])
    matrices = space.matrices(poses)
    places = space.positions(poses, matrices).numpy().transpose(0, 2, 1)
    assert np.abs(places - frames.positions[rows]).max() < 2e-3  # retargeted bones breathe by a millimetre
    local = database.rotations[frames.frames[rows], 1:]
    turned = torch.from_numpy(quaternions.multiply(local, local * 0 + [0.0, 0.0, 0.0, 1.0]).astype(np.float32))
    assert turned.shape == (len(rows), frames.layout.joint_count - 1, 4)
    assert float(space.local_angles(matrices, matrices).abs().max()) < 1e-3
    eye = (matrices.transpose(-1, -2) @ matrices).numpy()
    assert_allclose(eye, np.broadcast_to(np.eye(3), eye.shape), atol=1e-5)


def test_local_angles_are_those_of_the_joints(data: Any) -> None:
    frames, database = data.frames, data.database
    space = PoseSpace(frames.layout)
    one, other = np.arange(0, 2000, 50), np.arange(1000, 3000, 50)
    angles = space.local_angles(
        space.matrices(torch.from_numpy(frames.poses[one])), space.matrices(torch.from_numpy(frames.poses[other]))
    ).numpy()
    a, b = database.rotations[frames.frames[one], 1:], database.rotations[frames.frames[other], 1:]
    true = 2.0 * np.arccos(np.clip(np.abs((a * b).sum(axis=-1)), 0.0, 1.0))
    assert_allclose(angles, true, atol=2e-3)


def test_features_are_those_that_the_search_compares(data: Any) -> None:
    frames, index = data.frames, data.index
    assert_array_equal(frames.weights, search_weights(index, SearchSettings().pose_emphasis))
    query, row = frames.features[7], 123
    raw = query / frames.coefficients + frames.mean
    costs = index.explain(raw, int(frames.frames[row]), frames.weights)
    assert_allclose(sum(costs.values()), np.square(query - frames.features[row]).sum(), rtol=1e-3)


def test_every_pool_is_drawn_as_often_and_every_row_of_it() -> None:
    pools = (np.array([5, 6]), np.arange(100, 104))
    draws = np.linspace(0.0, 1.0, 8000, endpoint=False)
    rows, counts = np.unique(pick(draws, pools), return_counts=True)
    assert_array_equal(rows, [5, 6, 100, 101, 102, 103])
    assert_array_equal(counts, [2000, 2000, 1000, 1000, 1000, 1000])
    assert pick(np.array([0.999999999]), pools)[0] == 103
    rows, counts = np.unique(pick(draws, pools, 0.25), return_counts=True)
    assert_array_equal(rows, [5, 6, 100, 101, 102, 103])
    assert_allclose(counts, [1000, 1000, 1500, 1500, 1500, 1500], atol=2)
    assert_array_equal(pick(draws, pools[1:], 0.25), pick(draws, pools[1:]))  # nothing is known, or nothing is new


def test_new_frames_are_many_at_first_and_their_own_share_in_the_end(data: Any) -> None:
    fresh = np.zeros(len(data.frames.frames), np.bool_)
    fresh[: len(fresh) // 5] = True
    frames = replace(data.frames, fresh=fresh)
    shares = [frames.fresh_share(progress) for progress in (0.0, 0.5, 1.0)]
    assert 0.6 < shares[0] < 0.75 and shares[0] > shares[1] > shares[2] == fresh.mean()
    assert data.frames.fresh_share(0.0) is None


def test_tags_choose_the_frames(data: Any) -> None:
    search = SearchSettings()
    frame_set = FrameSets(data.database, data.index, search, search.minimum_run).of(("walk",), ())
    frames = gather_frames(data.database, data.index, frame_set.allowed, frame_set.run_stops, data.frames.weights)
    assert 0 < len(frames.frames) < len(data.frames.frames)
    assert data.database.mask(("walk",))[frames.frames].all()
