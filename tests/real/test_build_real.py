"""Real capture: every set becomes a database with `ambulo new --from` and `ambulo build`, no line of configuration."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ambulo.cli import main as cli
from ambulo.database.database import Database
from ambulo.motion.kinematics import forward

# set -> (folder, every n-th file, unit, tags among those found)
SETS = {
    "cmu_loco": ("free/cmu_loco", 4, {"cmu"}, {"walking", "running", "jumping", "soccer", "basketball"}),
    "cmu_131": ("free/cmu_131", 1, {"cmu", "metre"}, set()),
    "bandai1": ("noncommercial/bandai1", 8, {"centimetre"}, {"walk", "run", "happy", "tired", "left"}),
    "bandai2_loco": ("noncommercial/bandai2_loco", 20, {"centimetre"}, {"walk", "run", "turn", "left", "right"}),
    "pfnn": ("noncommercial/pfnn", 1, {"cmu"}, {"locomotion", "flat"}),
}


@pytest.mark.parametrize("name", SETS)
def test_a_set_builds_without_configuration(
    name: str, real_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, step, units, tags = SETS[name]
    with (real_data / "manifest.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["path"].startswith(f"{folder}/")]
    rows = [row for row in rows if row["path"].endswith(".bvh")][::step]
    takes = tmp_path / "capture"
    takes.mkdir()
    for row in rows:
        shutil.copyfile(real_data / row["path"], takes / Path(row["path"]).name)
    project = tmp_path / name
    assert cli.run(["new", str(project), "--from", str(takes)]) == 0
    capsys.readouterr()
    assert cli.run(["build", str(project), "--strict", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["takes"], report["used"], report["problems"]) == (len(rows), len(rows), [])
    assert report["clips"] == 2 * len(rows)
    assert set(report["units"]) == units
    assert tags <= set(report["tags"])

    database = Database.open(project)
    seconds = {Path(row["path"]).stem: float(row["seconds"]) for row in rows}
    for clip in database.clips:
        stem = clip.name.removesuffix("_mirrored")
        assert 0.8 * seconds[stem] - 0.2 <= clip.frame_count / database.rate <= seconds[stem] + 0.05, clip.name
    needed = {"hips", "chest", "head", "left_foot", "right_foot", "left_toe", "right_toe", "left_hand", "right_hand"}
    assert needed <= set(database.skeleton.roles)
    assert np.abs(database.positions[:, 0, 1]).max() < 1e-5  # the root is on the ground
    assert (database.valid > 0).mean() > 0.97

    pose = forward(database.positions, database.rotations, database.skeleton.parents)
    assert np.isfinite(pose.positions).all()
    role = database.skeleton.roles
    hips, head = pose.positions[:, role["hips"], 1], pose.positions[:, role["head"], 1]
    assert 0.75 < np.median(hips) < 1.2 and 1.2 < np.median(head) < 1.9  # an adult, in metres, upright
    # Half the frames are the others' mirror images: what the left foot does on average, the right does.
    left, right = (pose.positions[:, role[f"{side}_foot"], 1].mean() for side in ("left", "right"))
    assert left == pytest.approx(right, abs=1e-4)
    contacts = database.contacts.mean(axis=0)
    assert contacts[0] == pytest.approx(contacts[1], abs=1e-6) and 0.1 < contacts[0] < 0.99
