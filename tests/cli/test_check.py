"""`ambulo check` and `ambulo repair` on the command line: exit codes, tables, JSON, pages, fixes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.cli.main import run
from ambulo.export import page
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.synthesis.performance import synthesize

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def stroll() -> Motion:
    return max((p.motion for p in synthesize(seed=3, minutes=0.5)), key=lambda m: m.frame_count).slice(0, 400)


@pytest.fixture(scope="module")
def spoiled(stroll: Motion) -> Motion:
    positions, rotations = stroll.positions.copy(), stroll.rotations.copy()
    positions[:, 0, 1] -= 0.15
    joint = stroll.skeleton.role("head")
    turn = quaternions.from_angle_axis(np.radians(100.0), np.array([1.0, 0.0, 0.0]))
    rotations[120, joint] = quaternions.multiply(rotations[120, joint], turn)
    return replace(stroll, positions=positions, rotations=quaternions.unroll(rotations))


def asked(capsys, *argv: object) -> tuple[int, dict]:
    code = run([*map(str, argv), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_exit_codes(tmp_path, stroll, spoiled, capsys):
    ambulo.save(stroll, tmp_path / "good.bvh")
    ambulo.save(spoiled, tmp_path / "bad.bvh")
    (tmp_path / "torn.bvh").write_text("HIERARCHY\n")
    assert run(["check", str(tmp_path / "good.bvh")]) == 0
    assert run(["check", str(tmp_path / "bad.bvh")]) == 1
    assert run(["check", str(tmp_path)]) == 1
    assert run(["check", str(tmp_path), "--strict"]) == 2
    assert run(["check", str(tmp_path / "none.bvh")]) == 2
    shown = capsys.readouterr()
    assert "too low" in shown.out and "torn.bvh" in shown.out


def test_json_has_every_finding_with_its_frames(tmp_path, spoiled, capsys):
    ambulo.save(spoiled, tmp_path / "bad.bvh")
    code, told = asked(capsys, "check", tmp_path / "bad.bvh")
    assert code == 1 and told["clean"] is False
    (take,) = told["takes"]
    found = {f["code"]: f for f in take["findings"]}
    assert (found["pop"]["start_frame"], found["pop"]["stop_frame"], found["pop"]["severity"]) == (120, 121, "warning")
    assert found["sunk"]["proposal"]["lift"] == pytest.approx(0.15, abs=0.02)
    assert told["counts"] == {"pop": 1, "sunk": 1}


def test_fix_writes_into_the_project(tmp_path, spoiled, capsys):
    (tmp_path / "takes").mkdir()
    ambulo.save(spoiled, tmp_path / "takes" / "bad.bvh")
    (tmp_path / "ambulo.toml").write_text('name = "p"\n[[sources]]\npath = "takes"\n')
    code, told = asked(capsys, "check", tmp_path, "--fix", tmp_path)
    assert code == 1
    assert told["fixes"]["written"]["takes/bad.bvh"]["skip_frames"] == [[120, 121]]
    assert asked(capsys, "check", tmp_path)[0] == 0


def test_repair_mends_into_a_new_file(tmp_path, stroll, spoiled, capsys):
    source, out = tmp_path / "bad.bvh", tmp_path / "good.bvh"
    ambulo.save(spoiled, source)
    before = source.read_bytes()
    code, told = asked(capsys, "repair", source, out)
    assert code == 0 and source.read_bytes() == before
    assert [step["operation"] for step in told["report"]["steps"]] == ["spikes", "floor"]
    assert run(["check", str(out)]) == 0
    made = ambulo.load(out)
    assert made.rate == stroll.rate and made.frame_count == stroll.frame_count
    others = np.delete(np.arange(stroll.frame_count), 120)
    assert quaternions.angle_between(made.rotations[others], ambulo.load(source).rotations[others]).max() < 1e-4


def test_the_source_is_never_written_to(tmp_path, spoiled, capsys):
    source = tmp_path / "bad.bvh"
    ambulo.save(spoiled, source)
    (tmp_path / "same.bvh").symlink_to(source)
    before = source.read_bytes()
    for out in (source, tmp_path / "same.bvh"):
        code, told = asked(capsys, "repair", source, out, "--floor")
        assert code == 2 and "never written" in told["error"]["message"]
    assert source.read_bytes() == before


@pytest.mark.skipif(not page.PLAYER.is_file(), reason="the web player has not been built: python web/build.py")
def test_pages_are_one_file_and_run(tmp_path: Path, spoiled: Motion, capsys) -> None:
    ambulo.save(spoiled, tmp_path / "bad.bvh")
    code, told = asked(capsys, "check", tmp_path / "bad.bvh", "--html", tmp_path / "check.html")
    assert code == 1
    _, mended = asked(capsys, "repair", tmp_path / "bad.bvh", tmp_path / "o.bvh", "--html", tmp_path / "repair.html")
    assert Path(told["html"]).stat().st_size - page.PLAYER.stat().st_size < 400_000
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    troubles: list[str] = []
    requests: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            for file in (told["html"], mended["html"]):
                view = browser.new_page(viewport={"width": 900, "height": 800})
                view.on("pageerror", lambda error: troubles.append(str(error)))
                view.on("console", lambda entry: troubles.append(entry.text) if entry.type == "error" else None)
                view.on("request", lambda request: requests.append(request.url))
                view.set_default_timeout(90_000)
                view.goto(Path(file).as_uri())
                view.locator(".stage").first.scroll_into_view_if_needed()
                view.wait_for_selector(".stage canvas", timeout=90_000)
                view.wait_for_timeout(500)
        finally:
            browser.close()
    assert troubles == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
