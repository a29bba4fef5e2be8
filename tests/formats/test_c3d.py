"""C3D: the probe file, files made byte by byte for three processors, and ezc3d as a second reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c3d_files import c3d_bytes

import ambulo
from ambulo.errors import FormatError, MotionError
from ambulo.motion.markers import Markers
from ambulo.prepare.pipeline import prepare_take


def points(frames: int = 5, markers: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-900, 900, (frames, markers, 3)).astype(np.float64) * 2.0


def saved(folder: Path, data: bytes, name: str = "take.c3d") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def load(path: Path, **options: Any) -> Markers:
    """In the file's own units and axes."""
    motion = ambulo.load(path, unit="metre", up="y", **options)
    assert isinstance(motion, Markers)
    return motion


def refusal(path: Path, **options: Any) -> FormatError:
    with pytest.raises(FormatError) as caught:
        load(path, **options)
    return caught.value


def test_probe(cases: Path) -> None:
    path = cases / "c3d_occluded_marker_no_analog.c3d"
    markers = load(path)
    assert (markers.frame_count, markers.rate, markers.skeleton.names) == (3, 100.0, ("LFHD", "RFHD"))
    np.testing.assert_array_equal(markers.positions[1, 0], [101, 200, 1700])
    assert np.isnan(markers.positions[1, 1]).all()
    np.testing.assert_array_equal(markers.positions[2, 1], [-102, 200, 1700])
    np.testing.assert_array_equal(markers.valid, [[True, True], [True, False], [True, True]])
    metres = ambulo.load(path)
    assert (metres.source.unit, metres.source.unit_guessed, metres.source.up) == ("millimetre", False, "+Z")
    np.testing.assert_allclose(metres.positions[1, 0], [0.101, 1.7, -0.2], atol=1e-6)
    assert not metres.source.warnings
    assert any(note.joint == "RFHD" for note in metres.source.notes if note.code == "occluded")


@pytest.mark.parametrize("processor", [84, 85, 86])
@pytest.mark.parametrize("scale", [-1.0, 2.0])
@pytest.mark.parametrize("analog", [0, 5])
def test_three_processors_floats_and_whole_numbers(tmp_path: Path, processor: int, scale: float, analog: int) -> None:
    wanted = points()
    seen = np.ones(wanted.shape[:2], bool)
    seen[2, 1] = seen[4, 0] = False
    path = saved(tmp_path, c3d_bytes(wanted, seen=seen, processor=processor, scale=scale, analog=analog))
    markers = load(path)
    np.testing.assert_array_equal(markers.valid, seen)
    np.testing.assert_array_equal(markers.positions[seen], wanted[seen])
    assert np.isnan(markers.positions[~seen]).all()
    assert markers.rate == 100.0
    np.testing.assert_array_equal(markers.rotations, np.tile([0, 0, 0, 1], (5, 3, 1)))


def test_ezc3d_writes_and_reads_the_same(tmp_path: Path) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    wanted = points(40, 300)
    data = np.ones((4, 300, 40))
    data[:3] = wanted.transpose(2, 1, 0)
    data[:, 7, 3] = np.nan
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [120.0]
    file["parameters"]["POINT"]["LABELS"]["value"] = tuple(f"P{i}" for i in range(300))
    file["parameters"]["POINT"]["UNITS"]["value"] = ("cm",)
    file["parameters"]["ANALOG"]["RATE"]["value"] = [240.0]
    file["parameters"]["ANALOG"]["LABELS"]["value"] = ("A", "B")
    file["data"]["points"] = data
    file["data"]["analogs"] = np.random.default_rng(0).normal(size=(1, 2, 80))
    path = tmp_path / "by_ezc3d.c3d"
    file.write(str(path))
    markers = load(path)
    assert markers.rate == 120.0
    assert markers.skeleton.names == tuple(f"P{i}" for i in range(300))
    np.testing.assert_array_equal(np.argwhere(~markers.valid), [[3, 7]])
    np.testing.assert_allclose(markers.positions[markers.valid], wanted[markers.valid], rtol=1e-6)
    assert ambulo.load(path).source.unit == "centimetre"
    # And it reads our bytes as we do.
    ours = saved(tmp_path, c3d_bytes(points()))
    theirs = ezc3d.c3d(str(ours))["data"]["points"]
    np.testing.assert_array_equal(theirs[:3].transpose(2, 1, 0), load(ours).positions)


