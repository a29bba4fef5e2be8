"""``ambulo stylise``: a new take beside the old, with its tags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ambulo
from ambulo.cli.main import run
from ambulo.formats.tag_file import read_tag_file
from ambulo.synthesis.performance import synthesize


@pytest.fixture
def take(tmp_path: Path) -> Path:
    ambulo.save(synthesize(3, 0.3)[0].motion, tmp_path / "walk.bvh")
    (tmp_path / "walk.tags.csv").write_text("start,stop,tag\n1.0,2.0,walk\n")
    return tmp_path / "walk.bvh"


def test_a_take_is_made_with_its_tags(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = take.with_name("limp.bvh")
    before = take.read_bytes()
    arguments = ["stylise", str(take), str(out), "--limp", "0.6", "--tempo", "-0.2", "--tags", "injured", "--json"]
    assert run(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["operators"] == ["limp", "tempo"]
    old, new = ambulo.load(take), ambulo.load(out)
    assert new.rate == pytest.approx(old.rate)
    assert new.duration == pytest.approx(old.duration / 0.8, abs=0.05)
    rows = {entry.tag: (entry.start, entry.stop) for entry in read_tag_file(out.with_name("limp.tags.csv"))}
    assert rows == {"walk": (1.25, 2.5), "injured": (None, None), "stylised": (None, None)}
    assert take.read_bytes() == before


def test_tags_of_names_and_of_the_project_go_along(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def tags_of(source: Path, *more: str) -> set[str]:
        out = source.with_name("made_01.bvh")
        assert run(["stylise", str(source), str(out), "--lean", "0.1", "--tags", "injured", *more, "--json"]) == 0
        capsys.readouterr()
        rows = {entry.tag for entry in read_tag_file(out.with_name("made_01.tags.csv"))}
        out.unlink()
        out.with_name("made_01.tags.csv").unlink()
        return rows

    named = take.rename(take.with_name("run_normal_mirrored_02.bvh"))
    assert tags_of(named) == {"run", "normal", "injured", "stylised"}
    assert tags_of(named, "--without", "normal") == {"run", "injured", "stylised"}
    home = take.parent / "project"
    moved = home / "takes" / "old" / "normal_03.bvh"
    moved.parent.mkdir(parents=True)
    named.rename(moved)
    (home / "ambulo.toml").write_text('[[sources]]\npath = "takes"\ntags = ["indoors"]\ntags_from = ["folder"]\n')
    assert tags_of(moved) == {"old", "indoors", "injured", "stylised"}


def test_nothing_is_overwritten_and_something_must_be_asked(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stylise", str(take), str(take), "--limp", "0.6"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert run(["stylise", str(take), str(take.with_name("new.bvh"))]) == 2
    assert "nothing is asked for" in capsys.readouterr().err
    assert not take.with_name("new.bvh").exists()
