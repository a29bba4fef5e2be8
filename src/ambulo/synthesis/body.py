"""The synthetic actor's body: a 24-joint humanoid in T-pose with published proportions.

Segment lengths are fractions of stature from R. Drillis and R. Contini, "Body segment parameters" (1966), as printed in
D. A. Winter, "Biomechanics and Motor Control of Human Movement", 4th ed. (2009), fig. 4.1. Hip-joint separation follows
G. K. Seidel et al., "Hip joint center location from palpable bony landmarks", J. Biomech. 28 (1995).
"""

from __future__ import annotations

import numpy as np

from ambulo.motion.skeleton import Skeleton

STATURE = 1.75
THIGH = 0.245 * STATURE
SHANK = 0.246 * STATURE
ANKLE_HEIGHT = 0.039 * STATURE
FOOT_LENGTH = 0.152 * STATURE
UPPER_ARM = 0.186 * STATURE
FOREARM = 0.146 * STATURE
HAND = 0.108 * STATURE
SHOULDER_HEIGHT = 0.818 * STATURE
LEG = THIGH + SHANK

HIP_HALF_WIDTH = 0.085
HIP_DROP = 0.045  # The pelvis joint lies between and a little above the two hip joints.

# The foot in its own frame (origin at the ankle, +Z towards the toes): how far the sole reaches.
HEEL_BACK = 0.055
BALL_HEIGHT = 0.022  # Height of the toe joint's centre over the ground when the foot is flat.
BALL_FORWARD = 0.132
TOE_LENGTH = FOOT_LENGTH - HEEL_BACK - BALL_FORWARD
HEEL_SOLE = np.array([0.0, -ANKLE_HEIGHT, -HEEL_BACK])
BALL_JOINT = np.array([0.0, BALL_HEIGHT - ANKLE_HEIGHT, BALL_FORWARD])

_HIPS_HEIGHT = LEG + ANKLE_HEIGHT + HIP_DROP

# name, parent, position in T-pose with the hips at the origin (metres).
_TRUNK: tuple[tuple[str, str, tuple[float, float, float]], ...] = (
    ("Spine", "Hips", (0.0, 0.068, -0.005)),
    ("Spine1", "Spine", (0.0, 0.120, -0.008)),
    ("Spine2", "Spine1", (0.0, 0.130, 0.002)),
    ("Neck", "Spine2", (0.0, 0.205, -0.004)),
    ("Head", "Neck", (0.0, 0.105, 0.018)),
)
_HEAD_TIP = (0.0, STATURE - (_HIPS_HEIGHT + 0.068 + 0.120 + 0.130 + 0.205 + 0.105), 0.0)
_CLAVICLE = (0.030, 0.150, 0.020)
_SHOULDER = (0.152, SHOULDER_HEIGHT - (_HIPS_HEIGHT + 0.068 + 0.120 + 0.130 + 0.150), -0.018)


def default_skeleton() -> Skeleton:
    """The synthetic actor's skeleton.

    24 joints, T-pose at rest, every rest frame aligned with the world (+Y up, +Z forward, +X left), End Sites on the
    head, fingers and toes, humanoid roles filled in.
    """
    names: list[str] = ["Hips"]
    parents: list[int] = [-1]
    offsets: list[tuple[float, float, float]] = [(0.0, _HIPS_HEIGHT, 0.0)]
    ends: dict[str, tuple[float, float, float]] = {"Head": _HEAD_TIP}

    def add(name: str, parent: str, offset: tuple[float, float, float]) -> None:
        names.append(name)
        parents.append(names.index(parent))
        offsets.append(offset)

    for name, parent, offset in _TRUNK:
        add(name, parent, offset)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        add(f"{side}Shoulder", "Spine2", (sign * _CLAVICLE[0], _CLAVICLE[1], _CLAVICLE[2]))
        add(f"{side}Arm", f"{side}Shoulder", (sign * _SHOULDER[0], _SHOULDER[1], _SHOULDER[2]))
        add(f"{side}ForeArm", f"{side}Arm", (sign * UPPER_ARM, 0.0, 0.0))
        add(f"{side}Hand", f"{side}ForeArm", (sign * FOREARM, 0.0, 0.0))
        add(f"{side}HandMiddle1", f"{side}Hand", (sign * 0.5 * HAND, 0.0, 0.0))
        ends[f"{side}HandMiddle1"] = (sign * 0.5 * HAND, 0.0, 0.0)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        add(f"{side}UpLeg", "Hips", (sign * HIP_HALF_WIDTH, -HIP_DROP, 0.0))
        add(f"{side}Leg", f"{side}UpLeg", (0.0, -THIGH, 0.0))
        add(f"{side}Foot", f"{side}Leg", (0.0, -SHANK, 0.0))
        add(f"{side}ToeBase", f"{side}Foot", (0.0, BALL_JOINT[1], BALL_JOINT[2]))
        ends[f"{side}ToeBase"] = (0.0, 0.008 - BALL_HEIGHT, TOE_LENGTH)

    end_offsets = np.full((len(names), 3), np.nan, np.float32)
    for name, end in ends.items():
        end_offsets[names.index(name)] = end
    roles = {role: names.index(name) for role, name in _roles().items()}
    return Skeleton(tuple(names), np.array(parents), np.array(offsets), end_offsets, roles)


def _roles() -> dict[str, str]:
    roles = {"hips": "Hips", "spine": "Spine", "chest": "Spine2", "neck": "Neck", "head": "Head"}
    for side in ("left", "right"):
        name = side.capitalize()
        roles |= {
            f"{side}_shoulder": f"{name}Shoulder",
            f"{side}_upper_arm": f"{name}Arm",
            f"{side}_forearm": f"{name}ForeArm",
            f"{side}_hand": f"{name}Hand",
            f"{side}_upper_leg": f"{name}UpLeg",
            f"{side}_lower_leg": f"{name}Leg",
            f"{side}_foot": f"{name}Foot",
            f"{side}_toe": f"{name}ToeBase",
        }
    return roles
