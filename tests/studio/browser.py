"""Driving the studio in headless Chromium."""

from __future__ import annotations

import io
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

FLAGS = [
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""Software WebGL, and nothing that would look for a network."""


def find_chromium() -> str | None:
    """Path of a Chromium that is installed; None where there is none."""
    return next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)


class Driver:
    """A page of the studio opened with ``?debug=1``: its keys, its state and its pictures.

    Args:
        page: a playwright page.
        errors: where complaints of its console are kept.
    """

    def __init__(self, page: Any, errors: list[str]) -> None:
        self.page = page
        self.errors = errors

    def state(self, seconds: float = 90.0) -> dict[str, Any]:
        """What the page knows now; it knows nothing between a new greeting and the first frame after it."""
        end = time.monotonic() + seconds
        while True:
            state = dict(self.page.evaluate("window.ambulo?.state() ?? {}"))
            if state or time.monotonic() > end:
                return state
            self.page.wait_for_timeout(20)

    def until(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = 90.0) -> dict[str, Any]:
        """The first state that is as wanted."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = self.state()
            if state and wanted(state):
                return state
            self.page.wait_for_timeout(50)
        raise AssertionError(f"not reached within {seconds} s: {self.state()}; console: {self.errors}")

    def ticks(self, count: int) -> dict[str, Any]:
        """The state so many steps from now."""
        start = self.state()["tick"]
        return self.until(lambda state: state["tick"] >= start + count)

    def hold(self, *keys: str, ticks: int) -> dict[str, Any]:
        """Hold keys that move for so many steps from the moment that they act. Returns the last state under them."""
        for key in keys:
            self.page.keyboard.down(key)
        try:
            self.until(lambda state: np.linalg.norm(state["asked"]) > 0)
            state = self.ticks(ticks)
        finally:
            for key in keys:
                self.page.keyboard.up(key)
        self.until(lambda state: np.linalg.norm(state["asked"]) == 0)
        return state

    def reset(self) -> None:
        """The character at the origin, playing, with everything set as at first."""
        self.page.evaluate(
            """() => {
              const { send, hello } = window.ambulo;
              send({ type: "choose_project", name: hello().project });
              send({ type: "choose_controller", name: "motion_matching" });
              send({ type: "rate", rate: 1 });
              send({ type: "pause", paused: false });
              document.activeElement?.blur();
            }"""
        )
        self.until(
            lambda state: (
                np.linalg.norm(state["position"]) < 0.2
                and state["newest"] - state["oldest"] < 600
                and not state["paused"]
                and state["rate"] == 1
                and state["status"]["required_tags"] == []
            )
        )

    def picture(self) -> NDArray[np.uint8]:
        """A screenshot, uint8 ``[height, width, 3]``."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"))


def keep_picture(page: Any, name: str) -> None:
    """Keep a screenshot for the docs, with few colours, where ``AMBULO_PICTURES`` names a folder."""
    from PIL import Image

    if folder := os.environ.get("AMBULO_PICTURES"):
        shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        few = shot.quantize(192, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(Path(folder) / name, optimize=True)


def pale(picture: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where a picture of the dark theme shows the mannequin's pale shell: light, and nearly without colour."""
    values = picture.astype(np.int16)
    return (values.min(axis=-1) > 95) & (np.ptp(values, axis=-1) < 42)
