"""From a project to a searchable database and back from the disk."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ambulo.database.database import Database
from ambulo.errors import DatabaseError, SkeletonError
from ambulo.formats.registry import save
from ambulo.matching.build import FEATURES_FILE, INDEX_FILE, build, load_index, make_index
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

JOINTS = {
    "Hips": (-1, (0.0, 0.95, 0.0)), "Spine": (0, (0.0, 0.2, 0.0)), "Chest": (1, (0.0, 0.2, 0.0)),
    "Neck": (2, (0.0, 0.15, 0.0)), "Head": (3, (0.0, 0.1, 0.0)),
    "LeftArm": (2, (0.2, 0.1, 0.0)), "LeftForeArm": (5, (0.27, 0.0, 0.0)), "LeftHand": (6, (0.25, 0.0, 0.0)),
    "RightArm": (2, (-0.2, 0.1, 0.0)), "RightForeArm": (8, (-0.27, 0.0, 0.0)), "RightHand": (9, (-0.25, 0.0, 0.0)),
    "LeftUpLeg": (0, (0.1, 0.0, 0.0)), "LeftLeg": (11, (0.0, -0.42, 0.0)), "LeftFoot": (12, (0.0, -0.43, 0.0)),
    "LeftToeBase": (13, (0.0, -0.06, 0.12)),
    "RightUpLeg": (0, (-0.1, 0.0, 0.0)), "RightLeg": (15, (0.0, -0.42, 0.0)), "RightFoot": (16, (0.0, -0.43, 0.0)),
    "RightToeBase": (17, (0.0, -0.06, 0.12)),
}  # fmt: skip


def walk(phase: float, seconds: float = 3.0, rate: float = 60.0) -> Motion:
    """A body that goes along +Z on legs that swing."""
    time = np.arange(round(seconds * rate)) / rate
    offsets = np.array([offset for _, offset in JOINTS.values()])
    skeleton = Skeleton(tuple(JOINTS), np.array([parent for parent, _ in JOINTS.values()]), offsets)
    positions = np.tile(offsets, (len(time), 1, 1))
    positions[:, 0, 2] = 1.3 * time
    positions[:, 0, 0] = 0.1 * np.sin(2.0 * time + phase)
    rotations = np.tile([0.0, 0.0, 0.0, 1.0], (len(time), len(JOINTS), 1))
    for joint, sign in ((11, 1.0), (15, -1.0)):
        angle = sign * 0.4 * np.sin(6.0 * time + phase)
        rotations[:, joint] = quaternions.from_angle_axis(angle, np.array([1.0, 0.0, 0.0]))
    return Motion(skeleton, positions, rotations, rate)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "takes").mkdir()
    for number in range(3):
        save(walk(0.7 * number), tmp_path / "takes" / f"walk_{number}.bvh")
    text = 'name = "walker"\nmirror = true\n\n[[sources]]\npath = "takes"\n'
    (tmp_path / "ambulo.toml").write_text(text)
    return tmp_path


def test_a_built_database_opens_with_its_features_and_index(project):
    report = build(project, jobs=1)
    database = Database.open(project)
    features, index = load_index(database)
    assert features.frame_count == report.frames == database.frame_count and features.dimension_count == 27
    in_memory = make_index(database)
    np.testing.assert_array_equal(features.raw, in_memory.feature_set.raw)
    np.testing.assert_array_equal(features.scale, in_memory.feature_set.scale)
    assert index.kind == in_memory.kind and index.candidate_count == in_memory.candidate_count
    current = np.array([5, 50, -1])
    queries = features.raw[[100, 200, 300]] + np.float32(0.01)
    found, wanted = index.search(queries, current=current), in_memory.search(queries, current=current)
    assert found.frames.tolist() == wanted.frames.tolist() and found.costs.tolist() == wanted.costs.tolist()
    mask = np.zeros(features.frame_count, bool)
    mask[:60] = True
    assert (index.search(queries, mask=index.mask(mask)).frames < 60).all()


def test_arrays_are_mapped_and_not_copied(project):
    build(project, jobs=1)
    features, index = load_index(Database.open(project))
    assert not features.raw.flags.owndata and index.kind.startswith("tree")
    assert not index.whole.method.tiles.flags.owndata


def test_two_builds_have_the_same_bytes(project):
    files = []
    for folder in ("one", "two"):
        build(project, folder=project / folder, jobs=1)
        files.append([(project / folder / name).read_bytes() for name in (FEATURES_FILE, INDEX_FILE)])
    assert files[0] == files[1]


def test_other_weights_in_the_project_are_in_the_next_build(project):
    build(project, jobs=1)
    text = (project / "ambulo.toml").read_text()
    (project / "ambulo.toml").write_text(
        text + '\n[[features]]\nkind = "velocity"\njoint = "hips"\nweight = 2.5\n'
        '\n[[features]]\nkind = "trajectory_position"\ntimes = [0.5]\n'
    )
    assert not build(project, jobs=1).up_to_date
    features, index = load_index(Database.open(project))
    assert [group.name for group in features.schema.groups] == ["hips velocity", "trajectory_position"]
    assert features.schema.weights.tolist() == [2.5, 1.0] and index.search(features.raw[:2]).frames.shape == (2,)


def test_a_feature_of_a_missing_joint_leaves_the_old_database(project):
    build(project, jobs=1)
    text = (project / "ambulo.toml").read_text()
    (project / "ambulo.toml").write_text(text + '\n[[features]]\nkind = "position"\njoint = "tail"\n')
    with pytest.raises(SkeletonError, match="tail"):
        build(project, jobs=1)
    features, _ = load_index(Database.open(project))
    assert features.dimension_count == 27


def test_missing_and_damaged_files_are_refused(project):
    build(project, jobs=1)
    database = Database.open(project)
    path = project / "database" / INDEX_FILE
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(DatabaseError, match="damaged"):
        load_index(database)
    (project / "database" / FEATURES_FILE).unlink()
    with pytest.raises(DatabaseError, match="no features"):
        load_index(database)


@pytest.mark.parametrize("name", [FEATURES_FILE, INDEX_FILE])
def test_ruined_contents_are_not_called_up_to_date(project, name):
    build(project, jobs=1)
    path = project / "database" / name
    whole = path.read_bytes()
    half = len(whole) // 2
    path.write_bytes(whole[:half] + b"\xff" * (len(whole) - half))
    with pytest.raises(DatabaseError):
        load_index(Database.open(project))
    assert not build(project, jobs=1).up_to_date
    assert path.read_bytes() == whole
    assert build(project, jobs=1).up_to_date


def whole(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "stamps.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def add(project):
    save(walk(2.9), project / "takes" / "walk_0b.bvh")


def edit(project):
    save(walk(4.1, seconds=2.0), project / "takes" / "walk_1.bvh")


def drop(project):
    (project / "takes" / "walk_1.bvh").unlink()


def move_to_the_end(project):
    (project / "takes" / "walk_0.bvh").rename(project / "takes" / "walk_9.bvh")


def tag(project):
    (project / "takes" / "walk_1.tags.csv").write_text("start,stop,tag\n0.5,1,injured\n")


@pytest.mark.parametrize("change", [add, edit, drop, move_to_the_end, tag])
@pytest.mark.parametrize("features", ["", '\n[[features]]\nkind = "number"\nchannel = "tired"\n'])
def test_what_is_taken_over_has_the_bytes_of_a_build_from_nothing(project, change, features):
    if features:
        text = (project / "ambulo.toml").read_text() + "\n[channels.tired]\n"
        (project / "ambulo.toml").write_text(text + features + '\n[[features]]\nkind = "position"\njoint = "hips"\n')
        (project / "takes" / "walk_2.channels.csv").write_text("start,stop,channel,value\n,,tired,1\n")
    build(project, jobs=1)
    change(project)
    report = build(project, jobs=1)
    assert not report.up_to_date and report.prepared == (change in (add, edit, move_to_the_end))
    build(project, folder=project / "fresh", jobs=1)
    assert whole(project / "database") == whole(project / "fresh")


def test_numbers_that_change_are_features_that_change(project):
    text = (project / "ambulo.toml").read_text() + "\n[channels.tired]\n"
    text += '\n[[features]]\nkind = "number"\nchannel = "tired"\n\n[[features]]\nkind = "position"\njoint = "hips"\n'
    (project / "ambulo.toml").write_text(text)
    build(project, jobs=1)
    (project / "takes" / "walk_2.channels.csv").write_text("start,stop,channel,value\n0,1,tired,1\n1,2,tired,3\n")
    assert build(project, jobs=1).prepared == 0
    features, _ = load_index(Database.open(project))
    assert set(np.unique(features.raw[:, 0])) == {1.0, 2.0, 3.0}
    build(project, folder=project / "fresh", jobs=1)
    assert whole(project / "database") == whole(project / "fresh")


def test_an_edit_of_tags_writes_no_frames_and_no_features(project):
    build(project, jobs=1)
    folder = project / "database"
    names = [FEATURES_FILE, INDEX_FILE, "frames/rotations.safetensors"]
    before = [(folder / name).stat().st_mtime_ns for name in names]
    tag(project)
    assert not build(project, jobs=1).up_to_date
    assert [(folder / name).stat().st_mtime_ns for name in names] == before
    assert "injured" in Database.open(project).tags
    assert build(project, jobs=1).up_to_date


def test_features_that_were_damaged_are_not_taken_over(project):
    build(project, jobs=1)
    good = whole(project / "database")
    path = project / "database" / FEATURES_FILE
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\0")
    tag(project)
    build(project, jobs=1)
    found = whole(project / "database")
    assert found[FEATURES_FILE] == good[FEATURES_FILE] and found[INDEX_FILE] == good[INDEX_FILE]


def test_without_links_the_files_are_copied(project, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    build(project, jobs=1)
    monkeypatch.setattr(os, "link", refuse)
    tag(project)
    build(project, jobs=1)
    build(project, folder=project / "fresh", jobs=1)
    assert whole(project / "database") == whole(project / "fresh")


@pytest.mark.parametrize("calls", [0, 3, 8])
def test_a_build_that_fails_between_two_links_leaves_the_old_files_as_they_were(project, monkeypatch, calls):
    build(project, jobs=1)
    before = whole(project / "database")
    link, done = os.link, []

    def limited(source, target):
        if len(done) == calls:
            raise RuntimeError("killed")
        done.append(target)
        link(source, target)

    monkeypatch.setattr(os, "link", limited)
    tag(project)
    with pytest.raises(RuntimeError):
        build(project, jobs=1)
    assert whole(project / "database") == before
    monkeypatch.setattr(os, "link", link)
    assert not build(project, jobs=1).up_to_date and "injured" in Database.open(project).tags
