"""The picture of ``docs/guides/posing-use.md``: what a few points make of a body, the points drawn as orange balls.

python figures/posing_pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ambulo.export.pictures import Trail, frame
from ambulo.export.png import write_png
from ambulo.motion.kinematics import forward
from ambulo.posing.pose_from_points import pose_from_points, posing_body

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "docs" / "images")
FEET = {"left_ankle": [0.13, 0.09, 0.0], "right_ankle": [-0.13, 0.09, 0.0]}
ASKED: list[tuple[dict[str, list[float]], dict[str, list[float]]]] = [
    (FEET | {"hips": [0.0, 0.95, 0.0], "left_wrist": [0.3, 1.8, 0.15]}, {}),
    (FEET | {"hips": [0.0, 0.55, -0.1], "left_wrist": [0.2, 0.75, 0.45], "right_wrist": [-0.2, 0.75, 0.45]}, {}),
    (FEET | {"right_wrist": [-0.2, 0.25, 0.45], "hips": [0.0, 0.8, -0.1]}, {}),
    (
        {
            "left_ankle": [0.1, 0.09, 0.0],
            "right_ankle": [-0.15, 0.75, 0.75],
            "hips": [0.05, 0.92, -0.05],
            "pelvis_front": [0.05, 0.95, 0.05],
            "neck": [0.05, 1.4, -0.2],
        },
        {},
    ),
    (FEET | {"hips": [0.0, 0.94, 0.0], "right_wrist": [-0.1, 1.35, 0.5]}, {"look_at": [-2.0, 1.2, 1.0]}),
    (FEET | {"hips": [0.0, 0.94, 0.0], "left_wrist": [1.0, 1.5, 0.4]}, {}),
]


def main() -> None:
    body = posing_body()
    skeleton = body.reference.skeleton
    pictures = []
    for points, options in ASKED:
        pose = pose_from_points(points, body, floor=0.0, look_at=options.get("look_at"))
        joints = forward(pose.positions, pose.rotations, skeleton.parents)
        balls = [Trail([at, np.add(at, [0.001, 0.0, 0.0])], (0.95, 0.45, 0.05), 0.05) for at in points.values()]
        pictures.append(
            frame(
                skeleton,
                joints.positions[0],
                global_rotations=joints.rotations[0],
                size=(180, 230),
                forward=np.array([0.0, 0.0, 1.0]),
                trails=balls,
                tint=(0.55, 0.62, 0.72),
            )
        )
        print({off.point: round(off.metres, 3) for off in pose.unreachable})
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_png(FOLDER / "posing_use.png", np.concatenate(pictures, axis=1))


if __name__ == "__main__":
    main()
