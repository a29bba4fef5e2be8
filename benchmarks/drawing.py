"""How often a page draws in headless Chromium without a graphics card, and what a picture costs the processor."""

from __future__ import annotations

import itertools
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import Row

SIZES = ((1280, 720), (800, 600))

WATCH = """() => {
    const times = (window.pictureTimes = []);
    const note = (now) => { times.push(now); requestAnimationFrame(note); };
    requestAnimationFrame(note);
}"""


def drawing_rows(
    name: str, browser: Any, url: str, seconds: float, steer: Callable[[Any], None] | None = None
) -> list[Row]:
    """Pictures a second and the time between them, in windows of two sizes, while the character walks.

    Args:
        name: what the page is called in the rows.
        browser: a playwright browser that this process started.
        url: a page that keeps `window.ambulo`.
        seconds: how long each window is watched, after it has warmed up.
        steer: makes the character walk.
    """
    rows: list[Row] = []
    for width, height in SIZES:
        context = browser.new_context(viewport={"width": width, "height": height})
        page = context.new_page()
        page.goto(url)
        while not page.evaluate("window.ambulo ? 1 : 0"):  # the page's policy forbids what wait_for_function does
            page.wait_for_timeout(50)
        if steer is not None:
            steer(page)
        page.wait_for_timeout(4000)
        page.evaluate(WATCH)
        began = processor_seconds()
        page.wait_for_timeout(1000 * seconds)
        times = page.evaluate("window.pictureTimes")
        spent = processor_seconds() - began
        context.close()
        between = sorted(after - before for before, after in itertools.pairwise(times))
        count, where = len(between), f"{name}, {width} x {height}"
        rate = 1e3 * count / (times[-1] - times[0])
        rows += [
            Row(f"{where}: pictures a second, software GL", count, rate, "Hz", bar=59.0, higher_is_better=True),
            Row(f"{where}: between pictures, p50", count, statistics.median(between), "ms", bar=17.0),
            Row(f"{where}: between pictures, p95", count, between[int(0.95 * count)], "ms"),
        ]
        if spent > 0:
            rows.append(Row(f"{where}: processor time a picture", count, 1e3 * spent / count, "ms", bar=1e3 / 60))
    return rows


def processor_seconds() -> float:
    """What all processes below this one have used so far; 0 where the system does not tell."""
    if not Path("/proc/self/stat").is_file():
        return 0.0
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        used[int(entry.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    total, waiting = 0.0, list(children.get(os.getpid(), []))
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0.0)
        waiting += children.get(process, [])
    return total
