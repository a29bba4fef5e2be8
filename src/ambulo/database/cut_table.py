"""Tables that come with a data set and say which frames of each take are meant to be used."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec

from ambulo.database.project import Project
from ambulo.database.take_spec import TakeSpec
from ambulo.database.takes import compile_glob, find_takes, walk_files
from ambulo.errors import ProjectError


class CutTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A CSV file with one row a group of takes, and a pair of columns for each take of the group.

    The row ``Angry`` with 10 in ``FW_START`` and 900 in ``FW_STOP`` says: of the take ``Angry_FW``, frames 10 to 899.

    Attributes:
        table: pattern of the file, among the takes.
        row: the column that names the row.
        start: ending of the columns with the first frame, counted from 0.
        stop: ending of those with the frame after the last.
        join: what stands between the row's name and the column's in the take's name.
    """

    table: str
    row: str
    start: str = "_START"
    stop: str = "_STOP"
    join: str = "_"


def read_cuts(cuts: CutTable, takes: Path, project: Project) -> tuple[TakeSpec, ...]:
    """The corrections that a table holds for a project's takes; none where there is no such table.

    Takes that it does not name, and entries that are no numbers, are left as they are.

    Raises:
        ProjectError: the table cannot be read, or has no column of that name.
    """
    wanted = compile_glob(cuts.table)
    path = next((path for relative, path, _ in walk_files(takes) if wanted.fullmatch(relative)), None)
    if path is None:
        return ()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ProjectError(f"cannot be read: {error}", path=path, key="cuts") from None
    if rows and cuts.row not in rows[0]:
        raise ProjectError(f"there is no column {cuts.row!r}", path=path, line=1, key="cuts.row")
    known: dict[str, tuple[int, int]] = {}
    for row in rows:
        for column, text in row.items():
            if not isinstance(column, str) or not column.endswith(cuts.start):
                continue
            kind = column.removesuffix(cuts.start)
            begin, end = _frame(text), _frame(row.get(f"{kind}{cuts.stop}"))
            if begin is not None and end is not None and 0 <= begin < end:
                known[f"{row[cuts.row]}{cuts.join}{kind}".lower()] = (begin, end)
    specs = []
    # The project's folder need not be there yet: its takes are found from their own.
    here = tuple(msgspec.structs.replace(source, path=".") for source in project.sources)
    for take in find_takes(msgspec.structs.replace(project, folder=takes, sources=here)):
        span = known.get(Path(take.relative).stem.lower())
        if span is not None:
            prefix = project.sources[take.source].path.rstrip("/")
            label = take.label if prefix in ("", ".") else f"{prefix}/{take.label}"
            specs.append(TakeSpec(file=label, start_frame=span[0], stop_frame=span[1]))
    return tuple(specs)


def _frame(text: object) -> int | None:
    try:
        return int(float(str(text)))
    except (ValueError, OverflowError):
        return None
