"""Compiled inner loops of the BVH reader and writer: Euler angles to quaternions and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ambulo.maths.kernels import kernel

_DEGREES_TO_HALF_RADIANS = math.pi / 360.0
_RADIANS_TO_DEGREES = 180.0 / math.pi


@kernel
def euler_to_pose(
    values: Any,
    offsets: Any,
    position_columns: Any,
    rotation_starts: Any,
    rotation_columns: Any,
    rotation_axes: Any,
    scale: float,
    positions: Any,
    rotations: Any,
) -> None:
    """Rows of channels to local poses, in double until they are stored.

    Args:
        values: float64 ``[T, C]``, degrees and file units.
        offsets: float64 ``[J, 3]``, file units.
        position_columns: int64 ``[J, 3]``, column of each position channel, -1 where the offset holds.
        rotation_starts: int64 ``[J + 1]``, where each joint's rotation channels start in the next two.
        rotation_columns: uint64 ``[R]``, columns in the order in which the file lists them.
        rotation_axes: uint8 ``[R]``, 0 X, 1 Y, 2 Z.
        scale: metres a file unit.
        positions: float32 ``[T, J, 3]``, filled.
        rotations: float32 ``[T, J, 4]``, filled, unrolled in time (S4.2).
    """
    joints = offsets.shape[0]
    count = rotation_columns.shape[0]
    degrees = np.empty(count, np.float64)
    sines = np.empty(count, np.float64)
    cosines = np.empty(count, np.float64)
    for t in range(values.shape[0]):
        # sin and cos of the half angles. Taking whole half turns off the angle is exact in degrees, so that right
        # angles come out exact; the half turns' number matters only by its parity, since q and -q are one rotation.
        # The angles are gathered first, so that what follows runs on whole vectors.
        for r in range(count):
            degrees[r] = values[t, rotation_columns[r]]
        for r in range(count):
            turns = np.rint(degrees[r] * (1.0 / 180.0))
            x = (degrees[r] - 180.0 * turns) * _DEGREES_TO_HALF_RADIANS
            odd = turns - 2.0 * np.floor(turns * 0.5)
            z = x * x
            # Taylor series on [-pi/4, pi/4]: the first term left out is below 2e-16.
            s = x + x * z * (
                -1.0 / 6.0
                + z
                * (
                    1.0 / 120.0
                    + z * (-1.0 / 5040.0 + z * (1.0 / 362880.0 + z * (-1.0 / 39916800.0 + z * (1.0 / 6227020800.0))))
                )
            )
            c = 1.0 + z * (
                -0.5
                + z
                * (
                    1.0 / 24.0
                    + z
                    * (
                        -1.0 / 720.0
                        + z
                        * (
                            1.0 / 40320.0
                            + z * (-1.0 / 3628800.0 + z * (1.0 / 479001600.0 + z * (-1.0 / 87178291200.0)))
                        )
                    )
                )
            )
            sines[r] = c if odd > 0.5 else s
            cosines[r] = -s if odd > 0.5 else c
        for j in range(joints):
            for axis in range(3):
                column = position_columns[j, axis]
                value = values[t, column] if column >= 0 else offsets[j, axis]
                positions[t, j, axis] = value * scale
            x = 0.0
            y = 0.0
            z = 0.0
            w = 1.0
            for r in range(rotation_starts[j], rotation_starts[j + 1]):
                s = sines[r]
                c = cosines[r]
                axis = rotation_axes[r]
                if axis == 0:
                    x, y, z, w = x * c + w * s, y * c + z * s, z * c - y * s, w * c - x * s
                elif axis == 1:
                    x, y, z, w = x * c - z * s, y * c + w * s, z * c + x * s, w * c - y * s
                else:
                    x, y, z, w = x * c + y * s, y * c - x * s, z * c + w * s, w * c - z * s
            if t > 0:
                before = rotations[t - 1, j]
                flip = before[0] * x + before[1] * y + before[2] * z + before[3] * w < 0.0
            else:
                flip = w < 0.0
            if flip:
                x, y, z, w = -x, -y, -z, -w
            rotations[t, j, 0] = x
            rotations[t, j, 1] = y
            rotations[t, j, 2] = z
            rotations[t, j, 3] = w


@kernel
def quaternions_to_euler(rotations: Any, i: int, j: int, k: int, degrees: Any) -> None:
    """Local rotations to intrinsic Euler angles about three different axes, smooth in time.

    Of the two sets of angles that give a rotation, and of all their whole turns, the nearest to the frame before is
    taken. In gimbal lock the first angle is held and the third takes the rest.

    Args:
        rotations: float32 ``[T, J, 4]``.
        i, j, k: axes in the order of the channels.
        degrees: float64 ``[T, J, 3]``, filled.
    """
    even = (j - i) % 3 == 1
    sign = 1.0 if even else -1.0
    m = np.empty((3, 3), np.float64)
    for joint in range(rotations.shape[1]):
        before_a = 0.0
        before_b = 0.0
        before_c = 0.0
        for t in range(rotations.shape[0]):
            x = np.float64(rotations[t, joint, 0])
            y = np.float64(rotations[t, joint, 1])
            z = np.float64(rotations[t, joint, 2])
            w = np.float64(rotations[t, joint, 3])
            n = x * x + y * y + z * z + w * w
            s = 2.0 / n if n > 0.0 else 0.0
            m[0, 0] = 1.0 - s * (y * y + z * z)
            m[0, 1] = s * (x * y - w * z)
            m[0, 2] = s * (x * z + w * y)
            m[1, 0] = s * (x * y + w * z)
            m[1, 1] = 1.0 - s * (x * x + z * z)
            m[1, 2] = s * (y * z - w * x)
            m[2, 0] = s * (x * z - w * y)
            m[2, 1] = s * (y * z + w * x)
            m[2, 2] = 1.0 - s * (x * x + y * y)
            cosine = math.sqrt(m[i, i] * m[i, i] + m[i, j] * m[i, j])
            # atan2 keeps all digits near +-90 degrees, where asin loses half of them.
            b = math.atan2(sign * m[i, k], cosine) * _RADIANS_TO_DEGREES
            if cosine > 1e-9:
                a = math.atan2(-sign * m[j, k], m[k, k]) * _RADIANS_TO_DEGREES
                c = math.atan2(-sign * m[i, j], m[i, i]) * _RADIANS_TO_DEGREES
            else:
                # Only a + c (or a - c) is defined: hold a, so that the curves stay calm.
                total = math.atan2(sign * m[k, j], m[j, j]) * _RADIANS_TO_DEGREES
                a = before_a
                # Looking up: R = R_i(a) R_j(90) R_k(c) turns by a + sign c; looking down, by a - sign c.
                c = (total - a) * sign if sign * m[i, k] > 0.0 else (a - total) * sign
            # The other set that gives the same rotation.
            a2 = a + 180.0
            b2 = 180.0 - b
            c2 = c + 180.0
            a += 360.0 * np.rint((before_a - a) / 360.0)
            b += 360.0 * np.rint((before_b - b) / 360.0)
            c += 360.0 * np.rint((before_c - c) / 360.0)
            a2 += 360.0 * np.rint((before_a - a2) / 360.0)
            b2 += 360.0 * np.rint((before_b - b2) / 360.0)
            c2 += 360.0 * np.rint((before_c - c2) / 360.0)
            if abs(a2 - before_a) + abs(b2 - before_b) + abs(c2 - before_c) < abs(a - before_a) + abs(
                b - before_b
            ) + abs(c - before_c):
                a = a2
                b = b2
                c = c2
            degrees[t, joint, 0] = a
            degrees[t, joint, 1] = b
            degrees[t, joint, 2] = c
            before_a = a
            before_b = b
            before_c = c