def test_more_frames_than_a_header_can_count(tmp_path: Path) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    wanted = np.ones((70_001, 1, 3))
    wanted[:, 0, 0] = np.arange(1, 70_002)
    said = load(saved(tmp_path, c3d_bytes(wanted, actual=(1, 70_001))))
    np.testing.assert_array_equal(said.positions, wanted)
    told = load(saved(tmp_path, c3d_bytes(wanted, actual=(1, 66_000))))
    assert told.frame_count == 66_000
    # ezc3d counts to 65,535 only and writes all the same; what fills its last block is no motion.
    data = np.ones((4, 1, 70_001))
    data[:3, 0] = wanted[:, 0].T
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [100.0]
    file["parameters"]["POINT"]["LABELS"]["value"] = ("A",)
    file["data"]["points"] = data
    path = tmp_path / "long.c3d"
    file.write(str(path))
    np.testing.assert_array_equal(load(path).positions, wanted)


def test_the_up_axis_is_said_or_guessed(tmp_path: Path) -> None:
    body = np.zeros((4, 4, 3))
    body[:, :, :2] = points(4, 4)[:, :, :2] / 10
    body[:, :, 2] = [1700, 1690, 50, 60]
    names = ["LFHD", "RFHD", "LTOE", "RHEE"]

    def up_of(data: bytes) -> tuple[str, bool]:
        source = ambulo.load(saved(tmp_path, data)).source
        return source.up, source.up_guessed

    assert up_of(c3d_bytes(body, labels=names)) == ("+Z", True)
    assert up_of(c3d_bytes(body[..., [1, 2, 0]], labels=names)) == ("+Y", True)
    assert up_of(c3d_bytes(body[..., [1, 2, 0]], labels=["a", "b", "c", "d"])) == ("+Y", True)
    assert up_of(c3d_bytes(body, labels=["a", "b", "c", "d"])) == ("+Z", True)
    assert up_of(c3d_bytes(body, up="+Y")) == ("+Y", False)
    z_up = ambulo.load(saved(tmp_path, c3d_bytes(body, labels=names)))
    y_up = ambulo.load(saved(tmp_path, c3d_bytes(body[..., [0, 2, 1]] * [1, 1, -1], labels=names)))
    np.testing.assert_allclose(z_up.positions, y_up.positions, atol=1e-6)


def test_a_marker_at_the_origin_was_not_seen(tmp_path: Path) -> None:
    wanted = points()
    wanted[1, 1] = 0.0
    markers = load(saved(tmp_path, c3d_bytes(wanted)))
    np.testing.assert_array_equal(np.argwhere(~markers.valid), [[1, 1]])


def test_labels_are_kept_apart(tmp_path: Path) -> None:
    markers = load(saved(tmp_path, c3d_bytes(points(), labels=["S:A", "S:A"])))
    assert markers.skeleton.names == ("S:A", "S:A#2", "marker_3")
    assert {note.code for note in markers.source.warnings} == {"duplicate_name", "labels"}


def test_slices_keep_what_was_seen(tmp_path: Path) -> None:
    seen = np.ones((5, 3), bool)
    seen[3, 2] = False
    part = load(saved(tmp_path, c3d_bytes(points(), seen=seen))).slice(2, 5)
    assert isinstance(part, Markers)
    np.testing.assert_array_equal(part.valid, seen[2:5])
    with pytest.raises(MotionError, match="as many flags"):
        Markers(part.skeleton, part.positions, part.rotations, 100.0, valid=seen)


def test_markers_enter_no_database(tmp_path: Path) -> None:
    with pytest.raises(MotionError, match="3 markers, not a skeleton"):
        prepare_take(load(saved(tmp_path, c3d_bytes(points()))))
    with pytest.raises(FormatError):
        ambulo.save(load(tmp_path / "take.c3d"), tmp_path / "take.bvh")


def test_refusals_say_what_is_wrong(tmp_path: Path) -> None:
    data = c3d_bytes(points())
    cut = saved(tmp_path, data[: len(data) - 60])
    assert "5 frames are declared, 3 are there" in str(refusal(cut))
    assert load(cut, lenient=True).frame_count == 3
    assert "no C3D file" in str(refusal(saved(tmp_path, b"\x02\x51" + data[2:])))
    assert "unknown processor" in str(refusal(saved(tmp_path, data[:515] + b"\x07" + data[516:])))
    assert "outside of the file" in str(refusal(saved(tmp_path, b"\x7f" + data[1:])))
    assert "no markers" in str(refusal(saved(tmp_path, c3d_bytes(points(5, 0), analog=2, labels=["x"]))))
    error = refusal(saved(tmp_path, c3d_bytes(points(), rate=0.0)))
    assert "rate=" in str(error)
    assert load(tmp_path / "take.c3d", rate=250).rate == 250.0
    unitless = saved(tmp_path, c3d_bytes(points(), unit=None))
    assert ambulo.load(unitless).source.unit == "millimetre"
    with pytest.raises(FormatError, match="strict"):
        ambulo.load(unitless, strict=True)
