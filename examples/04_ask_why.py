"""Ask a controller why it chose a frame, and what it would choose with other weights."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ambulo import Database, Intent
from ambulo.control.create import create_controller
from ambulo.matching.build import load_index

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")


def main() -> None:
    database = Database.open(OUT / "small")
    features, index = load_index(database)
    controller = create_controller("motion_matching", database, index)
    forward = Intent(velocity=np.array([[0.0, 0.0, 1.4]]))
    sideways = Intent(velocity=np.array([[1.2, 0.0, 0.0]]), facing=np.array([[0.0, 0.0, 1.0]]))

    state = controller.start(count=1, seed=0)
    for step in range(180):
        state, _ = controller.step(state, forward if step < 120 else sideways, 1 / 60)
    why = controller.explain(state)
    print(f"{why.candidate_count} candidates, taken away: {why.filtered}")
    for label in ("winner", "runner_up", "continuing"):
        candidate = getattr(why, label)
        if candidate is not None:
            print(f"{label:10} {candidate.clip} at {candidate.time:.2f} s, cost {candidate.cost:.2f}")
            for group, cost in candidate.costs.items():
                print(f"             {cost:8.3f}  {group}")

    # Nothing is rebuilt: the state goes on under a controller with other weights.
    heaviest = features.schema.groups[-1].name
    obedient = controller.with_weights({heaviest: 5.0})
    for _ in range(60):
        state, pose = obedient.step(state, sideways, 1 / 60)
    print(f"with {heaviest} at 5: {obedient.explain(state).winner.clip}, root at {pose.root_position[0].round(2)}")


if __name__ == "__main__":
    main()
