"""Tag files: line-exact errors, more columns, the marks of a merge, and a round trip."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.errors import ProjectError
from ambulo.formats import tag_file
from ambulo.formats.tag_file import TagRange


def write(folder: Path, text: str) -> Path:
    path = folder / "walk_01.tags.csv"
    path.write_bytes(text.encode())
    return path


def test_a_tag_file_is_read_row_by_row(tmp_path: Path) -> None:
    text = "# a take\nstart,stop,tag\n0,4.5,Walk\n\n 4 , 5.25 ,turn  # overlaps\n,,injured\n1.5,,cold\n,2,very cold\n"
    assert tag_file.read_tag_file(write(tmp_path, text)) == [
        TagRange(0.0, 4.5, "walk"),
        TagRange(4.0, 5.25, "turn"),
        TagRange(None, None, "injured"),
        TagRange(1.5, None, "cold"),
        TagRange(None, 2.0, "very_cold"),
    ]


def test_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "a.tags.csv"
    path.write_bytes(b"\xef\xbb\xbfstart,stop,tag\r\n0,1,walk\r\n")
    assert tag_file.read_tag_file(path) == [TagRange(0.0, 1.0, "walk")]


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
        ("start,stop,tag\n1,1,walk\n", 2, "the range is empty"),
        ("start,stop,tag\n0,1,\n", 2, "a tag is empty"),
        ('start,stop,tag\n0,1,"walk\n', 2, "no row of a table"),
        ("start,stop,tag\n0,1," + "x" * 200_000 + "\n", 2, "no row of a table"),
        ("start,stop,tag\n0,1,a/b\n", 2, "'a/b' cannot be a tag"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ProjectError) as caught:
        tag_file.read_tag_file(path)
    assert caught.value.path == path
    assert caught.value.line == line
    assert words in caught.value.message
    assert caught.value.remedy


def test_a_tag_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tags.csv"
    path.write_bytes(b"start,stop,tag\n0,1,\xff\n")
    with pytest.raises(ProjectError, match="UTF-8"):
        tag_file.read_tag_file(path)


seconds = st.one_of(st.none(), st.floats(0, 1000, allow_nan=False))
names = st.from_regex(r"[a-z0-9][a-z0-9_+-]{0,8}", fullmatch=True)


numbers = st.tuples(st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_nan=False))


@given(st.lists(st.tuples(seconds, seconds, names, numbers)))
def test_written_files_read_back_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple]) -> None:
    ranges = [TagRange(a, b, n, *more) for a, b, n, more in rows if a is None or b is None or a < b]
    path = tmp_path_factory.mktemp("tags") / "take.tags.csv"
    tag_file.write_tag_file(path, ranges)
    assert tag_file.read_tag_file(path) == ranges


def test_tag_file_lies_beside_the_take() -> None:
    assert tag_file.tag_file_of(Path("a/walk_01.bvh")) == Path("a/walk_01.tags.csv")


@pytest.mark.parametrize("mark", ["<<<<<<< ours", "=======", ">>>>>>> theirs", "||||||| base"])
def test_a_merge_that_was_not_finished_is_named_with_its_line(tmp_path: Path, mark: str) -> None:
    path = write(tmp_path, f"start,stop,tag\n0,1,walk\n{mark}\n1,2,run\n")
    with pytest.raises(ProjectError, match="merge conflict") as caught:
        tag_file.read_tag_file(path)
    assert caught.value.line == 3
    assert "delete the lines" in str(caught.value.remedy)


def test_priority_and_bonus_are_columns_that_may_be_left_out(tmp_path: Path) -> None:
    text = "start,stop,tag,bonus,priority\n0,1,walk\n0,2,cut_scene,,100\n,,pretty,0.25\n,3,ugly,-1.5,-2\n"
    assert tag_file.read_tag_file(write(tmp_path, text)) == [
        TagRange(0.0, 1.0, "walk"),
        TagRange(0.0, 2.0, "cut_scene", 100),
        TagRange(None, None, "pretty", 0, 0.25),
        TagRange(None, 3.0, "ugly", -2, -1.5),
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("start,stop,tag,prio\n", 1, "no column 'prio'; did you mean 'priority'"),
        ("start,stop,tag,bonus,bonus\n", 1, "stands twice"),
        ("start,stop,tag,priority\n0,1,walk,1.5\n", 2, "not a whole number"),
        ("start,stop,tag,priority\n0,1,walk,5000\n", 2, "not a whole number"),
        ("start,stop,tag,bonus\n0,1,walk,good\n", 2, "bonus is 'good', not a number"),
        ("start,stop,tag,bonus\n0,1,walk,inf\n", 2, "bonus is 'inf', not a number"),
        ("start,stop,tag,bonus\n0,1,walk,1e30\n", 2, "beyond any cost"),
        ("start,stop,tag,bonus\n0,1,walk,1,2\n", 2, "5 cells"),
    ],
)
def test_wrong_columns_name_their_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(ProjectError) as caught:
        tag_file.read_tag_file(write(tmp_path, text))
    assert caught.value.line == line
    assert words in caught.value.message
    assert caught.value.remedy
