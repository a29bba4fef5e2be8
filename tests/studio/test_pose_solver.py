"""Pins in, poses out: bones keep their lengths, pins are held, what is out of reach is said."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.errors import PosingError, StudioError
from ambulo.formats.registry import save
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward
from ambulo.posing.points import POINTS
from ambulo.posing.projection import Projected
from ambulo.studio import pose_messages as m
from ambulo.studio.open_project import OpenProject
from ambulo.studio.pose_solver import PoseSolver, project_solver


@pytest.fixture(scope="module")
def solver(opened: OpenProject) -> PoseSolver:
    return project_solver(opened)


def at(pose: Projected, point: str) -> np.ndarray:
    return pose.points[0, POINTS.index(point)]


def raised(solver: PoseSolver) -> dict[str, list[float]]:
    x, y, z = solver.start["left_wrist"]
    return solver.start | {"left_wrist": [x, y + 0.45, z + 0.2]}


def test_it_poses_the_project_s_own_body(solver: PoseSolver, opened: OpenProject) -> None:
    hello = solver.hello()
    assert hello.project == "small"
    assert hello.skeleton.names == list(opened.database.skeleton.names)
    assert [point.name for point in hello.points] == list(POINTS)
    assert {point.name for point in hello.points if point.scheme == 6} == set(hello.start)


def test_a_wrist_is_held_and_the_elbow_follows(solver: PoseSolver) -> None:
    pins = raised(solver)
    before, after = solver.solve(solver.start), solver.solve(pins)
    assert at(after, "left_wrist") == pytest.approx(pins["left_wrist"], abs=1e-3)
    assert np.linalg.norm(at(after, "left_elbow") - at(before, "left_elbow")) > 0.1
    assert np.linalg.norm(at(after, "right_elbow") - at(before, "right_elbow")) < 0.1
    assert after.unreachable == ()


def test_the_page_can_place_points_by_joint_and_offset(solver: PoseSolver) -> None:
    hello, pose = solver.hello(), solver.solve(raised(solver))
    whole = forward(pose.positions, pose.rotations, np.array(hello.skeleton.parents))
    for index, point in enumerate(hello.points):
        where = whole.positions[0, point.joint] + quaternions.rotate(
            whole.rotations[0, point.joint], np.array(point.offset, np.float32)
        )
        assert where == pytest.approx(pose.points[0, index], abs=1e-4)


def test_what_is_out_of_reach_is_said(solver: PoseSolver) -> None:
    posed = solver.posed(m.SolvePose({**solver.start, "left_wrist": (0.3, 3.5, 0.0)}, sequence=5))  # type: ignore[arg-type]
    assert posed.sequence == 5
    assert "left_wrist" in [pin.point for pin in posed.unreached]
    assert max(pin.millimetres for pin in posed.unreached) > 100
    assert np.isfinite(posed.positions).all()


def test_the_embedded_body_stands_in_for_an_animal(opened: OpenProject) -> None:
    skeleton = opened.database.skeleton
    roles = {**skeleton.roles, "left_front_foot": skeleton.roles["left_hand"]}
    roles["right_front_foot"] = skeleton.roles["right_hand"]
    database = copy.copy(opened.database)
    database.skeleton = replace(skeleton, roles=roles)
    solver = project_solver(OpenProject("fox", database, opened.index))
    assert solver.name == "the embedded body"
    pose = solver.solve(solver.start | {"left_wrist": [0.5, 1.3, 0.3]})
    assert at(pose, "left_wrist") == pytest.approx([0.5, 1.3, 0.3], abs=1e-3)


def test_unknown_points_are_refused(solver: PoseSolver) -> None:
    with pytest.raises(PosingError, match="left_wrist"):
        solver.solve({"left_wirst": [0, 1, 0]})


def test_keys_become_a_motion_that_passes_through_them(solver: PoseSolver, tmp_path: Path) -> None:
    keys = [m.KeyPose(1.5, raised(solver)), m.KeyPose(0.5, solver.start)]  # type: ignore[arg-type]
    motion = solver.motion(keys, rate=20.0)
    assert motion.frame_count == 21
    first, last = solver.solve(solver.start), solver.solve(raised(solver))
    for frame, pose in ((0, first), (20, last)):
        assert quaternions.angle_between(motion.rotations[frame], pose.rotations[0]).max() < 1e-3
        assert motion.positions[frame] == pytest.approx(pose.positions[0], abs=1e-6)
    arm = motion.skeleton.role("left_upper_arm")
    whole = quaternions.angle_between(first.rotations[0, arm], last.rotations[0, arm])
    half = quaternions.angle_between(first.rotations[0, arm], motion.rotations[10, arm])
    assert half == pytest.approx(whole / 2, abs=1e-3)
    for ending in ("bvh", "glb"):
        save(motion, tmp_path / f"pose.{ending}")
        assert ambulo.load(tmp_path / f"pose.{ending}").frame_count == 21


def test_two_keys_at_one_time_are_refused(solver: PoseSolver) -> None:
    keys = [m.KeyPose(1.0, solver.start), m.KeyPose(1.001, solver.start)]  # type: ignore[arg-type]
    with pytest.raises(StudioError, match="half a frame"):
        solver.motion(keys, rate=30.0)
