"""Pose frames: the binary WebSocket messages that carry poses to the page.

Little endian throughout: a header of 16 words of four bytes, then float32 blocks one after the other.

====  =======  ========================================================================================
word  type     meaning
====  =======  ========================================================================================
0     uint32   0x31424D41, the letters ``AMB1``
1     uint32   tick of this pose: steps since the start
2     uint32   oldest tick that can be rewound to
3     uint32   newest tick (larger than word 1 while the past is shown)
4     uint32   flags: 1 paused, 2 the playhead jumped in this step
5     uint32   N, characters
6     uint32   J, joints; joint 0 is the root
7     uint32   K, points of the asked trajectory
8     int32    database frame shown by character 0
9     uint32   sequence number of the last input that took part
10    float32  rate: 1, or less in slow motion
11    float32  microseconds that this step cost
12    float32  seconds into the take that the frame shown comes from
13    int32    index of the clip shown by character 0, in the order of ``hello``
14    uint32   epoch: grows with every change of project; ``hello`` comes before its first frame
15    uint32   M, points of the matched trajectory
====  =======  ========================================================================================

Blocks, all in world space, metres and m/s: joint positions ``[N, J, 3]``; joint rotations ``[N, J, 4]`` (x, y, z, w);
contacts ``[N, 2]`` (left, right, 0 or 1); asked trajectory positions ``[N, K, 3]`` and directions ``[N, K, 3]``;
matched trajectory positions ``[N, M, 3]`` and directions ``[N, M, 3]``; asked velocity ``[N, 3]``; velocity of the
root ``[N, 3]``; position of the simulation object ``[N, 3]``.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.pose import Pose

MAGIC = 0x31424D41
HEADER = struct.Struct("<8IiI3fi2I")
PAUSED, TRANSITIONED = 1, 2

assert HEADER.size == 64


def frame_size(characters: int, joints: int, asked_points: int, matched_points: int) -> int:
    """Bytes of a frame of N characters with J joints and trajectories of K and M points."""
    return HEADER.size + 4 * characters * (7 * joints + 2 + 6 * asked_points + 6 * matched_points + 9)


def encode_body(
    pose: Pose,
    matched_positions: NDArray[np.float32],
    matched_directions: NDArray[np.float32],
    asked_velocity: ArrayLike,
) -> bytes:
    """The float32 blocks of a pose; the header is added when the frame is sent, since it tells about the moment."""
    blocks = (
        pose.global_positions,
        pose.global_rotations,
        pose.contacts,
        pose.trajectory_positions,
        pose.trajectory_directions,
        matched_positions,
        matched_directions,
        asked_velocity,
        pose.velocities[:, 0],
        pose.simulation_position,
    )
    return b"".join(np.ascontiguousarray(block, "<f4").tobytes() for block in blocks)


def encode_header(
    *,
    tick: int,
    oldest: int,
    newest: int,
    paused: bool,
    transitioned: bool,
    characters: int,
    joints: int,
    asked_points: int,
    matched_points: int,
    frame: int,
    sequence: int,
    rate: float,
    step_microseconds: float,
    clip: int,
    clip_time: float,
    epoch: int,
) -> bytes:
    """The 64 bytes in front of the blocks."""
    flags = (PAUSED if paused else 0) | (TRANSITIONED if transitioned else 0)
    return HEADER.pack(
        MAGIC, tick, oldest, newest, flags, characters, joints, asked_points,
        frame, sequence, rate, step_microseconds, clip_time, clip, epoch, matched_points,
    )  # fmt: skip
