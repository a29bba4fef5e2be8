"""Tags: files with line-exact errors, words of names, and the algebra of ranges."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.database import tags
from ambulo.database.tags import TagRange
from ambulo.errors import ProjectError


def write(folder: Path, text: str) -> Path:
    path = folder / "walk_01.tags.csv"
    path.write_bytes(text.encode())
    return path


def test_a_tag_file_is_read_row_by_row(tmp_path: Path) -> None:
    text = "# a take\nstart,stop,tag\n0,4.5,Walk\n\n 4 , 5.25 ,turn  # overlaps\n,,injured\n1.5,,cold\n,2,very cold\n"
    assert tags.read_tag_file(write(tmp_path, text)) == [
        TagRange(0.0, 4.5, "walk"),
        TagRange(4.0, 5.25, "turn"),
        TagRange(None, None, "injured"),
        TagRange(1.5, None, "cold"),
        TagRange(None, 2.0, "very_cold"),
    ]


def test_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "a.tags.csv"
    path.write_bytes(b"\xef\xbb\xbfstart,stop,tag\r\n0,1,walk\r\n")
    assert tags.read_tag_file(path) == [TagRange(0.0, 1.0, "walk")]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("begin,end,tag\n", 1, "start,stop,tag"),
        ("start,stop,tag\n0,1\n", 2, "2 cells"),
        ("start,stop,tag\n0,1,walk\n0;1;run\n", 3, "1 cells"),
        ("start,stop,tag\nzero,1,walk\n", 2, "start is 'zero'"),
        ("start,stop,tag\n0,inf,walk\n", 2, "stop is 'inf'"),
        ("start,stop,tag\n-1,1,walk\n", 2, "start is '-1'"),
        ("start,stop,tag\n# fine\n2,1,walk\n", 3, "stops at 1.0 s, before it starts at 2.0 s"),
        ("start,stop,tag\n1,1,walk\n", 2, "before it starts"),
        ("start,stop,tag\n0,1,\n", 2, "a tag is empty"),
        ('start,stop,tag\n0,1,"walk\n', 2, "no row of a table"),
        ("start,stop,tag\n0,1," + "x" * 200_000 + "\n", 2, "no row of a table"),
        ("start,stop,tag\n0,1,a/b\n", 2, "'a/b' cannot be a tag"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ProjectError) as caught:
        tags.read_tag_file(path)
    assert caught.value.path == path
    assert caught.value.line == line
    assert words in caught.value.message


def test_a_tag_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tags.csv"
    path.write_bytes(b"start,stop,tag\n0,1,\xff\n")
    with pytest.raises(ProjectError, match="UTF-8"):
        tags.read_tag_file(path)


seconds = st.one_of(st.none(), st.floats(0, 1000, allow_nan=False))
names = st.from_regex(r"[a-z0-9][a-z0-9_+-]{0,8}", fullmatch=True)


@given(st.lists(st.tuples(seconds, seconds, names)))
def test_written_files_read_back_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple]) -> None:
    ranges = [TagRange(a, b, n) for a, b, n in rows if a is None or b is None or a < b]
    path = tmp_path_factory.mktemp("tags") / "take.tags.csv"
    tags.write_tag_file(path, ranges)
    assert tags.read_tag_file(path) == ranges


def test_tag_file_lies_beside_the_take() -> None:
    assert tags.tag_file_of(Path("a/walk_01.bvh")) == Path("a/walk_01.tags.csv")


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
    assert tags.check_tag(apart) == tags.check_tag("Caf\u00e9") == "caf\u00e9"
    assert tags.words_of(f"{apart}_01") == ["caf\u00e9"]
