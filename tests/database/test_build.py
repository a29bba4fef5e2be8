"""The build: what goes in comes out, the same bytes however it is built, and only what changed is prepared."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.database import prepare_jobs
from ambulo.database.build import build_frames
from ambulo.database.catalog import CatalogRows, FrameRange, write_catalog
from ambulo.database.database import Database
from ambulo.database.old_database import CarriedFrames
from ambulo.database.project import load_project
from ambulo.database.staleness import staleness
from ambulo.database.swap import BuildLock
from ambulo.errors import AmbuloError, DatabaseError, ProjectError
from ambulo.motion.kinematics import forward
from ambulo.motion.mirroring import mirror_pairs
from ambulo.prepare.pipeline import prepare_take

from .conftest import PROJECT, other_skeleton, walker, write_take

Make = Callable[..., Path]


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a database but the stamps, which speak of this machine's clock."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "stamps.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def age(path: Path, seconds: float) -> None:
    """Set a file's time of change back."""
    info = path.stat()
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns - int(seconds * 1e9)))


def test_frames_are_those_of_the_preparation(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    report = build_frames(project)
    database = Database.open(project / "database")
    assert [c.name for c in database.clips] == ["run_b", "run_b_mirrored", "walk_a", "walk_a_mirrored"]
    assert [c.source for c in database.clips] == ["takes/run_b.bvh"] * 2 + ["takes/walk_a.bvh"] * 2
    assert {c.licence for c in database.clips} == {"CC0-1.0"}
    expected = prepare_take(ambulo.load(project / "takes" / "walk_a.bvh"))
    walk = database.clips[2]
    part = slice(walk.start, walk.stop)
    for name in ("positions", "rotations", "velocities", "angular_velocities", "contacts", "valid"):
        assert np.array_equal(getattr(database, name)[part], getattr(expected, name)), name
    assert database.skeleton.names == expected.skeleton.names
    assert database.skeleton.roles == expected.skeleton.roles
    assert np.array_equal(database.skeleton.offsets, expected.skeleton.offsets)
    assert np.array_equal(database.skeleton.end_offsets, expected.skeleton.end_offsets, equal_nan=True)
    assert (report.takes, report.used, report.prepared, report.clips, report.mirrored) == (2, 2, 2, 4, 2)
    assert report.frames == database.frame_count == sum(c.frame_count for c in database.clips)
    assert report.seconds == pytest.approx(report.frames / 60, abs=1e-3)
    assert not report.problems and not report.up_to_date


def test_mirrored_clips_are_reflections(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    database = Database.open(project)
    one, two = database.clips
    assert (one.mirrored, two.mirrored) == (False, True)
    pose = forward(database.positions, database.rotations, database.skeleton.parents)
    pairs = mirror_pairs(database.skeleton)
    reflected = pose.positions[one.start : one.stop][:, pairs] * np.float32([-1, 1, 1])
    assert np.abs(pose.positions[two.start : two.stop] - reflected).max() < 1e-4
    assert np.array_equal(database.contacts[two.start : two.stop], database.contacts[one.start : one.stop, ::-1])


def test_without_mirroring_there_are_only_the_takes(make_project: Make) -> None:
    project = make_project("walk_a.bvh", text="mirror = false\n" + PROJECT)
    assert build_frames(project).clips == 1
    assert "mirrored" not in Database.open(project).tags


def test_tags_from_folder_name_project_and_file(make_project: Make) -> None:
    project = make_project("tired/turn_left_01.bvh", "walk_01.bvh")
    (project / "takes" / "tired" / "turn_left_01.tags.csv").write_text("start,stop,tag\n0.25,0.5,step_left\n")
    report = build_frames(project)
    database = Database.open(project)
    turn, turned, walk, _ = database.clips
    assert turn.tags == ("left", "locomotion", "step_left", "tired", "turn")
    assert turned.tags == ("locomotion", "mirrored", "right", "step_right", "tired", "turn")
    assert walk.tags == ("locomotion", "walk")
    assert database.tags["step_left"].tolist() == [[15, 30]]
    assert database.tags["step_right"].tolist() == [[turned.start + 15, turned.start + 30]]
    assert database.mask(["locomotion"]).all()
    assert report.tags["step_left"] == 0.25
    with closing(sqlite3.connect(database.folder / "catalog.sqlite")) as catalog:
        rows = catalog.execute(
            "SELECT clips.name, tags.name, ranges.origin FROM ranges JOIN clips ON clips.id = clip_id "
            "JOIN tags ON tags.id = tag_id WHERE clips.id = 0 ORDER BY tags.name"
        ).fetchall()
    assert rows == [
        ("tired/turn_left_01", "left", "name"),
        ("tired/turn_left_01", "locomotion", "project"),
        ("tired/turn_left_01", "step_left", "file"),
        ("tired/turn_left_01", "tired", "folder"),
        ("tired/turn_left_01", "turn", "name"),
    ]


def test_the_same_bytes_with_one_and_two_jobs_anywhere(make_project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare_jobs, "_BYTES_PER_WORKER", 1)  # else such small takes are not worth a second process
    names = ("a/walk_1.bvh", "b/run_2.bvh", "c/jump_3.bvh")
    one, two = make_project(*names, folder="one"), make_project(*names, folder="two")
    assert build_frames(one, jobs=1).workers == 1
    assert build_frames(two, jobs=2).workers == 2
    assert content(one / "database") == content(two / "database")
    before = content(one / "database")
    assert build_frames(one, jobs=1, force=True).prepared == 3
    assert content(one / "database") == before


def test_nothing_changed_is_nothing_done(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    first = build_frames(project)
    times = {path: path.stat().st_mtime_ns for path in (project / "database" / "frames").iterdir()}
    again = build_frames(project)
    assert again.up_to_date and again.prepared == 0
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert (again.clips, again.tags, again.frames, again.units) == (first.clips, first.tags, first.frames, first.units)
    assert not staleness(load_project(project)).stale


def test_another_time_with_the_same_content_is_no_change(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    build_frames(project)
    age(project / "takes" / "walk_a.bvh", -100)
    assert build_frames(project).up_to_date


def test_touching_one_take_prepares_that_take_only(make_project: Make) -> None:
    names = ("walk_a.bvh", "run_b.bvh", "jump_c.bvh")
    project = make_project(*names)
    build_frames(project)
    write_take(project / "takes" / "run_b.bvh", seed=9, seconds=1.5)
    assert staleness(load_project(project)).changed == ("takes/run_b.bvh",)
    report = build_frames(project)
    assert (report.prepared, report.used) == (1, 3)
    fresh = make_project(*names, folder="fresh")
    write_take(fresh / "takes" / "run_b.bvh", seed=9, seconds=1.5)
    build_frames(fresh)
    assert content(project / "database") == content(fresh / "database")


def test_a_take_added_and_one_removed(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    build_frames(project)
    (project / "takes" / "run_b.bvh").unlink()
    write_take(project / "takes" / "a_first.bvh", seed=5)
    found = staleness(load_project(project))
    assert (found.added, found.removed) == (("takes/a_first.bvh",), ("takes/run_b.bvh",))
    assert build_frames(project).prepared == 1
    assert [c.name for c in Database.open(project).clips if not c.mirrored] == ["a_first", "walk_a"]


def test_tags_change_without_preparing_anything(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    build_frames(project)
    sidecar = project / "takes" / "walk_a.tags.csv"
    sidecar.write_text("start,stop,tag\n,0.5,slow\n")
    assert staleness(load_project(project)).retagged == ("takes/walk_a.bvh",)
    report = build_frames(project)
    assert (report.prepared, report.up_to_date) == (0, False)
    assert int(Database.open(project).mask(["slow"]).sum()) == 60
    sidecar.unlink()
    assert build_frames(project).prepared == 0
    assert "slow" not in Database.open(project).tags


def test_settings_change_all_takes_and_weights_change_none(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    build_frames(project)
    file = project / "ambulo.toml"
    file.write_text('features = [{ kind = "velocity", joint = "hips", weight = 2.0 }]\n' + PROJECT)
    assert staleness(load_project(project)).settings == ("features",)
    finished: list[Path] = []
    report = build_frames(project, finish=lambda folder, carried: finished.append(folder))
    assert (report.prepared, report.up_to_date, len(finished)) == (0, False, 1)
    file.write_text("rate = 30\n" + PROJECT)
    assert build_frames(project).prepared == 2
    assert Database.open(project).rate == 30.0


def test_what_finish_writes_is_part_of_the_database(make_project: Make) -> None:
    project = make_project("walk_a.bvh")

    def finish(folder: Path, carried: CarriedFrames | None) -> None:
        frames = Database.open(folder).frame_count
        (folder / "derived.txt").write_text(str(frames))

    build_frames(project, finish=finish)
    database = Database.open(project)
    assert (database.folder / "derived.txt").read_text() == str(database.frame_count)
    (database.folder / "derived.txt").write_text("1")
    with pytest.raises(ambulo.AmbuloError, match=r"derived\.txt"):
        Database.open(project)


def test_a_finish_that_fails_leaves_the_old_database(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    before = content(project / "database")
    write_take(project / "takes" / "run_b.bvh")

    def finish(folder: Path, carried: CarriedFrames | None) -> None:
        raise RuntimeError("no features today")

    with pytest.raises(RuntimeError):
        build_frames(project, finish=finish)
    assert content(project / "database") == before
    assert sorted(path.name for path in project.iterdir()) == ["ambulo.toml", "database", "database.lock", "takes"]


def test_two_actors_in_one_file_are_two_clips(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    ambulo.save([walker(1), walker(2)], project / "takes" / "pair.bvh")
    assert build_frames(project).used == 2
    assert [c.name for c in Database.open(project).clips if not c.mirrored] == ["pair", "pair_2", "walk_a"]


def test_equal_names_in_two_sources_stay_apart(make_project: Make) -> None:
    project = make_project("walk.bvh", text=PROJECT + '[[sources]]\npath = "more"\n')
    write_take(project / "more" / "walk.bvh", seed=3)
    write_take(project / "more" / "run.bvh", seed=4)
    build_frames(project)
    names = [c.name for c in Database.open(project).clips if not c.mirrored]
    assert names == ["takes/walk", "run", "more/walk"]


def test_most_of_the_motion_decides_on_the_skeleton(make_project: Make) -> None:
    text = PROJECT.replace('path = "takes"', 'path = "takes"\nretarget = false')
    project = make_project("walk_a.bvh", "run_b.bvh", text=text)
    ambulo.save(walker(7, skeleton=other_skeleton()), project / "takes" / "odd.bvh")
    report = build_frames(project)
    assert [(p.take, p.kind) for p in report.problems] == [("takes/odd.bvh", "excluded")]
    assert "it has Skull; it lacks Head" in report.problems[0].reason
    assert (report.takes, report.used) == (3, 2)
    assert build_frames(project).problems == report.problems  # also where nothing is to be done
    write_take(project / "takes" / "run_b.bvh", seed=8)
    assert build_frames(project).prepared == 1
    # A long take on the other skeleton turns the majority: now the odd ones stay.
    ambulo.save(walker(8, seconds=4.0, skeleton=other_skeleton()), project / "takes" / "odd_long.bvh")
    report = build_frames(project)
    assert report.prepared == 2  # the new one, and the odd one, whose frames no database has
    assert [p.take for p in report.problems] == ["takes/run_b.bvh", "takes/walk_a.bvh"]
    assert [c.name for c in Database.open(project).clips if not c.mirrored] == ["odd", "odd_long"]


def test_one_broken_take_does_not_spoil_the_others(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    broken = project / "takes" / "broken.bvh"
    broken.write_text("HIERARCHY\nROOT Hips\n{\n  OFFSET 0 0\n")
    report = build_frames(project)
    assert [(p.take, p.kind) for p in report.problems] == [("takes/broken.bvh", "failed")]
    assert "line 5" in report.problems[0].reason
    assert report.used == 2
    with closing(sqlite3.connect(project / "database" / "catalog.sqlite")) as catalog:
        rows = catalog.execute("SELECT path, status FROM takes ORDER BY path").fetchall()
    assert rows == [("takes/broken.bvh", "failed"), ("takes/run_b.bvh", "used"), ("takes/walk_a.bvh", "used")]
    again = build_frames(project)
    assert again.up_to_date and again.problems == report.problems
    with pytest.raises(ProjectError, match=r"broken\.bvh"):
        build_frames(project, strict=True)
    write_take(broken, seed=4)
    mended = build_frames(project, strict=True)
    assert (mended.prepared, mended.problems) == (1, ())


def test_strict_leaves_the_old_database(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    before = content(project / "database")
    (project / "takes" / "broken.bvh").write_bytes(b"")
    with pytest.raises(ProjectError, match="empty"):
        build_frames(project, strict=True)
    assert content(project / "database") == before


def test_a_project_of_broken_takes_only_is_refused(make_project: Make) -> None:
    project = make_project()
    (project / "takes").mkdir()
    (project / "takes" / "broken.bvh").write_text("nothing")
    with pytest.raises(ProjectError, match=r"broken\.bvh"):
        build_frames(project)
    assert not (project / "database").exists()


def test_a_wrong_tag_file_is_refused_with_its_line(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    sidecar = project / "takes" / "walk_a.tags.csv"
    sidecar.write_text("start,stop,tag\n1,0.5,slow\n")
    with pytest.raises(ProjectError) as caught:
        build_frames(project)
    assert (caught.value.path, caught.value.line) == (sidecar, 2)
    sidecar.unlink()
    assert build_frames(project).used == 1


def test_missing_and_empty_folders_are_refused(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    (project / "takes").rename(project / "takez")
    with pytest.raises(ProjectError, match="does not exist; did you mean 'takez'"):
        build_frames(project)
    (project / "takes").mkdir()
    with pytest.raises(ProjectError, match="no file in"):
        build_frames(project)


def test_a_wrong_role_is_said_for_every_take(make_project: Make) -> None:
    project = make_project("walk_a.bvh", text=PROJECT + '[roles]\nhips = "Hipz"\n')
    with pytest.raises(ProjectError, match="no joint 'Hipz'"):
        build_frames(project)


def test_no_jobs_are_refused(make_project: Make) -> None:
    with pytest.raises(ProjectError, match="0 jobs"):
        build_frames(make_project("walk_a.bvh"), jobs=0)


def test_glob_exclude_and_case(make_project: Make) -> None:
    text = '[[sources]]\npath = "takes"\nglob = "*/*.bvh"\nexclude = ["**/bad*"]\n'
    project = make_project("top.bvh", "in/walk.bvh", "in/bad_1.bvh", "in/deep/run.bvh", text=text)
    shutil.move(project / "takes/in/walk.bvh", project / "takes/in/WALK.BVH")
    build_frames(project)
    assert [c.name for c in Database.open(project).clips if not c.mirrored] == ["in/WALK"]


def test_progress_tells_every_stage_to_its_end(make_project: Make) -> None:
    told: list[tuple[str, int, int]] = []
    build_frames(
        make_project("walk_a.bvh", "run_b.bvh"),
        progress=lambda *state: told.append(state),
        finish=lambda folder, carried: None,
    )
    last = {stage: (done, total) for stage, done, total in told}
    assert list(last) == ["scan", "prepare", "write", "index"]
    assert all(done == total > 0 for done, total in last.values())


def test_a_full_disk_ends_the_build_and_is_no_fault_of_a_take(
    make_project: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    write = prepare_jobs.write_tensors

    def full(path: Path, *arguments: Any, **options: Any) -> None:
        if path.name == "1.safetensors":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, *arguments, **options)

    monkeypatch.setattr(prepare_jobs, "write_tensors", full)
    with pytest.raises(DatabaseError, match="No space left"):
        build_frames(project)
    assert not (project / "database").exists()


def test_a_catalogue_that_sqlite_cannot_write_is_refused(tmp_path: Path) -> None:
    rows = CatalogRows((), (), (), (FrameRange(0, "tag", 0, 1, None),), ())  # type: ignore[arg-type]
    with pytest.raises(DatabaseError, match="cannot be written"):
        write_catalog(tmp_path / "catalog.sqlite", rows, ())


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "takes").mkdir()
    (tmp_path / "takes" / "a.bvh").write_text("no motion")
    (tmp_path / "ambulo.toml").write_text('name = "p"\n[[sources]]\npath = "takes"\n')
    with pytest.raises(AmbuloError):
        build_frames(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ambulo.toml", "takes"]
    # A lock whose file was removed by its holder is no lock: the next one makes its own, and only one has it.
    with BuildLock(tmp_path / "database"), pytest.raises(DatabaseError, match="another build"):
        BuildLock(tmp_path / "database").__enter__()
    with BuildLock(tmp_path / "database"):
        assert (tmp_path / "database.lock").exists()
    assert not (tmp_path / "database.lock").exists()
