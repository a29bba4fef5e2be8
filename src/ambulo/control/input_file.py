"""Recorded input: the sticks of a simulation or of a play session as a small JSON file, and back as a script.

::

    {
      "format": "ambulo-input", "version": 1, "rate": 60,
      "characters": 1,
      "steps": [
        {"time": 0.0, "velocity": [[0, 0, 0]], "facing": [[0, 0, 0]], "tags": []},
        {"time": 1.5, "velocity": [[0, 0, 1.4]], "facing": [[0, 0, 0]], "tags": ["walk"]}
      ]
    }

A step holds until the next one. Times are seconds, velocities m/s in the world, facings directions (zeros: face where
you go). A step may also have ``prefer`` (in the form of ``tags``), ``numbers`` (``{"fatigue": 0.8}``, or a list with a
number a character) and ``event`` (``["kick", 0.6]``: its range begins 0.6 s after this step; a list of such pairs, or
null, for several characters). Written by hand, all but ``time`` and ``velocity`` may be left out, and for one character
``velocity`` and ``facing`` may be plain ``[x, y, z]``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.intent import Event, Intent, Tags
from ambulo.control.recording import Recording
from ambulo.errors import ControlError, FormatError
from ambulo.formats.paths import write_whole

FORMAT = "ambulo-input"
VERSION = 1
_LONGEST = 1e9  # seconds, some thirty years
_DUE = 1e-6  # seconds, rounding of times

Float = NDArray[np.float32]


@dataclass(frozen=True)
class RecordedScript:
    """Input read from a file.

    Attributes:
        name: the file's stem.
        times: float64 ``[S]``, seconds, rising from 0.
        velocities, facings: float32 ``[S, N, 3]``.
        tags: required tags of each step.
        preferred: preferred tags of each step.
        numbers: wanted numbers of each step.
        events: what shall happen after each step, one entry a character; empty for nothing.
    """

    name: str
    times: NDArray[np.float64]
    velocities: Float
    facings: Float
    tags: tuple[Tags | tuple[Tags, ...], ...]
    preferred: tuple[Tags | tuple[Tags, ...], ...]
    numbers: tuple[Mapping[str, Float], ...]
    events: tuple[tuple[Event | None, ...], ...]

    def intent(self, time: float, positions: Float, facings: Float) -> Intent:
        """See :class:`ambulo.control.scripts.Script`."""
        row = max(int(np.searchsorted(self.times, time + 1e-9, side="right")) - 1, 0)
        if len(positions) != self.velocities.shape[1]:
            raise ControlError(
                f"the recorded input {self.name!r} moves {self.velocities.shape[1]} characters, not {len(positions)}",
                key="characters",
                remedy=f"simulate {self.velocities.shape[1]} characters",
            )
        since = time - float(self.times[row])
        # An event is counted down while its step holds, and once it is due nothing more is asked.
        events = tuple(
            (event[0], event[1] - since) if event is not None and event[1] - since > -_DUE else None
            for event in self.events[row]
        )
        return Intent(
            self.velocities[row],
            self.facings[row],
            required_tags=self.tags[row],
            preferred_tags=self.preferred[row],
            numbers=self.numbers[row],
            event=events if any(events) else None,
        )


def save_inputs(recording: Recording, path: str | Path) -> None:
    """Write the input of a simulation; :func:`load_inputs` replays it exactly. Steps that repeat are left out.

    Raises:
        ControlError: the file cannot be written.
    """
    steps: list[dict[str, Any]] = []
    last: Any = None
    due: tuple[tuple[str, float] | None, ...] = ()  # tag and time of what was last asked to happen
    for step in range(recording.frame_count):
        time = step / recording.rate
        entry: dict[str, Any] = {
            "velocity": recording.desired_velocity[step].tolist(),
            "facing": recording.desired_facing[step].tolist(),
            "tags": _names(recording.tags[step]) if recording.tags else [],
        }
        if recording.preferred_tags and recording.preferred_tags[step]:
            entry["prefer"] = _names(recording.preferred_tags[step])
        if recording.numbers and recording.numbers[step]:
            entry["numbers"] = {name: values.tolist() for name, values in recording.numbers[step].items()}
        events = recording.events[step] if recording.events else ()
        asked = tuple(None if event is None else (event[0], time + event[1]) for event in events)
        if entry != last or not _same_events(asked, due):
            told = {"event": [None if event is None else list(event) for event in events]} if any(events) else {}
            steps.append({"time": time, **entry, **told})
            last, due = entry, asked
    head = {"format": FORMAT, "version": VERSION, "rate": recording.rate, "characters": recording.count}
    # One step a line: short, and it merges.
    lines = ",\n".join(json.dumps(step) for step in steps)
    text = f'{json.dumps(head)[:-1]}, "steps": [\n{lines}\n]}}\n'
    target = Path(path)
    try:
        write_whole(target, text.encode())
    except OSError as error:
        raise ControlError(f"the input cannot be written: {error.strerror}", path=target) from None


def _names(tags: Any) -> list[Any]:
    return [list(tag) if isinstance(tag, tuple) else tag for tag in tags]


def _same_events(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Whether the same tags are due at the same times; what is counted down from step to step is one event."""
    if not any(some) or not any(others) or len(some) != len(others):
        return not any(some) and not any(others)
    pairs = zip(some, others, strict=True)
    return all(
        a is b if a is None or b is None else a[0] == b[0] and abs(a[1] - b[1]) < _DUE for a, b in pairs
    )  # fmt: skip


