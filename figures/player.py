"""Put players into the docs: ``python figures/player.py``, before the site is built.

Writes self-contained pages into docs/player (which is not under version control: they hold the built front-end): a take
as it was synthesized, and a character under random sticks. Needs the front-end (``python web/build.py``).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ambulo
from ambulo.export.page import write_player_page
from ambulo.motion.humanoid import with_detected_roles

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ROOT / "build" / "docs-demo"
PAGES = ROOT / "docs" / "player"
TAKES = ("neutral/walk_curves_01", "neutral/run_curves_01")


def command(*words: str | Path) -> None:
    """One command of ambulo."""
    subprocess.run([sys.executable, "-m", "ambulo", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    if not (PROJECT / "ambulo.toml").exists():
        command("new", PROJECT)
    command("build", PROJECT)
    PAGES.mkdir(exist_ok=True)
    takes = [with_detected_roles(ambulo.load(PROJECT / "takes" / f"{name}.bvh")).slice(600, 1800) for name in TAKES]
    for take in takes:
        write_player_page([take], PAGES / f"{take.name}.html", title=take.name, subtitle="as synthesized")
    for name, path in (("sticks", "random"), ("square", "square")):
        out = PROJECT.parent / f"docs-{name}"
        command("simulate", PROJECT, "--path", path, "--seconds", "20", "--out", out)
        (PAGES / f"{name}.html").write_bytes((out / "report.html").read_bytes())
        print(f"docs/player/{name}.html", file=sys.stderr)


if __name__ == "__main__":
    main()
