"""Auto-tagging: proposals on takes that it has not seen, judged by clips, applied by nobody but the user."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.cli.main import run
from ambulo.database.database import Database
from ambulo.errors import LearningError, ProjectError
from ambulo.formats.proposal_file import Proposal, proposal_file_of, read_proposals, settle, write_proposals
from ambulo.formats.tag_file import read_tag_file, tag_file_of
from ambulo.learning.auto_tagging import TaggedClip, held_out, learned_tags, tagged_clips, train
from ambulo.learning.tag_windows import Windows
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import Performance, perform
from ambulo.synthesis.programme import direct, round_of_takes

pytest.importorskip("sklearn", reason="scikit-learn is not installed")


@pytest.fixture(scope="module")
def performances() -> list[tuple[str, Performance]]:
    """Takes of two styles, some of each."""
    rng = np.random.default_rng(5)
    walks = {take.style: take for take in round_of_takes() if take.name.startswith("walk")}
    made = []
    for style in ("injured", "neutral"):
        for number in (1, 2, 3):
            take = replace(walks[style], seconds=10.0)
            made.append((style, perform(direct(take, number, rng, 60.0), rng, 60.0)))
    return made


@pytest.fixture(scope="module")
def database(performances: list[tuple[str, Performance]]) -> Database:
    clips = [prepare_take(performance.motion) for _, performance in performances]
    tags = [[(None, None, style)] for style, _ in performances]
    return Database.from_clips(clips, tags)


def test_styles_are_told_apart_in_clips_that_were_held_out(database: Database) -> None:
    tags = learned_tags(database)
    assert tags == ("injured", "neutral")
    clips = tagged_clips(database, tags)
    scores = held_out(clips, tags, exclusive=[tags], folds=3)
    assert min(score.f1 for score in scores) > 0.8
    assert [score.clips for score in scores] == [3, 3]


def test_labels_that_say_nothing_are_not_found(database: Database) -> None:
    tags = ("injured", "neutral")
    clips = tagged_clips(database, tags)
    rng = np.random.default_rng(0)
    nonsense = [clip._replace(labels=np.tile(rng.random(2) < 0.5, (len(clip.labels), 1))) for clip in clips]
    nonsense[0] = nonsense[0]._replace(labels=np.tile([True, False], (len(clips[0].labels), 1)))
    nonsense[1] = nonsense[1]._replace(labels=np.tile([False, True], (len(clips[1].labels), 1)))
    assert np.mean([score.f1 for score in held_out(nonsense, tags, folds=3)]) < 0.75


def test_pieces_of_one_take_are_held_out_together() -> None:
    """A clip that is there twice would be found by heart; held out with its copy it cannot be."""
    rng = np.random.default_rng(1)

    def clip(name: str, group: str, tag: int, seed: int) -> TaggedClip:
        x = np.random.default_rng(seed).normal(size=(20, 6)).astype(np.float32)
        steps = np.arange(20, dtype=np.int64) * 6
        labels = np.zeros((20, 2), bool)
        labels[:, tag] = True
        return TaggedClip(name, group, Windows(x, steps, steps + 6), labels)

    clips = []
    for seed in range(12):
        tag = int(rng.integers(2)) if seed > 1 else seed
        clips += [clip(f"{seed}", f"{seed}", tag, seed), clip(f"{seed}@copy", f"{seed}", tag, seed)]
    alone = [c._replace(group=c.name) for c in clips]
    tags = ("a", "b")
    together = np.mean([score.f1 for score in held_out(clips, tags, exclusive=[tags], folds=4)])
    apart = np.mean([score.f1 for score in held_out(alone, tags, exclusive=[tags], folds=6)])
    assert apart > together + 0.2


def test_ranges_are_proposed_where_the_tag_holds(database: Database) -> None:
    tags = ("injured", "neutral")
    clips = tagged_clips(database, tags)
    tagger = train(clips, tags, exclusive=[tags])
    windows = clips[0].windows
    found = tagger.propose(windows, database.rate)
    covered = sum(entry.stop - entry.start for entry in found if entry.tag == "injured")
    assert covered > 0.9 * windows.stops[-1]
    assert all(0.5 <= entry.confidence <= 1.0 and entry.stop - entry.start >= 18 for entry in found)
    assert tagger.propose(windows, database.rate, least=1.01) == []


def test_what_cannot_be_learned_is_refused(database: Database) -> None:
    with pytest.raises(LearningError, match="two clips"):
        learned_tags(database, ["nobody"])
    clips = tagged_clips(database, ("injured", "neutral"))
    with pytest.raises(LearningError, match="everywhere"):
        train([clip for clip in clips if clip.labels[0, 0]], ("injured", "neutral"))


def test_from_a_project_to_a_file_that_no_build_reads(
    performances: list[tuple[str, Performance]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    takes = tmp_path / "takes"
    takes.mkdir()
    for number, (style, performance) in enumerate(performances):
        ambulo.save(performance.motion, takes / f"{number}.bvh")
        if number not in (2, 5):
            odd = ",,odd\n" if number in (0, 4) else ""  # both are held out at once, so that it cannot be known
            (takes / f"{number}.tags.csv").write_text(f"start,stop,tag\n,,{style}\n{odd}")
    (tmp_path / "ambulo.toml").write_text(
        'name = "p"\nmirror = false\n[[sources]]\npath = "takes"\ntags_from = []\n'
        '[tags]\nexclusive = [["injured", "neutral"]]\n'
    )
    assert run(["build", str(tmp_path), "--jobs", "1", "--json"]) == 0
    capsys.readouterr()
    learn = ["autotag", str(tmp_path), "--folds", "2"]
    assert run([*learn, "--least", "0"]) == 0
    shown = capsys.readouterr().out
    assert "do not trust proposals of odd (held-out F1 below 0.1)" in shown
    doubted = [line.split()[0] for line in shown.splitlines() if "hardly ever found" in line or "to be trusted" in line]
    assert len(doubted) > 1 and set(doubted) == {"odd"}  # in the table, and beside what is proposed
    assert run([*learn, "--tags", "injured", "neutral", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["learned_from"] == 4
    assert [score["tag"] for score in told["scores"]] == ["injured", "neutral"] and told["unreliable"] == []
    assert [Path(entry["take"]).name for entry in told["takes"]] == ["2.bvh", "5.bvh"]
    for entry, style in zip(told["takes"], ("injured", "neutral"), strict=True):
        seconds = {"injured": 0.0, "neutral": 0.0}
        for proposal in entry["proposals"]:
            seconds[proposal["tag"]] += proposal["stop"] - proposal["start"]
        assert seconds[style] > 0.8 * sum(seconds.values())
    assert not tag_file_of(takes / "2.bvh").exists()
    assert run(["build", str(tmp_path), "--jobs", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["up_to_date"]
    assert run(["tag", "accept", str(takes / "2.bvh"), "injured", "--json"]) == 0
    assert {entry.tag for entry in read_tag_file(tag_file_of(takes / "2.bvh"))} == {"injured"}
    assert run(["tag", "reject", str(takes / "5.bvh"), "--json"]) == 0
    assert not proposal_file_of(takes / "5.bvh").exists()
    assert not tag_file_of(takes / "5.bvh").exists()
    # All takes carry what is learned: that is said, and what can be done.
    tag_file_of(takes / "5.bvh").write_text("start,stop,tag\n,,neutral\n")
    assert run(["build", str(tmp_path), "--jobs", "1", "--json"]) == 0
    capsys.readouterr()
    quick = ["autotag", str(tmp_path), "--folds", "0"]
    assert run(quick) == 0
    shown = capsys.readouterr().out
    assert "every take carries one of the learned tags" in shown and "-> name takes with --take FILE" in shown
    # What only one take carries is not learned; what is left holds everywhere.
    for number in range(len(performances)):
        style = "injured" if number == 0 else "neutral"
        (takes / f"{number}.tags.csv").write_text("start,stop,tag\n" + (f",,{style}\n" if number < 3 else ""))
    assert run(["build", str(tmp_path), "--jobs", "1", "--json"]) == 0
    capsys.readouterr()
    assert run(quick) == 2
    said = capsys.readouterr().err
    assert "nothing to tell apart: neutral" in said and "too few: injured" in said
    assert "-> tag at least two takes that are not 'neutral'" in said


def test_proposals_are_settled_one_by_one(tmp_path: Path) -> None:
    take = tmp_path / "walk.bvh"
    rows = [Proposal(0.0, 2.0, "walk", 0.9), Proposal(2.0, 3.5, "walk", 0.6), Proposal(1.0, 2.0, "turn", 0.7)]
    write_proposals(proposal_file_of(take), rows)
    assert read_proposals(proposal_file_of(take)) == rows
    (tmp_path / "walk.tags.csv").write_text("start,stop,tag\n# mine\n5.0,6.0,jump\n")
    taken = settle(take, lambda entry: entry.confidence >= 0.7 and entry.tag == "walk", accept=True)
    assert taken == rows[:1]
    text = (tmp_path / "walk.tags.csv").read_text()
    assert "# mine" in text
    assert "0.0,2.0,walk" in text
    assert read_proposals(proposal_file_of(take)) == rows[1:]
    with pytest.raises(ProjectError, match="none of its proposals is meant") as raised:
        settle(take, lambda entry: entry.confidence >= 0.99, accept=True)
    assert "turn 1 to 2 s (0.70), walk 2 to 3.5 s (0.60)" in str(raised.value.remedy)
    settle(take, lambda entry: True, accept=False)
    assert (tmp_path / "walk.tags.csv").read_text() == text
    assert not proposal_file_of(take).exists()
    with pytest.raises(ProjectError, match="nothing is proposed"):
        settle(take, lambda entry: True, accept=True)


def test_a_review_asks_for_each_and_leaves_what_is_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    from ambulo.cli.autotag import _review

    take = tmp_path / "walk.bvh"
    rows = [Proposal(0.0, 1.0, "walk", 0.9), Proposal(1.0, 2.0, "run", 0.8), Proposal(2.0, 3.0, "jump", 0.7)]
    write_proposals(proposal_file_of(take), rows)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nn\n\n"))
    _review(take)
    assert [entry.tag for entry in read_tag_file(tag_file_of(take))] == ["walk"]
    assert read_proposals(proposal_file_of(take)) == rows[2:]
    assert "jump 2 to 3 s, 70%" in capsys.readouterr().err
