"""Real capture: every set loads with the right unit, axis, rate and shape, and survives being written."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.maths import quaternions

Row = dict[str, str]


@pytest.fixture(scope="module")
def manifest(real_data: Path) -> list[Row]:
    with (real_data / "manifest.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["path"].endswith(".bvh")]


def sample(manifest: list[Row], each: int) -> list[Row]:
    """A few files of every set, spread over it, and every file that a note of the manifest sets apart."""
    sets: dict[str, list[Row]] = {}
    for row in manifest:
        sets.setdefault(row["set"], []).append(row)
    chosen = [row for rows in sets.values() for row in rows[:: max(1, len(rows) // each)]]
    return chosen + [row for row in manifest if "scaled" in row["path"] and row not in chosen]


def test_every_file_loads_as_the_manifest_says(real_data: Path, manifest: list[Row]) -> None:
    assert len(manifest) == 700
    for row in manifest:
        motion = ambulo.load(real_data / row["path"])
        assert motion.frame_count == int(row["frames"]), row["path"]
        assert motion.skeleton.joint_count == int(row["joints"]), row["path"]
        assert int(np.isfinite(motion.skeleton.end_offsets).all(axis=1).sum()) == int(row["end_sites"]), row["path"]
        # The salsa files say 120 where 60 is true (no reader can know); all others say what is true.
        stated = 120.0 if row["set"] == "cmu_salsa_pairs" else float(row["fps_true"])
        assert motion.rate == stated, row["path"]
        assert motion.source.frame_time == float(row["frame_time"]), row["path"]
        assert motion.source.metres_per_unit == float(row["metres_per_unit"]), row["path"]
        assert motion.source.up == "+Y", row["path"]
        assert motion.source.warnings == (), row["path"]
        assert np.isfinite(motion.positions).all(), row["path"]
        lengths = np.sqrt(np.sum(motion.rotations.astype(np.float64) ** 2, axis=-1))
        assert np.abs(lengths - 1.0).max() < 1e-6, row["path"]
        dots = np.sum(motion.rotations[1:] * motion.rotations[:-1], axis=-1)
        assert dots.min(initial=1.0) >= 0.0, row["path"]


def test_units_and_axes_are_guessed_from_any_single_frame(real_data: Path, manifest: list[Row], tmp_path: Path) -> None:
    for row in sample(manifest, 3):
        text = (real_data / row["path"]).read_bytes().replace(b"\r\n", b"\n").rstrip(b"\n")
        header, _, rows = text.partition(b"MOTION\n")
        lines = rows.split(b"\n")
        for index in (2, 2 + len(lines[2:]) // 2, len(lines) - 1):
            path = tmp_path / "frame.bvh"
            path.write_bytes(header + b"MOTION\nFrames: 1\n" + lines[1] + b"\n" + lines[index] + b"\n")
            motion = ambulo.load(path)
            assert motion.source.metres_per_unit == float(row["metres_per_unit"]), (row["path"], index)
            assert motion.source.up == "+Y", (row["path"], index)


def test_numbers_are_those_of_a_plain_reading(real_data: Path, manifest: list[Row]) -> None:
    for row in sample(manifest, 1):
        path = real_data / row["path"]
        motion = ambulo.load(path, unit=1.0, up="y")
        text = path.read_text()
        rows = text.split("Frame Time:")[1].split("\n", 1)[1].split()
        values = np.array(rows, np.float64).reshape(motion.frame_count, -1)
        at = 0
        channels = [line.split()[2:] for line in text.splitlines() if "CHANNELS" in line]
        for joint, names in enumerate(channels):
            columns = values[:, at : at + len(names)]
            at += len(names)
            order = "".join(name[0] for name in names if name.endswith("rotation"))
            wanted = quaternions.from_euler(np.radians(columns[:, -3:]), order)
            angle = quaternions.angle_between(motion.rotations[:, joint].astype(np.float64), wanted)
            assert np.degrees(angle).max() < 2e-5, (row["path"], joint)
            if len(names) == 6:
                np.testing.assert_allclose(motion.positions[:, joint], columns[:, :3], rtol=1e-7, atol=1e-30)


def test_written_files_come_back(real_data: Path, manifest: list[Row], tmp_path: Path) -> None:
    for row in sample(manifest, 1):
        motion = ambulo.load(real_data / row["path"])
        for order in ("ZXY", "XYZ"):
            ambulo.save(motion, tmp_path / "again.bvh", order=order)
            again = ambulo.load(tmp_path / "again.bvh")
            assert again.source.unit == "centimetre"
            assert again.skeleton.names == motion.skeleton.names
            np.testing.assert_allclose(again.positions, motion.positions, atol=1e-5, err_msg=row["path"])
            angle = quaternions.angle_between(again.rotations, motion.rotations)
            assert np.degrees(angle).max() < 1e-3, row["path"]
