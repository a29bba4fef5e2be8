"""Run every benchmark and write what it printed into docs/benchmarks.md, and what tells most into the README.

    python figures/tables.py              all of them (about half an hour on two cores)
    python figures/tables.py --quick      smaller ones
    python figures/tables.py search fk    only these; the others keep their results

Results are kept in benchmarks/results as the JSON that each script printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS_FOLDER = ROOT / "benchmarks"
RESULTS = SCRIPTS_FOLDER / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- benchmarks: written by figures/tables.py -->", "<!-- end of benchmarks -->"

TITLES = {
    "search": "Exact search",
    "bvh": "BVH parsing",
    "gltf": "glTF reading",
    "formats": "Formats, and files that are damaged",
    "fk": "Forward kinematics",
    "controller": "Controller step",
    "retarget": "Retargeting",
    "build": "Building a database",
    "scale": "How a database grows",
    "startup": "Beginning",
    "studio": "The studio",
    "quality": "Quality of motion",
    "blending": "Blending several places",
    "check": "Checking takes",
    "iteration": "Iterating on a project",
    "autotag": "Auto-tagging",
    "lmm": "Learned motion matching",
    "lmm_quick": "Learned motion matching, the quick preset, and clips that are added to it",
    "export": "Exported controllers",
    "posing": "Posing from a few points",
    "posing_projection": "Posing: projection onto a skeleton",
}

COMMANDS = {"lmm_quick": ("lmm", "--quick", "--preset", "quick")}
"""Results of a script that is not called as they are: the script, and what it is told."""

SCRIPTS = ("idle", "forward", "circle", "square", "star", "wave", "turn_90", "turn_180", "strafe", "random_sticks")
COLUMNS = {
    "foot_skate": "skate cm/s",
    "contact_slide": "slide cm/s",
    "hover": "hover cm",
    "same_foot_ahead": "one foot ahead %",
    "penetration": "sunk cm",
    "path_error": "path cm",
    "response_90": "90° s",
    "response_180": "180° s",
    "pose_jump": "jump cm",
    "jerk_ratio": "jerk ratio",
    "stuck": "stuck s",
    "transitions_per_second": "jumps/s",
}
"""What the quality table shows of the measures."""

HEADLINES = {
    "search": ("ambulo, one query, median", "ambulo, tag on 10 % over no tag", "faiss IndexFlatL2, over ambulo"),
    "bvh": ("opened, real capture: ambulo", "parse 60_09.bvh: ambulo against pybvh"),
    "gltf": ("read humanoid_50clips.glb, 50 clips: ambulo",),
    "controller": ("ambulo motion_matching: step, median", "ambulo motion_matching: step a character, mean"),
    "retarget": ("retargeting, the slowest pair",),
    "build": ("build from nothing",),
    "studio": ("server tick, p99",),
    "check": ("speed, two cores (wall)",),
    "iteration": ("one take added, to playable", "an injured take dropped into 20 clips, to playable"),
    "lmm": (
        "training, preset base: processor minutes",
        "held out: mean joint error",
        "weights, float16",
        "step of one character, whole stack: median",
    ),
    "posing": ("6 points: ours to linear", "one pose of 6 points, p99: ours"),
    "posing_projection": ("6 points: worst bone length",),
}
"""The rows that the README shows, a benchmark a line; it shows every row that misses its bar, too."""

CONTROLLERS = ("motion_matching", "lmm")
"""Those that are set side by side on whole sets."""


def run(name: str, quick: bool) -> None:
    """Run one benchmark and keep its JSON."""
    script, *options = COMMANDS.get(name, (name, *(["--quick"] if quick else [])))
    command = [sys.executable, str(SCRIPTS_FOLDER / f"{script}.py"), "--json", *options]
    print(f"running {' '.join(command)}", file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout)
    result["command"] = " ".join([f"python benchmarks/{script}.py", *options])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def number(value: float) -> str:
    """Four significant digits, thousands apart; what rounds to nothing says so."""
    if 0.0 < abs(value) < 0.001:
        return "<0.001"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def is_met(row: dict[str, Any]) -> bool:
    """Whether a row with a bar meets it."""
    return bool(row["value"] >= row["bar"] if row["higher_is_better"] else row["value"] <= row["bar"])


def table(rows: list[dict[str, Any]]) -> list[str]:
    """A Markdown table of rows."""
    lines = ["| what | n | value | unit | bar | |", "|---|---:|---:|---|---|---|"]
    for row in rows:
        bar, verdict = "", ""
        if row["bar"] is not None:
            bar = f"{'≥' if row['higher_is_better'] else '≤'} {number(row['bar'])}"
            verdict = "met" if is_met(row) else "**missed**"
        lines.append(f"| {row['name']} | {row['n']:,} | {number(row['value'])} | {row['unit']} | {bar} | {verdict} |")
    return lines


def quality(rows: list[dict[str, Any]], scripts: tuple[str, ...]) -> list[str]:
    """Measures side by side, each with the same measure of the raw data behind a slash; a set and script a row."""
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        where, measure = row["name"].rsplit(": ", 1)
        data, script = where.rsplit(", ", 1)
        cells.setdefault((data, script), {})[measure] = row["value"]
    lines = ["| data | script | " + " | ".join(COLUMNS.values()) + " |", "|---|---|" + "---:|" * len(COLUMNS)]
    for (data, script), values in cells.items():
        if script in scripts:
            shown = []
            for measure in COLUMNS:
                value, raw = values.get(measure), values.get(f"{measure} (raw)")
                text = "" if value is None else number(value)
                shown.append(text if raw is None or value is None else f"{text} / {number(raw)}")
            lines.append(f"| {data} | {script} | " + " | ".join(shown) + " |")
    return lines


def side_by_side(rows: list[dict[str, Any]]) -> list[str]:
    """Two controllers on each set: a measure a row, a controller a column."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        where, measure = row["name"].split(": ", 1)
        data, controller = where.rsplit(", ", 1)
        cells.setdefault((data, measure), {})[controller] = f"{number(row['value'])} {row['unit']}"
    lines = ["| data | measure | " + " | ".join(CONTROLLERS) + " |", "|---|---|" + "---:|" * len(CONTROLLERS)]
    for (data, measure), values in cells.items():
        lines.append(f"| {data} | {measure} | " + " | ".join(values.get(name, "") for name in CONTROLLERS) + " |")
    return lines


