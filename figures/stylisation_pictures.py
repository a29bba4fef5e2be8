"""Draw the pictures of the guide on stylisation, from the embedded data: ``python figures/stylisation_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ambulo.export.pictures import contact_sheet
from ambulo.motion.kinematics import forward_motion
from ambulo.prepare.stylise.arm_swing import ArmSwing
from ambulo.prepare.stylise.lean import Lean
from ambulo.prepare.stylise.limp import Limp
from ambulo.prepare.stylise.stride import Stride
from ambulo.prepare.stylise.style import Operator, stylise
from ambulo.synthesis.performance import synthesize

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
ROWS = {
    "base": [],
    "lean": [Operator(lean=Lean(forward=0.3))],
    "stride": [Operator(stride=Stride(amount=0.25))],
    "limp": [Operator(limp=Limp(side="left", amount=0.9))],
    "arm_swing": [Operator(arm_swing=ArmSwing(amount=1.2))],
}
COLUMNS = 6


def main() -> None:
    base = next(p.motion for p in synthesize(3, 2.0) if p.motion.name.startswith("walk_curves"))
    first = round(10.0 * base.rate)
    frames = first + np.linspace(0, 1.2 * base.rate, COLUMNS).astype(int)
    positions, rotations = [], []
    for operators in ROWS.values():
        motion = stylise(base, operators)[0]
        pose = forward_motion(motion)
        positions.append(pose.positions[frames])
        rotations.append(pose.rotations[frames])
    contact_sheet(
        base.skeleton,
        np.concatenate(positions),
        IMAGES / "stylise.png",
        frames=list(range(COLUMNS * len(ROWS))),
        columns=COLUMNS,
        view="side",
        cell=(68, 98),
        global_rotations=np.concatenate(rotations),
        follow=False,
    )


if __name__ == "__main__":
    main()
