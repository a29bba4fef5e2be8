"""The command line: verbs, exit codes, one message without a traceback, one JSON object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ambulo.cli import main as cli
from ambulo.errors import FormatError


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([]) == cli.run(["--help"]) == cli.run(["-h"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {verb} " in out for verb in cli.VERBS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from ambulo import __version__

    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"ambulo {__version__}\n"


def test_every_verb_has_help_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("new", "build", "info"):
        with pytest.raises(SystemExit) as caught:
            cli.run([verb, "--help"])
        assert caught.value.code == 0
        assert "--json" in capsys.readouterr().out


def test_an_unknown_verb_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["biuld"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "did you mean 'build'" in captured.err


def test_wrong_options_are_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.run(["build", "x", "--jbos", "2"])
    assert caught.value.code == 2


def test_a_refusal_is_one_message_with_its_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["info", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"ambulo info: {tmp_path}: has no ambulo.toml\n  -> ")


def test_a_refusal_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ambulo.toml").write_text("rate = 60\nmiror = true\n")
    assert cli.run(["build", str(tmp_path), "--json"]) == 2
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert (error["kind"], error["line"], error["key"]) == ("ProjectError", 2, "miror")
    assert error["path"] == str(tmp_path / "ambulo.toml")
    assert "mirror" in error["remedy"]


def test_an_interruption_is_exit_code_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from ambulo.cli import info

    def interrupted(arguments: info.Arguments) -> info.Info:
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "run", interrupted)
    assert cli.run(["info", "somewhere"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_other_errors_are_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    from ambulo.cli import info

    def broken(arguments: info.Arguments) -> info.Info:
        raise ZeroDivisionError

    monkeypatch.setattr(info, "run", broken)
    with pytest.raises(ZeroDivisionError):
        cli.run(["info", "somewhere"])


def test_the_process_ends_with_the_code_and_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ambulo", "build", str(tmp_path / "nowhere")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "nowhere: does not exist" in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_help_imports_no_verb() -> None:
    code = (
        "import sys; from ambulo.cli import main; main.run(['--help']); "
        "print(sorted(m for m in sys.modules if m in ('numpy', 'tyro', 'rich', 'numba', 'ambulo.cli.build')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_errors_keep_their_text_when_they_have_no_remedy() -> None:
    assert cli._lines(FormatError("odd", path="a.bvh", line=3)) == "a.bvh:3: odd"


@pytest.mark.parametrize("options", [[], ["x", "--jobs", "two"], ["x", "--jbos", "2"]])
def test_wrong_options_are_json_too(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert cli.run(["build", *options, "--json"]) == 2
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert any(word in error["message"] for word in ("PATH", "--jobs", "--jbos")) and "\u2502" not in error["message"]
    assert captured.err == ""


@pytest.mark.parametrize(
    ("fault", "words"),
    [(PermissionError(13, "Permission denied", "/a"), "Permission denied"), (MemoryError("9 TiB"), "memory: 9 TiB")],
)
def test_what_the_system_refuses_is_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: Exception, words: str
) -> None:
    from ambulo.cli import info

    def refused(arguments: info.Arguments) -> info.Info:
        raise fault

    monkeypatch.setattr(info, "run", refused)
    assert cli.run(["info", "somewhere", "--json"]) == 2
    assert words in json.loads(capsys.readouterr().out)["error"]["message"]


def test_paths_that_are_no_text_are_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["info", str(tmp_path / "no_\udcff"), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["path"].endswith(r"no_\xff")


def test_an_output_that_takes_nothing_is_a_message() -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("this system has no device that is always full")
    command = [sys.executable, "-m", "ambulo", "info", "nowhere", "--json"]
    with full.open("w") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2
    assert "nowhere" in done.stderr and "No space left" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a closed pipe is another error on Windows")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["build", "--help"]])
def test_a_reader_that_leaves_is_no_error(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "ambulo", *arguments], stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
