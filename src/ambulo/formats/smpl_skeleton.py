"""The joints of the SMPL family of bodies, and a body for them where the user has no licensed model.

The models themselves (templates, joint regressors, shape spaces) are licensed and are not here, nor is anything taken
from them. The default body stands in a T-pose, +Y up and facing +Z, with the segment lengths that R. Drillis and
R. Contini, "Body Segment Parameters" (New York University, 1966), give as fractions of a person's stature.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats.format import read_head
from ambulo.formats.npz import NpzFile
from ambulo.motion.skeleton import Skeleton

Double = NDArray[np.float64]

_LARGEST_BODY = 1000.0
STATURE = 1.70
"""Metres, of the default body."""

_BODY: tuple[tuple[str, str, tuple[float, float, float]], ...] = (
    # name, parent, position as a fraction of the stature: +X is the body's left, the ground is at y = 0
    ("pelvis", "", (0.0, 0.560, 0.0)),
    ("left_hip", "pelvis", (0.050, 0.530, 0.0)),
    ("right_hip", "pelvis", (-0.050, 0.530, 0.0)),
    ("spine1", "pelvis", (0.0, 0.625, -0.005)),
    ("left_knee", "left_hip", (0.050, 0.285, 0.0)),
    ("right_knee", "right_hip", (-0.050, 0.285, 0.0)),
    ("spine2", "spine1", (0.0, 0.700, -0.012)),
    ("left_ankle", "left_knee", (0.050, 0.039, -0.005)),
    ("right_ankle", "right_knee", (-0.050, 0.039, -0.005)),
    ("spine3", "spine2", (0.0, 0.740, -0.010)),
    ("left_foot", "left_ankle", (0.050, 0.012, 0.075)),
    ("right_foot", "right_ankle", (-0.050, 0.012, 0.075)),
    ("neck", "spine3", (0.0, 0.840, -0.012)),
    ("left_collar", "spine3", (0.035, 0.805, -0.006)),
    ("right_collar", "spine3", (-0.035, 0.805, -0.006)),
    ("head", "neck", (0.0, 0.895, 0.002)),
    ("left_shoulder", "left_collar", (0.115, 0.818, -0.010)),
    ("right_shoulder", "right_collar", (-0.115, 0.818, -0.010)),
    ("left_elbow", "left_shoulder", (0.301, 0.818, -0.010)),
    ("right_elbow", "right_shoulder", (-0.301, 0.818, -0.010)),
    ("left_wrist", "left_elbow", (0.447, 0.818, -0.010)),
    ("right_wrist", "right_elbow", (-0.447, 0.818, -0.010)),
)
_PALM = 0.050
_FINGERS = {
    # first knuckle from the wrist (along the hand, up, towards the thumb), and the lengths of the three bones
    "index": ((0.052, 0.0, 0.013), (0.024, 0.014, 0.012)),
    "middle": ((0.054, 0.0, 0.001), (0.026, 0.016, 0.012)),
    "pinky": ((0.044, 0.0, -0.019), (0.018, 0.011, 0.010)),
    "ring": ((0.050, 0.0, -0.010), (0.024, 0.015, 0.012)),
    "thumb": ((0.014, -0.004, 0.016), (0.026, 0.019, 0.016)),
}
_HEAD_TOP = (0.0, 0.100, 0.0)
_TOE_TIP = (0.0, -0.008, 0.040)

BODY_COUNT = len(_BODY)
"""22: the body's joints, alike in the whole family."""
SMPL_COUNT = 24
"""SMPL: the body and one joint a hand."""
HANDS_COUNT = 52
"""SMPL-H: the body and fifteen joints a hand. SMPL-X has jaw and eyes between the two, which are left out here."""


def joint_names(count: int) -> tuple[str, ...]:
    """Names of the first ``count`` joints, 22, 24 or 52."""
    body = tuple(name for name, _, _ in _BODY)
    if count == SMPL_COUNT:
        return (*body, "left_hand", "right_hand")
    fingers = tuple(f"{side}_{finger}{i}" for side in ("left", "right") for finger in _FINGERS for i in (1, 2, 3))
    return body if count == BODY_COUNT else body + fingers


def joint_parents(count: int) -> NDArray[np.int32]:
    """Parents of the first ``count`` joints, ``[count]``."""
    names = joint_names(count)
    parents = [names.index(parent) if parent else -1 for _, parent, _ in _BODY]
    for name in names[BODY_COUNT:]:
        side, part = name.split("_")
        above = f"{side}_wrist" if part == "hand" or part.endswith("1") else f"{name[:-1]}{int(name[-1]) - 1}"
        parents.append(names.index(above))
    return np.array(parents, np.int32)


