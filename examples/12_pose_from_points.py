"""Set a few points, and get a believable body with exact bones; then a whole take from head and hands."""

import sys
from pathlib import Path

import numpy as np

from ambulo import pose_from_points, save
from ambulo.motion.kinematics import forward_motion
from ambulo.posing.points import POINTS
from ambulo.posing.pose_from_points import posing_body
from ambulo.synthesis.performance import synthesize

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()

pose = pose_from_points({"left_wrist": [0.4, 1.5, 0.3], "left_ankle": [0.1, 0.1, 0.0], "right_ankle": [-0.1, 0.1, 0.0]})
save(pose.motion(), folder / "pose.bvh")
head = pose.points[0, POINTS.index("head")].round(2)
print(f"the points are held within {1000 * np.nanmax(pose.errors):.1f} mm; the head came to {head}")

far = pose_from_points({"hips": [0, 0.9, 0], "left_wrist": [0.9, 1.6, 0.6], "right_wrist": [-0.6, 1.0, 0.0]})
for off in far.unreachable:
    print(f"out of reach: {off.point}, by {100 * off.metres:.0f} cm")

body = posing_body()
walk = forward_motion(synthesize(minutes=0.2)[0].motion.slice(0, 240))
true = body.of_pose(walk.positions[::2], walk.rotations[::2])
trackers = {name: true[:, POINTS.index(name)] for name in ("head", "head_front", "left_wrist", "right_wrist")}
take = pose_from_points(trackers, body, rate=30.0)
save(take.motion(30.0), folder / "trackers.bvh")
error = np.linalg.norm(take.points - true, axis=-1).mean()
print(f"{len(true)} poses from head and hands; all 43 points within {100 * error:.1f} cm on average")
