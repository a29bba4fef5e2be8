"""Fixtures for pictures and pages."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest

from ambulo.control.recording import Recording
from ambulo.database.database import Database
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.clip import PreparedClip


@pytest.fixture(scope="session")
def humanoid() -> Skeleton:
    """A standing body with its root on the ground; +X is its left, +Z its front."""
    names: list[str] = []
    parents: list[int] = []
    offsets: list[tuple[float, float, float]] = []

    def joint(name: str, parent: str | None, offset: tuple[float, float, float]) -> None:
        names.append(name)
        parents.append(names.index(parent) if parent else -1)
        offsets.append(offset)

    joint("root", None, (0.0, 0.0, 0.0))
    joint("hips", "root", (0.0, 0.93, 0.0))
    joint("spine", "hips", (0.0, 0.12, 0.0))
    joint("chest", "spine", (0.0, 0.22, 0.0))
    joint("neck", "chest", (0.0, 0.24, 0.0))
    joint("head", "neck", (0.0, 0.10, 0.02))
    for side, x in (("left", 1.0), ("right", -1.0)):
        joint(f"{side}_upper_arm", "chest", (x * 0.18, 0.18, 0.0))
        joint(f"{side}_forearm", f"{side}_upper_arm", (x * 0.03, -0.28, 0.0))
        joint(f"{side}_hand", f"{side}_forearm", (x * 0.01, -0.25, 0.03))
        joint(f"{side}_upper_leg", "hips", (x * 0.09, -0.04, 0.0))
        joint(f"{side}_lower_leg", f"{side}_upper_leg", (0.0, -0.41, 0.01))
        joint(f"{side}_foot", f"{side}_lower_leg", (0.0, -0.40, -0.02))
        joint(f"{side}_toe", f"{side}_foot", (0.0, -0.06, 0.14))
    roles = {name: index for index, name in enumerate(names) if name != "root"}
    return Skeleton(tuple(names), np.array(parents), np.array(offsets), roles=roles)


@pytest.fixture(scope="session")
def decode() -> Callable[[bytes], np.ndarray]:
    """A PNG reader that shares no code with the writer."""
    return decode_png


def decode_png(data: bytes) -> np.ndarray:
    """A reader of its own for what the writer may write: 8 bits, filters 0 and 2 (W3C PNG)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, body, header = 8, b"", b""
    kinds = []
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, content = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert zlib.crc32(kind + content) == check
        kinds.append(kind)
        header = content if kind == b"IHDR" else header
        body += content if kind == b"IDAT" else b""
        place += 12 + length
    assert kinds[0] == b"IHDR" and kinds[-1] == b"IEND"
    width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", header)
    assert depth == 8
    channels = {2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + width * channels)
    result = np.zeros((height, width * channels), np.uint8)
    for index, row in enumerate(rows):
        above = result[index - 1] if index and row[0] == 2 else np.zeros_like(result[0])
        result[index] = row[1:] + above
    return result.reshape(height, width, channels)


@pytest.fixture()
def recording(humanoid: Skeleton) -> Recording:
    """Two seconds of two stiff figures: the first slides along +Z at 1 m/s, the second stands beside it."""
    frames, count, joints = 120, 2, humanoid.joint_count
    positions = np.tile(humanoid.offsets, (frames, count, 1, 1)).astype(np.float32)
    positions[:, 0, 0, 2] = np.arange(frames) / 60.0
    positions[:, 1, 0, 0] = 1.5
    rotations = np.zeros((frames, count, joints, 4), np.float32)
    rotations[..., 3] = 1.0
    rest = humanoid.rest_positions()
    global_positions = positions[:, :, :1] + rest
    velocity = np.zeros((frames, count, 3), np.float32)
    velocity[:, 0, 2] = 1.0
    transitioned = np.zeros((frames, count), bool)
    transitioned[[0, 40], 0] = True
    shown = np.concatenate([np.arange(40), np.arange(90, 170)])
    ahead = np.array([1 / 3, 2 / 3, 1.0], np.float32)[:, None] * np.float32([0, 0, 1])
    return Recording(
        skeleton=humanoid,
        rate=60.0,
        controller="motion_matching",
        script="forward",
        root_positions=positions[:, :, 0],
        root_rotations=rotations[:, :, 0],
        positions=positions,
        rotations=rotations,
        global_positions=global_positions,
        global_rotations=rotations,
        contacts=np.ones((frames, count, 2), np.uint8),
        transitioned=transitioned,
        frames=np.stack([shown, np.zeros(frames, int)], axis=1),
        desired_velocity=velocity,
        desired_facing=np.zeros((frames, count, 3), np.float32),
        simulation_positions=positions[:, :, 0],
        simulation_rotations=rotations[:, :, 0],
        trajectory_positions=positions[:, :, :1] + ahead,
        trajectory_directions=np.broadcast_to(np.float32([0, 0, 1]), (frames, count, 3, 3)),
        step_seconds=np.full(frames, 1e-4),
        desired_path=np.float32([[0, 0, 0], [0, 0, 1], [0, 0, 2]]),
    )


@pytest.fixture()
def database(humanoid: Skeleton) -> Database:
    """Two clips of 100 frames of the stiff figure, walking at 1 m/s along +X and along +Z."""
    clips = []
    for name, axis in (("along_x", 0), ("along_z", 2)):
        positions = np.tile(humanoid.offsets, (100, 1, 1)).astype(np.float32)
        positions[:, 0, axis] = np.arange(100) / 60.0
        rotations = np.zeros((100, humanoid.joint_count, 4), np.float32)
        rotations[..., 3] = 1.0
        if axis == 0:
            rotations[:, 0] = (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))  # faces +X
        still = np.zeros_like(positions)
        contacts, valid = np.ones((100, 2)), np.ones(100)
        clips.append(PreparedClip(name, humanoid, 60.0, positions, rotations, still, still, contacts, valid))
    return Database.from_clips(clips)
