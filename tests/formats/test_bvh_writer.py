"""A motion that is written comes back as the same motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ambulo
from ambulo.errors import FormatError
from ambulo.formats.axes import UP_AXES
from ambulo.formats.bvh_writer import ORDERS, write
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton


def random_motion(seed: int, joints: int = 7, frames: int = 5, *, moving: bool = False, rate: float = 60.0) -> Motion:
    """A random tree, written depth first, with random rotations, some of them at the poles of some order."""
    random = np.random.default_rng(seed)
    # The ancestors of the joint before: any of them may be the next parent in a depth-first order.
    parents, path = [-1], [0]
    for joint in range(1, joints):
        path = path[: int(random.integers(1, len(path) + 1))]
        parents.append(path[-1])
        path.append(joint)
    offsets = random.normal(0.0, 0.3, (joints, 3)).astype(np.float32)
    ends = random.normal(0.0, 0.1, (joints, 3)).astype(np.float32)
    ends[[joint in parents or random.random() < 0.3 for joint in range(joints)]] = np.nan
    names = tuple(f"joint {chr(0x3042 + joint)}:{joint}" for joint in range(joints))
    rotations = quaternions.normalize(random.normal(size=(frames, joints, 4)))
    poles = random.integers(0, 5, (frames, joints)) * 90.0
    axes = random.integers(0, 3, (frames, joints))
    exact = np.stack([quaternions.from_euler(np.radians(poles)[..., None], axis) for axis in "XYZ"])
    at_pole = random.random((frames, joints)) < 0.3
    rotations[at_pole] = np.take_along_axis(exact, axes[None, ..., None], axis=0)[0][at_pole]
    positions = np.tile(offsets, (frames, 1, 1))
    positions[:, 0] = random.normal(0.0, 20.0, (frames, 3))
    if moving:
        positions[:, joints // 2] += random.normal(0.0, 0.1, (frames, 3)).astype(np.float32)
    return Motion(
        Skeleton(names, np.array(parents), offsets, ends), positions, quaternions.unroll(rotations), rate, "m"
    )


def round_trip(
    motion: Motion, folder: Path, unit: str | float = "centimetre", up: str = "+Y", **options: Any
) -> Motion:
    path = folder / "again.bvh"
    ambulo.save(motion, path, unit=unit, up=up, **options)
    return ambulo.load(path, unit=unit, up=up, strict=motion.frame_count > 1)


def assert_same(motion: Motion, again: Motion) -> None:
    assert again.skeleton.names == motion.skeleton.names
    np.testing.assert_array_equal(again.skeleton.parents, motion.skeleton.parents)
    np.testing.assert_allclose(again.skeleton.offsets, motion.skeleton.offsets, atol=1e-6)
    np.testing.assert_allclose(again.skeleton.end_offsets, motion.skeleton.end_offsets, atol=1e-6)
    np.testing.assert_allclose(again.positions, motion.positions, atol=1e-5)
    assert np.degrees(quaternions.angle_between(again.rotations, motion.rotations)).max(initial=0.0) < 1e-3
    assert again.rate == pytest.approx(motion.rate, rel=1e-12)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    joints=st.integers(1, 12),
    frames=st.integers(0, 6),
    moving=st.booleans(),
    order=st.sampled_from(ORDERS),
    unit=st.sampled_from(["centimetre", "metre", "millimetre", "inch", "foot", "cmu", 0.37]),
    up=st.sampled_from(UP_AXES),
)
def test_round_trip(
    tmp_path: Path, seed: int, joints: int, frames: int, moving: bool, order: str, unit: str | float, up: str
) -> None:
    motion = random_motion(seed, joints, frames, moving=moving)
    assert_same(motion, round_trip(motion, tmp_path, unit, up, order=order))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rate=st.one_of(st.sampled_from([24.0, 30.0, 60.0, 120.0, 30000 / 1001]), st.floats(1.0, 2000.0)))
def test_rates_come_back(tmp_path: Path, rate: float) -> None:
    again = round_trip(random_motion(1, rate=rate), tmp_path)
    # Within a millionth: a rate that is a nominal one but for noise is read as the nominal one.
    assert again.rate == pytest.approx(rate, rel=1.1e-6)
    if rate in (24.0, 30.0, 60.0, 120.0, 30000 / 1001):
        assert again.rate == rate


def test_writing_what_was_read_changes_nothing(tmp_path: Path) -> None:
    once = round_trip(random_motion(3), tmp_path)
    first = (tmp_path / "again.bvh").read_bytes()
    ambulo.save(once, tmp_path / "again.bvh")
    twice = ambulo.load(tmp_path / "again.bvh", unit="cm", up="y")
    np.testing.assert_allclose(twice.rotations, once.rotations, atol=2e-7)
    assert len(first.splitlines()) == len((tmp_path / "again.bvh").read_bytes().splitlines())


def test_position_channels_only_where_something_moves() -> None:
    lines = write([random_motion(5, joints=6)]).decode().splitlines()
    assert sum("CHANNELS 6" in line for line in lines) == 1
    assert sum("CHANNELS 3" in line for line in lines) == 5
    moving = write([random_motion(5, joints=6, moving=True)]).decode().splitlines()
    assert sum("CHANNELS 6" in line for line in moving) == 2


def test_order_and_digits_of_the_text() -> None:
    text = write([random_motion(6, joints=3)], {"order": "xyz", "unit": "metre"}).decode()
    assert "Xrotation Yrotation Zrotation" in text
    assert "Frame Time: 0.016666666666666666\n" in text
    row = text.splitlines()[-1].split()
    assert len(row) == 3 + 3 * 3
    assert all(len(number.partition(".")[2]) == 8 for number in row[:3])


def test_a_skeleton_in_another_order_comes_back_depth_first(tmp_path: Path) -> None:
    names = ("root", "left", "right", "left_tip", "right_tip")
    offsets = np.arange(15, dtype=np.float32).reshape(5, 3)
    skeleton = Skeleton(names, np.array([-1, 0, 0, 1, 2]), offsets)
    rotations = quaternions.from_yaw(np.arange(10.0).reshape(2, 5) / 7)
    motion = Motion(skeleton, np.tile(offsets, (2, 1, 1)), rotations, 30.0)
    again = round_trip(motion, tmp_path)
    assert again.skeleton.names == ("root", "left", "left_tip", "right", "right_tip")
    for joint, name in enumerate(names):
        other = again.skeleton.index(name)
        np.testing.assert_allclose(again.positions[:, other], motion.positions[:, joint], atol=1e-6)
        angles = quaternions.angle_between(again.rotations[:, other], motion.rotations[:, joint])
        assert np.degrees(angles).max() < 1e-3


def test_several_actors_in_one_file(tmp_path: Path) -> None:
    motions = [random_motion(7, joints=3), random_motion(8, joints=4)]
    ambulo.save(motions, tmp_path / "two.bvh")
    again = ambulo.load_all(tmp_path / "two.bvh", unit="cm", up="y")
    assert len(again) == 2
    for before, after in zip(motions, again, strict=True):
        assert_same(before, after)
    with pytest.raises(FormatError, match="share one time axis"):
        write([motions[0], random_motion(9, frames=6)])


def test_long_takes_are_written_in_slices(tmp_path: Path) -> None:
    skeleton = Skeleton(("root",), np.array([-1]), np.zeros((1, 3)))
    count = 400_000
    positions = np.zeros((count, 1, 3), np.float32)
    positions[:, 0, 0] = np.arange(count) / 1000.0
    motion = Motion(skeleton, positions, np.tile(quaternions.IDENTITY, (count, 1, 1)), 60.0)
    again = round_trip(motion, tmp_path)
    np.testing.assert_allclose(again.positions, positions, atol=1e-5)


def bad(**changes: Any) -> Motion:
    motion = random_motion(10)
    return Motion(
        **{**{name: getattr(motion, name) for name in ("skeleton", "positions", "rotations", "rate")}, **changes}
    )


def test_what_bvh_cannot_hold_is_refused(tmp_path: Path) -> None:
    motion = random_motion(10)
    positions, rotations = motion.positions.copy(), motion.rotations.copy()
    positions[3, 2, 1] = np.nan
    rotations[1, 4, 0] = np.inf
    for broken, frame, joint in ((bad(positions=positions), 3, 2), (bad(rotations=rotations), 1, 4)):
        with pytest.raises(FormatError) as caught:
            ambulo.save(broken, tmp_path / "no.bvh")
        assert (caught.value.frame, caught.value.joint) == (frame, motion.skeleton.names[joint])
        assert caught.value.path == tmp_path / "no.bvh"
    for name in ("a{b", "a\nb", "", " a", "a\r"):
        skeleton = Skeleton((name, *motion.skeleton.names[1:]), motion.skeleton.parents, motion.skeleton.offsets)
        with pytest.raises(FormatError, match="joint name"):
            write([bad(skeleton=skeleton)])
    two_roots = Skeleton(("a", "b"), np.array([-1, -1]), np.zeros((2, 3)))
    with pytest.raises(FormatError, match="has 2"):
        write([Motion(two_roots, np.zeros((1, 2, 3)), np.tile(quaternions.IDENTITY, (1, 2, 1)), 30.0)])
    with pytest.raises(FormatError, match="no motion"):
        write([])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "key"),
    [({"order": "XYX"}, "order"), ({"unit": "cubit"}, "unit"), ({"up": "W"}, "up"), ({"ordr": "XYZ"}, "ordr")],
)
def test_wrong_options_are_named(options: dict[str, Any], key: str) -> None:
    with pytest.raises(FormatError) as caught:
        write([random_motion(11)], options)
    assert caught.value.key == key
