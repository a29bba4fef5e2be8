"""The studio in a real browser: the character goes where the key says, and one can see it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

from ambulo.control.input_file import load_inputs
from ambulo.studio import messages, server
from ambulo.studio.launch import make_session

from .browser import FLAGS, Driver, find_chromium, pale

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

WIDTH, HEIGHT = 480, 340


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium is installed (looked for chromium, chromium-browser, google-chrome, chrome)")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield running
        running.close()


class Studio:
    """A running studio."""

    def __init__(self, project: Path) -> None:
        session = make_session([project])
        listener = server.bind()
        port = int(listener.getsockname()[1])
        self.url = f"http://127.0.0.1:{port}/"
        app = server.create_app(session, port=port)
        config = uvicorn.Config(
            app, log_level="error", ws="websockets-sansio", ws_max_size=4 * messages.MAXIMUM_MESSAGE_BYTES
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)


@pytest.fixture(scope="module")
def studio(project: Path, browser: Any) -> Iterator[Studio]:
    if not (server.STATIC / "index.html").is_file():
        pytest.skip("the studio's page has not been built: run `python web/build.py`")
    running = Studio(project)
    yield running
    running.stop()


@contextmanager
def opened(studio: Studio, browser: Any, *, script: str | None = None, expected: str = "") -> Iterator[Driver]:
    """A page of its own; at the end its console must have had nothing to complain of but what is expected."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    if script is not None:
        page.add_init_script(script)
    page.set_default_timeout(90_000)
    page.goto(studio.url + "?debug=1&pictures=5")
    driver = Driver(page, errors)
    driver.until(lambda state: state.get("connected", False) and state["frames"] > 2)
    yield driver
    context.close()
    assert [error for error in errors if not expected or expected not in error] == []


@pytest.fixture(scope="module")
def shared(studio: Studio, browser: Any) -> Iterator[Driver]:
    with opened(studio, browser) as driver:
        yield driver


@pytest.fixture
def driver(shared: Driver) -> Driver:
    """The module's page with everything as it was at first: a page takes seconds to open."""
    page = shared.page
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("KeyV")
    if shared.page.locator("aside").count():
        page.keyboard.press("KeyP")
    shared.reset()
    return shared


def moved(before: dict[str, Any], after: dict[str, Any]) -> np.ndarray:
    return np.array(after["position"]) - np.array(before["position"])


def right_of(forward: np.ndarray) -> np.ndarray:
    return np.cross(forward, [0.0, 1.0, 0.0])


def test_w_walks_where_the_camera_looks_and_release_stops(driver: Driver) -> None:
    before = driver.state()
    forward = np.array(before["cameraForward"])
    after = driver.hold("KeyW", ticks=100)
    way = moved(before, after)
    assert way @ forward > 0.8
    assert abs(way @ right_of(forward)) < 0.3
    assert np.array(after["asked"]) @ forward > 0.9
    assert np.array(after["facing"]) @ forward > 0.9
    standing = driver.ticks(80)
    later = driver.ticks(40)
    assert np.linalg.norm(moved(standing, later)) < 0.1


@pytest.mark.parametrize(("key", "side"), [("KeyD", 1.0), ("KeyA", -1.0), ("ArrowRight", 1.0)])
def test_d_and_a_turn_to_the_camera_s_sides(driver: Driver, key: str, side: float) -> None:
    before = driver.state()
    right = right_of(np.array(before["cameraForward"]))
    after = driver.hold(key, ticks=100)
    assert moved(before, after) @ right * side > 0.7
    assert np.array(after["facing"]) @ right * side > 0.7


def test_shift_asks_for_more_speed_and_c_for_less(driver: Driver) -> None:
    asked = {}
    for keys in (("KeyW",), ("ShiftLeft", "KeyW"), ("KeyC", "KeyW")):
        asked[keys[0]] = float(np.linalg.norm(driver.hold(*keys, ticks=40)["asked"]))
    assert asked["KeyC"] < asked["KeyW"] < asked["ShiftLeft"]
    assert asked["KeyC"] == pytest.approx(0.5 * asked["KeyW"], rel=1e-3)


def test_the_facing_can_be_locked(driver: Driver) -> None:
    before = driver.state()
    forward = np.array(before["cameraForward"])
    driver.page.keyboard.press("KeyX")
    after = driver.hold("KeyD", ticks=100)
    assert moved(before, after) @ right_of(forward) > 0.4
    assert np.array(driver.state()["faces"]) @ forward > 0.99


