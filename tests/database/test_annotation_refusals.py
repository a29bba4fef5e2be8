"""What files of tags and numbers are refused for, and what is said to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.database.annotate import read_annotations
from ambulo.database.project import load_project
from ambulo.database.takes import find_orphans, find_takes
from ambulo.errors import ProjectError

from .conftest import write_take

PROJECT = """name = "p"
[[sources]]
path = "takes"
tags = ["indoors"]
[tags]
exclusive = [["walk", "run"], ["indoors", "outdoors"], ["takes_away", "other"]]
[channels.fatigue]
minimum = 0.0
maximum = 1.0
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_take(tmp_path / "takes" / "walk_happy.bvh", 1, seconds=1.0)
    (tmp_path / "ambulo.toml").write_text(PROJECT)
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "data", "line", "message", "remedy"),
    [
        ("tags", b"start,stop,tag\n1,1,zero\n", 2, "the range is empty", "let it stop later"),
        ("tags", b"start,stop,tag\n2,1,back\n", 2, "before it starts", "exchange the two"),
        ("tags", b"start,stop,tag\n,,mirrored\n", 2, "carried by mirrored copies", "choose another tag"),
        ("tags", b"start,stop,tag\n0,1_000,far\n", 2, "stop is '1_000'", "with a point"),
        ("tags", b"start;stop;tag\n0,5;1,5;walk\n", 1, "parted by semicolons", "commas in their place"),
        ("tags", "start,stop,tag\n,,walk\n".encode("utf-16"), None, "is UTF-16 text", "CSV UTF-8"),
        ("tags", "start,stop,tag\n,,ok\n,,m\u00fcde\n".encode("latin-1"), 3, "is not UTF-8 text", "CSV UTF-8"),
        ("tags", b"start,stop,tag\n,,run\n", 2, "'walk' (the file's name)", "rename the file or take 'name' out of"),
        ("tags", b"start,stop,tag\n,,outdoors\n", 2, "'indoors'", "take 'indoors' out of the source's tags"),
        (
            "channels",
            b"start,stop,channel,value\n,,fatigue,7\n",
            2,
            "fatigue is 7",
            "minimum and maximum of [",
        ),
        ("channels", b"start,stop,channel,value\n,,speed,7\n", 2, "computed from the motion", "take the row out"),
        ("channels", b"start,stop,channel,value\n,,fatigue,0_1\n", 2, "value is '0_1'", "with a point"),
    ],
)
def test_each_fault_is_named_with_its_line_and_its_way_out(
    project: Path, kind: str, data: bytes, line: int | None, message: str, remedy: str
) -> None:
    file = project / "takes" / f"walk_happy.{kind}.csv"
    file.write_bytes(data)
    loaded = load_project(project)
    with pytest.raises(ProjectError) as raised:
        read_annotations(loaded, find_takes(loaded))
    assert message in raised.value.message
    assert remedy in str(raised.value.remedy)
    assert (raised.value.path, raised.value.line) == (file, line)


def test_files_whose_name_is_nearly_right_are_named(project: Path) -> None:
    takes = project / "takes"
    for name in ("walk_happy.tag.csv", "walk_happy.Channels.txt", "walk_hapy.tags.csv", "notes.txt", "list.csv"):
        (takes / name).write_text("start,stop,tag\n")
    found = {orphan.label: orphan for orphan in find_orphans(load_project(project))}
    assert sorted(found) == ["takes/walk_happy.Channels.txt", "takes/walk_happy.tag.csv", "takes/walk_hapy.tags.csv"]
    assert found["takes/walk_happy.tag.csv"].remedy == "call it walk_happy.tags.csv"
    assert found["takes/walk_happy.Channels.txt"].remedy == "call it walk_happy.channels.csv"
    assert "nobody reads it" in found["takes/walk_happy.tag.csv"].why
    # Only files of motion are proposed as takes.
    remedy = found["takes/walk_hapy.tags.csv"].remedy
    assert "'walk_happy'" in remedy and "walk_happy.tag'" not in remedy
