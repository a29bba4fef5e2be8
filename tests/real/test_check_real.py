"""What the check finds in real capture, against what its manifest says; and that clean capture stays unmarked."""

from __future__ import annotations

import csv

import pytest

import ambulo
from ambulo.prepare.quality.check import check_motion
from ambulo.prepare.repair.repair import repair_motion


@pytest.fixture(scope="module")
def manifest(real_data):
    with (real_data / "manifest.csv").open(newline="") as file:
        return {row["path"]: row for row in csv.DictReader(file) if row["path"].endswith(".bvh")}


def warned(real_data, path, *codes):
    return [f for f in check_motion(ambulo.load(real_data / path)) if f.severity != "note" and f.code in codes]


def rows_of(manifest, *sets, step=1):
    return [row for row in manifest.values() if row["set"] in sets][::step]


def test_every_rate_that_lies_is_found_and_the_true_one_proposed(real_data, manifest):
    for row in rows_of(manifest, "cmu_salsa_pairs"):
        (found,) = warned(real_data, row["path"], "rate")
        assert found.proposal.rate == float(row["fps_true"]) == 60.0, row["path"]
        assert "120" in found.message


def test_true_rates_are_believed(real_data, manifest):
    sets = ("cmu_loco", "cmu_131", "cmu_karate", "cmu_bollywood", "cmu_handshake_pair", "pfnn")
    rows = rows_of(manifest, *sets) + rows_of(manifest, "bandai1", "bandai2_loco", step=12)
    assert [row["path"] for row in rows if warned(real_data, row["path"], "rate", "repeats", "unit")] == []


def test_heads_are_found_where_the_manifest_says(real_data, manifest):
    sets = ("cmu_loco", "cmu_handshake_pair", "cmu_karate", "cmu_bollywood", "cmu_salsa_pairs")
    for row in rows_of(manifest, *sets, step=3):
        found = warned(real_data, row["path"], "head_jump", "t_pose", "ringing")
        start = max(f.proposal.start_frame for f in found)
        skip = int(row["skip_first"])
        assert skip <= start <= skip + 12, row["path"]


def test_glitch_frames_are_found(real_data, manifest):
    rows = [row for row in manifest.values() if row["glitch_frames"]]
    assert len(rows) == 11
    for row in rows:
        found = warned(real_data, row["path"], "speed", "head_jump", "tail_jump")
        for frame in map(int, row["glitch_frames"].split(";")):
            assert any(f.start_frame <= frame <= f.stop_frame for f in found), (row["path"], frame)


def test_clean_capture_stays_unmarked(real_data, manifest):
    rows = rows_of(manifest, "bandai1", "bandai2_loco", step=6)
    found = {row["path"]: check_motion(ambulo.load(real_data / row["path"])) for row in rows}
    marked = [path for path, findings in found.items() if any(f.severity != "note" for f in findings)]
    assert len(marked) <= 0.05 * len(rows), marked


def test_bodies_forced_onto_another_are_told_to_slide(real_data, manifest):
    sliding = [row["path"] for row in rows_of(manifest, "cmu_salsa_pairs") if warned(real_data, row["path"], "sliding")]
    assert len(sliding) >= 16


def test_a_whole_folder_is_checked(real_data):
    report = ambulo.check(real_data / "free" / "cmu_salsa_pairs")
    assert len(report.takes) == 20 and report.frame_count == 39_210
    assert report.counts()["rate"] == 20 and report.broken == ()


def test_repairs_take_away_what_they_claim(real_data):
    for path in ("free/cmu_loco/test_walking_01.bvh", "free/cmu_loco/train_walking_02.bvh"):
        made, report = repair_motion(ambulo.load(real_data / path))
        steps = {step.operation: step for step in report.steps}
        assert steps["feet"].before["speed of held feet"] > 0.08
        assert steps["feet"].after["speed of held feet"] < 0.002
        left = {f.code for f in check_motion(made) if f.severity != "note"}
        assert left <= {"head_jump", "ringing"}, path


def test_repair_never_makes_new_faults(real_data):
    # Legs that flip and bend backward: IK that insisted on a forward knee would throw them about.
    motion = ambulo.load(real_data / "free" / "cmu_bollywood" / "94_07.bvh")
    _, report = repair_motion(motion)
    fast = [sum(f.code in ("speed", "pop", "flip") for f in found) for found in (report.before, report.after)]
    assert fast[1] < 0.5 * fast[0]
