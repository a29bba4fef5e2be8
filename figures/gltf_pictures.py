"""Draw the picture of the glTF guide: ``python figures/gltf_pictures.py CHARACTER.glb``.

CHARACTER.glb is ``humanoid_50clips.glb``, Quaternius' Universal Animation Library, CC0.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ambulo
from ambulo.export.pictures import contact_sheet
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"


def main() -> None:
    motions = {motion.name: motion for motion in ambulo.load_all(Path(sys.argv[1]))}
    motion = with_detected_roles(motions["Walk_Loop"])
    pose = forward_motion(motion)
    contact_sheet(
        motion.skeleton,
        pose.positions,
        IMAGES / "gltf_walk.png",
        frames=list(range(0, motion.frame_count, 4))[:8],
        columns=8,
        cell=(110, 180),
        view="three_quarter",
        rate=motion.rate,
        global_rotations=pose.rotations,
    )


if __name__ == "__main__":
    main()
