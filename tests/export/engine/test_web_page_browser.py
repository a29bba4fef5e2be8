"""The page of an exported controller in use: keys, fingers, gamepads, and machines without graphics cards."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.export.engine import web_page
from ambulo.export.engine.bundle import export_controller

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader"]
WIDTH, HEIGHT = 420, 300
SOFT = 4
"""The first step of the ladder that needs no WebGL (web/src/scene/quality.ts)."""

pytestmark = [
    pytest.mark.skipif(not web_page.LIVE.is_file(), reason="the web script has not been built: python web/build.py"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]


@pytest.fixture(scope="module")
def address(project: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("page") / "web"
    export_controller(project, out, controller="mm", target="web")
    return (out / "index.html").as_uri()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium


@pytest.fixture(scope="module")
def browser(chromium: Any) -> Iterator[Any]:
    running = chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield running
    running.close()


@contextmanager
def opened(browser: Any, address: str, script: str = "", **options: Any) -> Iterator[Any]:
    """The page once it plays; at the end it must have had nothing to complain of."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark", **options)
    view = context.new_page()
    troubles: list[str] = []
    view.on("pageerror", lambda error: troubles.append(str(error)))
    view.on("console", lambda entry: troubles.append(entry.text) if entry.type == "error" else None)
    if script:
        view.add_init_script(script)
    view.goto(address)
    until(view, "window.ambulo ? ambulo.steps : 0", lambda steps: steps > 10)
    yield view
    context.close()
    assert troubles == []


def until(view: Any, expression: str, wanted: Callable[[Any], bool], seconds: float = 60.0) -> Any:
    """The first value that is as wanted; the page's policy forbids what wait_for_function does."""
    for _ in range(int(20 * seconds)):
        value = view.evaluate(expression)
        if wanted(value):
            return value
        view.wait_for_timeout(50)
    raise AssertionError(f"{expression} is still {value}")


def picture(view: Any) -> np.ndarray:
    """What is seen, uint8 ``[height, width, 3]``."""
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(view.screenshot())).convert("RGB"))


def figure(view: Any) -> int:
    """How many pixels of the middle show the pale body of the dark theme."""
    middle = picture(view)[HEIGHT // 6 : -HEIGHT // 5, WIDTH // 4 : -WIDTH // 4].astype(int)
    return int(((middle.min(axis=2) > 95) & (np.ptp(middle, axis=2) < 42)).sum())


def size_of(vector: list[float]) -> float:
    return float(np.hypot(vector[0], vector[2]))


def test_keys_walk_run_stop_and_pause(browser: Any, address: str) -> None:
    with opened(browser, address) as view:
        view.keyboard.down("KeyW")
        walk = size_of(until(view, "ambulo.asked", lambda asked: size_of(asked) > 0))
        view.keyboard.down("ShiftLeft")
        until(view, "ambulo.asked", lambda asked: size_of(asked) > 1.2 * walk)
        for key in ("ShiftLeft", "KeyW"):
            view.keyboard.up(key)
        # Once somebody has steered, it waits to be steered.
        until(view, "ambulo.asked", lambda asked: size_of(asked) == 0)
        view.keyboard.press("Space")
        steps = until(view, "ambulo.paused ? ambulo.steps : -1", lambda steps: steps > 0)
        view.wait_for_timeout(300)
        assert view.evaluate("ambulo.steps") == steps
        view.keyboard.press("Space")
        until(view, "ambulo.steps", lambda now: now > steps)
        view.keyboard.press("KeyH")
        assert "gamepad" in view.get_by_role("dialog").inner_text().lower()
        view.keyboard.press("Escape")
        assert view.get_by_role("dialog").count() == 0
        view.keyboard.press("KeyT")
        until(view, "document.getElementById('character').dataset.theme", lambda theme: theme == "light")
        view.wait_for_timeout(300)
        assert picture(view)[HEIGHT // 2, :20].mean() > 180


def test_a_finger_on_the_stick_walks(browser: Any, address: str) -> None:
    with opened(browser, address, has_touch=True) as view:
        assert not view.locator(".stick").is_visible() or view.evaluate("matchMedia('(pointer: coarse)').matches")
        view.touchscreen.tap(WIDTH - 40, HEIGHT // 2)
        box = view.locator(".stick").bounding_box()
        assert box is not None and box["y"] + box["height"] <= HEIGHT
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        touch = view.context.new_cdp_session(view)
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y - 25}]})
        walk = size_of(until(view, "ambulo.asked", lambda asked: size_of(asked) > 0))
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y - 60}]})
        until(view, "ambulo.asked", lambda asked: size_of(asked) > 1.3 * walk)
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        until(view, "ambulo.asked", lambda asked: size_of(asked) == 0)


