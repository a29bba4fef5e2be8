"""Editing tag files: what a person wrote stays, and nothing is overwritten that somebody else wrote meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.errors import ProjectError
from ambulo.formats.tag_edit import TagDocument
from ambulo.formats.tag_file import TagRange, read_tag_file

TEXT = "# take one\r\nstart,stop,tag  # seconds\r\n\r\n0,4.50,walk # slow\r\n4,5.2,turn\r\n#end"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "walk_01.tags.csv"
    file.write_bytes(TEXT.encode())
    return file


def test_a_new_row_comes_below_and_all_else_stays_byte_for_byte(path: Path) -> None:
    document = TagDocument(path)
    assert document.add(TagRange(1.0, None, "injured")).line == 7
    document.save()
    assert path.read_bytes() == (TEXT + "\r\n1.0,,injured\r\n").encode()


def test_columns_are_added_to_the_header_when_they_are_needed(path: Path) -> None:
    document = TagDocument(path)
    document.add(TagRange(None, None, "cut_scene", 9, 0.5))
    document.save()
    lines = path.read_text().splitlines()
    assert lines[1] == "start,stop,tag,priority,bonus  # seconds"
    assert lines[3] == "0,4.50,walk # slow"
    assert read_tag_file(path)[-1] == TagRange(None, None, "cut_scene", 9, 0.5)
    document.add(TagRange(0.0, 1.0, "pretty", 0, 2.0))
    document.save()
    assert read_tag_file(path)[-1] == TagRange(0.0, 1.0, "pretty", 0, 2.0)


def test_a_range_that_is_there_is_not_added_again(path: Path) -> None:
    document = TagDocument(path)
    assert document.add(TagRange(4.0, 5.2, "turn")).line == 5
    document.save()
    assert path.read_bytes() == TEXT.encode()


def test_rows_are_taken_out_by_tag_and_by_times(path: Path) -> None:
    document = TagDocument(path)
    document.add(TagRange(6.0, 7.0, "turn"))
    assert [row.range.start for row in document.remove("turn", start=6.0)] == [6.0]
    document.save()
    assert path.read_bytes() == (TEXT + "\r\n").encode()
    document.remove("walk")
    document.save()
    assert path.read_text() == TEXT.replace("\r\n", "\n").replace("0,4.50,walk # slow\n", "") + "\n"
    with pytest.raises(ProjectError, match="no range 'run'") as caught:
        document.remove("run")
    assert "turn [4, 5.2)" in str(caught.value.remedy)
    with pytest.raises(ProjectError, match="with these times"):
        document.remove("turn", stop=9.0)


def test_a_file_that_is_not_there_is_begun(tmp_path: Path) -> None:
    document = TagDocument(tmp_path / "new.tags.csv")
    document.add(TagRange(0.5, 2.0, "injured"))
    document.save()
    assert (tmp_path / "new.tags.csv").read_text() == "start,stop,tag\n0.5,2.0,injured\n"
    assert [p.name for p in tmp_path.iterdir()] == ["new.tags.csv"]


@pytest.mark.parametrize("other", ["start,stop,tag\n0,1,theirs\n", None])
def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(path: Path, other: str | None) -> None:
    document = TagDocument(path)
    document.add(TagRange(0.0, 1.0, "mine"))
    path.unlink() if other is None else path.write_text(other)
    with pytest.raises(ProjectError, match="changed by somebody else") as caught:
        document.save()
    assert caught.value.remedy
    assert (path.read_text() if path.exists() else None) == other


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "new.tags.csv"
    document = TagDocument(path)
    document.add(TagRange(0.0, 1.0, "mine"))
    path.write_text("start,stop,tag\n0,1,theirs\n")
    with pytest.raises(ProjectError, match="changed by somebody else"):
        document.save()
    assert "theirs" in path.read_text()


def test_what_is_no_tag_file_is_not_edited(path: Path) -> None:
    path.write_text("start,stop,tag\n<<<<<<< ours\n0,1,walk\n=======\n0,2,walk\n>>>>>>> theirs\n")
    with pytest.raises(ProjectError, match="merge conflict") as caught:
        TagDocument(path)
    assert caught.value.line == 2


tags = st.sampled_from(["walk", "run", "turn"])
ranges = st.builds(
    lambda start, length, tag, priority: TagRange(start, start + length, tag, priority),
    *(st.floats(0, 99), st.floats(0.1, 9), tags, st.integers(0, 2)),
)


@given(st.lists(st.one_of(ranges, tags), max_size=12))
def test_any_edits_leave_the_ranges_that_a_list_would(
    tmp_path_factory: pytest.TempPathFactory, edits: list[TagRange | str]
) -> None:
    path = tmp_path_factory.mktemp("edit") / "a.tags.csv"
    expected: list[TagRange] = []
    for edit in edits:
        document = TagDocument(path)
        if isinstance(edit, TagRange):
            document.add(edit)
            expected += [edit] if edit not in expected else []
        elif any(entry.tag == edit for entry in expected):
            document.remove(edit)
            expected = [entry for entry in expected if entry.tag != edit]
        document.save()
        assert read_tag_file(path) == expected
