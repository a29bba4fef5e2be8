"""Tags: words of names, and ranges of frames."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.database import tags
from ambulo.formats.tag_file import check_tag


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dataset-1_walk_happy_001.bvh", ["walk", "happy"]),
        ("dataset-2_walk-turn-left_active_011.bvh", ["walk", "turn", "left", "active"]),
        ("dataset-1_dash_not-confident_001.bvh", ["dash", "not-confident"]),
        ("train_walking_extra_22.bvh", ["walking"]),
        ("LocomotionFlat09_000.bvh", ["locomotion", "flat"]),
        ("walk1_subject5.bvh", ["walk"]),
        ("131_01.bvh", []),
        ("Angry_FW.bvh", ["angry", "fw"]),
        ("walk walk WALK.bvh", ["walk"]),
        ("歩く_01.bvh", ["歩く"]),
    ],
)
def test_words_of_file_names(name: str, words: list[str]) -> None:
    assert tags.tags_of_file_name(name) == words


def test_words_of_folders_are_those_between_source_and_file() -> None:
    assert tags.tags_of_folders("styles/Very Tired/walk_01.bvh") == ["styles", "very", "tired"]
    assert tags.tags_of_folders("walk_01.bvh") == []


@pytest.mark.parametrize(
    ("tag", "mirrored"),
    [
        ("left", "right"),
        ("turn_left", "turn_right"),
        ("strafe-right-left", "strafe-left-right"),
        ("leftover", "leftover"),
    ],
)
def test_mirrored_tags_swap_sides(tag: str, mirrored: str) -> None:
    assert tags.mirrored_tag(tag) == mirrored
    assert tags.mirrored_tag(mirrored) == tag


names = st.from_regex(r"[a-z0-9][a-z0-9_+-]{0,8}", fullmatch=True)


@given(names)
def test_mirroring_a_tag_twice_gives_it_back(tag: str) -> None:
    assert tags.mirrored_tag(tags.mirrored_tag(tag)) == tag


def test_seconds_to_frames_is_half_open() -> None:
    assert tags.range_to_frames(0.0, 0.1, rate=60, frame_count=100) == (0, 6)
    assert tags.range_to_frames(0.1, 0.2, rate=60, frame_count=100) == (6, 12)
    assert tags.range_to_frames(None, None, rate=60, frame_count=100) == (0, 100)
    assert tags.range_to_frames(0.11, 0.2, rate=30, frame_count=100) == (4, 6)
    assert tags.range_to_frames(5.0, 9.0, rate=60, frame_count=100) == (100, 100)
    # The clip begins one second into the take: the take's second 1.5 is the clip's frame 30.
    assert tags.range_to_frames(1.5, 2.0, rate=60, frame_count=100, start_time=1.0) == (30, 60)
    assert tags.range_to_frames(0.0, 0.5, rate=60, frame_count=100, start_time=1.0) == (0, 0)


@given(st.floats(0, 3), st.floats(0, 3), st.floats(0, 3), st.sampled_from([24.0, 30.0, 60.0, 120.0]))
def test_ranges_that_touch_in_time_touch_in_frames(a: float, b: float, c: float, rate: float) -> None:
    a, b, c = sorted((a, b, c))
    first = tags.range_to_frames(a, b, rate=rate, frame_count=1000)
    second = tags.range_to_frames(b, c, rate=rate, frame_count=1000)
    whole = tags.range_to_frames(a, c, rate=rate, frame_count=1000)
    assert first[1] == second[0]
    assert (first[0], second[1]) == whole


ranges = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)))


@given(ranges)
def test_merged_ranges_are_sorted_disjoint_and_hold_the_same_frames(pairs: list[tuple[int, int]]) -> None:
    merged = tags.merge_ranges(pairs)
    expected = np.zeros(60, bool)
    for start, stop in pairs:
        expected[start:stop] = True
    assert np.array_equal(tags.ranges_to_mask(merged, 60), expected)
    assert (merged[:, 0] < merged[:, 1]).all()
    assert (merged[1:, 0] > merged[:-1, 1]).all()
    assert np.array_equal(tags.merge_ranges(merged.tolist()), merged)


def test_accents_that_are_written_apart_are_the_same_tag() -> None:
    apart = unicodedata.normalize("NFD", "Caf\u00e9")
    assert check_tag(apart) == check_tag("Caf\u00e9") == "caf\u00e9"
    assert tags.words_of(f"{apart}_01") == ["caf\u00e9"]
