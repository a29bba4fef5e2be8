"""The live curve of a training: one JSON object a line, appended while it runs; the studio and the reports draw it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ambulo.formats.paths import write_whole

CURVE = "curve.jsonl"


def append_row(folder: Path, row: Mapping[str, Any]) -> None:
    """Add a row to a folder's curve. Rows have ``step``, ``seconds``, ``learning_rate``, ``loss``, ``parts`` (the
    loss by part) and, after a validation, ``validation``."""
    with (folder / CURVE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def read_curve(folder: Path, after_step: int = -1) -> list[dict[str, Any]]:
    """The rows of a folder's curve after some step; none where there is no curve. A half-written last line is left
    out: the training may be at it."""
    try:
        lines = (folder / CURVE).read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, UnicodeDecodeError):
        return []
    rows = []
    for line in lines:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(row, dict) and int(row.get("step", -1)) > after_step:
            rows.append(row)
    return rows


def cut_curve(folder: Path, step: int) -> None:
    """Drop the rows after a step: a resumed training writes them again."""
    rows = [row for row in read_curve(folder) if row["step"] <= step]
    if rows:
        write_whole(folder / CURVE, "".join(json.dumps(row) + "\n" for row in rows).encode())
    else:
        (folder / CURVE).unlink(missing_ok=True)
