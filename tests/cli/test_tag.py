"""``ambulo tag``: rows come and go beside a take."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.cli import main as cli
from ambulo.formats.tag_edit import TagDocument
from ambulo.motion.motion import Motion
from ambulo.synthesis.body import default_skeleton


@pytest.fixture
def take(tmp_path: Path) -> Path:
    path = tmp_path / "walk_01.bvh"
    path.write_text("a take")
    return path


def test_tags_are_added_listed_and_removed(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = take.with_name("walk_01.tags.csv")
    assert cli.run(["tag", "add", str(take), "Very Tired", "injured", "--start", "1.5", "--stop", "4"]) == 0
    assert file.read_text() == "start,stop,tag\n1.5,4.0,very_tired\n1.5,4.0,injured\n"
    assert "+ injured" in capsys.readouterr().out
    assert cli.run(["tag", "list", str(take), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(r["line"], r["tag"], r["start"]) for r in listed["ranges"]] == [
        (2, "very_tired", 1.5),
        (3, "injured", 1.5),
    ]
    assert cli.run(["tag", "remove", str(take), "injured", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"][0]["tag"] == "injured"
    assert file.read_text() == "start,stop,tag\n1.5,4.0,very_tired\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "walk_02.bvh", "x"], "did you mean 'walk_01.bvh'"),
        (["add", "."], "is a folder: tags are of a take"),
        (["add", "s3://bucket/walk_01.bvh", "x"], "put a file walk_01.tags.csv beside it"),
        (["remove", "walk_01.bvh"], "-> ambulo tag remove"),
        (["add", "walk_01.bvh"], "which tags"),
        (["list", "walk_01.bvh", "x"], "list takes no tags"),
        (["remove", "walk_01.bvh", "x"], "no range 'x'"),
        (["add", "walk_01.bvh", "a/b"], "cannot be a tag"),
        (["add", "walk_01.bvh", "x", "--start", "3", "--stop", "2"], "before it starts"),
        (["add", "walk_01.bvh", "x", "--start=-1"], "not a number of seconds"),
        (["add", "walk_01.bvh", "x", "--bonus", "nan"], "not a number"),
    ],
)
def test_what_cannot_be_done_is_refused_and_writes_nothing(
    take: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    words = [str(take.parent / word) if word.endswith(".bvh") and "://" not in word else word for word in words]
    assert cli.run(["tag", *words]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in take.parent.iterdir()) == ["walk_01.bvh"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "ambulo.toml").write_text(
        '[[sources]]\npath = "takes"\nrate = 30.0\ntags = ["healthy"]\n[tags]\nexclusive = [["injured", "healthy"]]\n'
    )
    body = default_skeleton()
    motions = []
    for name, frames in (("Idle", 61), ("Walk_Loop", 121)):
        positions = np.tile(body.offsets, (frames, 1, 1))
        rotations = np.tile(np.array([0, 0, 0, 1], np.float32), (frames, body.joint_count, 1))
        motions.append(Motion(body, positions, rotations, 60.0, name))
    (tmp_path / "takes").mkdir()
    ambulo.save(motions, tmp_path / "takes" / "hero.glb")
    return tmp_path / "takes" / "hero.glb"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tired", "--start", "2.1"], "ends at 2.03 s"),
        (["tired", "--start", "1.1", "--clip", "Idle"], "ends at 1.03 s"),
        (["injured", "--start", "1"], "exclusive"),
        (["tired", "--clip", "Walk_Lop"], "did you mean 'Walk_Loop'"),
    ],
)
def test_what_a_project_and_a_take_cannot_have_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert cli.run(["tag", "add", str(project), *words]) == 2
    assert message in capsys.readouterr().err
    assert not project.with_name("hero.tags.csv").exists()


def test_a_range_of_one_clip_and_one_beyond_the_end(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tag", "add", str(project), "tired", "--start", "1", "--clip", "Walk_Loop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"][0]["clip"] == "Walk_Loop"
    assert cli.run(["tag", "add", str(project), "slow", "--stop", "99"]) == 0
    assert "holds to its end" in capsys.readouterr().out
    text = project.with_name("hero.tags.csv").read_text()
    assert text == "start,stop,tag,clip\n1.0,,tired,Walk_Loop\n,99.0,slow\n"


def test_what_is_there_already_is_not_said_to_be_added(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for expected in (1, 0):
        assert cli.run(["tag", "add", str(take), "injured", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (len(told["changed"]), len(told["ranges"])) == (expected, 1)
    assert "injured is there already, line 2" in told["notes"][-1]


def test_only_takes_are_proposed_as_takes(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("x.tags.csv", "notes.txt"):
        (take.parent / name).write_text("start,stop,tag\n")
    assert cli.run(["tag", "add", str(take.parent / "zzz.bvh"), "x"]) == 2
    said = capsys.readouterr().err
    assert "walk_01.bvh" in said and "tags.csv" not in said and "notes" not in said


def test_what_somebody_else_writes_meanwhile_is_kept(take: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, save, others = take.with_name("walk_01.tags.csv"), TagDocument.save, ["theirs", "also_theirs"]

    def late(document: TagDocument) -> None:
        if others:
            with file.open("a") as other:
                other.write(("" if file.stat().st_size else "start,stop,tag\n") + f",,{others.pop()}\n")
        save(document)

    monkeypatch.setattr(TagDocument, "save", late)
    assert cli.run(["tag", "add", str(take), "mine"]) == 0
    assert file.read_text() == "start,stop,tag\n,,also_theirs\n,,theirs\n,,mine\n"
