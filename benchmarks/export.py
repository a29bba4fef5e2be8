"""Exported controllers: how closely the graph follows our own controller, its size, and what a step costs.

Steps are measured over the 300 frames of each bundle's own recording: in onnxruntime on one thread (processor time,
which does not depend on what else the machine does; the lowest median of several rounds), for one character and for a
crowd, and once with all of onnxruntime's graph optimisations off, which an engine may not have; and by the clock in the
page of ``--target web``, in a headless Chromium where there is one. How often that page draws is measured as well: no
graphics card is used there, and the page draws by its own code.

Motion matching is exported from four minutes of embedded takes (eight with their mirror images), learned motion
matching from a model that the preset ``quick`` trained on them, unless a project is named: what is measured here does
not depend on how well a model is trained. Both are kept between runs; the first run trains for a few minutes.

    python benchmarks/export.py [--quick] [--json] [--project FOLDER [--model NAME]]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
from drawing import drawing_rows
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402

FRAME = 1000.0 / 60.0
"""Milliseconds of a frame at 60 Hz."""

FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader"]
CROWD = 32
MINUTES, QUICK_MINUTES = 4.0, 1.5
STEP_BAR = 1000.0
"""Microseconds of a character's step on one thread (S0.50)."""

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


def native_microseconds(folder: Path, golden: dict[str, Any], rounds: int, optimized: bool = True) -> float:
    """A step in onnxruntime over the recording: processor time of its one thread, the lowest of the rounds' medians."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(folder / "controller.onnx"), options, providers=["CPUExecutionProvider"])
    given = [tensor.name for tensor in session.get_inputs() if tensor.name != "state"]
    medians = []
    for _ in range(rounds + 1):
        state, times = golden["state"], []
        for step in range(len(golden["in_dt"])):
            feeds = {"state": state, **{name: golden[f"in_{name}"][step] for name in given}}
            began = time.process_time()
            state = session.run(["state_next", "local_positions", "local_rotations"], feeds)[0]
            times.append(time.process_time() - began)
        medians.append(statistics.median(times))
    return 1e6 * min(medians[1:])


def verify_seconds(folder: Path) -> float:
    """What the bundle's own verify.py takes, Python's start and the loading of the graph included."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-I", str(folder / "verify.py")], check=True, capture_output=True, timeout=600)
    return time.perf_counter() - began


def read_golden(folder: Path) -> dict[str, Any]:
    """The recording of a bundle."""
    with np.load(folder / "golden.npz") as stored:
        return {name: stored[name] for name in stored.files}


def page_rows(name: str, folder: Path, golden: dict[str, Any], rounds: int) -> list[Row] | None:
    """The median of a step in the page, and how often it draws; None where there is no browser."""
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
            else:
                raise SystemExit("the page does not play")
            view.evaluate(STEPS, lists)
            times = [time for _ in range(rounds) for time in view.evaluate(STEPS, lists)]
            view.close()
            drawn = drawing_rows(
                f"{name}: exported page", browser, (folder / "index.html").as_uri(), 5.0 * min(rounds, 2)
            )
        finally:
            browser.close()
    step = statistics.median(times)
    return [Row(f"{name}: a step in the page, of 16.7 ms", len(golden["in_dt"]), step, "ms", bar=FRAME), *drawn]


def rows_of(project: Path, controller: str, name: str, folder: Path, rounds: int) -> list[Row]:
    """Export a controller and measure it."""
    from ambulo.export.engine.targets import export

    say(f"{name}: exporting one character")
    exported = export(project, folder / "one", controller=controller, target="web")
    golden = read_golden(folder / "one")
    frames, far, one = len(golden["in_dt"]), exported.differences, folder / "one"
    say(f"{name}: exporting {CROWD} characters")
    many = export(project, folder / "many", controller=controller, target="onnx", characters=CROWD)
    crowd = read_golden(folder / "many")
    say(f"{name}: stepping")
    rows = [
        Row(f"{name}: graph from controller, joints", frames, far["local_positions"], "m", bar=1e-4),
        Row(f"{name}: graph from controller, quaternions", frames, far["local_rotations"], "", bar=1e-4),
        Row(f"{name}: the same of a crowd, joints", CROWD * frames, many.differences["local_positions"], "m", bar=1e-3),
        Row(f"{name}: a step", 1, native_microseconds(one, golden, rounds), "us", bar=STEP_BAR),
        Row(f"{name}: a step, graph as it is", 1, native_microseconds(one, golden, rounds, optimized=False), "us",
            bar=STEP_BAR),
        Row(f"{name}: a character's step in a crowd", CROWD,
            native_microseconds(folder / "many", crowd, max(rounds // 3, 1)) / CROWD, "us", bar=STEP_BAR),
        Row(f"{name}: operators", 1, exported.operator_count, ""),
        Row(f"{name}: controller.onnx", 1, exported.files["controller.onnx"] / 1e6, "MB",
            bar=10.0 if controller != "mm" else None),
        Row(f"{name}: verify.py", frames, verify_seconds(one), "s"),
        Row(f"{name}: index.html", 1, exported.files["index.html"] / 1e6, "MB"),
    ]  # fmt: skip
    say(f"{name}: playing the page")
    page = page_rows(name, one, golden, rounds)
    if page is None:
        say("no Chromium or no playwright: the page was not measured")
        return rows
    return [*rows, *page]


def main() -> None:
    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--project", type=Path, help="a built project with a model, in place of the embedded takes")
        parser.add_argument("--model", default="lmm", help="its name")

    args = harness.arguments(__doc__.splitlines()[0], extend)
    project = args.project or embedded(QUICK_MINUTES if args.quick else MINUTES)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        for controller, name in ((args.model, "learned motion matching"), ("mm", "motion matching")):
            rows += rows_of(project, controller, name, Path(temporary) / controller, 3 if args.quick else 10)
    harness.report(rows, args)


def say(text: str) -> None:
    """Say what is done, on stderr."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def embedded(minutes: float) -> Path:
    """The embedded takes with a model, kept between runs as long as this ambulo reads them."""
    from contextlib import redirect_stdout

    from ambulo.cli.main import run
    from ambulo.errors import AmbuloError
    from ambulo.export.engine.bundle import open_stack

    folder = harness.PEERS_FOLDER / f"export-{minutes:g}"
    with redirect_stdout(sys.stderr):
        if not (folder / "ambulo.toml").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            say(f"{minutes:g} minutes of embedded takes into {folder}")
            run(["new", str(folder), "--minutes", f"{minutes:g}", "--json"])
        if run(["build", str(folder), "--json"]):
            raise SystemExit(1)
        try:
            open_stack(folder, "lmm", ())
        except AmbuloError:
            say("training a model with the preset quick")
            if run(["train", "lmm", str(folder), "--preset", "quick", "--json"]):
                raise SystemExit(1) from None
    return folder


if __name__ == "__main__":
    main()
