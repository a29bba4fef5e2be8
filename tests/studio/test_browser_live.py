"""Takes dropped on the studio's page: they are built in, and the character is still where it was."""

from __future__ import annotations

import base64
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import uvicorn

import ambulo
from ambulo.studio import messages, server
from ambulo.studio.launch import make_session, project_places
from ambulo.synthesis.performance import synthesize

from .browser import FLAGS, Driver, find_chromium

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

DROP = """async (files) => {
  const transfer = new DataTransfer();
  for (const [name, data] of files) {
    transfer.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
  }
  const event = (kind) => new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true });
  document.body.dispatchEvent(event("dragenter"));
  document.body.dispatchEvent(event("dragover"));
  window.dropNow = () => document.body.dispatchEvent(event("drop"));
}"""


@pytest.fixture
def page(project: Path, tmp_path: Path) -> Iterator[tuple[Driver, Path]]:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium is installed (looked for chromium, chromium-browser, google-chrome, chrome)")
    if not (server.STATIC / "index.html").is_file():
        pytest.skip("the studio's page has not been built: run `python web/build.py`")
    folder = tmp_path / "live"
    shutil.copytree(project, folder)
    session = make_session([folder])
    listener = server.bind()
    port = int(listener.getsockname()[1])
    app = server.create_app(session, port=port, places=project_places([folder]))
    config = uvicorn.Config(
        app, log_level="error", ws="websockets-sansio", ws_max_size=4 * messages.MAXIMUM_MESSAGE_BYTES
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        opened = browser.new_context(viewport={"width": 900, "height": 560}, color_scheme="dark").new_page()
        errors: list[str] = []
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.goto(f"http://127.0.0.1:{port}/?debug=1&pictures=5")
        held = Driver(opened, errors)
        held.until(lambda state: state.get("connected", False) and state["frames"] > 2)
        yield held, folder
        browser.close()
        assert errors == []
    running.should_exit = True
    thread.join(timeout=10)


def drop(driver: Driver, *files: tuple[str, bytes]) -> None:
    driver.page.evaluate(DROP, [[name, base64.b64encode(data).decode()] for name, data in files])
    assert "Drop takes here" in driver.page.locator(".drop-zone").inner_text()
    if folder := os.environ.get("AMBULO_PICTURES"):
        driver.page.screenshot(path=f"{folder}/live-drop.png")
    driver.page.evaluate("window.dropNow()")
    driver.page.wait_for_selector(".drop-zone", state="detached")


def test_a_dropped_take_appears_and_the_character_is_where_it_was(page: tuple[Driver, Path], tmp_path: Path) -> None:
    driver, folder = page
    ambulo.save(synthesize(77, 0.3)[0].motion, tmp_path / "dropped_walk.bvh")
    take = (tmp_path / "dropped_walk.bvh").read_bytes()
    driver.hold("KeyW", ticks=120)
    before = driver.ticks(90)
    assert np.linalg.norm(before["position"]) > 1.0
    assert "dropped_walk" not in before["clips"]
    drop(driver, ("dropped_walk.tags.csv", b"start,stop,tag\n,,quite_new\n"), ("dropped_walk.bvh", take))
    after = driver.until(lambda state: any(name.endswith("dropped_walk") for name in state["clips"]), seconds=90)
    driver.until(lambda state: (state["rebuild"] or {}).get("state") == "ready", seconds=90)
    assert np.linalg.norm(np.array(after["position"]) - before["position"]) < 0.3
    assert after["tick"] > before["tick"]
    assert not after["paused"]
    if folder_of_pictures := os.environ.get("AMBULO_PICTURES"):
        driver.page.screenshot(path=f"{folder_of_pictures}/live.png")
    driver.page.keyboard.press("KeyP")
    driver.page.get_by_role("button", name="quite_new", exact=True).click(timeout=60_000)
    driver.until(lambda state: state["status"]["required_tags"] == ["quite_new"])
    driver.page.evaluate("document.activeElement?.blur()")
    driver.hold("KeyW", ticks=60)
    assert "dropped_walk" in driver.ticks(10)["clip"]
    stored = list(folder.rglob("dropped_walk.bvh"))
    assert [file.read_bytes() for file in stored] == [take]


def test_what_is_no_take_is_refused_by_name_and_reason(page: tuple[Driver, Path]) -> None:
    driver, folder = page
    drop(driver, ("holiday.bvh", b"\x89PNG\r\n\x1a\n" + bytes(50)))
    driver.until(lambda state: state["problem"] is not None)
    assert "holiday.bvh" in driver.page.get_by_role("alert").inner_text()
    assert list(folder.rglob("holiday*")) == []
    with (folder / "ambulo.toml").open("a") as file:
        file.write("\nnonsense = 1\n")
    failed = driver.until(lambda state: (state["rebuild"] or {}).get("state") == "failed", seconds=60)
    assert "nonsense" in failed["rebuild"]["text"]
    assert "plays on as it was" in driver.page.locator(".rebuild").inner_text()
    assert not driver.ticks(10)["paused"]
