"""CMU's own files: 35_01 is known twice, as Acclaim and (``test_walking_01``) as BVH on one common body."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.formats.acclaim import read_amc, read_asf
from ambulo.formats.format import ReadOptions
from ambulo.maths import quaternions
from ambulo.motion.humanoid import detect_roles
from ambulo.motion.kinematics import forward

FRAMES = {"35_01": 358, "49_18": 1102, "49_19": 957, "49_20": 898}


@pytest.fixture(scope="module")
def folder(real_data: Path) -> Path:
    return real_data / "free" / "cmu_asf_amc"


def test_every_take_loads_with_its_roles(folder: Path) -> None:
    motions = ambulo.load_all(folder)
    assert {motion.name: motion.frame_count for motion in motions} == FRAMES
    for motion in motions:
        assert motion.skeleton.joint_count == 31
        assert (motion.rate, motion.source.unit, motion.source.up) == (120.0, "cmu", "+Y")
        assert not motion.source.warnings
        assert not detect_roles(motion.skeleton, motion).missing


def test_the_walk_agrees_with_its_copy_as_bvh(folder: Path, real_data: Path) -> None:
    walk = ambulo.load(folder / "35_01.amc")
    copy = ambulo.load(real_data / "free" / "cmu_loco" / "test_walking_01.bvh").slice(1, 359)  # a T-pose first
    np.testing.assert_allclose(walk.positions[:, 0], copy.positions[:, 0], atol=5e-6)
    # The copy lists the same joints in the same order, and turns each (but the root) as the original does.
    turn = np.degrees(quaternions.angle_between(walk.rotations[:, 1:], copy.rotations[:, 1:]))
    assert turn.max() < 0.001
    # The copy's root applies the original's angles in the order z x y. On its bones and with its root, every joint is
    # where it should be.
    skeleton = read_asf(folder / "35.asf")
    angles = np.radians(read_amc(folder / "35_01.amc", skeleton.bones, ReadOptions()).values[:, 3:6])
    root = quaternions.from_euler(angles[:, [2, 0, 1]], "ZXY")
    assert np.degrees(quaternions.angle_between(root, copy.rotations[:, 0])).max() < 0.001
    rotations = walk.rotations.copy()
    rotations[:, 0] = root
    positions = copy.positions.copy()
    positions[:, 0] = walk.positions[:, 0]
    world = forward(positions, rotations, copy.skeleton.parents).positions
    expected = forward(copy.positions, copy.rotations, copy.skeleton.parents).positions
    np.testing.assert_allclose(world, expected, atol=1e-5)


@pytest.mark.parametrize("take", ["49_18", "49_19", "49_20"])
def test_standing_feet_say_that_the_root_turns_x_first(folder: Path, take: str) -> None:
    """On one leg the standing foot must not move: of all orders of the root's angles ours moves it least."""
    motion = ambulo.load(folder / f"{take}.amc")
    skeleton = read_asf(folder / "49.asf")
    angles = np.radians(read_amc(folder / f"{take}.amc", skeleton.bones, ReadOptions()).values[:, 3:6])

    def slide(rotations: np.ndarray) -> float:
        world = forward(motion.positions, rotations, motion.skeleton.parents).positions
        toes = world[:, motion.skeleton.index("ltoes")]
        low = toes[:-1, 1] < np.percentile(toes[:, 1], 20)
        return float(np.linalg.norm(np.diff(toes, axis=0), axis=1)[low].mean() * motion.rate)

    ours = slide(motion.rotations)
    for order in ("XYZ", "XZY", "YXZ", "YZX", "ZXY"):
        rotations = motion.rotations.copy()
        rotations[:, 0] = quaternions.from_euler(angles[:, ["XYZ".index(axis) for axis in order]], order)
        assert ours < 0.85 * slide(rotations), order