def test_a_gamepad_walks(browser: Any, address: str) -> None:
    pad = """
      const button = (value) => ({ pressed: value > 0.5, touched: value > 0, value });
      const buttons = Array.from({ length: 17 }, () => button(0));
      window.pad = { id: "Test Pad (Vendor: 1)", connected: true, mapping: "standard", axes: [0, 0, 0, 0], buttons };
      navigator.getGamepads = () => [window.pad];
    """
    with opened(browser, address, pad) as view:
        view.evaluate("() => { window.pad.axes = [0.9, 0, 0, 0]; }")
        # Until somebody steers, the character goes where it likes.
        until(view, "document.querySelector('.readout').textContent", lambda text: "Test Pad" in text)
        view.wait_for_timeout(300)
        asked = np.array(until(view, "ambulo.asked", lambda asked: abs(asked[0]) + abs(asked[2]) > 0.5))
        view.evaluate("() => { window.pad.axes = [-0.9, 0, 0, 0]; }")
        until(view, "ambulo.asked", lambda now: np.dot(now, asked) < 0)


def test_without_a_graphics_card_the_page_draws_by_itself(browser: Any, address: str) -> None:
    with opened(browser, address) as view:
        until(view, "ambulo.triangles", lambda triangles: triangles > 1000)
        assert view.evaluate("ambulo.level") >= SOFT
        assert view.evaluate("document.querySelector('.view canvas').getContext('2d') !== null")
        view.keyboard.press("Space")
        view.wait_for_timeout(300)
        assert figure(view) > 900
        view.set_viewport_size({"width": 2 * WIDTH, "height": HEIGHT})
        until(view, "document.querySelector('.view canvas').width", lambda width: width > WIDTH)


def test_without_any_webgl_it_still_plays(chromium: Any, address: str) -> None:
    browser = chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-3d-apis"])
    try:
        with opened(browser, address) as view:
            assert view.evaluate("document.createElement('canvas').getContext('webgl2')") is None
            until(view, "ambulo.triangles", lambda triangles: triangles > 1000)
            view.wait_for_timeout(300)
            assert figure(view) > 900
    finally:
        browser.close()


def test_a_lost_graphics_card_is_done_without_and_asked_for_again(browser: Any, address: str) -> None:
    with opened(browser, address + "?painter=gl") as view:
        assert view.evaluate("ambulo.level") < SOFT
        view.evaluate(
            """() => { const canvas = document.querySelector(".view canvas");
                       canvas.getContext("webgl2").getExtension("WEBGL_lose_context").loseContext(); }"""
        )
        until(view, "ambulo.level", lambda level: level >= SOFT)
        steps = view.evaluate("ambulo.steps")
        view.wait_for_timeout(200)
        until(view, "ambulo.triangles", lambda triangles: triangles > 1000)
        until(view, "ambulo.level", lambda level: level < SOFT)
        assert view.locator(".view canvas").count() == 1
        until(view, "ambulo.steps", lambda now: now > steps)


def test_a_hidden_page_does_not_make_up_for_lost_time(browser: Any, address: str) -> None:
    hold = """
      const ask = window.requestAnimationFrame.bind(window);
      const kept = [];
      window.hidden = false;
      window.requestAnimationFrame = (call) => ask((now) => (window.hidden ? kept.push(call) : call(now)));
      window.show = () => { window.hidden = false; kept.splice(0).forEach((call) => ask(call)); };
    """
    with opened(browser, address, hold) as view:
        view.evaluate("() => { window.hidden = true; }")
        view.wait_for_timeout(300)
        steps = view.evaluate("ambulo.steps")
        view.wait_for_timeout(4000)
        assert view.evaluate("ambulo.steps") == steps
        level = view.evaluate("ambulo.level")
        after = view.evaluate("() => new Promise((done) => { show(); setTimeout(() => done(ambulo.steps), 700); })")
        assert steps < after < steps + 150  # 0.7 s, and a quarter of a second: not 240 steps at once
        assert view.evaluate("ambulo.level") == level
