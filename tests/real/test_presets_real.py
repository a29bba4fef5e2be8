"""Presets on the real data sets that they are for: units, rates, calibration, tags and licences come out right."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from ambulo.cli import new as verb
from ambulo.database.database import Database
from ambulo.database.project import load_project
from ambulo.database.report import BuildReport
from ambulo.matching.build import build


def make(preset: str, takes: Path, folder: Path) -> tuple[BuildReport, Database]:
    verb.run(verb.Arguments(folder, source=takes, preset=preset))
    report = build(folder, jobs=1)
    assert report.problems == ()
    return report, Database.open(folder)


def some(real_data: Path, group: str, patterns: tuple[str, ...], folder: Path) -> Path:
    takes = folder / group
    takes.mkdir(parents=True)
    files = [file for pattern in patterns for file in sorted((real_data / group).glob(pattern))]
    assert len(files) >= len(patterns)
    for file in files:
        shutil.copyfile(file, takes / file.name)
    return takes


def truth(real_data: Path, name: str) -> dict[str, str]:
    with (real_data / "manifest.csv").open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["path"].endswith(f"/{name}"))


def test_bandai(real_data: Path, tmp_path: Path) -> None:
    patterns = ("dataset-2_walk_normal_00[1-3].bvh", "dataset-2_run_elderly_001.bvh")
    takes = some(real_data, "noncommercial/bandai2_loco", patterns, tmp_path)
    report, database = make("bandai", takes, tmp_path / "project")
    assert report.units == {"centimetre": 4}
    (use,) = report.licences
    assert (use.licence, use.non_commercial, use.clips) == ("CC-BY-NC-4.0", True, 8)
    assert "Bandai Namco" in use.attribution
    assert {"walk", "run", "normal", "elderly", "mirrored"} <= set(database.tags)
    clip = next(clip for clip in database.clips if "walk_normal_001" in clip.name)
    row = truth(real_data, "dataset-2_walk_normal_001.bvh")
    assert clip.frame_count / database.rate == pytest.approx(float(row["seconds"]), abs=0.1)
    assert load_project(tmp_path / "project").play.default_tags == ("normal",)


def test_cmu_in_its_own_unit(real_data: Path, tmp_path: Path) -> None:
    takes = some(real_data, "free/cmu_loco", ("test_walking_extra_0[67].bvh",), tmp_path)
    report, database = make("cmu", takes, tmp_path / "project")
    assert report.units == {"cmu": 2}
    assert [(use.licence, use.non_commercial) for use in report.licences] == [("CMU-mocap", False)]
    assert "NSF EIA-0196217" in report.licences[0].attribution
    assert truth(real_data, "test_walking_extra_06.bvh")["skip_first"] == "1"
    assert all(clip.start_time == pytest.approx(1 / 120.0) for clip in database.clips)


def test_cmu_acclaim_files(real_data: Path, tmp_path: Path) -> None:
    takes = some(real_data, "free/cmu_asf_amc", ("35.asf", "35_01.amc"), tmp_path)
    report, database = make("cmu", takes, tmp_path / "project")
    assert report.units == {"cmu": 1} and report.takes == 1
    assert database.clips[0].frame_count / database.rate == pytest.approx(359 / 120.0, abs=0.1)


def test_salsa_is_at_sixty_frames_a_second_whatever_it_says(real_data: Path, tmp_path: Path) -> None:
    takes = some(real_data, "free/cmu_salsa_pairs", ("60_0[12].bvh", "61_01.bvh"), tmp_path)
    report, database = make("cmu_daz", takes, tmp_path / "project")
    assert report.units == {"centimetre": report.takes}
    row = truth(real_data, "60_01.bvh")
    assert (row["fps_true"], row["skip_first"]) == ("60", "6")
    clip = next(clip for clip in database.clips if clip.name == "60_01")
    assert clip.start_time == pytest.approx(6 / 60.0)
    assert clip.frame_count / database.rate == pytest.approx((int(row["frames"]) - 6) / 60.0, abs=0.1)
    assert "salsa" in clip.tags