def test_q_turns_the_camera_to_the_left(driver: Driver) -> None:
    before = np.array(driver.state()["cameraForward"])
    driver.page.keyboard.down("KeyQ")
    driver.until(lambda state: np.array(state["cameraForward"]) @ right_of(before) < -0.2)
    driver.page.keyboard.up("KeyQ")


def test_a_figure_can_be_seen(driver: Driver) -> None:
    driver.hold("KeyW", ticks=60)
    driver.page.keyboard.press("Space")
    driver.until(lambda state: state["paused"])
    driver.page.wait_for_timeout(600)
    clear = (slice(70, HEIGHT - 110), slice(40, WIDTH - 40))  # without the read-outs and the timeline
    with_body = driver.picture()[clear]
    driver.page.keyboard.press("5")
    driver.page.wait_for_timeout(600)
    without_body = driver.picture()[clear]
    driver.page.keyboard.press("5")
    # What the body alone paints: pale, upright, in the middle, and a good part of the picture.
    body = np.abs(with_body.astype(int) - without_body).max(axis=-1) > 40
    assert (body & pale(with_body)).sum() > 600
    assert (body & pale(without_body)).sum() < 60
    rows, columns = np.nonzero(body & pale(with_body))
    height, width = np.ptp(np.quantile(rows, [0.01, 0.99])), np.ptp(np.quantile(columns, [0.01, 0.99]))
    assert height > 80
    assert height > 1.5 * width
    assert abs(np.median(columns) + 40 - WIDTH / 2) < 40
    driver.until(lambda state: state["triangles"] > 1000)


def test_a_weight_acts_at_once(driver: Driver) -> None:
    page = driver.page
    page.keyboard.press("KeyP")
    slider = page.locator('input[data-group="trajectory_position"]')
    before = driver.state()["status"]["weights"]
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    after = driver.until(lambda state: state["status"]["weights"] != before)["status"]["weights"]
    driver.until(lambda state: state["status"]["weights"]["trajectory_position"] == pytest.approx(1.2))
    assert set(after) == set(before)
    # Arrow keys on a slider belong to the slider, not to the character.
    assert np.linalg.norm(driver.state()["asked"]) == 0
    page.get_by_role("button", name="reset").click()
    driver.until(lambda state: state["status"]["weights"] == before)


def test_a_tag_chip_narrows_what_is_played(driver: Driver) -> None:
    driver.page.keyboard.press("KeyP")
    driver.page.get_by_role("button", name="mirrored", exact=True).click()
    driver.until(lambda state: state["status"]["required_tags"] == ["mirrored"])
    driver.page.evaluate("document.activeElement?.blur()")
    driver.hold("KeyW", ticks=60)
    for _ in range(4):
        assert driver.ticks(15)["clip"].endswith("mirrored")


def test_the_panels_say_why(driver: Driver) -> None:
    driver.page.keyboard.press("KeyP")
    driver.hold("KeyW", ticks=60)
    panel = driver.page.get_by_label("Why this pose")
    text = panel.inner_text()
    assert "chosen" in text
    assert "runner-up" in text
    assert "candidates" in text
    assert panel.locator(".stack span").count() >= 7


def test_pause_step_and_resume(driver: Driver) -> None:
    page = driver.page
    driver.hold("KeyW", ticks=30)
    page.keyboard.press("Space")
    tick = driver.until(lambda state: state["paused"])["tick"]
    page.wait_for_timeout(200)
    assert driver.state()["tick"] == tick
    page.keyboard.press("Comma")
    driver.until(lambda state: state["tick"] == tick - 1)
    page.keyboard.press("Period")
    page.keyboard.press("Period")
    driver.until(lambda state: state["tick"] == tick + 1)
    page.keyboard.press("Space")
    driver.until(lambda state: not state["paused"] and state["tick"] > tick + 10)


def test_rewind_by_key_and_play_on(driver: Driver) -> None:
    end = driver.hold("KeyW", ticks=120)
    driver.page.keyboard.down("KeyR")
    past = driver.until(lambda state: state["tick"] < end["tick"] - 40)
    driver.page.keyboard.up("KeyR")
    assert past["paused"]
    assert past["newest"] >= end["tick"]
    assert np.linalg.norm(moved(past, end)) > 0.3
    driver.page.keyboard.press("Space")
    now = driver.until(lambda state: not state["paused"])
    # What lay ahead is gone: were it kept, the newest moment would still be that of the end.
    assert now["newest"] <= now["tick"] + 2


