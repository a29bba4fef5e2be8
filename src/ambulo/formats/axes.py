"""The up axis: its names, a guess from the body's poses, and the change of basis to +Y up.

The change is a rotation (determinant +1): swapping two axes would mirror the actor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import FormatError

# For each up axis: which file axis becomes our x, y, z, and its sign. +Z up that faces -Y comes to face +Z.
_BASES: dict[str, tuple[tuple[int, int, int], tuple[float, float, float]]] = {
    "+Y": ((0, 1, 2), (1.0, 1.0, 1.0)),
    "-Y": ((0, 1, 2), (1.0, -1.0, -1.0)),
    "+Z": ((0, 2, 1), (1.0, 1.0, -1.0)),
    "-Z": ((0, 2, 1), (1.0, -1.0, 1.0)),
    "+X": ((1, 0, 2), (-1.0, 1.0, 1.0)),
    "-X": ((1, 0, 2), (1.0, -1.0, 1.0)),
}
UP_AXES = tuple(_BASES)

_HEAD = re.compile(r"head|neck|skull|頭|首", re.IGNORECASE)
_FEET = re.compile(r"foot|toe|ankle|heel|足首|つま先", re.IGNORECASE)


_UPSIDE_DOWN = -0.15
"""Cosine between the directions from feet to head in the poses and at rest, from which downwards they contradict."""
_APART = 0.25
"""Of the way from feet to head: where feet lie farther apart along one axis, and more than twice as far as along the
other, that axis is not up."""


class UpGuess(NamedTuple):
    """Which axis of a file seems to point up.

    Attributes:
        up: one of :data:`UP_AXES`.
        reason: one sentence for a person.
        sure: False where the body's poses do not tell.
    """

    up: str
    reason: str
    sure: bool


def parse_up(up: str) -> str:
    """Canonical name (``"+Y"``) of an up axis given as ``"y"``, ``"+Y"``, ``"-z"``, ``"Z up"``.

    Raises:
        FormatError: no such axis.
    """
    text = up.strip().upper().replace(" ", "").removesuffix("UP").rstrip("-_")
    text = text if text[:1] in "+-" and text else f"+{text}"
    if text not in _BASES:
        raise FormatError(f"no up axis is called {up!r}", key="up", remedy=f"give one of {', '.join(UP_AXES)}")
    return text


def guess_up(names: Sequence[str], rest_positions: ArrayLike, global_positions: ArrayLike, span: float) -> UpGuess:
    """Guess the up axis from where the head is above the feet, over many poses and in the rest pose.

    Poses count most; the rest pose and the floor (the lowest joint stays near zero) decide for takes spent lying down.
    X is never guessed: files with X up do not occur, and rest poses along X do. A rest pose that is upside down against
    the poses says nothing (all rotations zero is no pose on many characters' rigs), and no axis is up along which the
    feet lie far apart, as a quadruped's do along its trunk. Without a rest pose or a floor that agrees, +Y is taken.

    Args:
        names: ``[J]``.
        rest_positions: ``[J, 3]``, all rotations zero, file units and axes.
        global_positions: ``[T, J, 3]``, some frames of the motion, file units and axes.
        span: :func:`ambulo.formats.units.body_span`, file units.
    """
    poses = np.asarray(global_positions)
    rest = np.asarray(rest_positions, np.float64)
    head = [joint for joint, name in enumerate(names) if _HEAD.search(name)]
    feet = [joint for joint, name in enumerate(names) if _FEET.search(name) and joint not in head]
    if not head or not feet or span <= 0.0:
        return UpGuess("+Y", "no head and feet are known by name; +Y is taken, BVH's custom", False)
    score: dict[str, float] = {}
    pose_cosine = _upright(poses, head, feet)
    rest_cosine = _upright(rest[None], head, feet)
    if float(pose_cosine @ rest_cosine) < _UPSIDE_DOWN:
        rest_cosine = np.zeros(3)
    told = bool(rest_cosine.any())
    apart = _feet_apart(poses, head, feet)
    # The least and greatest coordinate of each pose along each axis; the first is the floor if the axis points up.
    lows, highs = (poses.min(axis=1), poses.max(axis=1)) if len(poses) else (np.zeros((1, 3)), np.zeros((1, 3)))
    agrees: dict[str, bool] = {}
    for up in ("+Y", "+Z", "-Y", "-Z"):
        axis, sign = "XYZ".index(up[1]), 1.0 if up[0] == "+" else -1.0
        lowest = lows[:, axis] if up[0] == "+" else -highs[:, axis]
        calm = float(lowest.max() - lowest.min()) < 0.15 * span and abs(float(lowest.mean())) < 0.06 * span
        floor = 0.3 if calm and len(poses) else 0.0
        if apart[axis] > max(_APART, 2.0 * apart[3 - axis]):
            score[up] = sign * pose_cosine[axis] + floor - 1.0
        else:
            score[up] = sign * (pose_cosine[axis] + 0.8 * rest_cosine[axis]) + floor
        agrees[up] = up == "+Y" or bool(floor) or bool(sign * rest_cosine[axis] > 0.3)
    ranked = sorted(score, key=lambda up: -score[up])
    best = ranked[0]
    axis = "XYZ".index(best[1])
    margin = score[best] - score[ranked[1]]
    reason = f"the head is above the feet along {best} (cosine {abs(pose_cosine[axis]):.2f} over the poses)"
    sure = score[best] > 0.5 and margin > 0.25 and agrees[best]
    if not agrees[best] and not told:
        return UpGuess("+Y", f"{reason}, but nothing else agrees; +Y is taken, BVH's custom", False)
    return UpGuess(best, reason, sure)


def _feet_apart(poses: NDArray[np.floating], head: list[int], feet: list[int]) -> NDArray[np.float64]:
    """How far apart the feet lie along each axis in the middle of all poses, over the way from feet to head ``[3]``."""
    if not len(poses):
        return np.zeros(3)
    places = poses[:, feet]
    spread = np.median(places.max(axis=1) - places.min(axis=1), axis=0)
    way = poses[:, head].mean(axis=1) - places.mean(axis=1)
    length = float(np.median(np.sqrt(np.sum(way * way, axis=-1))))
    return np.asarray(spread / max(length, 1e-9), np.float64)


def _upright(positions: NDArray[np.floating], head: list[int], feet: list[int]) -> NDArray[np.float64]:
    """Mean direction from the feet to the head ``[3]``; short where it points everywhere."""
    if not len(positions):
        return np.zeros(3)
    direction = positions[:, head].mean(axis=1) - positions[:, feet].mean(axis=1)
    length = np.sqrt(np.sum(direction * direction, axis=-1, keepdims=True))
    return np.asarray((direction / np.maximum(length, 1e-9)).mean(axis=0), np.float64)


def convert_vectors(vectors: ArrayLike, up: str) -> NDArray[np.float32]:
    """Positions, offsets or directions from a file's axes to +Y up. ``[..., 3] -> [..., 3]``."""
    order, signs = _BASES[up]
    return np.ascontiguousarray(np.asarray(vectors, np.float32)[..., order] * np.array(signs, np.float32))


def convert_rotations(rotations: ArrayLike, up: str) -> NDArray[np.float32]:
    """Rotations from a file's axes to +Y up: ``R q R^-1``. ``[..., 4] -> [..., 4]``.

    The vector part turns like any vector and the scalar stays, so nothing is lost.
    """
    order, signs = _BASES[up]
    return np.ascontiguousarray(
        np.asarray(rotations, np.float32)[..., (*order, 3)] * np.array((*signs, 1.0), np.float32)
    )


def inverse_up(up: str) -> str:
    """The axis whose conversion undoes that of ``up``."""
    return {"+Z": "-Z", "-Z": "+Z", "+X": "-X", "-X": "+X"}.get(up, up)
