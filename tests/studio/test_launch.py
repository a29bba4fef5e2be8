"""From the command line to a session, and the refusals on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from ambulo.cli import main
from ambulo.errors import ControlError, DatabaseError, StudioError
from ambulo.studio import server
from ambulo.studio.launch import WARM_STEPS, make_session


def test_a_session_is_warm_and_named_after_its_folder(project: Path) -> None:
    session = make_session([project])
    assert session.projects == [project.name]
    assert session.newest_tick >= WARM_STEPS


def test_the_project_file_will_do(project: Path) -> None:
    assert make_session([project / "ambulo.toml"]).projects == [project.name]


def test_the_same_project_twice_is_refused(project: Path) -> None:
    with pytest.raises(StudioError, match="twice"):
        make_session([project, project / "." / ""])


def test_no_project_is_refused() -> None:
    with pytest.raises(StudioError, match="no project"):
        make_session([])


def test_a_project_that_was_not_built_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError) as refused:
        make_session([tmp_path])
    assert refused.value.remedy is not None


def test_an_unknown_controller_is_refused(project: Path) -> None:
    with pytest.raises(ControlError, match="motion_matching"):
        make_session([project], controller="motion_match")


def play(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    code = main.run(["play", *arguments, "--no-browser", "--json"])
    return code, dict(json.loads(capsys.readouterr().out))


def test_play_refuses_a_taken_port_before_it_opens_the_project(
    tmp_path: Path, page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STATIC", page)
    with server.bind() as listener:
        port = listener.getsockname()[1]
        code, printed = play(str(tmp_path / "nothing"), "--port", str(port), capsys=capsys)
    assert code == 2
    error = printed["error"]
    assert isinstance(error, dict)
    assert error["kind"] == "StudioError"
    assert error["key"] == "port"
    assert str(port) in error["message"]


def test_play_says_how_to_build_the_page(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STATIC", tmp_path)
    code, printed = play(str(project), capsys=capsys)
    assert code == 2
    error = printed["error"]
    assert isinstance(error, dict)
    assert "web/build.py" in error["remedy"]


def test_play_serves_and_ends_on_interrupt(project: Path) -> None:
    if not (server.STATIC / "index.html").is_file():
        pytest.skip("the studio's page has not been built: run `python web/build.py`")
    code = "import sys; from ambulo.cli.main import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "play", str(project), "--no-browser", "--json"]
    group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if os.name == "nt" else {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **group) as process:  # type: ignore[call-overload]
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            assert ready["projects"] == [project.name]
            assert ready["url"].startswith("http://127.0.0.1:")
            with urllib.request.urlopen(ready["url"], timeout=10) as response:
                assert b"<title>ambulo studio</title>" in response.read()
            process.send_signal(signal.CTRL_BREAK_EVENT if os.name == "nt" else signal.SIGINT)
            process.wait(timeout=20)
        finally:
            process.kill()
    assert process.returncode in (0, 130)


def test_what_is_no_project_is_refused_before_getting_ready(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["play", str(tmp_path / "nothing"), "--no-browser"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("ambulo play: ") and "nothing" in captured.err
    assert "getting ready" not in captured.err
