"""Draw the picture of an exported page for the docs: ``python figures/export_picture.py FOLDER``.

FOLDER is what ``ambulo export PROJECT --target web`` wrote; a headless Chromium opens its page from the disk.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "export_page.png"
FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader"]
STEPS = 450
BEST = 4
"""The best that is drawn without a graphics card: a step of the ladder in web/src/scene/quality.ts."""


def draw(folder: Path) -> None:
    """The page after seven seconds of walking by itself."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        view = browser.new_page(viewport={"width": 800, "height": 450}, color_scheme="light")
        view.goto((folder / "index.html").resolve().as_uri())
        # A machine that was busy draws less well for a while.
        while view.evaluate(f"window.ambulo && ambulo.level === {BEST} ? ambulo.steps : 0") < STEPS:
            view.wait_for_timeout(200)
        shot = Image.open(io.BytesIO(view.screenshot(timeout=120_000)))
        browser.close()
    shot.convert("RGB").save(PICTURE, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
