"""Finding takes: patterns, hidden files, links, and hashes that are taken only where a file looks changed."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ambulo.database.build import build_frames
from ambulo.database.database import Database
from ambulo.database.project import load_project
from ambulo.database.takes import Hasher, Stamp, compile_glob, find_takes, walk_files
from ambulo.errors import ProjectError

Make = Callable[..., Path]


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/*.bvh", "a.bvh", True),
        ("**/*.bvh", "x/y/a.BVH", True),
        ("**/*.bvh", "a.bvh.txt", False),
        ("*.bvh", "x/a.bvh", False),
        ("x/**", "x/y/z.bvh", True),
        ("x/**/*.bvh", "x/a.bvh", True),
        ("walk_??.bvh", "walk_01.bvh", True),
        ("walk_??.bvh", "walk_1.bvh", False),
        ("**/walk*", "deep/er/Walk_1.bvh", True),
        ("a+b (1).bvh", "a+b (1).bvh", True),
        ("a.bvh", "axbvh", False),
        (".\\sub\\*.bvh", ".sub/a.bvh", False),
        ("sub\\*.bvh", "sub/a.bvh", True),
        ("./*.bvh", "a.bvh", True),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert bool(compile_glob(pattern).fullmatch(path)) is matches


def test_hidden_files_are_skipped_and_links_are_followed_once(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("a.bvh", "._a.bvh", ".git/b.bvh", "sub/c.bvh"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "d.bvh").write_text("xy")
    try:
        (root / "link").symlink_to(outside, target_is_directory=True)
        (root / "sub" / "back").symlink_to(root, target_is_directory=True)
    except OSError:
        pytest.skip("this system lets no one make links")
    assert sorted((name, size) for name, _, size in walk_files(root)) == [
        ("a.bvh", 1),
        ("link/d.bvh", 2),
        ("sub/c.bvh", 1),
    ]


def test_a_file_that_looks_unchanged_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.bvh"
    path.write_bytes(b"content")
    os.utime(path, ns=(10**18, 10**18))
    info = path.stat()
    known = {str(path): Stamp(info.st_size, info.st_mtime_ns, "remembered")}
    assert Hasher(known).sha256(path) == "remembered"
    true = hashlib.sha256(b"content").hexdigest()
    for other in (Stamp(info.st_size + 1, info.st_mtime_ns, "x"), Stamp(info.st_size, info.st_mtime_ns + 1, "x")):
        hasher = Hasher({str(path): other})
        assert hasher.sha256(path) == true
        assert hasher.stamps == {str(path): Stamp(info.st_size, info.st_mtime_ns, true)}


def test_a_file_that_was_written_just_now_is_hashed_again_next_time(tmp_path: Path) -> None:
    path = tmp_path / "a.bvh"
    path.write_bytes(b"content")
    hasher = Hasher({})
    assert hasher.sha256(path) == hashlib.sha256(b"content").hexdigest()
    assert hasher.stamps == {}
    assert hasher.sha256(tmp_path / "none.tags.csv") is None


def test_links_to_nowhere_are_reported_and_pipes_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "a.bvh").write_text("x")
    try:
        (tmp_path / "gone.bvh").symlink_to(tmp_path / "nowhere")
        (tmp_path / "circle.bvh").symlink_to(tmp_path / "circle.bvh")
        os.mkfifo(tmp_path / "pipe.bvh")
    except (OSError, AttributeError):
        pytest.skip("this system has no links or pipes")
    found = sorted((name, size) for name, _, size in walk_files(tmp_path))
    assert found == [("a.bvh", 1), ("circle.bvh", 0), ("gone.bvh", 0)]
    with pytest.raises(ProjectError, match="no regular file"):
        Hasher({}).sha256(tmp_path / "pipe.bvh")


def test_a_take_that_cannot_be_read_is_a_problem_of_its_own(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    try:
        (project / "takes" / "gone.bvh").symlink_to(project / "nowhere")
    except OSError:
        pytest.skip("this system lets no one make links")
    report = build_frames(project)
    assert (report.used, report.takes) == (1, 2)
    assert [(problem.take, "no such file" in problem.reason) for problem in report.problems] == [
        ("takes/gone.bvh", True)
    ]
    shutil.copy(project / "takes" / "walk_a.bvh", project / "nowhere")
    assert build_frames(project).used == 2


def test_one_file_named_by_two_sources_is_taken_once(make_project: Make) -> None:
    text = '[[sources]]\npath = "takes"\n[[sources]]\npath = "takes/../takes"\n'
    project = load_project(make_project("walk_a.bvh", text=text + 'glob = "*"\n'))
    assert [take.label for take in find_takes(project)] == ["takes/walk_a.bvh"]


def test_names_that_are_no_text_can_be_built(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    name = os.fsencode(project / "takes") + b"/run_\xff.bvh"
    try:
        shutil.copy(os.fsencode(project / "takes" / "walk_a.bvh"), name)
    except OSError:
        pytest.skip("this system takes no such name")
    assert build_frames(project).used == 2
    assert r"takes/run_\xff.bvh" in {clip.source for clip in Database.open(project).clips}
