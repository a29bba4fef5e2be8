"""Draw the picture of the coverage page: ``python figures/coverage_picture.py PROJECT``.

PROJECT is a built project of the embedded takes. Needs Playwright, a Chromium and Pillow.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from ambulo import Database
from ambulo.evaluation.coverage import coverage
from ambulo.export.coverage_page import write_coverage_page
from ambulo.matching.build import load_index

IMAGE = Path(__file__).resolve().parents[1] / "docs" / "images" / "coverage.png"


def main() -> None:
    database = Database.open(sys.argv[1] if len(sys.argv) > 1 else "build/demo")
    found = coverage(database, load_index(database)[1])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = write_coverage_page(found, Path(folder) / "coverage.html")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 1000}, color_scheme="light")
        page.goto(page_file.as_uri())
        end = page.locator("h3", has_text="Hardest to leave").bounding_box()
        assert end is not None
        page.screenshot(path=IMAGE, clip={"x": 0, "y": 0, "width": 900, "height": end["y"] - 8}, full_page=True)
        browser.close()
    Image.open(IMAGE).convert("RGB").quantize(48).save(IMAGE, optimize=True)  # flat colours: a third of the bytes
    print(f"{IMAGE}: {IMAGE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