def test_the_timeline_is_scrubbed(driver: Driver) -> None:
    driver.ticks(150)
    box = driver.page.locator("canvas.timeline").bounding_box()
    assert box is not None
    # The timeline is 30 s wide and ends now: 3 % from its right end lie 0.9 s back.
    driver.page.mouse.click(box["x"] + 0.97 * box["width"], box["y"] + box["height"] / 2)
    state = driver.until(lambda state: state["paused"])
    assert 20 <= state["newest"] - state["tick"] <= 100


def test_slow_motion_takes_fewer_steps(driver: Driver) -> None:
    for _ in range(3):
        driver.page.keyboard.press("BracketLeft")
    driver.until(lambda state: state["status"]["rate"] == 0.1)
    driver.until(lambda state: state["rate"] == pytest.approx(0.1))
    first, began = driver.state()["tick"], time.monotonic()
    driver.page.wait_for_timeout(1500)
    passed, seconds = driver.state()["tick"] - first, time.monotonic() - began
    assert passed <= 6 * seconds + 4


def test_the_blocks_controller_can_be_chosen(driver: Driver) -> None:
    driver.page.keyboard.press("KeyP")
    driver.page.get_by_label("controller").select_option("blocks")
    driver.until(lambda state: state["status"]["controller"] == "blocks")
    before = driver.state()
    assert np.linalg.norm(moved(before, driver.hold("KeyW", ticks=180))) > 1.0


def test_a_gamepad_steers(studio: Studio, browser: Any) -> None:
    pad = """
      const button = (value) => ({ pressed: value > 0.5, touched: value > 0, value });
      const buttons = Array.from({ length: 17 }, () => button(0));
      window.pad = { id: "Test Pad (Vendor: 1)", connected: true, mapping: "standard", axes: [0, 0, 0, 0], buttons };
      navigator.getGamepads = () => [window.pad];
    """
    with opened(studio, browser, script=pad) as driver:
        before = driver.state()
        forward = np.array(before["cameraForward"])
        driver.page.evaluate("window.pad.axes = [0, -0.9, 0, 0]")
        after = driver.ticks(150)
        assert moved(before, after) @ forward > 1.0
        driver.page.evaluate("window.pad.axes = [0, 0, 0.8, 0]")
        driver.ticks(20)
        turned = np.array(driver.state()["cameraForward"])
        assert turned @ right_of(forward) > 0.05
        driver.page.evaluate("window.pad.axes = [0, 0, 0, 0]")
        driver.until(lambda state: np.linalg.norm(state["asked"]) == 0)
        assert "Test Pad" in driver.page.locator(".head").inner_text()


def test_the_input_is_saved_as_a_file(driver: Driver, tmp_path: Path) -> None:
    driver.hold("KeyW", ticks=30)
    driver.page.set_viewport_size({"width": 900, "height": HEIGHT})
    with driver.page.expect_download() as download:
        driver.page.get_by_role("button", name="save input").click()
    driver.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    download.value.save_as(tmp_path / "input.json")
    script = load_inputs(tmp_path / "input.json")
    assert np.linalg.norm(script.velocities, axis=-1).max() > 0.9


def test_help_lists_the_keys_and_closes(driver: Driver) -> None:
    driver.page.keyboard.press("KeyH")
    dialog = driver.page.get_by_role("dialog")
    assert "strafe" in dialog.inner_text()
    driver.page.keyboard.press("Escape")
    assert dialog.count() == 0


def test_both_themes(driver: Driver) -> None:
    corner = (slice(HEIGHT // 3, HEIGHT // 2), slice(0, 40))
    dark = driver.picture()[corner].mean()
    driver.page.keyboard.press("KeyT")
    assert dark < 70
    end = time.monotonic() + 30.0
    while driver.picture()[corner].mean() <= 180 and time.monotonic() < end:
        driver.page.wait_for_timeout(100)
    assert driver.picture()[corner].mean() > 180


def test_two_pages_see_the_same_character(studio: Studio, browser: Any, driver: Driver) -> None:
    with opened(studio, browser) as other:
        driver.hold("KeyW", ticks=60)
        driver.page.keyboard.press("Space")
        here = driver.until(lambda state: state["paused"])
        there = other.until(lambda state, tick=here["tick"]: state["paused"] and state["tick"] == tick)
        assert there["position"] == here["position"]


def test_a_server_that_went_is_noticed(project: Path, browser: Any, studio: Studio) -> None:
    brief = Studio(project)
    with opened(brief, browser, expected="ERR_CONNECTION_REFUSED") as driver:
        brief.stop()
        driver.until(lambda state: not state["connected"])
        assert "not answering" in driver.page.get_by_role("status").inner_text()
