"""New poses from captured ones: the upper body of one on the legs of another, arms and heads exchanged, sides mirrored.

Parts are carried over in the frame of the part that they hang from, so joints stay where they belong. It shows a model
that what an arm does says little about a leg, which a small set of takes hides.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ambulo.posing.points import mirror_points, point_indices

Float = NDArray[np.float32]

_PELVIS = point_indices(["left_hip", "right_hip", "pelvis_front", "hips"])
_CHEST = point_indices(["chest", "neck", "chest_front", "chest_back"])
_ARM = ("shoulder", "upper_arm", "elbow", "elbow_back", "wrist", "hand_tip", "hand_thumb", "hand_outer")
_ARMS = [point_indices([f"{side}_{part}" for part in _ARM]) for side in ("left", "right")]
_HEAD = point_indices(["head", "head_top", "head_front", "head_left", "head_right"])
_TRUNK = point_indices(["spine", "chest", "chest_front", "chest_back", "neck"])
_UPPER = np.concatenate([_TRUNK, _HEAD, *_ARMS])


def mix_poses(poses: Float, others: Float, random: np.random.Generator, share: float = 0.5) -> Float:
    """Exchange parts of poses with others.

    Args:
        poses: float32 ``[N, 43, 3]``, metres.
        others: float32 ``[N, 43, 3]``, where parts come from.
        random: what is exchanged, and mirrored.
        share: 0 exchanges nothing. Half of this part of the poses gets another upper body, three tenths of it each of
            another left arm, right arm and head.

    Returns:
        float32 ``[N, 43, 3]``, new arrays. Half of all poses are mirrored.
    """
    count = len(poses)
    out = np.array(poses, np.float32)
    chances = random.random((5, count))
    _transplant(out, others, _UPPER, np.flatnonzero(chances[0] < 0.5 * share), pelvis_frames)
    for number, part in enumerate((*_ARMS, _HEAD)):
        others = others[random.permutation(count)]
        _transplant(out, others, part, np.flatnonzero(chances[1 + number] < 0.3 * share), chest_frames)
    mirrored = np.flatnonzero(chances[4] < 0.5)
    out[mirrored] = mirror_points(out[mirrored])
    return out


def _transplant(
    poses: Float,
    others: Float,
    part: NDArray[np.int64],
    which: NDArray[np.int64],
    frames: Callable[[Float], tuple[Float, Float]],
) -> None:
    here_axes, here = frames(poses[which])
    source = others[which]
    there_axes, there = frames(source)
    # Rows are points: x @ axes is in a frame, x @ axes.T in the world.
    turn = there_axes @ here_axes.transpose(0, 2, 1)
    poses[which[:, None], part] = (source[:, part] - there[:, None]) @ turn + here[:, None]


def pelvis_frames(points: Float) -> tuple[Float, Float]:
    """Axes ``[N, 3, 3]`` (left, up, ahead as columns) and origin ``[N, 3]`` of pelvises."""
    left, right, front, hips = (points[:, i] for i in _PELVIS)
    x = _unit(left - right)
    y = _unit(_cross(front - hips, x))
    return np.stack([x, y, _cross(x, y)], axis=-1), hips


def chest_frames(points: Float) -> tuple[Float, Float]:
    """Axes ``[N, 3, 3]`` (left, up, ahead as columns) and origin ``[N, 3]`` of chests."""
    chest, neck, front, back = (points[:, i] for i in _CHEST)
    z = _unit(front - back)
    x = _unit(_cross(neck - chest, z))
    return np.stack([x, _cross(z, x), z], axis=-1), chest


def _cross(a: Float, b: Float) -> Float:
    """As np.cross, which takes several times as long for so few rows."""
    (ax, ay, az), (bx, by, bz) = a.T, b.T
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def _unit(v: Float) -> Float:
    return np.asarray(v / np.maximum(np.sqrt((v * v).sum(axis=-1, keepdims=True)), 1e-12), np.float32)
