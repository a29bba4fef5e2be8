"""``ambulo query``: ranges that answer a question, and SQL that can only read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ambulo.cli import main as cli
from ambulo.cli.stale import telling_stale
from ambulo.database.build import build_frames
from ambulo.database.database import Database
from ambulo.errors import AmbuloError, ControlError, QueryError
from ambulo.synthesis.takes import write_takes

RUNAWAY = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("query")
    write_takes(root / "takes", seed=1, minutes=0.5)
    (root / "ambulo.toml").write_text(
        'name = "small"\n[[sources]]\npath = "takes"\nlicence = "CC0-1.0"\nnumbers = { age = 35.0 }\n'
        '[channels.age]\nunit = "years"\n'
    )
    build_frames(root)
    return root


def ask(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    assert cli.run(["query", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_question_is_answered_by_ranges(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, project, "walk and not turn_left", "--where", "speed > 0.8", "--limit", 3)
    database = Database.open(project)
    mask = database.mask("walk and not turn_left and speed > 0.8")
    assert 0 < mask.sum() < database.frame_count
    assert found["question"] == "(walk and not turn_left) and speed > 0.8"
    assert found["seconds"] == pytest.approx(mask.sum() / database.rate, abs=1e-3)
    assert found["coverage"] == pytest.approx(mask.mean(), abs=1e-6)
    assert len(found["ranges"]) == min(3, found["range_count"])
    for entry in found["ranges"]:
        rows = np.arange(entry["start_frame"], entry["stop_frame"])
        assert mask[rows].all()
        clip, start = database.locate(rows[0])
        assert (clip.name, entry["start"]) == (entry["clip"], pytest.approx(start, abs=1e-3))
    everything = ask(capsys, project / "database")
    assert everything["coverage"] == 1.0 and everything["clip_count"] == len(database.clips)
    assert cli.run(["query", str(project), "walk", "--limit", "1"]) == 0
    assert "and" in capsys.readouterr().out


def test_sql_reads_tables_and_views(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, project, "--sql", "select count(*) as n from clips where mirrored = 0")
    assert found["columns"] == ["n"] and found["rows"][0][0] >= 1 and not found["more"]
    documented = ask(capsys, project, "--sql", "select name, kind from documentation")["rows"]
    there = ask(capsys, project, "--sql", "select name, type from sqlite_master where type in ('table', 'view')")[
        "rows"
    ]
    assert sorted(documented) == sorted(there)
    longest = ask(capsys, project, "--sql", "select tag, sum(seconds) from range_list group by tag order by 2 desc")
    tag, seconds = longest["rows"][0]
    database = Database.open(project)
    assert seconds >= database.mask(tag).sum() / database.rate - 1e-6
    numbers = ask(capsys, project, "--sql", "select distinct channel, unit, start_value from number_list")
    assert numbers["rows"] == [["age", "years", 35.0]]
    assert ask(capsys, project, "--sql", "select * from ranges", "--limit", 2)["more"]
    assert cli.run(["query", str(project), "--sql", "select clip, seconds from clip_list"]) == 0
    assert "seconds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sql", "delete from clips"], "SQLite refuses"),
        (["--sql", "attach 'other.sqlite' as other"], "not authorized"),
        (["--sql", "pragma journal_mode = wal"], "not authorized"),
        (["--sql", "select 1; select 2"], "SQLite refuses"),
        (["--sql", "select colour from clips"], "no such column"),
        (["walk", "--sql", "select 1"], "either a question or SQL"),
        (["--sql", RUNAWAY, "--seconds", "0.2"], "not answered within 0.2 seconds"),
        (["--sql", "select 1", "--seconds", "0"], "limit of 0 seconds"),
        (["--sql", "select 1", "--seconds", "nan"], "limit of nan seconds"),
        (["wlak"], "did you mean 'walk'"),
        (["walk", "--where", "sped > 1"], "did you mean 'speed'"),
        (["walk", "--limit=-1"], "limit of -1"),
    ],
)
def test_what_is_no_question_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    before = (project / "database" / "catalog.sqlite").read_bytes()
    assert cli.run(["query", str(project), *words]) == 2
    assert message in capsys.readouterr().err
    assert (project / "database" / "catalog.sqlite").read_bytes() == before


def test_a_database_older_than_its_project_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "small"
    write_takes(root / "takes", seed=1, minutes=0.3)
    (root / "ambulo.toml").write_text('name = "small"\n[[sources]]\npath = "takes"\n')
    build_frames(root)
    assert cli.run(["query", str(root), "walk"]) == 0
    assert "stale" not in capsys.readouterr().err
    take = sorted((root / "takes").rglob("*.bvh"))[0]
    assert cli.run(["tag", "add", str(take), "limping"]) == 0
    capsys.readouterr()
    for place in (root, root / "ambulo.toml", root / "database"):
        assert cli.run(["query", str(place), "walk"]) == 0
        said = capsys.readouterr()
        assert f"is stale, run `ambulo build {root}`" in said.err and take.name in said.err and "stale" not in said.out
        # The tag was written, but not built: that is the first thing to be told.
        assert cli.run(["query", str(place), "limping"]) == 2
        said = capsys.readouterr()
        assert "no range carries the tag 'limping'" in said.err
        assert "-> run `ambulo build" in said.err and "the database is stale" in said.err


def test_a_stale_database_is_no_excuse_for_wrong_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ambulo.toml").write_text('name = "small"\n')
    monkeypatch.setattr("ambulo.database.staleness.stale_reasons", lambda home: ("1 take was added: a",))

    def refused(error: AmbuloError) -> AmbuloError:
        with pytest.raises(type(error)) as caught, telling_stale(tmp_path):
            raise error
        return caught.value

    wrong = refused(ControlError("no controller 'mn'; did you mean 'mm'?", key="controller"))
    assert wrong.remedy is None and "stale" not in str(wrong)
    assert refused(ControlError("0 characters", key="characters", remedy="ask for 1")).remedy == "ask for 1"
    missing = refused(QueryError("nothing carries the tag 'seed'", key="seed"))  # a tag that is called so
    assert "the database is stale" in str(missing.remedy) and "None" not in str(missing.remedy)
    both = refused(QueryError("no frame", key="required_tags", remedy="ask for fewer tags"))
    assert str(both.remedy).endswith("; then: ask for fewer tags")


def test_a_faulty_question_is_shown_around_the_fault(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refusal(*words: str) -> str:
        assert cli.run(["query", str(project), *words]) == 2
        return capsys.readouterr().err

    assert 'stands in quotes, "and"' in refusal("and")
    long = refusal("walk or " * 500 + "or walk" + " or walk" * 500)
    assert len(long) < 600 and "..." in long
    assert "in each other, more than 64," in refusal("(" * 100 + "walk" + ")" * 100)
    assert "'1_000' is not a number" in refusal("speed > 1_000")
    assert "-> write one statement" in refusal("--sql", "select 1; drop table tags")
