"""Write the measured table and the sums of docs/scale.md from benchmarks/results/scale.json.

python figures/scale_figures.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "scale.json"
PAGE = ROOT / "docs" / "scale.md"

MEASURED = (
    ("frames, mirrored ones included", "frames", 1.0, ""),
    ("on the disk", "on the disk", 1e-3, " GB"),
    ("build, processor time", "build, processor", 1 / 60, " min"),
    ("- of a clip", "build, processor a clip", 1.0, " ms"),
    ("build, wall time", "build, wall", 1 / 60, " min"),
    ("build, own memory at most", "build, own memory at most", 1.0, " MB"),
    ("build, resident memory at most", "build, resident memory at most", 1.0, " MB"),
    ("open, with its index", "open, with its index", 1.0, " ms"),
    ("open, own memory", "open, own memory", 1.0, " MB"),
    ("query p50", "query, p50", 1.0, " us"),
    ("query p99", "query, p99", 1.0, " us"),
    ("query, common tag, p50", "query, common tag, p50", 1.0, " us"),
    ("query, common tag, p99", "query, common tag, p99", 1.0, " us"),
    ("- first use of the tag", "query, common tag, first use", 1.0, " ms"),
    ("query, rare tag, p50", "query, rare tag, p50", 1.0, " us"),
    ("query, rare tag, p99", "query, rare tag, p99", 1.0, " us"),
    ("- first use of the tag", "query, rare tag, first use", 1.0, " ms"),
)
"""Label, row, factor, unit."""


def number(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def values(rows: list[dict]) -> dict[str, dict[int, float]]:
    """Row -> clips -> value, without the rows that tell growth."""
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        if not row["name"].startswith("growth"):
            found.setdefault(row["name"], {})[row["n"]] = row["value"]
    return found


def measured(found: dict[str, dict[int, float]]) -> list[str]:
    """What was measured, and the power by which each grew over the last step."""
    sizes = sorted(found["frames"])
    lines = [
        "| | " + " | ".join(f"{size:,} clips" for size in sizes) + " | grows as clips to the |",
        "|---|" + "---:|" * (len(sizes) + 1),
    ]
    for label, name, factor, unit in MEASURED:
        row = found[name]
        power = math.log(row[sizes[-1]] / row[sizes[-2]]) / math.log(sizes[-1] / sizes[-2])
        cells = [number(row[size] * factor) + unit for size in sizes]
        lines.append(f"| {label} | " + " | ".join(cells) + f" | {power:.2f} |")
    return lines


def sums(found: dict[str, dict[int, float]]) -> list[str]:
    """What follows for larger sets, by the slope of the last step."""

    def at(name: str, clips: int) -> float:
        row = found[name]
        if len(row) == 1:  # in proportion
            return clips * next(iter(row.values())) / next(iter(row))
        before, last = sorted(row)[-2:]
        return row[last] + (row[last] - row[before]) / (last - before) * (clips - last)

    def power(name: str, clips: int) -> float:
        row = found[name]
        if len(row) == 1:  # in proportion
            return clips * next(iter(row.values())) / next(iter(row))
        before, last = sorted(row)[-2:]
        return row[last] * (clips / last) ** (math.log(row[last] / row[before]) / math.log(last / before))

    targets = (100_000, 1_000_000)
    lines = ["| | " + " | ".join(f"{clips:,} clips" for clips in targets) + " |", "|---|" + "---:|" * len(targets)]
    entries = [
        ("frames", lambda n: number(at("frames", n) / 1e6) + " million"),
        ("hours of motion, mirrored ones included", lambda n: number(at("frames", n) / 30 / 3600) + " h"),
        ("database", lambda n: number(at("on the disk", n) / 1e3) + " GB"),
        ("- of it features and index, what a search reads from", lambda n: number(at("frames", n) * 236e-9) + " GB"),
        ("processor time of a build", lambda n: number(at("build, processor", n) / 3600) + " h"),
        ("- of it not shared out", lambda n: number(at("build, not shared out, processor", n) / 3600) + " h"),
        *(
            (f"build by {workers} workers", lambda n, w=workers: number(build_hours(at, n, w)) + " h")
            for workers in (2, 16, 128)
        ),
        ("own memory of the build's process", lambda n: number(at("build, own memory at most", n) / 1e3) + " GB"),
        ("own memory of an open database", lambda n: number(at("open, own memory", n) / 1e3) + " GB"),
        ("open, with its index", lambda n: number(at("open, with its index", n) / 1e3) + " s"),
        ("query p50, by its power", lambda n: number(power("query, p50", n)) + " us"),
    ]
    for label, cell in entries:
        lines.append(f"| {label} | " + " | ".join(cell(clips) for clips in targets) + " |")
    return lines


def build_hours(at, clips: int, workers: int) -> float:
    """Preparing is shared out, the rest is done by one process."""
    alone = at("build, not shared out, processor", clips)
    return ((at("build, processor", clips) - alone) / workers + alone) / 3600


def main() -> None:
    """Write both tables between their marks."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    found = values(result["rows"])
    text = PAGE.read_text(encoding="utf-8")
    for mark, lines in (("measured", measured(found)), ("sums", sums(found))):
        begin, end = f"<!-- {mark}: written by figures/scale_figures.py -->", f"<!-- end of {mark} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1]
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
