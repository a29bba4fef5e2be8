"""``ambulo simulate``: one JSON object, value beside raw, the same files on any run, and clear refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.cli import main as command
from ambulo.cli import new
from ambulo.cli.simulate import PATHS, Arguments, make_script
from ambulo.cli.tag_lists import split_tags
from ambulo.database.database import Database
from ambulo.export import page
from ambulo.matching.build import build


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built project of three minutes of embedded takes."""
    folder = tmp_path_factory.mktemp("simulate") / "walker"
    new.run(new.Arguments(folder, minutes=3.0))
    build(folder)
    return folder


def simulate(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """Run the verb with --json; the object on stdout."""
    code = command.run(["simulate", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err or captured.out
    result: dict[str, Any] = json.loads(captured.out)
    return result


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run the verb; it must refuse. What it says on stderr."""
    assert command.run(["simulate", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


def test_measures_come_with_their_raw_values(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = simulate(capsys, project, "--path", "square", "--seconds", 6)
    measures = result["measures"]
    assert result["frames"] == 360
    assert {"foot_skate", "contact_slide", "penetration", "path_error", "pose_jump", "jerk", "stuck"} <= set(measures)
    for name, measure in measures.items():
        assert set(measure) == {"value", "raw", "unit", "higher_is_better"}, name
        assert result["definitions"][name]
    for name in ("foot_skate", "contact_slide", "pose_jump", "velocity_jump", "jerk", "joint_rotation"):
        assert measures[name]["raw"] > 0.0, name
    assert 0.0 < measures["path_error"]["value"] < 50.0
    assert result["files"] == {}


def test_the_same_arguments_write_the_same_files(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not page.PLAYER.is_file():
        pytest.skip("the web player has not been built: python web/build.py")
    arguments = (project, "--path", "random", "--seconds", 4, "--seed", 3)
    first = simulate(capsys, *arguments, "--out", tmp_path / "a")
    simulate(capsys, *arguments, "--out", tmp_path / "b")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["measures.json", "motion.bvh", "recording.json", "report.html"]
    assert sorted(Path(path).name for path in first["files"].values()) == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    other = simulate(capsys, project, "--path", "random", "--seconds", 4, "--seed", 4)
    assert other["measures"]["contact_slide"] != first["measures"]["contact_slide"]
    # The measures on disk are those on stdout, but for what differs from run to run.
    kept = json.loads((tmp_path / "a" / "measures.json").read_text(encoding="utf-8"))
    assert kept == {name: row for name, row in first["measures"].items() if not name.startswith("latency")}


def test_recorded_sticks_play_again(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not page.PLAYER.is_file():
        pytest.skip("the web player has not been built: python web/build.py")
    simulate(capsys, project, "--path", "random", "--seconds", 4, "--seed", 1, "--out", tmp_path / "a")
    again = simulate(
        capsys,
        project,
        "--input",
        tmp_path / "a" / "recording.json",
        "--seconds",
        4,
        "--seed",
        1,
        "--out",
        tmp_path / "b",
    )
    assert again["frames"] == 240
    first, second = (ambulo.load(tmp_path / name / "motion.bvh") for name in ("a", "b"))
    np.testing.assert_allclose(second.positions, first.positions, atol=1e-4)


def test_the_motion_that_is_written_is_the_motion_that_was_measured(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not page.PLAYER.is_file():
        pytest.skip("the web player has not been built: python web/build.py")
    simulate(capsys, project, "--path", "forward", "--seconds", 5, "--count", 2, "--out", tmp_path)
    motions = [ambulo.load(tmp_path / f"motion_{n:03d}.bvh") for n in (1, 2)]
    for motion in motions:
        assert motion.frame_count == 300
        assert motion.rate == pytest.approx(60.0, rel=1e-4)
        # It walked about four seconds at 1.4 m/s along +Z.
        assert 4.0 < motion.positions[-1, 0, 2] - motion.positions[0, 0, 2] < 7.0
    assert "ambulo-player" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_film_is_written_where_the_extra_is(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("imageio_ffmpeg")
    if not page.PLAYER.is_file():
        pytest.skip("the web player has not been built: python web/build.py")
    result = simulate(capsys, project, "--path", "circle", "--seconds", 0.5, "--out", tmp_path, "--video")
    data = Path(result["files"]["video"]).read_bytes()
    assert data[4:8] == b"ftyp"


def test_preferences_and_events_change_what_is_shown_and_are_kept(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not page.PLAYER.is_file():
        pytest.skip("the web player has not been built: python web/build.py")
    known = Database.open(project).tags
    event, preferred = (next(tag for tag in some if tag in known) for some in (("turn_left", "idle"), ("run", "stop")))
    arguments = (project, "--path", "forward", "--seconds", 3)
    plain = simulate(capsys, *arguments, "--out", tmp_path / "plain")
    asked = simulate(
        capsys, *arguments, "--prefer", f"{preferred},walk", "--event", f"{event}@1.5", "--out", tmp_path / "asked"
    )
    assert asked["measures"]["jerk"] != plain["measures"]["jerk"]
    steps = json.loads((tmp_path / "asked" / "recording.json").read_text(encoding="utf-8"))["steps"]
    assert steps[0]["prefer"] == [preferred, "walk"] and steps[0]["event"] == [[event, 1.5]]
    assert "prefer" not in (tmp_path / "plain" / "recording.json").read_text(encoding="utf-8")
    again = simulate(
        capsys, project, "--input", tmp_path / "asked" / "recording.json", "--seconds", 3, "--out", tmp_path / "again"
    )
    assert again["measures"]["jerk"]["value"] == pytest.approx(asked["measures"]["jerk"]["value"], rel=1e-6)
    assert repr(event) in refused(capsys, *arguments, "--event", f"{event}x@1.0")
    assert "'walk'" in refused(capsys, *arguments, "--prefer", "walkk")
    assert "TAG@SECONDS" in refused(capsys, *arguments, "--event", event)
    assert "--seconds 101" in refused(capsys, *arguments, "--event", f"{event}@99")
    # Said of every event: whether it came, and when.
    (met,) = asked["events"]
    assert met["tag"] == event and met["asked"] == 1.5 and met["begins"] == [pytest.approx(1.5, abs=1.5 / 60)]
    assert plain["events"] == []
    assert command.run(["simulate", *map(str, arguments), "--event", f"{event}@1.5"]) == 0
    assert f"event {event}: asked for at 1.50 s, came at 1." in capsys.readouterr().out


def test_an_event_that_did_not_come_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = simulate(
        capsys, project, "--path", "idle", "--seconds", 1, "--event", "no_kick@0.5", "--on-missing", "report"
    )
    assert result["events"] == [{"tag": "no_kick", "asked": 0.5, "begins": [None]}]


def test_what_cannot_be_written_is_refused_before_the_work(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "PLAYER", tmp_path / "none.js")
    assert "python web/build.py" in refused(capsys, project, "--seconds", 1, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    (tmp_path / "file").write_text("kept")
    if page.PLAYER.is_file():
        assert "not a folder" in refused(capsys, project, "--seconds", 1, "--out", tmp_path / "file")


def test_a_question_may_have_commas(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert split_tags(['walk, before(jump, 0.5),"a,b"', "run"]) == ("walk", "before(jump, 0.5)", '"a,b"', "run")
    asked = simulate(capsys, project, "--path", "idle", "--seconds", 1, "--tags", "within(idle, 0.5),not strafe_left")
    assert asked["measures"]["longest_disobedience"]["value"] == 0.0


def test_refusals_name_what_is_wrong_and_what_to_do(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "'square'" in refused(capsys, project, "--path", "sqare")
    assert "motion_matching" in refused(capsys, project, "--controller", "motion_match")
    assert "--out" in refused(capsys, project, "--video")
    assert "ambulo build" in refused(capsys, tmp_path)
    for seconds in (0, -3):
        assert "-> give more than 0, at least" in refused(capsys, project, "--seconds", seconds)
    assert "-> give 1 or more" in refused(capsys, project, "--count", 0)
    assert "rate" in refused(capsys, project, "--rate", -1)
    assert "seed" in refused(capsys, project, "--seed", -1)
    assert "no_such_tag" in refused(capsys, project, "--tags", "no_such_tag")
    assert refused(capsys, project, "--input", tmp_path / "none.json")


def test_refusals_are_json_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["simulate", str(project), "--path", "sqare", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "ControlError" and "sqare" in error["message"]


def test_a_tag_holds(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = simulate(capsys, project, "--path", "idle", "--seconds", 2, "--tags", "idle")
    assert result["measures"]["longest_disobedience"]["value"] == 0.0


def test_a_tag_that_nothing_carries_may_be_passed_over(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (project, "--path", "forward", "--seconds", 1, "--tags", "no_such_tag,walk", "--event", "no_kick@0.5")
    assert "no_kick" in refused(capsys, *arguments)
    result = simulate(capsys, *arguments, "--on-missing", "report", "--out", tmp_path)
    assert len(result["passed_over"]) == 2
    assert "no_such_tag" in " ".join(result["passed_over"]) and "no_kick" in " ".join(result["passed_over"])
    plain = simulate(capsys, project, "--path", "forward", "--seconds", 1, "--tags", "walk", "--out", tmp_path / "p")
    assert plain["passed_over"] == []
    assert (tmp_path / "motion.bvh").read_bytes() == (tmp_path / "p" / "motion.bvh").read_bytes()


@pytest.fixture(scope="module")
def hero(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which nobody strafes, and which names nobody who does."""
    folder = tmp_path_factory.mktemp("fallback") / "hero"
    new.run(new.Arguments(folder, minutes=2.0))
    text = (folder / "ambulo.toml").read_text()
    assert 'glob = "**/*"' in text and "tags = []" in text
    text = text.replace('glob = "**/*"', 'glob = "**/walk_curves*"').replace("tags = []", 'tags = ["hero"]')
    (folder / "ambulo.toml").write_text(text)
    build(folder)
    return folder


@pytest.mark.parametrize("controller", ["motion_matching", "blended_matching"])
def test_another_project_answers_what_this_one_cannot(
    controller: str, hero: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (hero, "--path", "idle", "--seconds", 1, "--tags", "strafe_left", "--controller", controller)
    assert "strafe_left" in refused(capsys, *arguments)
    result = simulate(capsys, *arguments, "--fallback", project, "--out", tmp_path)
    assert list(result["levels"].values()) == [0.0, 1.0]
    assert result["measures"]["fallback_rate"]["value"] == 100.0
    assert result["measures"]["foot_skate"]["raw"] >= 0.0
    assert (tmp_path / "report.html").stat().st_size > 10_000
    own = simulate(capsys, hero, "--path", "idle", "--seconds", 1, "--tags", "hero", "--fallback", project)
    assert list(own["levels"].values()) == [1.0, 0.0]
    assert list(simulate(capsys, hero, "--path", "idle", "--seconds", 1)["levels"].values()) == [1.0]


def test_a_project_may_name_who_answers(hero: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = hero / "ambulo.toml"
    before = file.read_text()
    assert "fallback = []" in before
    try:
        relative = Path("..") / ".." / project.relative_to(project.parents[1])
        file.write_text(before.replace("fallback = []", f'fallback = ["{relative}"]'))
        result = simulate(capsys, hero, "--path", "idle", "--seconds", 1, "--tags", "strafe_left")
        assert list(result["levels"].values()) == [0.0, 1.0]
        file.write_text(before.replace("fallback = []", 'fallback = ["nowhere"]'))
        assert "nowhere" in refused(capsys, hero, "--seconds", 1)
    finally:
        file.write_text(before)


@pytest.mark.parametrize(
    "arguments",
    [["--tags", "walk,normal", "P"], ["--tags", "walk", "P", "--tags", "normal"], ["P", "--tags=walk, normal"]],
)
def test_tags_leave_the_project_alone(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Arguments] = []

    def run(arguments: Arguments) -> None:
        seen.append(arguments)

    monkeypatch.setattr("ambulo.cli.simulate.run", run)
    assert command.run(["simulate", *arguments, "--json"]) == 0
    assert seen[0].project == Path("P")
    assert make_script(seen[0]).intent(0.0, np.zeros((1, 3)), np.zeros((1, 3))).required_tags == ("walk", "normal")


def test_a_wrong_path_lists_what_the_help_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(make_script(Arguments(Path("P"), path=path)).name for path in PATHS)
    with pytest.raises(SystemExit):
        command.run(["simulate", "--help"])
    shown = capsys.readouterr().out
    assert all(path in shown for path in PATHS)
    assert refused(capsys, "P", "--path", "zzz").strip() == (
        "ambulo simulate: there is no path 'zzz'; valid names: " + ", ".join(sorted(PATHS))
    )
