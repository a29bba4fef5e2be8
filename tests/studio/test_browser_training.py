"""Training from the studio's page: a live curve, and the trained controller takes over where the character is."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import uvicorn

from ambulo.studio import messages, server
from ambulo.studio.launch import make_session, project_places

from .browser import FLAGS, Driver, find_chromium, keep_picture
from .tiny_training import TinyTrainer

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("torch")


@pytest.fixture
def driver(project: Path, tmp_path: Path) -> Iterator[Driver]:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium is installed (looked for chromium, chromium-browser, google-chrome, chrome)")
    if not (server.STATIC / "index.html").is_file():
        pytest.skip("the studio's page has not been built: run `python web/build.py`")
    folder = tmp_path / "trained"
    shutil.copytree(project, folder)
    session = make_session([folder])
    listener = server.bind()
    port = int(listener.getsockname()[1])
    app = server.create_app(session, port=port, places=project_places([folder]), trainer=TinyTrainer(count=400))
    config = uvicorn.Config(
        app, log_level="error", ws="websockets-sansio", ws_max_size=4 * messages.MAXIMUM_MESSAGE_BYTES
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_context(viewport={"width": 1000, "height": 900}, color_scheme="dark").new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(f"http://127.0.0.1:{port}/?debug=1&pictures=4")
        opened = Driver(page, errors)
        opened.until(lambda state: state.get("connected", False) and state["training"] is not None)
        yield opened
        browser.close()
        assert errors == []
    running.should_exit = True
    thread.join(timeout=40)


def test_lmm_is_trained_and_takes_over(driver: Driver) -> None:
    page = driver.page
    walked = driver.hold("KeyW", ticks=90)
    assert np.linalg.norm(walked["position"]) > 0.7
    panel = page.get_by_label("Learned motion matching", exact=True)
    panel.get_by_role("button", name="train LMM").click()
    page.evaluate("document.activeElement?.blur()")

    learning = driver.until(lambda s: any(len(n["loss"]) > 3 for n in s["training"]["networks"]), seconds=120)
    assert learning["training"]["state"] == "running"
    path = panel.locator("path.loss").first
    path.wait_for(state="attached")
    assert path.get_attribute("d").count("L") >= 3
    assert "of 400" in panel.inner_text()
    later = driver.ticks(60)  # the character goes on
    assert later["training"]["state"] == "running"
    if os.environ.get("AMBULO_PICTURES"):
        driver.until(lambda s: s["training"]["networks"][2]["loss"] or s["training"]["state"] != "running", seconds=120)
        page.wait_for_timeout(400)
        keep_picture(page, "studio-train.png")

    before = driver.state()
    done = driver.until(lambda s: s["status"]["controller"] == "lmm" or s["training"]["state"] == "failed", seconds=180)
    assert done["training"]["state"] != "failed", done["training"]
    driver.until(lambda s: s["training"]["state"] == "done")
    assert np.linalg.norm(np.array(done["position"]) - before["position"]) < 0.5
    assert np.linalg.norm(done["position"]) > 0.5  # and not back at the origin
    assert page.get_by_label("controller").input_value() == "lmm"
    assert panel.locator("path.loss").count() == 3
    here = driver.state()
    driver.hold("KeyW", ticks=120)
    assert np.linalg.norm(np.array(driver.state()["position"]) - here["position"]) > 0.2
    keep_picture(page, "studio-trained.png")


def test_a_training_is_stopped(driver: Driver) -> None:
    page = driver.page
    panel = page.get_by_label("Learned motion matching", exact=True)
    panel.get_by_role("button", name="train LMM").click()
    driver.until(lambda s: s["training"]["state"] == "running")
    panel.get_by_role("button", name="stop", exact=True).click()
    driver.until(lambda s: s["training"]["state"] == "stopped", seconds=60)
    assert driver.state()["status"]["controller"] == "motion_matching"
    panel.get_by_role("button", name="go on", exact=True).wait_for()