def default_joints(count: int) -> Double:
    """Rest positions of the default body, ``[count, 3]`` in metres, the pelvis at the origin, +Y up, facing +Z."""
    positions = [np.array(position) for _, _, position in _BODY]
    names = joint_names(count)
    for name in names[BODY_COUNT:]:
        side = 1.0 if name.startswith("left") else -1.0
        wrist = positions[names.index(f"{name.split('_')[0]}_wrist")]
        part = name.split("_")[1]
        if part == "hand":
            positions.append(wrist + np.array([side * _PALM, 0.0, 0.0]))
            continue
        knuckle, bones = _FINGERS[part[:-1]]
        along = knuckle[0] + sum(bones[: int(part[-1]) - 1])
        positions.append(wrist + np.array([side * along, knuckle[1], knuckle[2]]))
    return np.array(positions - positions[0]) * STATURE


def default_ends(count: int) -> Double:
    """Tips of the default body's leaf bones in their joints' frames, ``[count, 3]``; NaN where there is none."""
    names = joint_names(count)
    ends = np.full((count, 3), np.nan)
    for joint, name in enumerate(names):
        side = 1.0 if name.startswith("left") else -1.0
        part = name.split("_")[-1]
        if name == "head":
            ends[joint] = _HEAD_TOP
        elif part == "foot":
            ends[joint] = _TOE_TIP
        elif part == "hand" or (part == "wrist" and count == BODY_COUNT):
            ends[joint] = (side * _PALM, 0.0, 0.0)
        elif part.endswith("3") and part[:-1] in _FINGERS:
            ends[joint] = (side * _FINGERS[part[:-1]][1][2], 0.0, 0.0)
    return ends * STATURE


def family_skeleton(joints: Double, ends: Double | None = None) -> Skeleton:
    """The skeleton of a body whose joints rest at ``joints [count, 3]``, in metres, +Y up."""
    parents = joint_parents(len(joints))
    offsets = joints - np.where(parents[:, None] >= 0, joints[np.maximum(parents, 0)], 0.0)
    return Skeleton(
        joint_names(len(joints)),
        parents,
        offsets.astype(np.float32),
        np.zeros((0, 3), np.float32) if ends is None else np.asarray(ends, np.float32),
    )


def model_joints(path: Path, betas: Double, count: int) -> Double:
    """Rest positions of the joints out of a file that the user owns, ``[count, 3]`` in metres, +Y up.

    Args:
        path: an ``.npz`` with ``J`` ``[n, 3]``, or with ``J_regressor`` ``[n, V]``, ``v_template`` ``[V, 3]`` and
            perhaps ``shapedirs`` ``[V, 3, S]``, as the models of the family are distributed.
        betas: the subject's shape, used where there are shape directions.
        count: joints wanted, 22, 24 or 52; of 55 (SMPL-X) jaw and eyes are left out.

    Raises:
        FormatError: the file is no such model, or has too few joints.
    """
    read_head(path)
    archive = NpzFile(path)
    if "J" in archive and not ("J_regressor" in archive and "v_template" in archive):
        joints = archive.numbers("J")
    elif "J_regressor" in archive and "v_template" in archive:
        regressor, vertices = archive.numbers("J_regressor"), archive.numbers("v_template")
        if "shapedirs" in archive and betas.any():
            directions = archive.numbers("shapedirs")
            used = min(len(betas), directions.shape[-1]) if directions.ndim == 3 else 0
            if directions.shape[:2] == vertices.shape and used:
                vertices = vertices + directions[..., :used] @ betas[:used]
        if regressor.ndim != 2 or vertices.ndim != 2 or regressor.shape[1] != len(vertices):
            raise FormatError(
                f"J_regressor {regressor.shape} and v_template {vertices.shape} do not fit together", path=path
            )
        joints = regressor @ vertices
    else:
        raise FormatError(
            f"this is no body model: it holds {', '.join(archive.names[:8]) or 'nothing'}",
            path=path,
            remedy="give an .npz with J [joints, 3], or with J_regressor and v_template, as the models come",
        )
    if joints.ndim != 2 or joints.shape[1] != 3:
        raise FormatError(f"the joints of this body model are no [joints, 3] but {joints.shape}", path=path, key="J")
    if not (np.abs(joints) < _LARGEST_BODY).all():
        raise FormatError("the joints of this body model lie at no possible places", path=path, key="J")
    if len(joints) == 55 and count > BODY_COUNT:
        joints = np.concatenate([joints[:BODY_COUNT], joints[25:]])
    if len(joints) < count:
        raise FormatError(
            f"the body model has {len(joints)} joints, the poses turn {count}",
            path=path,
            remedy="give the model that the poses were made with",
        )
    return np.ascontiguousarray(joints[:count])
