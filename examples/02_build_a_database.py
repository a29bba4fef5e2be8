"""Make a project from a folder of takes, build its database, and ask what is in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ambulo import Database
from ambulo.matching.build import load_index
from ambulo.synthesis.takes import write_takes

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")


def main() -> None:
    project = OUT / "small"
    if not (project / "ambulo.toml").exists():
        write_takes(OUT / "takes", seed=0, minutes=4.0)
        ambulo("new", project, "--from", OUT / "takes")
    ambulo("build", project)

    database = Database.open(project)
    print(f"{len(database.clips)} clips, {database.frame_count} frames, {database.skeleton.joint_count} joints")
    for tag in ("walk", "run", "idle"):
        print(f"  {tag}: {database.mask([tag]).sum() / database.rate:.1f} s")
    features, index = load_index(database)
    print(f"{features.schema.dimension_count} features a frame: {', '.join(g.name for g in features.schema.groups)}")
    print(f"searched by {index.kind}")


def ambulo(*words: str | Path) -> None:
    """The command line, as you would type it."""
    subprocess.run([sys.executable, "-m", "ambulo", *map(str, words)], check=True)


if __name__ == "__main__":
    main()
