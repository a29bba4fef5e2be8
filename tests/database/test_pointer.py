"""Pointers into a database and the pose between several of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.database.database import Database
from ambulo.database.pointer import DbPointer, blend_pointers
from ambulo.errors import QueryError
from ambulo.maths import quaternions

from .test_database import clip


def random_clip(name: str, frames: int, start_time: float = 0.0):
    made = clip(name, frames, start_time=start_time)
    q = np.random.default_rng(frames).normal(size=made.rotations.shape).astype(np.float32)
    return replace(made, rotations=q / np.linalg.norm(q, axis=-1, keepdims=True))


@pytest.fixture(scope="module")
def database() -> Database:
    made = Database.from_clips(
        [random_clip("a", 30), random_clip("b", 20, start_time=2.0), random_clip("a_mirrored", 31)]
    )
    made.clips = (*made.clips[:2], made.clips[2]._replace(mirrored=True))
    return made


def test_a_pointer_leads_to_its_frame_and_back(database: Database) -> None:
    for frame in range(database.frame_count):
        assert DbPointer.of_frame(database, frame).resolve(database) == frame
    assert DbPointer("b", 3).resolve(database) == 33
    assert DbPointer.at(database, "b", 2.05) == DbPointer("b", 3)


def test_pointers_that_lead_nowhere_are_refused(database: Database) -> None:
    with pytest.raises(QueryError, match="no clip is called 'aa'; did you mean 'a'"):
        DbPointer("aa", 0).resolve(database)
    for frame in (-1, 20):
        with pytest.raises(QueryError, match=r"2\.00 to 2\.32 s"):
            DbPointer("b", frame).resolve(database)
    with pytest.raises(QueryError, match="20 frames"):
        DbPointer.at(database, "b", 1.0)


def test_mirroring_leads_to_the_twin_and_back() -> None:
    plain, twin = random_clip("a", 30), random_clip("a_mirrored", 30)
    database = Database.from_clips([plain, twin, random_clip("b", 20)])
    database.clips = (database.clips[0], database.clips[1]._replace(mirrored=True), database.clips[2])
    there = DbPointer("a", 7).mirrored(database)
    assert there == DbPointer("a_mirrored", 7)
    assert there.mirrored(database) == DbPointer("a", 7)
    with pytest.raises(QueryError, match="no mirrored twin"):
        DbPointer("b", 7).mirrored(database)


def test_a_single_pointer_gives_its_pose_with_the_root_at_the_origin(database: Database) -> None:
    pose = blend_pointers(database, [DbPointer("a", 5)], [1.0])
    np.testing.assert_allclose(pose.positions[1:], database.positions[5, 1:], atol=1e-6)
    np.testing.assert_allclose(quaternions.angle_between(pose.rotations[1:], database.rotations[5, 1:]), 0, atol=1e-3)
    np.testing.assert_allclose(pose.velocities[1:], database.velocities[5, 1:], atol=1e-6)
    np.testing.assert_array_equal(pose.contacts, database.contacts[5])
    assert (pose.positions[0] == 0).all()
    np.testing.assert_allclose(pose.rotations[0], (0, 0, 0, 1), atol=1e-6)
    back = quaternions.rotate(database.rotations[5, 0], pose.velocities[0])
    np.testing.assert_allclose(back, database.velocities[5, 0], atol=1e-5)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=5))
def test_blending_a_pose_with_itself_changes_nothing(database: Database, shares: list[float]) -> None:
    place = DbPointer("b", 4)
    alone = blend_pointers(database, [place], [1.0])
    same = blend_pointers(database, [place] * len(shares), np.array(shares) / sum(shares))
    for one, other in zip(alone, same, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)


@given(st.floats(0, 1), st.integers(0, 29), st.integers(0, 19))
def test_two_poses_meet_on_the_shortest_way(database: Database, share: float, one: int, other: int) -> None:
    pointers = [DbPointer("a", one), DbPointer("b", other)]
    pose = blend_pointers(database, pointers, [1 - share, share])
    ends = [blend_pointers(database, [pointer], [1.0]) for pointer in pointers]
    np.testing.assert_allclose(np.linalg.norm(pose.rotations, axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(pose.positions, (1 - share) * ends[0].positions + share * ends[1].positions, atol=1e-5)
    whole = quaternions.angle_between(ends[0].rotations, ends[1].rotations)
    parts = [quaternions.angle_between(end.rotations, pose.rotations) for end in ends]
    sure = whole < 3.0  # at half a turn apart either way is shortest
    np.testing.assert_allclose((parts[0] + parts[1])[sure], whole[sure], atol=5e-3)


def test_the_sign_of_a_quaternion_does_not_matter(database: Database) -> None:
    pointers, weights = [DbPointer("a", 3), DbPointer("b", 9), DbPointer("a", 20)], [0.5, 0.3, 0.2]
    before = blend_pointers(database, pointers, weights)
    flipped = Database.from_clips([random_clip("a", 30), random_clip("b", 20)])
    flipped.rotations[33:40] *= -1
    flipped.rotations[20] *= -1
    after = blend_pointers(flipped, pointers, weights)
    np.testing.assert_allclose(after.rotations, before.rotations, atol=1e-5)


@pytest.mark.parametrize(
    ("weights", "words"),
    [([0.5, 0.4], "sum to 0.9"), ([1.5, -0.5], "from 0 up"), ([1.0], "as many weights"), ([np.nan, 1.0], "from 0 up")],
)
def test_weights_that_are_none_are_refused(database: Database, weights: list[float], words: str) -> None:
    with pytest.raises(QueryError, match=words):
        blend_pointers(database, [DbPointer("a", 0), DbPointer("b", 0)], weights)
    with pytest.raises(QueryError, match="0 pointers"):
        blend_pointers(database, [], [])
