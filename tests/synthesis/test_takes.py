"""Takes on disk: ordinary BVH with tags and truth beside it."""

import csv

import numpy as np
import pytest

from ambulo.formats import registry
from ambulo.motion.kinematics import forward_motion
from ambulo.synthesis.performance import synthesize
from ambulo.synthesis.takes import write_takes


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takes")
    return folder, write_takes(folder, seed=4, minutes=0.4), synthesize(seed=4, minutes=0.4)


def test_folders_carry_the_style(written):
    folder, paths, performances = written
    assert [path.relative_to(folder).parts[0] for path in paths] == [p.folder for p in performances]
    for path in paths:
        assert path.suffix == ".bvh"
        assert path.with_suffix(".tags.csv").is_file()
        assert path.with_suffix(".truth.npz").is_file()


def test_the_ordinary_reader_gets_back_what_was_performed(written):
    _, paths, performances = written
    for path, performance in zip(paths, performances, strict=True):
        motion = registry.load(path)
        assert motion.source.unit == "centimetre"
        assert motion.skeleton.names == performance.motion.skeleton.names
        assert np.isclose(motion.rate, 60.0, atol=1e-3)
        expected, got = forward_motion(performance.motion), forward_motion(motion)
        assert np.abs(expected.positions - got.positions).max() < 2e-4


def test_no_slide_survives_the_file(written):
    _, paths, _ = written
    for path in paths:
        motion = registry.load(path)
        contacts = np.load(path.with_suffix(".truth.npz"))["contacts"]
        for foot, name in enumerate(("LeftToeBase", "RightToeBase")):
            toe = forward_motion(motion).positions[:, motion.skeleton.index(name)]
            both = contacts[1:, foot] & contacts[:-1, foot]
            assert np.linalg.norm(np.diff(toe, axis=0), axis=-1)[both].max() < 5e-4


def test_truth_file_has_a_row_a_frame(written):
    _, paths, performances = written
    for path, performance in zip(paths, performances, strict=True):
        truth = np.load(path.with_suffix(".truth.npz"))
        frames = performance.motion.frame_count
        for name in ("contacts", "heel_contacts", "phase", "gait", "root_positions", "root_directions"):
            assert len(truth[name]) == frames
        assert len(truth["ground_heights"]) == frames
        assert float(truth["rate"]) == 60.0
        assert np.array_equal(truth["phase"], performance.truth.phase)


def test_tags_are_ranges_inside_the_take(written):
    _, paths, performances = written
    for path, performance in zip(paths, performances, strict=True):
        with path.with_suffix(".tags.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        tags = {row["tag"] for row in rows}
        assert {"neutral", "locomotion", "walk", "idle"} <= tags
        for row in rows:
            if row["start"]:
                assert 0.0 <= float(row["start"]) < float(row["stop"]) <= performance.motion.duration + 0.02
            else:
                assert row["stop"] == ""


def test_same_seed_same_bytes(written, tmp_path):
    folder, paths, _ = written
    again = write_takes(tmp_path, seed=4, minutes=0.4)
    for first, second in zip(paths, again, strict=True):
        for suffix in (".bvh", ".tags.csv", ".truth.npz"):
            assert first.with_suffix(suffix).read_bytes() == second.with_suffix(suffix).read_bytes()
    other = write_takes(tmp_path / "other", seed=5, minutes=0.2)
    assert other[0].read_bytes() != paths[0].read_bytes()
    assert folder.is_dir()
