"""The story on real capture: "tired" is asked for on day one, its takes are dropped in on day three."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from ambulo.control.create import create_controller
from ambulo.control.explanation import Explanation
from ambulo.control.gameplay.director import Director
from ambulo.control.gameplay.producers import Player
from ambulo.control.gameplay.state_machine import load_machine
from ambulo.control.missing import MissingWarning
from ambulo.control.pose import Pose
from ambulo.control.project_settings import project_settings
from ambulo.database.database import Database
from ambulo.matching.build import build, load_index
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward

DT = 1.0 / 60.0
AHEAD = np.array([[0.0, 0.0, 1.0]], np.float32)
GAME = """
[states.fresh]
require = ["not tired"]

[states.spent]
require = ["tired"]
speed = 0.6

[[transitions]]
from = "fresh"
to = "spent"
when = "stamina < 20"
"""


def play(project: Path, stamina: float) -> tuple[list[Pose], Explanation]:
    database = Database.open(project)
    controller = create_controller("motion_matching", database, load_index(database)[1], project_settings(project))
    director = Director(load_machine(GAME), Player(speed=1.3, stick=(0.0, 1.0)))
    said, state, poses = director.start(), controller.start(), []
    for _ in range(480):
        place = poses[-1].root_position if poses else AHEAD * 0.0
        facing = quaternions.rotate(poses[-1].root_rotation, AHEAD).astype(np.float32) if poses else AHEAD
        said, intent = director.step(said, place, facing, {"stamina": stamina}, DT)
        state, pose = controller.step(state, intent, DT)
        poses.append(pose)
    return poses, controller.explain(state)


def head_drop(global_positions: np.ndarray, rotations: np.ndarray, roles: dict[str, int]) -> float:
    """How far the trunk leans ahead, degrees, mean over frames."""
    trunk = global_positions[:, roles["head"]] - global_positions[:, roles["hips"]]
    way = quaternions.inverse_rotate(rotations, trunk)
    return float(np.degrees(np.arctan2(way[:, 2], way[:, 1])).mean())


def shown_drop(project: Path, poses: list[Pose]) -> float:
    poses = poses[90:]
    return head_drop(
        np.array([pose.global_positions[0] for pose in poses]),
        np.array([pose.root_rotation[0] for pose in poses]),
        dict(Database.open(project).skeleton.roles),
    )


def test_tired_takes_are_dropped_in_and_shown(real_data: Path, tmp_path: Path) -> None:
    capture, takes = real_data / "noncommercial" / "bandai1", tmp_path / "takes"
    takes.mkdir()
    for take in capture.glob("dataset-1_walk*_normal_001.bvh"):
        shutil.copy(take, takes)
    (tmp_path / "ambulo.toml").write_text('name = "hero"\n[[sources]]\npath = "takes"\n')
    build(tmp_path)
    with pytest.warns(MissingWarning, match="'tired' is passed over"):
        poses, why = play(tmp_path, stamina=5.0)
    assert list(why.passed_over) == ["tired"]
    assert poses[-1].root_position[0, 2] > 2.0  # day one: it goes on

    began = time.process_time()
    dropped = list(capture.glob("dataset-1_walk*_tired_001.bvh"))
    assert len(dropped) >= 3
    for take in dropped:
        shutil.copy(take, takes)
    report = build(tmp_path, jobs=1)
    assert report.prepared == len(dropped) and not report.problems
    tired, why = play(tmp_path, stamina=5.0)
    assert time.process_time() - began < 10.0
    fresh, _ = play(tmp_path, stamina=90.0)

    database = Database.open(tmp_path)
    carries = database.mask(("tired",))
    assert why.passed_over == {}
    assert all(carries[pose.frames[0]] for pose in tired[30:])
    assert not any(carries[pose.frames[0]] for pose in fresh)
    assert tired[-1].root_position[0, 2] > 1.0
    # What is shown leans as the tired takes do, not as the fresh ones.
    roles = dict(database.skeleton.roles)
    captured = {}
    for kind, frames in (("tired", np.flatnonzero(carries)), ("fresh", np.flatnonzero(~carries))):
        rotations = np.asarray(database.rotations[frames])
        pose = forward(np.asarray(database.positions[frames]), rotations, database.skeleton.parents)
        captured[kind] = head_drop(pose.positions, rotations[:, 0], roles)
    assert abs(captured["tired"] - captured["fresh"]) > 3.0, captured
    for kind, poses in (("tired", tired), ("fresh", fresh)):
        other = captured["fresh" if kind == "tired" else "tired"]
        drop = shown_drop(tmp_path, poses)
        assert abs(drop - captured[kind]) < abs(drop - other), (kind, drop, captured)
