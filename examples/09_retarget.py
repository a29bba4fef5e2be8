"""Put a walk on another body: longer legs, arms lowered at rest, and joints of other names."""

import numpy as np

from ambulo.maths import quaternions
from ambulo.motion.retargeting import retarget
from ambulo.motion.skeleton import Skeleton
from ambulo.synthesis.body import default_skeleton
from ambulo.synthesis.performance import synthesize

walk = synthesize(minutes=0.2)[0].motion

body = default_skeleton()
offsets = body.offsets.copy()
offsets[[body.role(f"{side}_{part}") for side in ("left", "right") for part in ("lower_leg", "foot")]] *= 1.2
offsets[0] *= 1.19
for side, sign in (("left", -1.0), ("right", 1.0)):
    lowered = quaternions.from_angle_axis(np.radians(45.0) * sign, np.array([0.0, 0.0, 1.0]))
    for joint in body.descendants(body.role(f"{side}_forearm")):
        offsets[joint] = quaternions.rotate(lowered, offsets[joint])
other = Skeleton(tuple(f"bone_{name}" for name in body.names), body.parents, offsets, body.end_offsets, body.roles)

done = retarget(walk, other)
report = done.report
print(f"{walk.frame_count} frames onto a body whose legs are {100 * report.scale:.0f} % as long")
slides = f"{100 * report.before.slide:.2f} -> {100 * report.after.slide:.2f} cm/s"
print(f"slide {slides}, contacts kept: {report.contact_f1:.3f}")
