"""Finding what is wrong in a TOML file, and on which line: unknown keys, values of the wrong type."""

from __future__ import annotations

import re
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ambulo.errors import ProjectError, nearest_names

Place = Sequence[str | int]


def check_keys(
    data: dict[str, Any],
    kind: type[msgspec.Struct],
    text: str,
    file: Path,
    place: Place = (),
    top: frozenset[str] = frozenset(),
) -> None:
    """Refuse the first key that the struct does not have, in it and in the structs within.

    Args:
        data: the parsed TOML.
        kind: what it should be.
        text: the TOML itself, to find lines in.
        file: where it lies.
        place: where in the file ``data`` is.
        top: keys of the top level; in TOML they end up in a table when they are written below it.

    Raises:
        ProjectError: with the line and the nearest valid keys.
    """
    hints = typing.get_type_hints(kind)
    top = top or frozenset(hints)
    for key, value in data.items():
        here = (*place, key)
        if key not in hints:
            table = ".".join(str(part) for part in place if isinstance(part, str))
            raise ProjectError(
                f"unknown key {key!r}" + (f" in [{table}]" if table else ""),
                path=file,
                line=line_of(text, here),
                key=key,
                remedy="it belongs to the top of the file, above the first [table]"
                if key in top
                else nearest_names(key, (name for name in hints if name != "folder")),
            )
        inner = _struct_in(hints[key])
        if inner is None:
            continue
        if typing.get_origin(hints[key]) is dict:  # the keys are the user's own names
            for name, item in value.items() if isinstance(value, dict) else ():
                if isinstance(item, dict):
                    check_keys(item, inner, text, file, (*here, name), top)
            continue
        if isinstance(value, dict):
            check_keys(value, inner, text, file, here, top)
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, dict):
                    check_keys(item, inner, text, file, (*here, number), top)


def _struct_in(hint: Any) -> type[msgspec.Struct] | None:
    if typing.get_origin(hint) is None:
        return hint if isinstance(hint, type) and issubclass(hint, msgspec.Struct) else None
    for argument in typing.get_args(hint):
        found = _struct_in(argument)
        if found is not None:
            return found
    return None


def validation_error(error: msgspec.ValidationError, text: str, file: Path) -> ProjectError:
    """The project error for a value of the wrong type; msgspec says where as ``$.sources[0].glob``."""
    message, _, where = str(error).partition(" - at `$")
    place = tuple(
        int(number) if number else name for name, number in re.findall(r"\.(\w+)|\[(\d+)\]", where.rstrip("`"))
    )
    message = message.replace("Object", "the table").replace("`", "").lower()
    key = ".".join(str(part) for part in place if isinstance(part, str)) or None
    return ProjectError(message, path=file, line=line_of(text, place), key=key)


def line_of(text: str, place: Place) -> int | None:
    """The line (from 1) of a key in a TOML text, or of the nearest enclosing table or array; None if not found.

    Understands what people write: ``key = ...``, ``[table]``, ``[[array]]`` and arrays of inline tables that begin on
    their own lines. It is meant for messages, not for editing.
    """
    lines = text.splitlines()
    begin, end, found = 0, len(lines), None
    parts = list(place)
    while parts:
        name = parts.pop(0)
        number = parts.pop(0) if parts and isinstance(parts[0], int) else None
        if not isinstance(name, str):
            return found
        quoted = rf"[\"']?{re.escape(name)}[\"']?"
        headers = [i for i in range(begin, end) if re.match(rf"\s*\[\[?\s*{quoted}\s*\]\]?", lines[i])]
        if number is None and parts and isinstance(parts[0], str):  # [table.inner] on one line
            inner = rf"{quoted}\s*\.\s*[\"']?{re.escape(parts[0])}[\"']?"
            dotted = [i for i in range(begin, end) if re.match(rf"\s*\[\s*{inner}\s*\]", lines[i])]
            if dotted:
                headers = dotted
                parts.pop(0)
        if headers:
            at = headers[min(int(number or 0), len(headers) - 1)]
            begin = at + 1
            end = next(
                (i for i in range(begin, end) if re.match(r"\s*\[\[?\s*[\w.\"'-]+\s*\]\]?\s*(#|$)", lines[i])), end
            )
        else:
            keys = [i for i in range(begin, end) if re.match(rf"(.*[{{,])?\s*{quoted}\s*=", lines[i])]
            if not keys:
                return found
            at = keys[0]
            if number is not None:
                items = [i for i in range(at, end) if "{" in lines[i]]
                at = items[int(number)] if int(number) < len(items) else at
                begin, end = at, at + 1
            else:
                begin = at
        found = at + 1
    return found
