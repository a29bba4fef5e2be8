"""New poses from captured ones: the upper body of one on the legs of another, arms and heads exchanged, sides mirrored.

Parts are carried over in the frame of the part that they hang from, so joints stay where they belong. It shows a model
that what an arm does says little about a leg, which a small set of takes hides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.posing.points import POINT_COUNT, mirror_points, point_indices

Double = NDArray[np.float64]

_PELVIS = point_indices(["left_hip", "right_hip", "pelvis_front", "hips"])
_CHEST = point_indices(["chest", "neck", "chest_front", "chest_back"])
_ARM = ("shoulder", "upper_arm", "elbow", "elbow_back", "wrist", "hand_tip", "hand_thumb", "hand_outer")
_ARMS = [point_indices([f"{side}_{part}" for part in _ARM]) for side in ("left", "right")]
_HEAD = point_indices(["head", "head_top", "head_front", "head_left", "head_right"])
_TRUNK = point_indices(["spine", "chest", "chest_front", "chest_back", "neck"])
_UPPER = np.concatenate([_TRUNK, _HEAD, *_ARMS])


def mix_poses(poses: Double, others: Double, random: np.random.Generator, share: float = 0.5) -> Double:
    """Exchange parts of poses with others.

    Args:
        poses: ``[N, 43, 3]``, metres.
        others: ``[N, 43, 3]``, where parts come from.
        random: what is exchanged, and mirrored.
        share: 0 exchanges nothing. Half of this part of the poses gets another upper body, three tenths of it each of
            another left arm, right arm and head.

    Returns:
        ``[N, 43, 3]``, new arrays. Half of all poses are mirrored.
    """
    count = len(poses)
    out = np.array(poses, np.float64)
    swap = np.flatnonzero(random.random(count) < 0.5 * share)
    _transplant(out, others, _UPPER, swap, _pelvis_frames)
    for part in (*_ARMS, _HEAD):
        others = others[random.permutation(count)]
        swap = np.flatnonzero(random.random(count) < 0.3 * share)
        _transplant(out, others, part, swap, _chest_frames)
    mirrored = random.random(count) < 0.5
    out[mirrored] = mirror_points(out[mirrored])
    assert out.shape == (count, POINT_COUNT, 3)
    return out


def _transplant(poses: Double, others: Double, part: NDArray[np.int64], which: NDArray[np.int64], frames) -> None:  # type: ignore[no-untyped-def]
    here_axes, here = frames(poses[which])
    there_axes, there = frames(others[which])
    local = np.einsum("nji,nkj->nki", there_axes, others[which][:, part] - there[:, None])
    poses[np.ix_(which, part)] = np.einsum("nij,nkj->nki", here_axes, local) + here[:, None]


def _pelvis_frames(points: Double) -> tuple[Double, Double]:
    left, right, front, hips = (points[:, i] for i in _PELVIS)
    x = _unit(left - right)
    y = _unit(np.cross(front - hips, x))
    return np.stack([x, y, np.cross(x, y)], axis=-1), hips


def _chest_frames(points: Double) -> tuple[Double, Double]:
    chest, neck, front, back = (points[:, i] for i in _CHEST)
    z = _unit(front - back)
    x = _unit(np.cross(neck - chest, z))
    return np.stack([x, np.cross(z, x), z], axis=-1), chest


def _unit(v: Double) -> Double:
    return np.asarray(v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12), np.float64)
