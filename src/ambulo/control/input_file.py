"""Input files: what was asked of characters, as JSON that can be recorded, written by hand, and played again.

::

    {"format": "ambulo-inputs", "version": 1, "name": "there and back", "tags": ["walk"],
     "changes": [{"time": 0.0, "velocity": [0, 0, 1.4]},
                 {"time": 2.5, "velocity": [0, 0, -1.4], "facing": [0, 0, 1]}]}

A wish holds from its time to the next one's. ``velocity`` is in m/s in the world; ``facing`` is a direction, left out
where characters shall face where they go. Either is one row for all characters, or a list of rows, one a character.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo.control.recording import Recording
from ambulo.control.scripts import StickScript
from ambulo.errors import FormatError

FORMAT, VERSION = "ambulo-inputs", 1


class _Change(msgspec.Struct, forbid_unknown_fields=True):
    time: float
    velocity: list[float | list[float]]
    facing: list[float | list[float]] | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    changes: list[_Change]
    name: str = "recorded"
    tags: list[str] = []


def save_inputs(recording: Recording, path: str | Path) -> Path:
    """Write what was asked in a recording. Played again, it gives the same motion to the same controller.

    Args:
        recording: its tags must be the same in all steps.
        path: the file.

    Returns:
        The path.

    Raises:
        FormatError: the tags change, which the format cannot say.
    """
    target = Path(path)
    tags = recording.tags[0] if recording.tags else ()
    if any(step != tags for step in recording.tags) or any(not isinstance(tag, str) for tag in tags):
        raise FormatError("required tags that change or differ between characters cannot be written", path=target)
    wish = np.concatenate([recording.desired_velocity, recording.desired_facing], axis=-1)
    changed = np.ones(len(wish), bool)
    changed[1:] = (wish[1:] != wish[:-1]).any(axis=(1, 2))
    changes = []
    for step in np.flatnonzero(changed).tolist():
        change: dict[str, Any] = {
            "time": step / recording.rate,
            "velocity": _rows(recording.desired_velocity[step]),
        }
        if recording.desired_facing[step].any():
            change["facing"] = _rows(recording.desired_facing[step])
        changes.append(change)
    content = {"format": FORMAT, "version": VERSION, "name": recording.script, "tags": list(tags), "changes": changes}
    lines = [msgspec.json.encode(change).decode() for change in changes]
    head = msgspec.json.encode({key: value for key, value in content.items() if key != "changes"}).decode()
    text = head[:-1] + ',"changes":[\n' + ",\n".join(lines) + "\n]}\n"
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(target)
    except OSError as error:
        raise FormatError(f"cannot be written: {error.strerror}", path=target) from None
    finally:
        part.unlink(missing_ok=True)
    return target


def _rows(values: NDArray[np.float32]) -> list[list[float]]:
    """Rows with the shortest decimals that give the same float32 again."""
    return [[float(str(value)) for value in row] for row in values]


def load_inputs(path: str | Path) -> StickScript:
    """Read an input file.

    Raises:
        FormatError: it is missing, no input file, or its times or rows do not fit together.
    """
    source = Path(path)
    try:
        content = msgspec.json.decode(source.read_bytes(), type=_File)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=source) from None
    except msgspec.DecodeError as error:
        raise FormatError(
            f"is no input file: {error}", path=source, remedy="see ambulo.control.input_file for what one looks like"
        ) from None
    if content.format != FORMAT or content.version != VERSION:
        raise FormatError(
            f"is {content.format!r} version {content.version}, not {FORMAT!r} version {VERSION}", path=source
        )
    if not content.changes:
        raise FormatError("asks nothing: it has no changes", path=source, key="changes")
    times = np.array([change.time for change in content.changes], np.float64)
    if times[0] != 0.0 or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
        raise FormatError("the times of the changes must rise from 0", path=source, key="time")
    velocities = [_array(change.velocity, source, index, "velocity") for index, change in enumerate(content.changes)]
    facings = [
        np.zeros((1, 3), np.float32) if change.facing is None else _array(change.facing, source, index, "facing")
        for index, change in enumerate(content.changes)
    ]
    counts = {len(rows) for rows in (*velocities, *facings)} - {1}
    if len(counts) > 1:
        raise FormatError(f"the changes speak of {sorted(counts)} characters", path=source, key="velocity")
    shape = (counts.pop(), 3) if counts else (3,)
    return StickScript(
        content.name,
        times,
        np.stack([np.broadcast_to(rows, shape) if len(shape) == 2 else rows[0] for rows in velocities]),
        np.stack([np.broadcast_to(rows, shape) if len(shape) == 2 else rows[0] for rows in facings]),
        tuple(content.tags),
    )


def _array(rows: list[float | list[float]], source: Path, index: int, key: str) -> NDArray[np.float32]:
    try:
        array = np.array(rows, np.float32)
    except ValueError:
        array = np.zeros(0, np.float32)
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != 3 or not len(array) or not np.isfinite(array).all():
        raise FormatError(
            f"{key} of change {index} is not three numbers, or a list of three numbers a character",
            path=source,
            key=key,
        )
    return array
