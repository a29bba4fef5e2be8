"""Channel files: numbers with line-exact errors, agreement, and a round trip."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.errors import ProjectError
from ambulo.formats.channel_file import NumberRange, channel_file_of, channel_file_text, read_channel_rows


def read(folder: Path, text: str) -> list[NumberRange]:
    path = folder / "walk_01.channels.csv"
    path.write_text(text)
    return [row.range for row in read_channel_rows(path)]


def test_numbers_are_read_row_by_row(tmp_path: Path) -> None:
    text = "# who\nstart,stop,channel,value,end_value\n,,Age,35\n2.0,4,fatigue,0.2,0.8  # tires\n4,,fatigue,0.8\n"
    assert read(tmp_path, text) == [
        NumberRange(None, None, "age", 35.0),
        NumberRange(2.0, 4.0, "fatigue", 0.2, 0.8),
        NumberRange(4.0, None, "fatigue", 0.8),
    ]
    assert channel_file_of(tmp_path / "walk_01.bvh") == tmp_path / "walk_01.channels.csv"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("start,stop,tag\n", 1, "not 'start,stop,channel,value'"),
        ("start,stop,channel,value\n0,1,age\n", 2, "3 cells"),
        ("start,stop,channel,value\n0,1,age,old\n", 2, "value is 'old', not a number"),
        ("start,stop,channel,value\n0,1,age,nan\n", 2, "not a number"),
        ("start,stop,channel,value\n0,1,a/b,3\n", 2, "cannot be the name of a channel"),
        ("start,stop,channel,value\n2,1,age,3\n", 2, "before it starts"),
        ("start,stop,channel,value,end_value\n,4,age,3,4\n", 2, "needs a start and a stop"),
        ("start,stop,channel,value\n=======\n", 2, "merge conflict"),
        ("start,stop,channel,value\n0,2,age,3\n1,3,age,4\n", 3, "two values from 1 s on: 3 (line 2) and 4 (line 3)"),
        ("start,stop,channel,value\n1,,age,4\n,,age,3\n", 3, "two values from 1 s on: 4 (line 2) and 3 (line 3)"),
        ("start,stop,channel,value\n0,9,age,3\n1,2,age,3\n5,6,age,4\n", 4, "two values from 5 s on"),
        ("start,stop,channel,value,end_value\n0,2,age,3,4\n1,2,age,3\n", 3, "two values"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(ProjectError) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    assert words in caught.value.message
    assert caught.value.remedy


def test_ranges_that_touch_or_agree_are_no_contradiction(tmp_path: Path) -> None:
    text = "start,stop,channel,value\n0,2,age,3\n2,3,age,4\n1,2,age,3\n0,9,height,1.8\n"
    assert len(read(tmp_path, text)) == 4


values = st.floats(-1e9, 1e9, allow_nan=False)
spans = st.lists(st.floats(0, 1000), min_size=2, max_size=2, unique=True).map(sorted)
entries = st.one_of(
    st.builds(lambda span, value, end: NumberRange(*span, "x", value, end), spans, values, st.none() | values),
    st.builds(lambda value: NumberRange(None, None, "x", value), values),
)


@given(st.lists(entries, max_size=6))
def test_written_text_reads_back_the_same(tmp_path_factory: pytest.TempPathFactory, ranges: list[NumberRange]) -> None:
    ranges = [entry._replace(channel=f"c{place}") for place, entry in enumerate(ranges)]
    assert read(tmp_path_factory.mktemp("channels"), channel_file_text(ranges)) == ranges
