"""A report as one HTML file that loads nothing: measures beside the raw capture, plots, and the player.

The page carries a content security policy that forbids every request, so that it is self-contained by the browser's
word and not only by ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ambulo.errors import AmbuloError
from ambulo.evaluation.footage import recording_footage
from ambulo.evaluation.measures import TIMINGS, Measure
from ambulo.evaluation.travel import recording_travels
from ambulo.export.page_style import STYLE
from ambulo.export.player_data import motion_player_data, recording_player_data
from ambulo.export.plots import Line, line_plot, map_plot
from ambulo.formats.paths import write_whole
from ambulo.motion.motion import Motion

if TYPE_CHECKING:
    from ambulo.control.recording import Recording
    from ambulo.database.database import Database

PLAYER = Path(__file__).parent / "static" / "player.js"
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def read_player() -> str:
    """The player's script.

    Raises:
        AmbuloError: the front-end has not been built.
    """
    try:
        return PLAYER.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AmbuloError(
            "the web player that goes into pages has not been built",
            path=PLAYER,
            remedy="run `python web/build.py` in the source folder, or install ambulo from a wheel",
        ) from None


def write_page(
    recording: Recording,
    measures: Mapping[str, Measure],
    path: str | Path,
    *,
    database: Database | None = None,
    desired_path: ArrayLike | None = None,
    trajectory_times: ArrayLike | None = None,
    failures: Sequence[str] = (),
    title: str = "",
    subtitle: str = "",
    facts: Mapping[str, str] | None = None,
) -> Path:
    """Write the report of a simulation. Returns its path.

    The same recording gives the same bytes: latencies, which differ from run to run, are left out.

    Args:
        recording: what :func:`ambulo.control.simulation.simulate` returned.
        measures: what :func:`ambulo.evaluation.measures.measure` returned.
        path: the HTML file; its folder is made.
        database: names the clips that play, and the licences of the capture.
        desired_path: ``[M, 3]``, metres; the recording's own where None.
        trajectory_times: seconds of the trajectory points, for what the capture holds ahead.
        failures: what a gate found.
        title: a heading; made of controller and script where empty.
        subtitle: a line below it.
        facts: label -> text, shown above the measures.

    Raises:
        AmbuloError: the player has not been built.
    """
    script = read_player()
    title = title or f"{recording.controller} · {recording.script}"
    data = recording_player_data(
        recording,
        database,
        path=desired_path,
        trajectory_times=trajectory_times,
        title=title,
        subtitle=subtitle,
    )
    asked = recording.desired_path if desired_path is None else np.asarray(desired_path)
    body = [
        _failures(failures),
        "<h2>Measures</h2>",
        "<p>Each beside the same measure of the capture, on the database frames that were shown.</p>",
        measures_table({name: value for name, value in measures.items() if name not in TIMINGS}),
        "<h2>Way</h2>",
        _map(recording, asked),
        _plots(recording, database),
        _licences(database),
    ]
    return write_html(path, _document(title, subtitle, facts or {}, data, script, "".join(body)))


def write_player_page(
    motions: Sequence[Motion], path: str | Path, *, title: str = "", subtitle: str = "", notes: str = ""
) -> Path:
    """Write a page that plays motions, nothing else. Returns its path.

    Args:
        motions: of one skeleton and rate.
        path: the HTML file.
        title: a heading; the first motion's name where empty.
        subtitle: a line below it.
        notes: a paragraph below the player.
    """
    if not motions:
        raise AmbuloError("a page needs at least one motion to play")
    title = title or motions[0].name or "motion"
    data = motion_player_data(motions, title=title, subtitle=subtitle)
    text = f"<p>{escape(notes)}</p>" if notes else ""
    return write_html(path, _document(title, subtitle, {}, data, read_player(), text))


def measures_table(measures: Mapping[str, Measure]) -> str:
    """Measures as an HTML table: name, value, raw, their ratio, unit, definition."""
    rows = []
    for name, measure in measures.items():
        ratio = ""
        comparable = measure.raw is not None and np.isfinite(measure.raw) and np.isfinite(measure.value)
        if comparable and measure.raw and measure.raw >= 0.01 and measure.unit != "%":
            ratio = f"{measure.value / measure.raw:.2f}"
        rows.append(
            f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{escape(number(measure.value))}</td>"
            f"<td>{escape(number(measure.raw))}</td><td>{ratio}</td><td class='unit'>{escape(measure.unit)}</td>"
            f"<td class='text'>{escape(measure.definition)}</td></tr>"
        )
    head = "<tr><th>measure</th><th>value</th><th>raw</th><th>ratio</th><th></th><th>what it is</th></tr>"
    return f"<div class='wide'><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></div>"


def number(value: float | None) -> str:
    """A number to three or so digits; a dash for none, and no exponents: what is tiny is below a thousandth."""
    if value is None or not np.isfinite(value):
        return "–"
    if 0.0 < abs(value) < 0.001:
        return "<0.001" if value > 0.0 else ">-0.001"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def _licences(database: Database | None) -> str:
    """Whose data the motion is made of."""
    from ambulo.database.licences import licences_of

    uses = [] if database is None else licences_of(database)
    if not any(use.licence or use.attribution for use in uses):
        return ""
    items = "".join(f"<li>{escape(use.text)}</li>" for use in uses)
    return f'<footer class="note"><h2>Licences of the capture</h2><ul>{items}</ul></footer>'


def _failures(failures: Sequence[str]) -> str:
    if not failures:
        return ""
    entries = "".join(f"<li>{escape(failure)}</li>" for failure in failures)
    return f"<h2>Outside the bars</h2><ul class='failures'>{entries}</ul>"


def _map(recording: Recording, asked: Any) -> str:
    lines = []
    if asked is not None:
        reach = np.abs(recording.root_positions).max(axis=(0, 1)) + 2.0
        near = (np.abs(asked[:, 0]) <= reach[0]) & (np.abs(asked[:, 2]) <= reach[2])
        lines.append(Line("asked", asked[near, 0], asked[near, 2], "asked"))
    for n in range(min(recording.count, 8)):
        root = recording.root_positions[:, n]
        lines.append(Line("root" if recording.count == 1 else f"root {n + 1}", root[:, 0], root[:, 2], "made"))
    return map_plot(lines)


def _plots(recording: Recording, database: Database | None) -> str:
    travel = recording_travels(recording)[0]
    time = np.arange(travel.frame_count) / recording.rate
    velocity = travel.velocities()
    jumps = np.flatnonzero(recording.transitioned[:, 0]) / recording.rate
    speed = line_plot(
        [
            Line("asked", time, travel.desired_speeds(), "asked"),
            Line("root", time, np.hypot(velocity[:, 0], velocity[:, 1]), "made"),
        ],
        unit="m/s",
        marks=jumps,
    )
    heading = np.degrees(np.unwrap(travel.headings))
    wish = travel.desired_headings()
    # The asked heading is drawn on the turn of the circle that is nearest to the root's.
    near = heading + np.degrees((np.nan_to_num(wish) - np.radians(heading) + np.pi) % (2 * np.pi) - np.pi)
    asked = np.where(np.isfinite(wish), near, np.nan)
    facing = line_plot(
        [Line("asked", time, asked, "asked"), Line("root", time, heading, "made")], unit="deg", marks=jumps, floor=None
    )
    parts = ["<h2>Speed</h2>", speed, "<h2>Facing</h2>", facing]
    if database is not None:
        from ambulo.evaluation.continuity import pose_changes

        footage = recording_footage(recording, database)
        change = pose_changes(footage)[: recording.frame_count] * 100.0
        parts += [
            "<h2>Pose change from frame to frame</h2>",
            line_plot([Line("mean over joints", time, change)], unit="cm", marks=jumps),
        ]
    parts.append("<p class='note'>Ticks along the bottom of a plot: the playhead jumped there.</p>")
    return "".join(parts)


def _document(
    title: str, subtitle: str, facts: Mapping[str, str], data: Mapping[str, Any], script: str, body: str
) -> str:
    payload, code = embedded_json(data), embedded_script(script)
    details = "".join(f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in facts.items())
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>"
        f"{f'<p class=subtitle>{escape(subtitle)}</p>' if subtitle else ''}"
        '<div id="player"></div>'
        f"{f'<dl>{details}</dl>' if details else ''}{body}</main>\n"
        f'<script type="application/json" id="ambulo-data">{payload}</script>\n'
        f"<script>{code}</script>\n"
        '<script>AmbuloPlayer.mount(document.getElementById("player"), '
        'JSON.parse(document.getElementById("ambulo-data").textContent), {autoplay: true});</script>\n'
        "</body></html>\n"
    )


def embedded_json(data: Any) -> str:
    """JSON as it can stand inside a script element: ``<`` cannot end the element once it is written as an escape."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def embedded_script(script: str) -> str:
    """A script as it can stand inside its element.

    ``</script`` cannot occur in good scripts but in their strings, where the backslash changes nothing.
    """
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def write_html(path: str | Path, text: str) -> Path:
    """Write a page whole or not at all; its folder is made. Returns its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, text.encode())
    return target
