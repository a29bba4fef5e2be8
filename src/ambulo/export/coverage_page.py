"""What a database covers as one HTML file that loads and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from ambulo.evaluation.coverage import Coverage
from ambulo.export.heat_map import heat_map
from ambulo.export.page_style import STYLE
from ambulo.formats.paths import write_whole

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
.heat{width:100%;height:auto;background:var(--panel);border:1px solid var(--edge);border-radius:8px;padding:6px}
.cell{fill:var(--made);stroke:var(--edge);stroke-width:1}
.cell.marked{stroke:var(--asked);stroke-width:2;stroke-dasharray:4 2}
.bar{display:inline-block;height:9px;background:var(--made);border-radius:2px;vertical-align:middle}
thead th:nth-child(n+5){text-align:right}
td.left,th.left{text-align:left!important}
h3{font-size:14px;margin:18px 0 4px}
"""
_ROWS = 40


def write_coverage_page(coverage: Coverage, path: str | Path) -> Path:
    """Write the page. Returns its path; the same coverage gives the same bytes."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, coverage_page(coverage).encode())
    return target


def coverage_page(coverage: Coverage) -> str:
    """The page's text."""
    title = f"Coverage of {coverage.name or 'a database'}"
    facts = {
        "Motion": f"{coverage.seconds / 60:.1f} minutes in {coverage.clips} clips, {coverage.rate:g} frames a second",
        "Usable": f"{coverage.usable_seconds / 60:.1f} minutes without glitches and junk",
        "Near duplicates": f"{coverage.duplicate_seconds:.1f} s",
        "Memory": f"{coverage.memory[-1].megabytes:.1f} MB, {coverage.memory[-1].an_hour:.0f} MB an hour of motion",
        "Database": coverage.digest[:12],
    }
    details = "".join(f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in facts.items() if text)
    body = "".join([_motion(coverage), _tags(coverage), _transitions(coverage), _duplicates(coverage)])
    body += _usage(coverage) + _memory(coverage)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{_STYLE}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1><dl>{details}</dl>{body}</main></body></html>\n"
    )


def _motion(coverage: Coverage) -> str:
    motion = coverage.motion
    speeds = [f"{low:g} to {high:g}" for low, high in zip(motion.speeds, motion.speeds[1:], strict=False)]
    turns = [0.5 * (low + high) for low, high in zip(motion.turn_rates, motion.turn_rates[1:], strict=False)]
    middles = [0.5 * (low + high) for low, high in zip(motion.speeds, motion.speeds[1:], strict=False)]
    sparse = frozenset(
        (row, column)
        for row, speed in enumerate(middles)
        for column, turn in enumerate(turns)
        if any(abs(speed - s) < 1e-6 and abs(turn - t) < 1e-6 for s, t in motion.sparse)
    )
    drawn = heat_map(
        motion.seconds,
        speeds,
        [f"{turn:+g}" if turn else "0" for turn in turns],
        every=2,
        row_title="m/s",
        column_title="turn rate in degrees a second, to the left positive; the outer columns hold what is beyond",
        unit="s",
        marked=sparse,
    )
    text = "Seconds of motion by speed and turn rate, darker for more (hold the pointer over a cell for the number)."
    if sparse:
        wanted = ", ".join(f"{speed:g} m/s at {turn:+.0f}°/s" for speed, turn in motion.sparse[:12])
        more = f" and {len(motion.sparse) - 12} more" if len(motion.sparse) > 12 else ""
        text += f" Dashed: under half a second, between cells with more; worth a take: {wanted}{more}."
    return f"<h2>Speed against turn rate</h2><p>{escape(text)}</p>{drawn}"


def _tags(coverage: Coverage) -> str:
    most = max((tag.seconds for tag in coverage.tags), default=1.0) or 1.0
    rows = [
        (
            escape(tag.tag),
            f"{tag.seconds / 60:.2f}",
            f'<span class="bar" style="width:{160 * tag.seconds / most:.0f}px"></span>',
            str(tag.ranges),
            str(tag.clips),
            f"{tag.speed[0]:.2f} · {tag.speed[1]:.2f} · {tag.speed[2]:.2f}",
        )
        for tag in coverage.tags[:_ROWS]
    ]
    head = ("tag", "minutes", "", "ranges", "clips", "speed m/s (10 %, median, 90 %)")
    return f"<h2>Minutes a tag</h2>{_table(head, rows, left=(0, 2))}{_rest(len(coverage.tags))}"


