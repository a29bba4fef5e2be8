"""The posing page in a real browser: a wrist is dragged, the elbow follows, the bones keep their lengths."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

import ambulo
from ambulo.motion import kinematics
from ambulo.posing.points import POINTS
from ambulo.studio import messages, server
from ambulo.studio.launch import make_session

from .browser import FLAGS, find_chromium, keep_picture

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

SIX = ("left_wrist", "right_wrist", "left_ankle", "right_ankle", "hips", "neck")


class PosePage:
    """A posing page opened with ``?debug=1``."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def state(self) -> dict[str, Any]:
        return dict(self.page.evaluate("window.ambuloPose?.state() ?? {}"))

    def until(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = 60.0) -> dict[str, Any]:
        end = time.monotonic() + seconds
        state: dict[str, Any] = {}
        while time.monotonic() < end:
            state = self.state()
            if state and wanted(state):
                return state
            self.page.wait_for_timeout(50)
        raise AssertionError(f"not reached within {seconds} s: {state}")

    def drag(self, point: str, right: float, up: float) -> dict[str, Any]:
        """Drag a point by pixels, and wait until the body is there."""
        mouse = self.page.mouse
        x, y, _ = self.state()["screen"][point]
        mouse.move(x, y)
        mouse.down()
        for step in range(1, 6):
            mouse.move(x + right * step / 5, y - up * step / 5)
        mouse.up()
        return self.at_rest()

    def at_rest(self) -> dict[str, Any]:
        """The state once all pins that can be reached are."""

        def arrived(state: dict[str, Any]) -> bool:
            if state["posed"] is None:
                return False
            off = {pin["point"] for pin in state["posed"]["unreached"]}
            held = [name for name in state["pins"] if name not in off]
            return all(np.linalg.norm(place(state, n) - state["pins"][n]) < 2e-3 for n in held)

        self.until(arrived)
        self.page.wait_for_timeout(150)
        return self.until(arrived)

    def press(self, label: str) -> None:
        self.page.get_by_role("button", name=label, exact=True).click()


def place(state: dict[str, Any], point: str) -> np.ndarray:
    return np.array(state["points"][point])