def load_inputs(path: str | Path) -> RecordedScript:
    """Read input.

    Raises:
        FormatError: the file is missing, no JSON, or no input; names the key.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # a name with a NUL byte and bytes that are no UTF-8 are ValueErrors
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise FormatError(f"the input cannot be read: {reason}", path=file) from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"is no JSON: {error.msg}", path=file, line=error.lineno) from None
    except (ValueError, RecursionError):  # what Python's reader does not foresee
        raise FormatError(
            "cannot be read: it has a number of thousands of digits, or hundreds of brackets in each other", path=file
        ) from None
    if not isinstance(data, dict) or data.get("format", FORMAT) != FORMAT:
        raise FormatError(
            "is no recorded input", path=file, key="format", remedy=f'it starts with "format": "{FORMAT}"'
        )
    if data.get("version", VERSION) != VERSION:
        raise FormatError(f"is of version {data['version']!r}; this is {VERSION}", path=file, key="version")
    steps = data.get("steps")
    if not isinstance(steps, list) or not steps:
        raise FormatError("has no steps", path=file, key="steps", remedy="give at least one step at time 0")
    times: list[float] = []
    velocities: list[Float] = []
    facings: list[Float] = []
    tags: list[Tags | tuple[Tags, ...]] = []
    preferred: list[Tags | tuple[Tags, ...]] = []
    numbers: list[Mapping[str, Float]] = []
    events: list[tuple[Event | None, ...]] = []
    count = 0
    for place, step in enumerate(steps):
        key = f"steps[{place}]"
        if not isinstance(step, dict):
            raise FormatError(f"{key} is no object", path=file, key=key)
        time = _number(step.get("time"), file, f"{key}.time")
        if (place == 0 and time != 0.0) or (times and time <= times[-1]):
            raise FormatError(f"{key}.time is {time}; times rise from 0", path=file, key=f"{key}.time")
        velocity = _vectors(step.get("velocity"), count, file, f"{key}.velocity")
        count = len(velocity)
        facing = step.get("facing")
        times.append(time)
        velocities.append(velocity)
        facings.append(np.zeros_like(velocity) if facing is None else _vectors(facing, count, file, f"{key}.facing"))
        tags.append(_tags(step.get("tags", []), count, file, f"{key}.tags"))
        preferred.append(_tags(step.get("prefer", []), count, file, f"{key}.prefer"))
        numbers.append(_numbers(step.get("numbers", {}), count, file, f"{key}.numbers"))
        events.append(_events(step.get("event"), count, file, f"{key}.event"))
    return RecordedScript(
        file.stem, np.array(times), np.stack(velocities), np.stack(facings), tuple(tags), tuple(preferred),
        tuple(numbers), tuple(events),
    )  # fmt: skip


def _number(value: Any, path: Path, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LONGEST:
        raise FormatError(f"{key} is {_short(value)}, not a number of seconds", path=path, key=key)
    return float(value)


def _short(value: Any) -> str:
    text = "too large" if isinstance(value, int) and abs(value) >= _LONGEST else repr(value)
    return text if len(text) <= 40 else text[:40] + "..."


def _vectors(value: Any, count: int, path: Path, key: str) -> Float:
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is refused below
            array = np.array(value, np.float32)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0, np.float32)
    if array.shape == (3,):
        array = array[None]
    if array.ndim != 2 or array.shape[1] != 3 or not len(array) or (count and len(array) != count):
        raise FormatError(f"{key} must be {count or 'N'} rows of [x, y, z]", path=path, key=key)
    if not np.isfinite(array).all():
        raise FormatError(f"{key} has a number that is not finite", path=path, key=key)
    return array


def _tags(value: Any, count: int, path: Path, key: str) -> Tags | tuple[Tags, ...]:
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return tuple(value)
    nested = isinstance(value, list) and len(value) == count
    if nested and all(isinstance(row, list) and all(isinstance(tag, str) for tag in row) for row in value):
        return tuple(tuple(row) for row in value)
    raise FormatError(f"{key} must be a list of names, or {count} such lists", path=path, key=key)


def _numbers(value: Any, count: int, path: Path, key: str) -> dict[str, Float]:
    """The wanted numbers of a step, float32 ``[N]`` each."""
    if not isinstance(value, dict):
        raise FormatError(f"{key} maps names of channels to numbers", path=path, key=key)
    wanted = {}
    for name, given in value.items():
        many = given if isinstance(given, list) and len(given) == count else [given] * count
        array = np.array([_number(one, path, f"{key}.{name}") for one in many], np.float32)
        wanted[name] = array
    return wanted


def _events(value: Any, count: int, path: Path, key: str) -> tuple[Event | None, ...]:
    """One event, or None, a character; empty for none at all."""
    if value is None:
        return ()
    many = value if isinstance(value, list) and (not value or not isinstance(value[0], str)) else [value] * count
    if len(many) != count:
        raise FormatError(f"{key} must be [tag, seconds], or {count} such pairs or nulls", path=path, key=key)
    events: list[Event | None] = []
    for one in many:
        if one is None:
            events.append(None)
        elif isinstance(one, list) and len(one) == 2 and isinstance(one[0], str):
            events.append((one[0], _number(one[1], path, key)))
        else:
            raise FormatError(f"{key} must be [tag, seconds], or {count} such pairs or nulls", path=path, key=key)
    return tuple(events)
