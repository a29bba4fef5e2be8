"""The picture of a chain of databases: a salsa couple's, a karate and a locomotion database, one character through all.

python figures/chain_picture.py CAPTURE [FOLDER]

CAPTURE has folders ``cmu_salsa_pairs``, ``cmu_karate`` and ``cmu_loco`` of CMU's takes as BVH.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from ambulo import Database, Intent
from ambulo.control.chain import ControllerChain
from ambulo.control.foot_lock import FootLock, foot_geometry
from ambulo.control.inertialization import Inertialize
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.simulation import simulate
from ambulo.export.pictures import contact_sheet
from ambulo.matching.build import build, load_index

CAPTURE = Path(sys.argv[1])
FOLDER = Path(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).resolve().parents[1] / "docs" / "images")
LEVELS = {
    "salsa": ("cmu_salsa_pairs", "6*_01.bvh", "skip_first = 1\nrate = 60.0"),
    "karate": ("cmu_karate", "*.bvh", "skip_first = 1"),
    "locomotion": ("cmu_loco", "train_walking_*.bvh", ""),
}
SECONDS = 2.5


class Evening:
    """Dances, fights, walks: two and a half seconds of each."""

    name = "evening"

    def intent(self, time: float, positions: np.ndarray, facings: np.ndarray) -> Intent:
        tag = list(LEVELS)[min(int(time / SECONDS), 2)]
        velocity = np.zeros_like(positions)
        velocity[:, 2] = {"salsa": 0.5, "karate": 1.0, "locomotion": 1.3}[tag]
        return Intent(velocity, required_tags=(tag,))


def main() -> None:
    levels = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, (place, glob, rest) in LEVELS.items():
            folder = Path(temporary) / name
            folder.mkdir()
            (folder / "ambulo.toml").write_text(
                f'name = "{name}"\nmirror = false\n'
                f'[skeleton]\ntarget = "{CAPTURE / "cmu_loco/train_walking_02.bvh"}"\n'
                f'[[sources]]\npath = "{CAPTURE / place}"\nglob = "{glob}"\ntags = ["{name}"]\n{rest}\n'
            )
            build(folder)
            database = Database.open(folder)
            levels.append((name, MotionMatching(database, load_index(database)[1])))
        stack = FootLock(Inertialize(ControllerChain(levels)), foot_geometry(database))
        recording = simulate(stack, Evening(), 3 * SECONDS)
    print("fallback rate", float(np.mean(recording.levels != 0)))
    contact_sheet(
        recording.skeleton,
        recording.global_positions[:, 0],
        FOLDER / "chain.png",
        view="three_quarter",
        frames=range(60, recording.frame_count, 30),
        columns=13,
        rate=recording.rate,
        contacts=recording.contacts[:, 0] != 0,
        cell=(90, 160),
    )


if __name__ == "__main__":
    main()
