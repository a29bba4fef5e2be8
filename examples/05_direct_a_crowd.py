"""Direct many characters at once, each with a wish and tags of its own, in one call a step."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ambulo import Database, Intent
from ambulo.control.create import create_controller
from ambulo.matching.build import load_index

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")
COUNT = 64


def main() -> None:
    database = Database.open(OUT / "small")
    _, index = load_index(database)
    controller = create_controller("motion_matching", database, index)

    angles = np.linspace(0.0, 2.0 * np.pi, COUNT, endpoint=False)
    outward = np.stack([np.sin(angles), np.zeros(COUNT), np.cos(angles)], axis=1)
    state = controller.start(count=COUNT, seed=0, position=outward * 2.0, facing=outward)

    # Everyone walks outward; every fourth runs, and shows only frames that are tagged so.
    running = np.arange(COUNT) % 4 == 0
    speeds = np.where(running, 3.2, 1.3)
    tags = tuple(("run",) if runs else () for runs in running)
    intent = Intent(velocity=outward * speeds[:, None], required_tags=tags)
    for _ in range(240):
        state, pose = controller.step(state, intent, 1 / 60)

    distance = np.linalg.norm(pose.root_position, axis=1)
    print(f"after 4 s walkers are {distance[~running].mean():.1f} m out, runners {distance[running].mean():.1f} m")
    print(f"runners show only running: {bool(database.mask(['run'])[pose.frames[running]].all())}")


if __name__ == "__main__":
    main()
