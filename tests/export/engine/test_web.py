"""Exported pages: their own runtime replays the recording, in Node and in a browser, and the character walks.

The graph itself is replayed by onnxruntime-web, in Node and in the browser, from a server of this test."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.errors import ControlError
from ambulo.export.engine import web_page
from ambulo.export.engine.bundle import export_controller
from ambulo.export.engine.verify import distance

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NODE = shutil.which("node")
WEB = Path(__file__).parents[3] / "web"
ORT_WEB = WEB / "node_modules" / "onnxruntime-web" / "dist"
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]

needs_ort_web = pytest.mark.skipif(
    not (ORT_WEB / "ort.wasm.min.mjs").is_file(), reason="no onnxruntime-web here: npm ci in web/"
)

pytestmark = pytest.mark.skipif(
    not web_page.LIVE.is_file(), reason="the web script has not been built: python web/build.py"
)


@pytest.fixture(scope="module", params=["lmm", "mm"])
def exported(request: pytest.FixtureRequest, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "lmm":
        return Path(request.getfixturevalue("learned").folder)
    out = tmp_path_factory.mktemp("web") / request.param
    export_controller(project, out, controller=request.param, target="web")
    return out


def golden_lists(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The inputs as JSON takes them, and all arrays."""
    with np.load(folder / "golden.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    lists: dict[str, Any] = {
        name: [row.reshape(-1).tolist() for row in array] for name, array in arrays.items() if name.startswith("in_")
    }
    return lists | {"state": arrays["state"].reshape(-1).tolist()}, arrays


def check(frames: list[dict[str, list[float]]], arrays: dict[str, np.ndarray]) -> None:
    """All frames within the tolerance of the bundle."""
    assert len(frames) == 300
    for step, frame in enumerate(frames):
        for name in ("local_positions", "local_rotations", "contacts"):
            wanted = arrays[f"out_{name}"][step]
            found = np.array(frame[name]).reshape(wanted.shape)
            assert distance(name, found, wanted) < 1e-4, (name, step)


@pytest.mark.skipif(NODE is None, reason="there is no Node")
def test_node_replays_the_recording(exported: Path, tmp_path: Path) -> None:
    page = (exported / "index.html").read_text()
    found = re.search(r'id="ambulo-data">(.*?)</script>', page, re.S)
    assert found is not None and "CC BY-NC 4.0" in page and "NON-COMMERCIAL" in found[1]
    lists, arrays = golden_lists(exported)
    (tmp_path / "data.json").write_text(found[1])
    (tmp_path / "golden.json").write_text(json.dumps(lists))
    command = [str(NODE), str(WEB / "engines" / "replay.mjs"), str(web_page.LIVE)]
    done = subprocess.run(
        [*command, str(tmp_path / "data.json"), str(tmp_path / "golden.json")],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(json.loads(done.stdout)["frames"], arrays)


@needs_ort_web
@pytest.mark.skipif(NODE is None, reason="there is no Node")
def test_onnxruntime_web_replays_the_recording(exported: Path, tmp_path: Path) -> None:
    lists, arrays = golden_lists(exported)
    (tmp_path / "golden.json").write_text(json.dumps(lists))
    library = ORT_WEB / "ort.node.min.mjs"
    command = [str(NODE), str(WEB / "engines" / "replay_ort.mjs"), str(library), str(exported / "controller.onnx")]
    done = subprocess.run(
        [*command, str(tmp_path / "golden.json")], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    check(json.loads(done.stdout)["frames"], arrays)


@contextmanager
def served(*files: Path) -> Iterator[str]:
    """Address of a server of these files on this machine, and of an empty page."""
    by_name = {f"/{file.name}": file for file in files}
    kinds = {".mjs": "text/javascript", ".wasm": "application/wasm"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            file = by_name.get(self.path)
            data = b"<!doctype html><title>replay</title>" if self.path == "/" else file.read_bytes() if file else b""
            self.send_response(200 if data else 404)
            self.send_header("Content-Type", "text/html" if file is None else kinds.get(file.suffix, "text/plain"))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@needs_ort_web
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_onnxruntime_web_replays_the_recording_in_a_browser(exported: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    lists, arrays = golden_lists(exported)
    library = [
        ORT_WEB / name for name in ("ort.wasm.min.mjs", *(f"ort-wasm-simd-threaded.{k}" for k in ("mjs", "wasm")))
    ]
    with served(*library, exported / "controller.onnx") as address, sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            view = browser.new_page()
            requests: list[str] = []
            view.on("request", lambda request: requests.append(request.url))
            view.goto(address)
            frames = view.evaluate(
                """async (golden) => {
                    const ort = await import("/ort.wasm.min.mjs");
                    ort.env.wasm.numThreads = 1;
                    ort.env.wasm.wasmPaths = location.href;
                    const options = {executionProviders: ["wasm"]};
                    const session = await ort.InferenceSession.create("/controller.onnx", options);
                    const tensor = (values, shape) => new ort.Tensor("float32", Float32Array.from(values), shape);
                    let state = tensor(golden.state, [1, golden.state.length]);
                    const frames = [];
                    for (let k = 0; k < golden.in_dt.length; k++) {
                        const out = await session.run({
                            state, velocity: tensor(golden.in_velocity[k], [1, 3]),
                            facing: tensor(golden.in_facing[k], [1, 3]), dt: tensor(golden.in_dt[k], [1]),
                        });
                        state = out.state_next;
                        frames.push(Object.fromEntries(["local_positions", "local_rotations", "contacts"].map(
                            (name) => [name, [...out[name].data]])));
                    }
                    return frames;
                }""",
                lists,
            )
        finally:
            browser.close()
    assert all(url.startswith((address, "blob:", "data:")) for url in requests)
    check(frames, arrays)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_browser_plays_the_file(exported: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    lists, arrays = golden_lists(exported)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            view = browser.new_page(viewport={"width": 320, "height": 240})
            troubles: list[str] = []
            requests: list[str] = []
            view.on("pageerror", lambda error: troubles.append(str(error)))
            view.on("console", lambda entry: troubles.append(entry.text) if entry.type == "error" else None)
            view.on("request", lambda request: requests.append(request.url))
            view.goto((exported / "index.html").as_uri())
            for _ in range(600):  # the page's policy forbids what wait_for_function does
                if view.evaluate("window.ambulo ? window.ambulo.steps : 0") > 60:
                    break
                view.wait_for_timeout(100)
            root = view.evaluate("ambulo.root")
            frames = view.evaluate(
                """(golden) => {
                    let state = golden.state;
                    return golden.in_dt.map((dt, k) => {
                        const [velocity, facing] = [golden.in_velocity[k], golden.in_facing[k]];
                        const out = ambulo.run({state, velocity, facing, dt});
                        state = out.state_next;
                        return {local_positions: out.local_positions, local_rotations: out.local_rotations,
                                contacts: out.contacts};
                    });
                }""",
                lists,
            )
        finally:
            browser.close()
    assert troubles == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    start = arrays["position"][0]
    assert np.hypot(root[0] - start[0], root[2] - start[2]) > 0.2  # it walks by itself until somebody steers
    check(frames, arrays)


def test_a_page_plays_one_character(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ControlError, match="one character"):
        export_controller(trained, tmp_path / "out", controller="mm", target="web", characters=2)


def test_an_unbuilt_front_end_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(web_page, "LIVE", tmp_path / "none" / "live.js")
    with pytest.raises(Exception, match=r"python web/build\.py"):
        web_page.read_live()
