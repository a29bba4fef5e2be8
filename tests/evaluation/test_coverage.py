"""Coverage in numbers: on databases whose answers are known, and on the embedded capture."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ambulo.cli import main as cli
from ambulo.database.database import Database
from ambulo.errors import QueryError
from ambulo.evaluation.coverage import Coverage, coverage, usage
from ambulo.evaluation.coverage_motion import motion_table, tag_coverage, usable_frames
from ambulo.evaluation.duplicates import duplicates
from ambulo.evaluation.transitions import best_elsewhere, transitions
from ambulo.export.coverage_page import coverage_page, write_coverage_page
from ambulo.matching.build import build, load_index, make_index
from ambulo.matching.index import SearchIndex
from ambulo.prepare.clip import PreparedClip
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import synthesize
from ambulo.synthesis.takes import write_takes


@pytest.fixture(scope="module")
def clips() -> list[PreparedClip]:
    return [prepare_take(performance.motion) for performance in synthesize(seed=3, minutes=1.0)]


@pytest.fixture(scope="module")
def database(clips: list[PreparedClip]) -> Database:
    """The takes, and the first one again under another name."""
    takes = [*clips, replace(clips[0], name="again")]
    return Database.from_clips(takes, {"walk": [(0, 900)], "junk": [(0, 60)], "rare": [(900, 930)]})


@pytest.fixture(scope="module")
def index(database: Database) -> SearchIndex:
    return make_index(database)


def test_the_motion_table_holds_every_usable_frame_once(database: Database) -> None:
    usable = usable_frames(database)
    assert not usable[:60].any()
    table = motion_table(database, usable)
    seconds = np.array(table.seconds)
    assert seconds.shape == (len(table.speeds) - 1, len(table.turn_rates) - 1)
    assert seconds.sum() == pytest.approx(usable.sum() / database.rate, abs=1e-2)
    speed = database.number("speed")[usable]
    assert seconds[0].sum() == pytest.approx((speed < table.speeds[1]).sum() / database.rate, abs=1e-2)
    turn = np.degrees(database.number("turn_rate")[usable])
    middle = len(table.turn_rates) // 2 - 1
    assert table.turn_rates[middle] == -15.0 and table.turn_rates[middle + 1] == 15.0
    assert seconds[:, middle].sum() == pytest.approx((np.abs(turn) < 15).sum() / database.rate, abs=0.1)
    for speed_middle, turn_middle in table.sparse:
        row, column = int(speed_middle / 0.5), int((turn_middle - table.turn_rates[0]) / 30)
        assert seconds[row, column] < 0.5


def test_minutes_of_a_tag_are_its_frames(database: Database) -> None:
    found = {entry.tag: entry for entry in tag_coverage(database)}
    assert (found["walk"].seconds, found["rare"].seconds) == (15.0, 0.5)
    assert found["walk"].speed[0] <= found["walk"].speed[1] <= found["walk"].speed[2]
    assert found["rare"].clips == len(np.unique(database.clip_of_frame(np.arange(900, 930))))


def test_the_best_jump_is_the_best_of_all_but_the_surroundings(database: Database, index: SearchIndex) -> None:
    usable = usable_frames(database)
    frames = np.flatnonzero(usable)[100::700]
    found, costs = best_elsewhere(database, index, frames, usable)
    rows = index.feature_set.raw.astype(np.float64) * index.feature_set.coefficients(None)
    candidates = np.zeros(database.frame_count, bool)
    candidates[index.whole.frames] = True
    for frame, other, cost in zip(frames, found, costs, strict=True):
        clip = database.clips[int(database.clip_of_frame(frame))]
        free = candidates & usable
        free[max(frame - 60, clip.start) : min(frame + 61, clip.stop)] = False
        best = ((rows - rows[frame]) ** 2).sum(axis=1)[free].min()
        assert cost == pytest.approx(best, rel=1e-3, abs=1e-4)
        assert free[other]


def test_a_take_that_is_there_twice_is_found(database: Database, index: SearchIndex, clips: list[PreparedClip]) -> None:
    found = duplicates(database, index, usable_frames(database))
    assert (found[0].clip, found[0].other_clip) == (clips[0].name, "again")
    # The first second is junk; the end of a clip is no candidate, but the stretch is followed to it.
    assert found[0].seconds == pytest.approx(clips[0].frame_count / 60 - 1.0, abs=1.1)
    assert found[0].start == pytest.approx(found[0].other_start, abs=1e-3)


def test_without_the_copy_there_is_no_such_duplicate(clips: list[PreparedClip]) -> None:
    alone = Database.from_clips(clips)
    found = duplicates(alone, make_index(alone), usable_frames(alone))
    assert all(entry.seconds < 3.0 for entry in found)


def test_transitions_tell_of_tags_and_isolated_frames(database: Database, index: SearchIndex) -> None:
    found = transitions(database, index, usable_frames(database), ["walk", "rare"], samples=200)
    assert found.sampled == 200
    costs = list(found.percentiles.values())
    assert costs == sorted(costs) and costs[0] >= 0
    assert {(step.source, step.target) for step in found.between_tags} == {
        (a, b) for a in ("walk", "rare") for b in ("walk", "rare")
    }
    lone = {(step.source, step.target): step.cost for step in found.between_tags}
    assert lone["rare", "rare"] is None  # half a second has nothing but its own surroundings
    assert lone["rare", "walk"] is not None


def test_what_is_never_shown_is_listed_longest_first(database: Database) -> None:
    usable = usable_frames(database)
    shown = np.arange(300, 400)
    found = usage(database, usable, shown)
    assert found.shown_seconds == pytest.approx(100 / 60, abs=1e-3)
    assert found.share == pytest.approx(100 / usable.sum(), abs=1e-5)
    lengths = [entry.seconds for entry in found.unused]
    assert lengths == sorted(lengths, reverse=True)
    assert sum(lengths) == pytest.approx((usable.sum() - 100) / 60, abs=0.05)
    with pytest.raises(QueryError, match="outside"):
        usage(database, usable, [database.frame_count])


def test_memory_parts_add_up(database: Database, index: SearchIndex) -> None:
    found = coverage(database, index)
    parts = {part.name: part.megabytes for part in found.memory}
    assert parts["all"] == pytest.approx(sum(parts.values()) - parts["all"], abs=0.01)
    assert parts["frames: rotations"] == pytest.approx(database.rotations.nbytes / 1e6, abs=1e-3)
    assert sum(size for name, size in parts.items() if name.startswith("features")) == pytest.approx(
        index.feature_set.raw.nbytes / 1e6, abs=0.01
    )
    assert found.usage is None
    again = coverage(database, index)
    assert msgspec.json.encode(found) == msgspec.json.encode(again)


def test_the_page_says_it_all_and_loads_nothing(database: Database, index: SearchIndex, tmp_path: Path) -> None:
    database.name = "<b>bold</b>"
    found = coverage(database, index, np.arange(100))
    text = coverage_page(found)
    assert write_coverage_page(found, tmp_path / "deep" / "page.html").read_text() == text
    assert "default-src 'none'" in text and "<script" not in text and "http" not in text.replace("http-equiv", "")
    assert "&lt;b&gt;bold&lt;/b&gt;" in text and "<b>" not in text
    for words in (
        "Speed against turn rate",
        "Minutes a tag",
        "Transitions",
        "Near duplicates",
        "Never shown",
        "Memory",
    ):
        assert words in text
    assert "again" in text


def opened(project: Path) -> tuple[Database, SearchIndex]:
    database = Database.open(project)
    return database, load_index(database)[1]


def test_the_verb_reports_and_plays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_takes(tmp_path / "takes", seed=2, minutes=0.6)
    (tmp_path / "ambulo.toml").write_text('name = "small"\nmirror = false\n[[sources]]\npath = "takes"\n')
    build(tmp_path, jobs=1)
    words = ["report", str(tmp_path), "--html", str(tmp_path / "page.html"), "--play", "2"]
    assert cli.run([*words, "--json"]) == 0
    told = msgspec.convert(json.loads(capsys.readouterr().out), Coverage)
    assert told.name == "small" and told.usage is not None and 0 < told.usage.share < 1
    plain = coverage(*opened(tmp_path))
    assert (told.motion, told.tags, told.duplicates) == (plain.motion, plain.tags, plain.duplicates)
    assert "small" in (tmp_path / "page.html").read_text()
    assert cli.run(["report", str(tmp_path), "--play", "-1"]) == 2
    assert "not possible" in capsys.readouterr().err
