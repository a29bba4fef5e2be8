"""The keys of JSON that the guide promises are those that are printed."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ambulo.cli.query import Found, FoundRange, SqlRows
from ambulo.database.status import FileStatus, ProjectStatus, SettingStatus
from ambulo.evaluation.coverage import Coverage, Usage
from ambulo.evaluation.coverage_motion import MemoryPart, MotionTable, TagCoverage
from ambulo.evaluation.duplicates import Duplicate
from ambulo.evaluation.transitions import Transitions

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "asking.md"
SHAPES: dict[str, type[msgspec.Struct]] = {
    "`status`": ProjectStatus,
    "its `files`": FileStatus,
    "its `settings`": SettingStatus,
    "`query`": Found,
    "its `ranges`": FoundRange,
    "`query --sql`": SqlRows,
    "`report`": Coverage,
    "its `motion`": MotionTable,
    "its `tags`": TagCoverage,
    "its `transitions`": Transitions,
    "its `duplicates`": Duplicate,
    "its `usage`": Usage,
    "its `memory`": MemoryPart,
}


def promised() -> dict[str, list[str]]:
    section = GUIDE.read_text(encoding="utf-8").partition("## For programs")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    return {verb: re.findall(r"`(\w+)`", keys) for verb, keys in rows}


def test_every_shape_is_in_the_guide() -> None:
    assert set(promised()) == set(SHAPES)


@pytest.mark.parametrize("verb", SHAPES)
def test_the_keys_are_those_of_the_guide(verb: str) -> None:
    fields = [field.encode_name for field in msgspec.structs.fields(SHAPES[verb])]
    assert promised()[verb] == fields
