"""Analytic two-bone inverse kinematics: a leg or an arm reaches a point, its knee or elbow never snaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import MotionError

Float = NDArray[np.float32]


def solve_two_bone(
    root_positions: ArrayLike,
    mid_positions: ArrayLike,
    end_positions: ArrayLike,
    targets: ArrayLike,
    forward_hints: ArrayLike,
    root_rotations: ArrayLike,
    mid_rotations: ArrayLike,
    root_parent_rotations: ArrayLike,
    *,
    max_length_buffer: float = 0.015,
) -> tuple[Float, Float]:
    """New local rotations of hip and knee (or shoulder and elbow) that put the foot (or hand) on its target.

    Law of cosines for the knee's place, then the smallest turn of each bone that takes it there; so a target that is
    already reached changes nothing. Past ``longest - max_length_buffer`` the reach is eased towards the full length
    ("soft IK"), and the end stays short of the target on the line to it.

    Args:
        root_positions: ``[N, 3]`` global, metres: hip or shoulder. Rows of all arguments broadcast over N.
        mid_positions: ``[N, 3]`` knee or elbow.
        end_positions: ``[N, 3]`` ankle or wrist.
        targets: ``[N, 3]`` where the end should go.
        forward_hints: ``[N, 3]`` direction into which the middle joint bends where the limb is straight (forward for
            a knee, backward for an elbow), in the world before the limb is moved.
        root_rotations: ``[N, 4]`` global.
        mid_rotations: ``[N, 4]`` global.
        root_parent_rotations: ``[N, 4]`` global, of the joint above the root of the limb.
        max_length_buffer: metres below full extension where the easing starts.

    Returns:
        Local rotations ``[N, 4]`` of the root and of the middle joint.
    """
    from ambulo.motion import inverse_kinematics_kernels

    given = [
        (root_positions, 3),
        (mid_positions, 3),
        (end_positions, 3),
        (targets, 3),
        (forward_hints, 3),
        (root_rotations, 4),
        (mid_rotations, 4),
        (root_parent_rotations, 4),
    ]
    arrays = [np.atleast_2d(np.asarray(values, np.float64)) for values, _ in given]
    for array, (_, width) in zip(arrays, given, strict=True):
        if array.ndim != 2 or array.shape[1] != width:
            raise MotionError(f"two-bone IK needs rows of {width} numbers, got an array of shape {array.shape}")
    count = max(array.shape[0] for array in arrays)
    if any(array.shape[0] not in (1, count) for array in arrays):
        raise MotionError(f"two-bone IK needs {count} rows in every argument, got {[a.shape[0] for a in arrays]}")
    rows = [np.ascontiguousarray(np.broadcast_to(array, (count, array.shape[1]))) for array in arrays]
    root_out, mid_out = np.empty((count, 4), np.float32), np.empty((count, 4), np.float32)
    root, mid, end, target, hint, root_q, mid_q, parent_q = rows
    inverse_kinematics_kernels.two_bone_batch(
        root, mid, end, target, hint, root_q, mid_q, parent_q, float(max_length_buffer), root_out, mid_out
    )
    return root_out, mid_out