def is_of_controller(row: dict[str, Any]) -> bool:
    """Whether a row is a measure of a controller on a whole set."""
    where = row["name"].split(": ", 1)[0].rsplit(", ", 1)
    return len(where) == 2 and where[1] in CONTROLLERS


def is_trial(row: dict[str, Any]) -> bool:
    """Whether a row is a measure of a controller along a script."""
    where = row["name"].rsplit(": ", 1)[0].rsplit(", ", 1)
    return len(where) == 2 and where[1] in SCRIPTS


def load() -> dict[str, dict[str, Any]]:
    """All kept results in the order of the page."""
    found = {name: RESULTS / f"{name}.json" for name in TITLES}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in found.items() if path.is_file()}


def page(results: dict[str, dict[str, Any]]) -> str:
    """The text of docs/benchmarks.md."""
    lines = [
        "# Benchmarks",
        "",
        "Every number here was printed by a script in `benchmarks/`, its peers in the same run, one thread, medians.",
        "`python figures/tables.py` runs them all and writes this page. A bar is what we stand for; a miss says so.",
    ]
    for name, result in results.items():
        machine = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
        trials = [row for row in result["rows"] if is_trial(row)]
        both = [row for row in result["rows"] if is_of_controller(row)] if name.startswith("lmm") else []
        plain = [row for row in result["rows"] if not is_trial(row) and row not in both]
        shown = table(plain) if name != "quality" else []
        if both:
            shown += ["", "Motion matching and learned motion matching:", "", *side_by_side(both)]
        if name == "quality":
            shown = quality(result["rows"], (*SCRIPTS, "mean of all scripts"))
        elif trials:  # controllers side by side
            shown += ["", "Value / the same measure of the raw data:", "", *quality(trials, SCRIPTS)]
        command = result.get("command", f"python benchmarks/{name}.py")
        lines += ["", f"## {TITLES[name]}", "", f"`{command}`: {machine}", "", *shown]
    return "\n".join(lines) + "\n"


def means(rows: list[dict[str, Any]]) -> list[str]:
    """The quality table with one line a set: each measure's mean over the scripts, and the raw data's."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        where, measure = row["name"].rsplit(": ", 1)
        data, script = where.rsplit(", ", 1)
        if script in SCRIPTS:
            values.setdefault((data, measure), []).append(row["value"])
    middle = [
        {"name": f"{data}, mean: {measure}", "value": sum(found) / len(found)}
        for (data, measure), found in values.items()
    ]
    # Without the column of scripts, which would say `mean` in each line.
    return ["|".join([*cells[:2], *cells[3:]]) for cells in (line.split("|") for line in quality(middle, ("mean",)))]


def summary(results: dict[str, dict[str, Any]]) -> str:
    """The README's tables: the speeds that tell most, every bar that is missed, and what motion is like on each set."""
    barred = [
        {**row, "name": f"{TITLES[name]}: {row['name']}", "shown": row["name"] in HEADLINES.get(name, ())}
        for name, result in results.items()
        for row in result["rows"]
        if row["bar"] is not None
    ]
    missed = [row for row in barred if not is_met(row)]
    head = f"Of {len(barred)} bars {len(barred) - len(missed)} are met. Some of them, and every one that is missed:"
    lines = [BEGIN, "", head, "", *table([row for row in barred if row["shown"] or row in missed])]
    if "quality" in results:
        title = "Motion matching, mean over the scripts of each set, standing still among them, and of the raw data:"
        lines += ["", title, "", *means(results["quality"]["rows"])]
    return "\n".join([*lines, "", END])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="which; all if left out")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only-write", action="store_true", help="run nothing, write the pages from the kept results")
    args = parser.parse_args()
    if not args.only_write:
        for name in args.names or TITLES:
            run(name, args.quick)
    results = load()
    PAGE.write_text(page(results), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    if BEGIN in text and END in text:
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        README.write_text(before + summary(results) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
