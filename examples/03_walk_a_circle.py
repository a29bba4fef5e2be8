"""Let a controller follow a circle, measure it beside the raw data, and look at it."""

from __future__ import annotations

import sys
from pathlib import Path

from ambulo import Database
from ambulo.control.create import create_controller
from ambulo.control.scripts import circle
from ambulo.control.simulation import simulate
from ambulo.evaluation.measures import measure
from ambulo.evaluation.path import script_path
from ambulo.export.pictures import contact_sheet
from ambulo.matching.build import load_index

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")


def main() -> None:
    database = Database.open(OUT / "small")
    _, index = load_index(database)
    controller = create_controller("motion_matching", database, index)
    script = circle(radius=2.0)
    recording = simulate(controller, script, seconds=10.0, seed=0)

    for name, value in measure(recording, database, path=script_path(script), index=index).items():
        raw = "" if value.raw is None else f"   raw data {value.raw:.3g}"
        shown = "-" if value.value is None else f"{value.value:.3g}"
        print(f"  {name:26} {shown:>9} {value.unit:6}{raw}")

    frames = list(range(120, recording.frame_count, 30))[:16]
    picture = OUT / "circle.png"
    contact_sheet(recording.skeleton, recording.global_positions[:, 0], picture, frames=frames, columns=8)
    print(f"look at {picture}")


if __name__ == "__main__":
    main()
