"""The pictures of the guide to retargeting: `python figures/retargeting_pictures.py`, where real capture is at hand.

Only free data is shown: CMU's capture and CC0 characters.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import harness  # noqa: E402

from ambulo.export.pictures import contact_sheet  # noqa: E402
from ambulo.export.retarget_picture import retarget_picture  # noqa: E402
from ambulo.formats.registry import load, load_all  # noqa: E402
from ambulo.motion.humanoid import with_detected_roles  # noqa: E402
from ambulo.motion.kinematics import forward  # noqa: E402
from ambulo.motion.retargeting import retarget  # noqa: E402
from ambulo.prepare.pipeline import prepare_take  # noqa: E402

IMAGES = ROOT / "docs" / "images"


def main() -> None:
    """Draw them all."""
    data = harness.shared_folder("data")
    if data is None:
        raise SystemExit("the real capture is not here")
    free = data / "free"
    character = load_all(free / "characters" / "humanoid_50clips.glb")[0]
    take = load(next((free / "cmu_salsa_pairs").rglob("60_02.bvh")))
    take = with_detected_roles(take.slice(300, 1500))
    done = retarget(take, character)
    retarget_picture(take, done.motion, done.mapping, IMAGES / "retarget.png", columns=3, rows=1, cell=(150, 210))
    fox = next(clip for clip in load_all(free / "characters" / "fox_14clips.glb") if clip.name == "Walk")
    clip = prepare_take(fox, travel="from_feet")
    pose = forward(clip.positions, clip.rotations, clip.skeleton.parents)
    frames = np.linspace(0, clip.frame_count - 1, 4).round().astype(int).tolist()
    contact_sheet(
        clip.skeleton,
        pose.positions,
        IMAGES / "fox.png",
        frames=frames,
        columns=4,
        view="side",
        cell=(270, 150),
        rate=clip.rate,
        global_rotations=pose.rotations,
        contacts=clip.contacts,
        follow=False,
    )


if __name__ == "__main__":
    main()
