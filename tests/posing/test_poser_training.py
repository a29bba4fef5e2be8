"""Training of the posing model from a project or folder, by command too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ambulo.cli.main import run
from ambulo.errors import PosingError
from ambulo.formats.registry import save
from ambulo.posing.observations import observe_points
from ambulo.posing.points import SCHEMES, point_indices
from ambulo.posing.pose_set import PoseSet
from ambulo.posing.poser import Poser
from ambulo.posing.poser_task import PoserSettings
from ambulo.posing.poser_training import PoserPreset, split_takes, train_on, train_poser
from ambulo.posing.wish_sampling import WishShares
from ambulo.synthesis.performance import synthesize

pytest.importorskip("torch", reason="the extra `learn` is not installed")

TINY = PoserPreset(steps=12, width=32, batch=64)


def test_a_project_is_learned_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "p"
    assert run(["new", str(project), "--minutes", "1.5", "--json"]) == 0
    capsys.readouterr()
    report = train_poser([project], tmp_path / "m", preset=TINY, hold_out=["walk_curves*"])
    assert report.held_out == ("walk_curves_01.bvh",) and report.takes >= 1
    assert report.errors.keys() == report.gaussian_errors.keys() >= {"six_cm", "sixteen_cm"}
    manifest = Poser.load(tmp_path / "m").manifest
    assert manifest.licences == ("Apache-2.0",) and manifest.poses == report.poses and manifest.data == "p"
    assert run(["train", "poser", str(project), "--preset", "nope", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["key"] == "preset"
    assert run(["train", "poser", str(tmp_path / "none"), "--json"]) == 2
    assert "no such file" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_the_network_learns(poses: PoseSet, tmp_path: Path) -> None:
    # The few takes are too much alike for a test of what is new; that is what benchmarks/posing.py measures.
    settings = PoserSettings(mixing=0.0, shares=WishShares(six=1.0, loose=0.0, oriented=0.0, near=0.0))
    preset = PoserPreset(steps=250, width=64, batch=128)
    report, _ = train_on(poses, poses, tmp_path, preset=preset, settings=settings)
    assert report.errors["six_cm"] < 0.8 * report.gaussian_errors["six_cm"]


def test_the_same_seed_gives_the_same_model(poses: PoseSet, tmp_path: Path) -> None:
    wishes = observe_points(SCHEMES[6], poses.points[:8, point_indices(SCHEMES[6])])

    def trained(name: str, seed: int) -> np.ndarray:
        _, poser = train_on(poses, None, tmp_path / name, preset=TINY, seed=seed)
        return poser.complete(wishes)

    first = trained("a", 1)
    assert np.array_equal(first, trained("b", 1))
    assert not np.array_equal(first, trained("c", 2))


def test_takes_are_split_by_name() -> None:
    names = [f"take_{number:02}" for number in range(25)]
    assert np.flatnonzero(~split_takes(names)).tolist() == [9, 19]
    assert np.flatnonzero(~split_takes(names, ["TAKE_0[12]"])).tolist() == [1, 2]
    assert split_takes(["only"]).all()
    with pytest.raises(PosingError, match="no take is called"):
        split_takes(names, ["punch*"])
    with pytest.raises(PosingError, match="left to learn from"):
        split_takes(names, ["*"])


def test_a_few_poses_teach_nothing(tmp_path: Path) -> None:
    save(synthesize(seed=3, minutes=0.5)[0].motion.slice(0, 60), tmp_path / "short.bvh")
    with pytest.raises(PosingError, match="too few to learn from"):
        train_poser([tmp_path / "short.bvh"], tmp_path / "m", preset=TINY)
    assert not (tmp_path / "m").exists()
