"""Compiled two-bone inverse kinematics on scalars and tuples, for use inside other kernels."""

from __future__ import annotations

import math
from typing import Any

from ambulo.maths.kernels import (
    Quaternion,
    Vector,
    kernel,
    quat_between,
    quat_inverse,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    vec_dot,
    vec_length,
    vec_square_to,
    vec_subtract,
)


@kernel
def soft_limit(distance: float, current: float, longest: float, buffer: float) -> float:
    """A reach that never locks the knee: unchanged up to ``longest - buffer``, then ever slower towards ``longest``.

    The soft part starts no earlier than the ``current`` reach, so a limb that the data itself stretches stays as it is.
    """
    start = min(max(longest - buffer, current), longest)
    if distance <= start:
        return distance
    room = longest - start
    if room < 1e-6:
        return start
    return start + room * (1.0 - math.exp(-(distance - start) / room))


@kernel
def two_bone(
    root_pos: Vector,
    mid_pos: Vector,
    end_pos: Vector,
    target: Vector,
    forward_axis_hint: Vector,
    root_global_q: Quaternion,
    mid_global_q: Quaternion,
    root_parent_q: Quaternion,
    max_length_buffer: float,
) -> tuple[Quaternion, Quaternion]:
    """Local rotations of the root and mid joint that bring the end to the target. All positions are global.

    The middle joint stays in the plane in which it already bends; where the limb is nearly straight, or bends against
    the hint, the hint (a direction such as the body's forward for a knee) says where the bend goes.
    """
    upper = vec_length(vec_subtract(mid_pos, root_pos))
    lower = vec_length(vec_subtract(end_pos, mid_pos))
    longest, shortest = upper + lower, abs(upper - lower)
    reach_now = vec_subtract(end_pos, root_pos)
    reach = vec_subtract(target, root_pos)
    distance_now, distance = vec_length(reach_now), vec_length(reach)
    if upper < 1e-6 or lower < 1e-6 or distance < 1e-6 or distance_now < 1e-6:
        parent_inverse = quat_inverse(root_parent_q)
        return (
            quat_multiply(parent_inverse, root_global_q),
            quat_multiply(quat_inverse(root_global_q), mid_global_q),
        )
    aim = (reach[0] / distance, reach[1] / distance, reach[2] / distance)
    wanted = max(soft_limit(distance, distance_now, longest, max_length_buffer), shortest)

    # Where the bend points once the limb as a whole is swung towards the target.
    swing = quat_between(reach_now, reach)
    bend = vec_square_to(quat_rotate(swing, vec_subtract(mid_pos, root_pos)), aim)
    hint = vec_square_to(quat_rotate(swing, forward_axis_hint), aim)
    hint_length = vec_length(hint)
    if hint_length > 1e-6:
        hint = (hint[0] / hint_length, hint[1] / hint_length, hint[2] / hint_length)
        # A limb that bends clearly keeps its plane; the hint takes over where it is straight, and wholly where it bends
        # backwards: there its own plane is noise, and a limb that followed it would snap sideways.
        toward = vec_dot(bend, hint) + 0.25 * vec_length(bend)
        sure = min(max(toward / (0.04 * longest), 0.0), 1.0)
        sure = sure * sure * (3.0 - 2.0 * sure)
        add = (1.0 - sure) * 0.04 * longest
        bend = (sure * bend[0] + add * hint[0], sure * bend[1] + add * hint[1], sure * bend[2] + add * hint[2])
    size = vec_length(bend)
    if size < 1e-9:
        side = (0.0, 0.0, 1.0) if abs(aim[2]) < 0.9 else (1.0, 0.0, 0.0)
        bend = vec_square_to(side, aim)
        size = vec_length(bend)
    bend = (bend[0] / size, bend[1] / size, bend[2] / size)

    # Law of cosines: the middle joint's place along and off the line from root to target.
    along_aim = (upper * upper - lower * lower + wanted * wanted) / (2.0 * wanted)
    off_aim = math.sqrt(max(upper * upper - along_aim * along_aim, 0.0))
    mid_new = (
        along_aim * aim[0] + off_aim * bend[0],
        along_aim * aim[1] + off_aim * bend[1],
        along_aim * aim[2] + off_aim * bend[2],
    )
    end_new = (wanted * aim[0], wanted * aim[1], wanted * aim[2])

    turn_upper = quat_between(vec_subtract(mid_pos, root_pos), mid_new)
    lower_turned = quat_rotate(turn_upper, vec_subtract(end_pos, mid_pos))
    turn_lower = quat_between(lower_turned, vec_subtract(end_new, mid_new))
    root_new = quat_normalize(quat_multiply(turn_upper, root_global_q))
    mid_new_q = quat_normalize(quat_multiply(turn_lower, quat_multiply(turn_upper, mid_global_q)))
    return (
        quat_multiply(quat_inverse(root_parent_q), root_new),
        quat_multiply(quat_inverse(root_new), mid_new_q),
    )


@kernel
def vector_at(array: Any, n: int) -> Vector:
    """Row ``n`` of ``[N, 3]`` as a tuple of doubles."""
    return (float(array[n, 0]), float(array[n, 1]), float(array[n, 2]))


@kernel
def quaternion_at(array: Any, n: int) -> Quaternion:
    """Row ``n`` of ``[N, 4]`` as a tuple of doubles."""
    return (float(array[n, 0]), float(array[n, 1]), float(array[n, 2]), float(array[n, 3]))


@kernel
def two_bone_batch(
    root: Any,
    mid: Any,
    end: Any,
    target: Any,
    hint: Any,
    root_q: Any,
    mid_q: Any,
    parent_q: Any,
    max_length_buffer: float,
    root_out: Any,
    mid_out: Any,
) -> None:
    """:func:`two_bone` over rows."""
    for n in range(root.shape[0]):
        a, b = two_bone(
            vector_at(root, n),
            vector_at(mid, n),
            vector_at(end, n),
            vector_at(target, n),
            vector_at(hint, n),
            quaternion_at(root_q, n),
            quaternion_at(mid_q, n),
            quaternion_at(parent_q, n),
            max_length_buffer,
        )
        for k in range(4):
            root_out[n, k] = a[k]
            mid_out[n, k] = b[k]
