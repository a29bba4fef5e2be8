#!/usr/bin/env python3
"""Set ambulo up and run it, from nothing but Python 3.11 or later.

    python run.py demo               a character that you steer, in your browser
    python run.py demo --headless    the same character along a square, as a report in build/demo-report
    python run.py test [ARGS...]     the whole test suite (ARGS go to pytest)
    python run.py setup              everything that development needs
    python run.py ambulo [ARGS...]   any ambulo command, e.g.  python run.py ambulo new my-project --from my-bvh-folder

Everything lands in this folder: the virtual environment in .venv, what is built in build. Standard library only, so
that it runs before anything is installed, on Linux, macOS and Windows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = Path(os.environ.get("AMBULO_VENV", ROOT / ".venv"))
DEMO = ROOT / "build" / "demo"
REPORT = ROOT / "build" / "demo-report"
WINDOWS = os.name == "nt"


def python_of(environment: Path) -> Path:
    """The interpreter of a virtual environment."""
    return environment / ("Scripts/python.exe" if WINDOWS else "bin/python")


def say(text: str) -> None:
    """Progress goes to stderr, so that ``--json`` output stays clean."""
    print(f"[ambulo] {text}", file=sys.stderr, flush=True)


def call(command: list[str | Path]) -> None:
    """Run a command in the project's folder; stop with its exit code when it fails. To end this is to end it."""
    children: list[subprocess.Popen[bytes]] = []
    terminated = False

    def terminate(number: int, frame: object) -> None:
        nonlocal terminated
        terminated = True
        for child in children:
            child.terminate()

    before = None if WINDOWS else signal.signal(signal.SIGTERM, terminate)  # Windows has no such signal to pass on
    try:
        with subprocess.Popen([str(part) for part in command], cwd=ROOT) as child:
            children.append(child)
            if terminated:  # before there was a child to tell
                child.terminate()
            try:
                code = child.wait()
            except BaseException:
                child.kill()
                raise
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    if terminated:
        raise SystemExit(128 + signal.SIGTERM)
    if code:
        raise SystemExit(code)


def prepare(extras: str) -> Path:
    """Make the virtual environment and install ambulo with ``extras``; does nothing when that is already done."""
    python = python_of(ENVIRONMENT)
    if not python.exists():
        say(f"making a virtual environment in {ENVIRONMENT}")
        try:
            venv.create(ENVIRONMENT, with_pip=True, clear=ENVIRONMENT.exists())
        except subprocess.CalledProcessError:
            raise SystemExit(
                "this Python cannot make virtual environments with pip; on Debian and Ubuntu: apt install python3-venv"
            ) from None
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + sys.version.encode()).hexdigest()
    stamp = ENVIRONMENT / "ambulo-installed.json"
    try:
        done = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        done = {}
    installed = set(done.get("extras", [])) if done.get("of") == wanted else set()
    missing = set(extras.split(",")) - installed
    if missing:
        say(f"installing ambulo[{extras}]")
        pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        call([*pip, "--constraint", ROOT / "constraints.txt", "--editable", f".[{extras}]"])
        stamp.write_text(json.dumps({"of": wanted, "extras": sorted(installed | missing)}), encoding="utf-8")
    return python


def build_web(python: Path) -> None:
    """Build the front-end where its sources are newer than what is there."""
    call([python, ROOT / "web" / "build.py"])


def demo(arguments: list[str]) -> None:
    """The demo: embedded data, its database, and a character under your keyboard."""
    parser = argparse.ArgumentParser(prog="run.py demo", description=demo.__doc__)
    parser.add_argument("--headless", action="store_true", help="write a report of a walk along a square, and exit")
    parser.add_argument("--no-browser", action="store_true", help="serve, but do not open a browser")
    parser.add_argument("--port", type=int, default=0, help="port to serve on; a free one by default")
    parser.add_argument("--learn", action="store_true", help="install what training needs, for the page's Train LMM")
    options = parser.parse_args(arguments)
    python = prepare("studio,learn" if options.learn else "studio")
    build_web(python)
    ambulo: list[str | Path] = [python, "-m", "ambulo"]
    if not (DEMO / "ambulo.toml").exists():
        call([*ambulo, "new", DEMO])
    call([*ambulo, "build", DEMO])
    if options.headless:
        call([*ambulo, "simulate", DEMO, "--path", "square", "--seconds", "30", "--out", REPORT])
        say(f"the report is {REPORT / 'report.html'}")
        return
    play = [*ambulo, "play", DEMO]
    if options.port:
        play += ["--port", str(options.port)]
    if options.no_browser:
        play += ["--no-browser"]
    call(play)


def test(arguments: list[str]) -> None:
    """The whole test suite, on all cores."""
    python = prepare("all,dev")
    build_web(python)
    chosen = any(argument in ("-n", "--numprocesses") or argument.startswith("-n") for argument in arguments)
    call([python, "-m", "pytest", *([] if chosen else ["-n", "auto"]), *arguments])


def setup(arguments: list[str]) -> None:
    """Install everything that development needs, and build the front-end."""
    build_web(prepare("all,dev,docs"))


def ambulo(arguments: list[str]) -> None:
    """Any command of ambulo."""
    python = prepare("studio")
    if arguments[:1] in (["play"], ["simulate"]):
        build_web(python)
    call([python, "-m", "ambulo", *arguments])


def main() -> None:
    """Dispatch on the first word."""
    if sys.version_info < (3, 11):  # noqa: UP036 (an older Python may well start this script)
        raise SystemExit(f"ambulo needs Python 3.11 or later; this is {sys.version.split()[0]} ({sys.executable})")
    verbs = {"demo": demo, "test": test, "setup": setup, "ambulo": ambulo}
    if len(sys.argv) < 2 or sys.argv[1] not in verbs:
        print(__doc__)
        raise SystemExit(0 if sys.argv[1:2] in ([], ["-h"], ["--help"]) else 2)
    try:
        verbs[sys.argv[1]](sys.argv[2:])
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
