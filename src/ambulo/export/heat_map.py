"""Tables of numbers as coloured squares, inline SVG for pages that load nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

_CELL, _LEFT, _TOP = 26, 66, 8


def heat_map(
    values: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row_title: str,
    column_title: str,
    unit: str,
    marked: frozenset[tuple[int, int]] = frozenset(),
    good_is_low: bool = False,
    left: int = _LEFT,
    slanted: bool = False,
    every: int = 1,
) -> str:
    """An ``<svg>``: row 0 at the bottom, darker for larger values on a logarithmic scale.

    Args:
        values: ``[rows][columns]``, from 0 up; None is left empty.
        rows: labels, bottom first.
        columns: labels.
        row_title: over the row labels.
        column_title: below the column labels.
        unit: told with the pointer over a cell.
        marked: cells ``(row, column)`` with a dashed frame.
        good_is_low: colour low values strongly instead.
        left: pixels for the row labels.
        slanted: draw the column labels at an angle, for long ones.
        every: draw each so-manieth column label only, the middle one among them.
    """
    filled = [value for line in values for value in line if value]
    low, high = (math.log(min(filled)), math.log(max(filled))) if filled else (0.0, 1.0)
    span = max(high - low, 1e-9)
    below = 96 if slanted else 34
    width = left + _CELL * len(columns) + (70 if slanted else 10)
    height = _TOP + 16 + _CELL * len(rows) + below
    parts = [f'<svg class="heat" viewBox="0 0 {width} {height}" style="max-width:{int(1.3 * width)}px" role="img">']
    parts.append(f'<text class="tick" x="{left - 6}" y="{_TOP + 8}" text-anchor="end">{escape(row_title)}</text>')
    base = _TOP + 16 + _CELL * len(rows)
    for row, line in enumerate(values):
        y = base - _CELL * (row + 1)
        parts.append(f'<text class="tick" x="{left - 6}" y="{y + 17}" text-anchor="end">{escape(rows[row])}</text>')
        for column, value in enumerate(line):
            x = left + _CELL * column
            where = f"{rows[row]}, {columns[column]}"
            if value is None or (value == 0 and not good_is_low):
                shade, told = 0.0, f"{where}: none"
            else:
                place = (math.log(value) - low) / span if value > 0 else 0.0
                shade = 0.12 + 0.88 * (1.0 - place if good_is_low else place)
                told = f"{where}: {value:.3g} {unit}"
            mark = " marked" if (row, column) in marked else ""
            parts.append(
                f'<rect class="cell{mark}" x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" '
                f'style="fill-opacity:{shade:.2f}"><title>{escape(told)}</title></rect>'
            )
    for column, label in enumerate(columns):
        if (column - len(columns) // 2) % every:
            continue
        x = left + _CELL * column + _CELL // 2
        turn = f' transform="rotate(-40 {x} {base + 14})"' if slanted else ""
        anchor = "end" if slanted else "middle"
        parts.append(f'<text class="tick" x="{x}" y="{base + 14}" text-anchor="{anchor}"{turn}>{escape(label)}</text>')
    parts.append(f'<text class="tick" x="{left}" y="{height - 4}">{escape(column_title)}</text></svg>')
    return "".join(parts)
