"""Exported controllers: how closely the graph follows our own controller, its size, and what a step costs.

Steps are measured over the 300 frames of each bundle's own recording: in onnxruntime on one thread (processor time,
which does not depend on what else the machine does), and by the clock in the page of
``--target web``, in a headless Chromium where there is one. A frame of that page is measured as well, for what it is
worth: without a graphics card the browser draws in software, and drawing is what its frame takes.

The model is one of the preset ``quick``, kept between runs, unless a project is named.

    python benchmarks/export.py [--quick] [--json] [--project FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402

FRAME = 1000.0 / 60.0
"""Milliseconds of a frame at 60 Hz."""

FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
NAMES = {"lmm": "learned motion matching", "mm": "motion matching"}

# Milliseconds of every step of the recording, in the page that is open; the clock of a page is coarse, so ten at once.
STEPS = """(golden) => {
    let state = golden.state;
    const times = [];
    for (let k = 0; k + 10 <= golden.in_dt.length; k += 10) {
        const began = performance.now();
        for (let n = k; n < k + 10; n++) {
            const out = ambulo.run({state, velocity: golden.in_velocity[n], facing: golden.in_facing[n],
                                    dt: golden.in_dt[n], tag_set: [0]});
            state = out.state_next;
        }
        times.push((performance.now() - began) / 10);
    }
    return times;
}"""


def native_microseconds(folder: Path, golden: dict[str, Any], rounds: int) -> float:
    """Median of a step in onnxruntime, over the recording: processor time of its one thread."""
    from ambulo.export.engine.running import session_of

    session = session_of((folder / "controller.onnx").read_bytes())
    given = [tensor.name for tensor in session.get_inputs() if tensor.name != "state"]
    times = []
    for _ in range(rounds + 1):
        state = golden["state"]
        for step in range(len(golden["in_dt"])):
            feeds = {"state": state, **{name: golden[f"in_{name}"][step] for name in given}}
            began = time.process_time()
            state = session.run(["state_next", "local_positions", "local_rotations"], feeds)[0]
            times.append(time.process_time() - began)
    return 1e6 * statistics.median(times[len(golden["in_dt"]) :])


def page_milliseconds(folder: Path, golden: dict[str, Any], rounds: int) -> tuple[float, float] | None:
    """Medians of a step in the page and of a whole frame of it; None where there is no browser."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    lists = {
        name: [row.reshape(-1).tolist() for row in rows] for name, rows in golden.items() if name.startswith("in_")
    } | {"state": golden["state"].reshape(-1).tolist()}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        try:
            view = browser.new_page(viewport={"width": 640, "height": 360})
            view.goto((folder / "index.html").as_uri())
            for _ in range(600):  # the page's policy forbids what wait_for_function does
                if view.evaluate("window.ambulo ? window.ambulo.steps : 0") > 60:
                    break
                view.wait_for_timeout(100)
            view.evaluate(STEPS, lists)
            times = [time for _ in range(rounds) for time in view.evaluate(STEPS, lists)]
            view.wait_for_timeout(3000)
            frame = 1000.0 / view.evaluate("ambulo.framesPerSecond")
        finally:
            browser.close()
    return statistics.median(times), frame


def rows_of(project: Path, controller: str, out: Path, rounds: int) -> list[Row]:
    """Export a controller and measure it."""
    from ambulo.export.engine.targets import export

    print(f"{controller}: exporting ...", file=sys.stderr)
    exported = export(project, out, controller=controller, target="web")
    with np.load(out / "golden.npz") as stored:
        golden = {name: stored[name] for name in stored.files}
    frames, name = len(golden["in_dt"]), NAMES[controller]
    far = exported.differences
    rows = [
        Row(f"{name}: graph from controller, joints", frames, 1000.0 * far["local_positions"], "mm", bar=0.1),
        Row(f"{name}: graph from controller, quaternions", frames, far["local_rotations"], "", bar=1e-4),
        Row(f"{name}: controller.onnx", 1, exported.files["controller.onnx"] / 1e6, "MB"),
        Row(f"{name}: index.html", 1, exported.files["index.html"] / 1e6, "MB"),
        Row(f"{name}: a step in onnxruntime", frames, native_microseconds(out, golden, rounds), "us"),
    ]
    page = page_milliseconds(out, golden, rounds)
    if page is None:
        print("no Chromium or no playwright: the page was not measured", file=sys.stderr)
        return rows
    return [
        *rows,
        Row(f"{name}: a step in the page, of 16.7 ms", frames, page[0], "ms", bar=FRAME),
        Row(f"{name}: a frame of the page, drawn in software", 1, page[1], "ms"),
    ]


def main() -> None:
    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--project", type=Path, help="a built project with a model `lmm`, in place of the embedded")

    args = harness.arguments(__doc__.splitlines()[0], extend)
    project = args.project or embedded(2.0 if args.quick else 10.0)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        for controller in NAMES:
            rows += rows_of(project, controller, Path(temporary) / controller, 2 if args.quick else 10)
    harness.report(rows, args)


def embedded(minutes: float) -> Path:
    """The embedded takes with a model, kept between runs."""
    from contextlib import redirect_stdout

    from lmm import built, trained

    with redirect_stdout(sys.stderr):
        folder = built(harness.PEERS_FOLDER / f"export-embedded-{minutes:g}", minutes)
        trained(folder, "quick")
    return folder


if __name__ == "__main__":
    main()
