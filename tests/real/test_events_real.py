"""Events on real capture: a kick whose highest moment is annotated, asked for while walking."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ambulo.control.create import create_controller
from ambulo.control.intent import Intent
from ambulo.control.project_settings import project_settings
from ambulo.database.database import Database
from ambulo.formats.registry import load
from ambulo.matching.build import build, load_index
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion

DT = 1.0 / 60.0


@pytest.fixture(scope="module")
def project(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Walks and a kick of bandai1; the moments at which a kicking foot is highest are tagged."""
    folder = tmp_path_factory.mktemp("kicks")
    (folder / "takes").mkdir()
    for pattern in ("*_walk_normal_00*.bvh", "*_kick_normal_001.bvh"):
        for take in (real_data / "noncommercial" / "bandai1").rglob(pattern):
            shutil.copy(take, folder / "takes")
    kick = next((folder / "takes").glob("*_kick_*"))
    motion = with_detected_roles(load(kick))
    height = forward_motion(motion).positions[
        :, [motion.skeleton.role(f"{side}_foot") for side in ("left", "right")], 1
    ]
    highest = height.max(axis=1)
    # Kicks are what rises above the hips of a standing body's knees: at least 70 cm.
    frames = np.arange(len(highest))
    window = round(0.5 * motion.rate)
    peaks = [f for f in frames if highest[f] > 0.7 and highest[f] == highest[max(f - window, 0) : f + window].max()]
    assert peaks
    rows = "".join(f"{f / motion.rate:.4f},{min(f / motion.rate + 0.4, motion.duration):.4f},strike\n" for f in peaks)
    kick.with_suffix(".tags.csv").write_text(f"start,stop,tag\n{rows}")
    (folder / "ambulo.toml").write_text(
        'name = "kicks"\n[play]\ndefault_tags = ["walking"]\n'
        '[[sources]]\npath = "takes"\nglob = "*_walk_*"\ntags = ["walking"]\n'
        '[[sources]]\npath = "takes"\nglob = "*_kick_*"\ntags = ["kicking"]\n'
    )
    build(folder)
    return folder


@pytest.mark.parametrize("seconds", [0.5, 0.8, 1.7])
def test_a_kick_is_highest_when_it_shall_be(project: Path, seconds: float) -> None:
    database = Database.open(project)
    _, index = load_index(database)
    controller = create_controller("motion_matching", database, index, project_settings(project))
    walk = np.array([[0.0, 0.0, 1.2]])
    state = controller.start()
    for _ in range(120):
        state, pose = controller.step(state, Intent(walk), DT)
    assert "walk" in database.locate(int(pose.frames[0]))[0].name
    feet = [database.skeleton.role(f"{side}_foot") for side in ("left", "right")]
    shown, height = [], []
    for step in range(round(seconds * 60) + 20):
        state, pose = controller.step(state, Intent(walk, event=("strike", seconds) if step == 0 else None), DT)
        shown.append(int(pose.frames[0]))
        height.append(float(pose.global_positions[0, feet, 1].max()))
    markers = database.tags["strike"][:, 0]
    # Step s ends s + 1 steps after the moment at which it was asked for.
    met = round(seconds * 60) - 1
    assert np.abs(markers - shown[met]).min() <= 1
    assert np.diff(shown[met : met + 15]).tolist() == [1] * 14
    assert height[met] > 0.6
    assert abs(int(np.argmax(height)) - met) <= 3
