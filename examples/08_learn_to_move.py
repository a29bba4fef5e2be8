"""Train learned motion matching for a few seconds, and let it walk without its database."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from ambulo import Intent
from ambulo.learning.lmm_controller import LearnedMotionMatching
from ambulo.learning.lmm_model import load_model
from ambulo.learning.lmm_presets import PRESETS, ProjectorSizes
from ambulo.learning.lmm_training import train_lmm

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")


def main() -> None:
    # A tenth of the preset `quick`, which itself is a tenth of `base`: enough to see how it goes, not to look good.
    brief = replace(PRESETS["quick"].changed(0.1), projector=ProjectorSizes(hidden=(256, 256)))
    report = train_lmm(OUT / "small", preset=brief, name="brief")
    error = report.errors["decompressor"]["centimetres"]
    print(f"trained on {report.minutes:.1f} minutes of motion; joints are {error:.1f} cm off where it was not looking")
    print(f"three networks of {report.megabytes:.1f} MB in {report.folder}")

    controller = LearnedMotionMatching(load_model(Path(report.folder)))
    state = controller.start(count=3)
    forward = Intent(velocity=np.array([[0.0, 0.0, 1.3]] * 3))
    for _ in range(180):
        state, pose = controller.step(state, forward, 1 / 60)
    print(f"after 3 s they are {pose.root_position[0, 2]:.1f} m on; all joints finite: "
          f"{bool(np.isfinite(pose.global_positions).all())}")  # fmt: skip


if __name__ == "__main__":
    main()
