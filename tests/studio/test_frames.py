"""Pose frames: the header's words and the order of the blocks."""

from __future__ import annotations

import struct

import numpy as np

from ambulo.studio import frames
from ambulo.studio.session import Session


def test_header_words() -> None:
    header = frames.encode_header(
        tick=7,
        oldest=2,
        newest=9,
        paused=True,
        transitioned=True,
        characters=1,
        joints=25,
        asked_points=3,
        matched_points=2,
        frame=-1,
        sequence=12,
        rate=0.5,
        step_microseconds=150.5,
        clip=4,
        clip_time=1.25,
        epoch=3,
    )
    assert len(header) == 64
    assert header[:4] == b"AMB1"
    assert struct.unpack("<8I", header[:32]) == (frames.MAGIC, 7, 2, 9, 3, 1, 25, 3)
    assert struct.unpack("<i", header[32:36]) == (-1,)
    assert struct.unpack("<I", header[36:40]) == (12,)
    assert struct.unpack("<3f", header[40:52]) == (0.5, 150.5, 1.25)
    assert struct.unpack("<iII", header[52:64]) == (4, 3, 2)


def test_blocks_of_a_played_frame(session: Session) -> None:
    from ambulo.control.intent import Intent

    J, K = session.project.database.skeleton.joint_count, len(session.project.trajectory_times)
    wish = Intent(np.array([[0.3, 0.0, 1.1]], np.float32))
    controller = session.project.controller("motion_matching")
    _, pose = controller.step(session.now.state, wish, 1 / 60)
    matched = np.full((1, K, 3), 5.0, np.float32), np.full((1, K, 3), 6.0, np.float32)
    body = frames.encode_body(pose, *matched, wish.velocity)
    assert len(body) + frames.HEADER.size == frames.frame_size(1, J, K, K)
    values = np.frombuffer(body, "<f4")
    sizes = [3 * J, 4 * J, 2, 3 * K, 3 * K, 3 * K, 3 * K, 3, 3, 3]
    blocks = np.split(values, np.cumsum(sizes)[:-1])
    expected = [
        pose.global_positions, pose.global_rotations, pose.contacts, pose.trajectory_positions,
        pose.trajectory_directions, *matched, wish.velocity, pose.velocities[:, 0], pose.simulation_position,
    ]  # fmt: skip
    for block, array in zip(blocks, expected, strict=True):
        assert np.array_equal(block, np.asarray(array, np.float32).ravel())
    assert len(session.frame()) == frames.frame_size(1, J, K, K)
