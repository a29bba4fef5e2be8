"""A report in a real browser: the player runs under the page's own policy, asks for nothing, and shows a figure."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import numpy as np
import pytest

from ambulo.control.recording import Recording
from ambulo.database.database import Database
from ambulo.evaluation.measures import measure
from ambulo.export import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.skipif(not page.PLAYER.is_file(), reason="the web player has not been built: python web/build.py")
def test_the_player_runs_without_a_network(recording: Recording, database: Database, tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    image = pytest.importorskip("PIL.Image")
    report = page.write_page(recording, measure(recording, database), tmp_path / "report.html", database=database)
    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            view = browser.new_page(viewport={"width": 900, "height": 800})
            troubles: list[str] = []
            requests: list[str] = []
            view.on("pageerror", lambda error: troubles.append(str(error)))
            view.on("console", lambda entry: troubles.append(entry.text) if entry.type == "error" else None)
            view.on("request", lambda request: requests.append(request.url))
            view.set_default_timeout(90_000)
            view.goto(report.as_uri())
            view.wait_for_selector("#player canvas", timeout=90_000)
            view.wait_for_timeout(1500)
            shot = image.open(io.BytesIO(view.locator("#player").screenshot())).convert("RGB")
        finally:
            browser.close()
    assert troubles == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    pixels = np.asarray(shot).astype(int)
    height, width = pixels.shape[:2]
    middle = pixels[height // 5 : height * 7 // 10, width * 2 // 5 : width * 3 // 5]
    sky = pixels[height // 10 : height // 6, : width // 10].mean(axis=(0, 1))
    # A figure stands in the middle: much there differs from the sky.
    assert (np.abs(middle - sky).max(axis=2) > 40).mean() > 0.04
