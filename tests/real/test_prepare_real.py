"""Preparation of the real capture: heads, rates, floors, glitches, against what its manifest says."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import ambulo
from ambulo.motion.kinematics import forward
from ambulo.prepare.pipeline import prepare_take


@pytest.fixture(scope="module")
def manifest(real_data):
    with (real_data / "manifest.csv").open(newline="") as file:
        return {row["path"]: row for row in csv.DictReader(file) if row["path"].endswith(".bvh")}


def prepared(real_data, row):
    return prepare_take(ambulo.load(real_data / row["path"], rate=float(row["fps_true"])))


def test_heads_are_cut_where_the_manifest_says(real_data, manifest):
    rows = [row for row in manifest.values() if row["set"] in ("cmu_karate", "cmu_bollywood", "cmu_handshake_pair")]
    rows += [row for row in manifest.values() if row["set"] == "cmu_loco"][::8]
    rows += [row for row in manifest.values() if row["set"] == "cmu_131"]
    rows += [row for row in manifest.values() if row["set"] in ("bandai1", "bandai2_loco")][::60]
    rows += [row for row in manifest.values() if row["set"] == "cmu_salsa_pairs"][::6]
    for row in rows:
        clip = prepared(real_data, row)
        skip = int(row["skip_first"])
        assert clip.trim.start_frame >= skip, row["path"]
        assert clip.trim.start_frame <= (skip + 5 if skip != 1 else 15), row["path"]
        assert clip.trim.stop_frame == int(row["frames"]), row["path"]


def test_glitches_of_the_manifest_are_marked_unusable(real_data, manifest):
    rows = [row for row in manifest.values() if row["glitch_frames"]]
    assert len(rows) == 11
    for row in rows:
        clip = prepared(real_data, row)
        rate, count = float(row["fps_true"]), clip.frame_count
        for frame in map(int, row["glitch_frames"].split(";")):
            at = round((frame - clip.trim.start_frame) / rate * clip.rate)
            # What a cut's jump leads to is the first good frame.
            inside = frame > clip.trim.start_frame and at < count and frame < clip.trim.stop_frame
            assert not inside or clip.valid[at] == 0, (row["path"], frame)
        assert clip.valid.mean() > 0.9


def test_clean_sets_stay_whole(real_data, manifest):
    for row in [row for row in manifest.values() if row["set"] in ("bandai1", "bandai2_loco")][::50]:
        clip = prepared(real_data, row)
        assert clip.valid.all(), row["path"]
        assert clip.frame_count == 2 * int(row["frames"]) - 1, row["path"]


def test_feet_stand_on_the_floor(real_data, manifest):
    for name in ("cmu_loco", "cmu_131", "bandai2_loco", "cmu_salsa_pairs"):
        rows = [row for row in manifest.values() if row["set"] == name]
        for row in rows[:: max(1, len(rows) // 4)]:
            clip = prepared(real_data, row)
            pose = forward(clip.positions, clip.rotations, clip.skeleton.parents)
            roles = clip.skeleton.roles
            feet = [roles.get(f"{side}_toe", roles[f"{side}_foot"]) for side in ("left", "right")]
            heights = pose.positions[:, feet, 1][clip.contacts.astype(bool)]
            if heights.size > 20:
                low, high = (0.015, 0.055) if "left_toe" in roles else (0.0, 0.10)
                assert low < np.median(heights) < high, row["path"]


def test_walkers_face_and_go_the_same_way(real_data, manifest):
    for path in ("free/cmu_131/131_01.bvh", "noncommercial/pfnn/LocomotionFlat09_000.bvh"):
        clip = prepared(real_data, manifest[path])
        v = clip.velocities[:, 0]
        fast = np.linalg.norm(v, axis=-1) > 0.5
        q = clip.rotations[:, 0]
        ahead = np.stack([2 * q[:, 1] * q[:, 3], 1 - 2 * q[:, 1] ** 2], axis=-1)
        along = np.sum(ahead * v[:, [0, 2]], axis=-1)[fast] / np.linalg.norm(v, axis=-1)[fast]
        assert np.median(along) > 0.9, path
