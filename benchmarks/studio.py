"""The studio: what a tick costs, whether 60 poses a second arrive, how large the page is, when and how often it draws.

The server runs in a process of its own, as `ambulo play` starts it; the page is measured in headless Chromium, where
one is installed. There is no graphics card there: the pictures a second are those of the page's own painter.
"""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import harness
from drawing import drawing_rows
from harness import Row

harness.one_thread()

AMBULO = (sys.executable, "-c", "import sys; from ambulo.cli.main import main; main(sys.argv[1:])")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def main() -> None:
    """Measure and report."""
    args = harness.arguments("The studio: ticks, frames on the wire, size of the page, first paint")
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder) / "studio", minutes=2.0 if args.quick else 20.0)
        rows = [*tick_rows(project, args), *wire_and_paint_rows(project, args), *size_rows()]
    harness.report(rows, args)


def make_project(folder: Path, minutes: float) -> Path:
    """A built project with embedded takes."""
    for arguments in (["new", str(folder), "--minutes", str(minutes)], ["build", str(folder)]):
        done = subprocess.run([*AMBULO, *arguments, "--json"], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"ambulo {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return folder


def tick_rows(project: Path, args: Namespace) -> list[Row]:
    """One step of one character with its frame, and one explanation, in this process."""
    from ambulo.studio import messages
    from ambulo.studio.launch import make_session

    session = make_session([project])
    frame_count = session.project.database.frame_count
    ticks: list[float] = []
    for i in range(600 if args.quick else 3000):
        if i % 120 == 0:  # a new wish every two seconds, as a player would
            turn = (i // 120) % 4
            session.apply(messages.Input(((0.0, 1.4), (1.4, 0.0), (0.0, -3.0), (0.0, 0.0))[turn]))
        began = time.perf_counter()
        session.advance()
        session.frame()
        ticks.append((time.perf_counter() - began) * 1e6)
    explanations: list[float] = []
    for _ in range(20 if args.quick else 100):
        began = time.perf_counter()
        session.choice()
        explanations.append((time.perf_counter() - began) * 1e6)
    return [
        Row("server tick, p50", frame_count, statistics.median(ticks), "us"),
        Row("server tick, p99", frame_count, quantile(ticks, 0.99), "us", bar=1e6 / 60),
        Row("explanation, p50", frame_count, statistics.median(explanations), "us"),
    ]


def wire_and_paint_rows(project: Path, args: Namespace) -> list[Row]:
    """Poses over the loopback socket, then the page in Chromium, both from a server process."""
    command = [*AMBULO, "play", str(project), "--no-browser", "--json"]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            ready = json.loads(server.stdout.readline())
            start = time.perf_counter() - began
            rows = [Row("start of `ambulo play`, compiled before", 1, start, "s", bar=5.0)]
            rows += wire_rows(ready["url"], seconds=5.0 if args.quick else 20.0)
            rows += paint_rows(ready["url"], repeats=3 if args.quick else 7, seconds=4.0 if args.quick else 10.0)
        finally:
            server.terminate()
    return rows


def wire_rows(url: str, seconds: float) -> list[Row]:
    """A page without a browser: acknowledges every frame and sends an input with each."""
    from websockets.sync.client import connect

    arrivals: list[float] = []
    latencies: list[float] = []
    sent: dict[int, float] = {}
    size = 0
    with connect(url.replace("http", "ws") + "ws", origin=url.rstrip("/"), compression=None, max_size=None) as socket:
        end = time.perf_counter() + seconds
        while (now := time.perf_counter()) < end:
            message = socket.recv()
            if isinstance(message, str):
                continue
            now = time.perf_counter()
            arrivals.append(now)
            size = len(message)
            sequence = struct.unpack_from("<I", message, 36)[0]
            if sequence in sent:
                latencies.append((now - sent.pop(sequence)) * 1e3)
            number = len(arrivals)
            socket.send(json.dumps({"type": "seen", "frames": number}))
            sent[number] = time.perf_counter()
            socket.send(json.dumps({"type": "input", "velocity": [0, 1.4], "sequence": number}))
    arrivals = arrivals[30:]
    intervals = [(b - a) * 1e3 for a, b in itertools.pairwise(arrivals)]
    rate = len(intervals) / (arrivals[-1] - arrivals[0])
    return [
        Row("poses a second over loopback", len(intervals), rate, "Hz", bar=59.0, higher_is_better=True),
        Row("interval between poses, p50", len(intervals), statistics.median(intervals), "ms"),
        Row("interval between poses, p99", len(intervals), quantile(intervals, 0.99), "ms"),
        Row("input to pose, p50", len(latencies), statistics.median(latencies), "ms"),
        Row("input to pose, p99", len(latencies), quantile(latencies, 0.99), "ms"),
        Row("one pose frame", 1, size / 1e3, "kB"),
    ]


def paint_rows(url: str, repeats: int, seconds: float) -> list[Row]:
    """First paint and first pose of the page, each in a fresh browser context; then how often it draws."""
    chromium = next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)
    if chromium is None:
        print("no Chromium is installed: first paint is not measured", file=sys.stderr)
        return []
    from playwright.sync_api import sync_playwright

    paints: list[float] = []
    poses: list[float] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        for _ in range(repeats):
            context = browser.new_context(viewport={"width": 960, "height": 600})
            page = context.new_page()
            page.goto(url + "?debug=1&pictures=5")
            while not page.evaluate("(window.ambulo?.state()?.frames ?? 0) > 0"):
                page.wait_for_timeout(10)
            marks = page.evaluate(
                "[performance.getEntriesByName('first-contentful-paint')[0]?.startTime, "
                "performance.getEntriesByName('ambulo-first-pose')[0]?.startTime]"
            )
            paints.append(marks[0] / 1e3)
            poses.append(marks[1] / 1e3)
            context.close()
        drawn = drawing_rows("studio", browser, url + "?debug=1", seconds, walk)
        browser.close()
    return [
        Row("first paint", repeats, statistics.median(paints), "s", bar=1.5),
        Row("character on the stage", repeats, statistics.median(poses), "s"),
        *drawn,
    ]


def walk(page: Any) -> None:
    """Hold the key for ahead."""
    page.keyboard.down("KeyW")


def size_rows() -> list[Row]:
    """The built page, the player and the script of exported pages, gzipped."""
    from ambulo.studio import server

    package = Path(server.__file__).parents[1]
    page = [file for file in server.static_folder().rglob("*") if file.is_file()]
    scripts = package / "export" / "static"
    return [
        Row("studio page, gzipped", len(page), sum(map(gzipped, page)) / 1e6, "MB", bar=2.0),
        Row("report player, gzipped", 1, gzipped(scripts / "player.js") / 1e6, "MB", bar=2.0),
        Row("script of exported pages, gzipped", 1, gzipped(scripts / "live.js") / 1e6, "MB", bar=2.0),
    ]


def gzipped(file: Path) -> int:
    """Bytes of a file after gzip."""
    return len(gzip.compress(file.read_bytes(), compresslevel=9))


def quantile(values: list[float], share: float) -> float:
    """The value that a share of the others stay under."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


if __name__ == "__main__":
    main()