def _transitions(coverage: Coverage) -> str:
    found = coverage.transitions
    told = ", ".join(f"{name} %: {cost:.3g}" for name, cost in found.percentiles.items())
    text = (
        f"Cost of the best jump to anywhere but a frame's own surroundings, asked of {found.sampled} frames. {told}. "
        f"{100 * found.isolated:.1f} % of the frames have none below four times the median."
    )
    parts = [f"<h2>Transitions</h2><p>{escape(text)}</p>"]
    tags = list(dict.fromkeys(step.source for step in found.between_tags))
    if tags:
        costs = {(step.source, step.target): step.cost for step in found.between_tags}
        upward = tags[::-1]
        parts.append(
            "<p>From the tag of the row to that of the column, median of the best jumps; darker is cheaper.</p>"
        )
        parts.append(
            heat_map(
                [[costs.get((source, target)) for target in tags] for source in upward],
                upward,
                tags,
                row_title="from",
                column_title="to",
                unit="cost",
                good_is_low=True,
                left=120,
                slanted=True,
            )
        )
    rows = [(escape(entry.clip), f"{entry.cost:.3g}") for entry in found.hardest]
    return "".join(parts) + "<h3>Hardest to leave</h3>" + _table(("clip", "median cost"), rows)


def _duplicates(coverage: Coverage) -> str:
    rows = [
        (escape(d.clip), f"{d.start:.2f}", escape(d.other_clip), f"{d.other_start:.2f}", f"{d.seconds:.2f}")
        for d in coverage.duplicates[:_ROWS]
    ]
    text = "Stretches of half a second and more whose every joint stays within three degrees of another stretch's."
    if not rows:
        return f"<h2>Near duplicates</h2><p>None. ({text})</p>"
    head = ("clip", "from (s)", "the same as", "from (s)", "seconds")
    return f"<h2>Near duplicates</h2><p>{text}</p>{_table(head, rows, left=(0, 2))}{_rest(len(coverage.duplicates))}"


def _usage(coverage: Coverage) -> str:
    usage = coverage.usage
    if usage is None:
        return ""
    rows = [
        (escape(entry.clip), f"{entry.start:.2f}", f"{entry.stop:.2f}", f"{entry.seconds:.2f}")
        for entry in usage.unused[:_ROWS]
    ]
    text = (
        f"{100 * usage.share:.1f} % of the usable frames were shown ({usage.shown_seconds:.1f} s of distinct frames)."
    )
    return f"<h2>Never shown</h2><p>{text}</p>{_table(('clip', 'from (s)', 'to (s)', 'seconds'), rows)}"


def _memory(coverage: Coverage) -> str:
    most = max((part.megabytes for part in coverage.memory[:-1]), default=1.0) or 1.0
    rows = [
        (
            escape(part.name),
            f"{part.megabytes:.2f}",
            f'<span class="bar" style="width:{min(160 * part.megabytes / most, 160):.0f}px"></span>'
            if part.name != "all"
            else "",
            f"{part.an_hour:.1f}",
        )
        for part in coverage.memory
    ]
    return f"<h2>Memory</h2>{_table(('part', 'MB', '', 'MB an hour'), rows, left=(0, 2))}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], left: tuple[int, ...] = (0,)) -> str:
    def line(cells: Sequence[str], kind: str) -> str:
        return "".join(
            f"<{kind}{' class=left' if place in left else ''}>{cell}</{kind}>" for place, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<div class='wide'><table><thead><tr>{line(head, 'th')}</tr></thead><tbody>{body}</tbody></table></div>"


def _rest(count: int) -> str:
    return f"<p class='note'>and {count - _ROWS} more</p>" if count > _ROWS else ""