@pytest.fixture(scope="module")
def pose_page(project: Path) -> Iterator[PosePage]:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium is installed (looked for chromium, chromium-browser, google-chrome, chrome)")
    if not (server.STATIC / "pose.html").is_file():
        pytest.skip("the studio's page has not been built: run `python web/build.py`")
    session = make_session([project])
    listener = server.bind()
    port = int(listener.getsockname()[1])
    config = uvicorn.Config(
        server.create_app(session, port=port),
        log_level="error",
        ws="websockets-sansio",
        ws_max_size=4 * messages.MAXIMUM_MESSAGE_BYTES,
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        context = browser.new_context(viewport={"width": 1000, "height": 640}, color_scheme="dark")
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(f"http://127.0.0.1:{port}/pose.html?debug=1&pictures=8")
        opened = PosePage(page)
        opened.until(lambda state: state.get("connected", False))
        yield opened
        browser.close()
        assert errors == []
    running.should_exit = True
    thread.join(timeout=10)


@pytest.fixture
def pose(pose_page: PosePage) -> PosePage:
    """The page with the body standing, its six main points pinned, and no keys."""
    while pose_page.state()["keys"]:
        pose_page.page.locator(".key-mark").first.click()
        pose_page.press("delete key")
    pose_page.press("reset")
    pose_page.page.mouse.move(5, 300)
    state = pose_page.at_rest()
    assert set(state["pins"]) == set(SIX)
    return pose_page


def test_a_dragged_wrist_takes_the_elbow_along_and_bones_hold(pose: PosePage) -> None:
    before = pose.state()
    after = pose.drag("left_wrist", 40, 130)
    moved = place(after, "left_wrist") - place(before, "left_wrist")
    assert moved[1] > 0.3
    assert np.linalg.norm(place(after, "left_elbow") - place(before, "left_elbow")) > 0.1
    assert np.linalg.norm(place(after, "right_ankle") - place(before, "right_ankle")) < 2e-3
    for name, length in before["bones"].items():
        assert after["bones"][name] == pytest.approx(length, abs=1e-5), name
    assert after["posed"]["microseconds"] > 0
    keep_picture(pose.page, "studio-pose.png")

    pose.press("undo")  # the drag, as one
    back = pose.until(
        lambda state: (
            state["canRedo"] and np.allclose(place(state, "left_wrist"), place(before, "left_wrist"), atol=1e-3)
        )
    )
    assert place(back, "left_elbow") == pytest.approx(place(before, "left_elbow"), abs=1e-3)
    pose.press("redo")
    pose.until(lambda state: np.allclose(place(state, "left_elbow"), place(after, "left_elbow"), atol=1e-3))


def test_a_click_pins_and_lets_go(pose: PosePage) -> None:
    handle = pose.page.locator('[data-point="left_elbow"]')
    before = pose.state()
    handle.focus()
    pose.page.keyboard.press("Enter")
    pinned = pose.until(lambda state: "left_elbow" in state["pins"])
    assert pinned["pins"]["left_elbow"] == pytest.approx(before["points"]["left_elbow"], abs=1e-4)
    pose.page.wait_for_selector('[data-point="left_elbow"][aria-pressed="true"]')
    wrist = pose.page.locator('[data-point="right_wrist"]')
    wrist.click()
    pose.until(lambda state: "right_wrist" not in state["pins"])
    wrist.click()
    pose.until(lambda state: "right_wrist" in state["pins"])


def test_what_is_out_of_reach_is_drawn_and_said(pose: PosePage) -> None:
    pose.drag("left_wrist", 120, 330)
    state = pose.until(lambda state: state["posed"] is not None and state["posed"]["unreached"])
    assert "left_wrist" in [pin["point"] for pin in state["posed"]["unreached"]]
    pose.page.wait_for_function("document.querySelector('svg.reach text')?.textContent.endsWith(' mm')")
    assert "out of reach" in pose.page.get_by_label("Pose state").inner_text()
    keep_picture(pose.page, "studio-pose-reach.png")


def test_a_pose_is_mirrored_copied_and_pasted(pose: PosePage) -> None:
    raised = pose.drag("left_wrist", 40, 120)
    pose.press("copy")
    pose.press("mirror")
    state = pose.at_rest()
    middle = raised["pins"]["hips"][0]
    x, y, z = raised["pins"]["left_wrist"]
    assert state["pins"]["right_wrist"] == pytest.approx([2 * middle - x, y, z], abs=1e-6)
    ex, ey, ez = raised["points"]["left_elbow"]
    assert place(state, "right_elbow") == pytest.approx([2 * middle - ex, ey, ez], abs=0.01)
    pose.press("paste")
    assert pose.at_rest()["pins"] == raised["pins"]


def test_keys_are_played_and_saved_as_files(pose: PosePage, tmp_path: Path) -> None:
    page = pose.page
    standing = pose.state()
    pose.press("key")
    track = page.locator(".track").bounding_box()
    assert track is not None
    page.mouse.click(track["x"] + track["width"] / 4, track["y"] + 24)  # of four seconds
    pose.until(lambda state: state["time"] == 1.0)
    raised = pose.drag("left_wrist", 40, 130)
    pose.press("key")
    pose.until(lambda state: [key["time"] for key in state["keys"]] == [0.0, 1.0])

    page.mouse.click(track["x"] + track["width"] / 8, track["y"] + 24)
    middle = pose.until(lambda state: state["time"] == 0.5 and state["posed"] is None)
    heights = [place(state, "left_wrist")[1] for state in (standing, middle, raised)]
    assert heights == sorted(heights)
    assert heights[1] - heights[0] > 0.05
    for name, length in standing["bones"].items():
        assert middle["bones"][name] == pytest.approx(length, abs=1e-5)

    pose.press("Play")
    pose.until(lambda state: state["playing"] is not None and state["playing"] > 0.6)
    pose.press("Pause")
    keep_picture(pose.page, "studio-pose-keys.png")

    for ending in ("BVH", "GLB"):
        with page.expect_download() as download:
            pose.press(ending)
        path = tmp_path / f"saved.{ending.lower()}"
        download.value.save_as(path)
        motion = ambulo.load(path)
        assert motion.frame_count == 31
        assert motion.rate == pytest.approx(30.0, rel=1e-3)
        whole = kinematics.forward(motion.positions, motion.rotations, motion.skeleton.parents)
        hand = motion.skeleton.names.index("left_hand") if "left_hand" in motion.skeleton.names else None
        if hand is not None:
            assert whole.positions[0, hand] == pytest.approx(standing["points"]["left_wrist"], abs=2e-3)
            assert whole.positions[-1, hand] == pytest.approx(raised["points"]["left_wrist"], abs=2e-3)

    page.keyboard.press("Control+z")  # the second key
    pose.until(lambda state: [key["time"] for key in state["keys"]] == [0.0])


def test_a_key_is_dragged_to_another_time(pose: PosePage) -> None:
    page = pose.page
    page.keyboard.press("k")
    pose.until(lambda state: len(state["keys"]) == 1)
    track, mark = page.locator(".track").bounding_box(), page.locator(".key-mark").bounding_box()
    assert track is not None
    assert mark is not None
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    page.mouse.down()
    for share in (0.1, 0.2, 0.375):
        page.mouse.move(track["x"] + share * track["width"], track["y"] + 12)
    page.mouse.up()
    pose.until(lambda state: [key["time"] for key in state["keys"]] == [1.5])
    pose.press("undo")
    pose.until(lambda state: [key["time"] for key in state["keys"]] == [0.0])


def test_copied_text_is_what_the_command_line_reads(pose: PosePage) -> None:
    text = json.dumps(pose.state()["pins"])
    from ambulo.posing.pose_from_points import pose_from_points

    posed = pose_from_points(json.loads(text))
    assert posed.points.shape == (1, len(POINTS), 3)
