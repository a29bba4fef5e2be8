"""Draw the pictures of the guide to checking, from the embedded data: ``python figures/check_pictures.py``.

Faults are planted into a take of the synthesizer: a pop, feet that creep, calibration at the start.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import ambulo
from ambulo.export.check_page import write_check_page
from ambulo.export.pictures import frame
from ambulo.export.png import write_png
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.prepare.contacts import contact_joints, contacts
from ambulo.prepare.quality.examination import runs
from ambulo.prepare.repair.repair import repair_motion
from ambulo.synthesis.performance import synthesize

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
SIZE = (96, 144)


def stroll() -> Motion:
    """The longest take, ten seconds of it."""
    return max((p.motion for p in synthesize(seed=3, minutes=1.0)), key=lambda m: m.frame_count).slice(0, 600)


def with_pop(motion: Motion, at: int) -> Motion:
    """The take with its chest thrown over for one frame."""
    rotations = motion.rotations.copy()
    joint = motion.skeleton.role("chest")
    turn = quaternions.from_angle_axis(np.radians(75.0), np.array([0.0, 0.0, 1.0]))
    rotations[at, joint] = quaternions.multiply(rotations[at, joint], turn)
    return replace(motion, rotations=quaternions.unroll(rotations))


def strip(motion: Motion, frames: range, marked: range) -> np.ndarray:
    """Frames side by side, those of a finding with a red bar above. uint8 ``[H, W, 3]``"""
    pose = forward_motion(motion)
    cells = []
    for number in frames:
        cell = frame(motion.skeleton, pose.positions[number], size=SIZE, global_rotations=pose.rotations[number]).copy()
        if number in marked:
            cell[:5] = (214, 48, 49)
        cells.append(cell)
    return np.concatenate(cells, axis=1)


def draw_pop() -> None:
    """A pop, and the same frames repaired."""
    bad = with_pop(stroll(), 125)
    made, _ = repair_motion(bad, ("spikes",))
    rows = [strip(bad, range(122, 129), range(125, 126)), strip(made, range(122, 129), range(0))]
    write_png(IMAGES / "check_pop.png", np.concatenate(rows, axis=0))


def draw_feet() -> None:
    """Where a toe is around one contact, seen from above: creeping, and held. 24 cm across."""
    motion = stroll()
    positions = motion.positions.copy()
    positions[:, 0, 0] += 0.09 * np.arange(motion.frame_count) / motion.rate
    bad = replace(motion, positions=positions)
    made, _ = repair_motion(bad, ("feet",))
    toe = contact_joints(motion.skeleton)[0]
    start, stop = next(span for span in runs(contacts(bad)[:, 0], 20) if span[0] > 60)
    paths = [forward_motion(take).positions[start - 8 : stop + 8, toe][:, [0, 2]] for take in (bad, made)]
    middle = paths[1][len(paths[1]) // 2]
    panels = [_toe_panel(path - middle, slice(8, len(path) - 8)) for path in paths]
    gap = np.full((panels[0].shape[0], 12, 3), 255, np.uint8)
    write_png(IMAGES / "check_feet.png", np.concatenate([panels[0], gap, panels[1]], axis=1))


def _toe_panel(path: np.ndarray, held: slice) -> np.ndarray:
    """A toe's path in metres ``[T, 2]``, a dot a frame; those of the contact are red."""
    pixels = np.full((360, 360, 3), 247, np.uint8)
    for number, (x, z) in enumerate(np.round(path * 1500.0).astype(int) + 180):
        if 3 <= x < 357 and 3 <= z < 357:
            inside = held.start <= number < held.stop
            pixels[z - 3 : z + 4, x - 3 : x + 4] = (214, 48, 49) if inside else (41, 115, 191)
    return pixels


def draw_page() -> None:
    """The page of a check, as a browser shows it."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    motion = with_pop(stroll(), 125)
    positions = motion.positions.copy()
    positions[:, 0, 1] -= 0.12
    with tempfile.TemporaryDirectory() as folder:
        take = Path(folder) / "stroll_07.bvh"
        ambulo.save(replace(motion, positions=positions), take)
        page = write_check_page(ambulo.check(take), Path(folder) / "check.html")
        flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=flags)
            view = browser.new_page(viewport={"width": 800, "height": 1010})
            view.goto(page.as_uri())
            view.locator("article").last.scroll_into_view_if_needed()
            view.wait_for_function("document.querySelectorAll('.stage canvas').length > 1", timeout=60_000)
            view.wait_for_timeout(4000)
            shot = Image.open(io.BytesIO(view.screenshot()))
            browser.close()
    shot.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(IMAGES / "check_page.png", optimize=True)


if __name__ == "__main__":
    draw_pop()
    draw_feet()
    draw_page()
