"""What verbs write: never onto what they read, and takes only where nothing is or where it was allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

import ambulo
from ambulo.cli.main import run
from ambulo.synthesis.performance import synthesize


@pytest.fixture
def take(tmp_path: Path) -> Path:
    """Two seconds of walking."""
    motion = synthesize(minutes=0.1)[0].motion
    ambulo.save(motion.slice(0, 120), tmp_path / "walk.bvh")
    return tmp_path / "walk.bvh"


def test_what_is_read_is_never_written_to(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, before = take.parent, take.read_bytes()
    (folder / "map.toml").write_text('[joints]\n"Hips" = "hips"  # mine\n')
    twin = folder / "twin.bvh"
    twin.symlink_to(take)
    onto = ["--target", str(take), "--mapping", str(folder / "map.toml")]
    for words in (
        ["retarget", str(take), str(take), *onto, "--force"],
        ["retarget", str(take), str(twin), *onto, "--force"],
        ["retarget", str(take), str(folder / "new.bvh"), *onto, "--write-mapping", str(folder / "map.toml")],
        ["repair", str(take), str(take), "--force"],
        ["repair", str(take), str(folder / "new.bvh"), "--html", str(take)],
        ["check", str(take), "--html", str(take)],
    ):
        assert run(words) == 2, words
        assert "the source is never written to" in capsys.readouterr().err
    assert take.read_bytes() == before
    assert "# mine" in (folder / "map.toml").read_text()
    assert sorted(file.name for file in folder.iterdir()) == ["map.toml", "twin.bvh", "walk.bvh"]


@pytest.mark.parametrize("verb", [["repair"], ["retarget", "--target", "walk.bvh"]])
def test_takes_are_replaced_with_force_only(
    take: Path, verb: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(take.parent)
    other = Path("other.bvh")
    other.write_text("mine")
    assert run([verb[0], "walk.bvh", "other.bvh", *verb[1:]]) == 2
    assert "--force" in capsys.readouterr().err
    assert other.read_text() == "mine"
    assert run([verb[0], "walk.bvh", "other.bvh", *verb[1:], "--force"]) == 0
    assert ambulo.load(other).frame_count == 120


def test_pages_and_pictures_replace_no_take_and_lie_in_a_folder(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = take.parent
    (folder / "other.glb").write_text("mine")
    for words, why in (
        (["check", str(take), "--html", str(folder / "other.glb")], "the name of a take"),
        (["repair", str(take), str(folder / "n.bvh"), "--html", str(folder / "none" / "p.html")], "folder does not"),
        (["repair", str(take), str(folder / "n.html"), "--html", str(folder / "n.html")], "as well"),
        (["retarget", str(take), str(folder / "n.bvh"), "--target", str(take), "--picture", str(folder)], "a folder"),
    ):
        assert run(words) == 2, words
        assert why in capsys.readouterr().err
    assert sorted(file.name for file in folder.iterdir()) == ["other.glb", "walk.bvh"]
    assert (folder / "other.glb").read_text() == "mine"


def test_one_motion_of_several_is_named(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, motion = take.parent, ambulo.load(take)
    from dataclasses import replace

    ambulo.save([replace(motion, name="a"), replace(motion.slice(0, 60), name="b")], folder / "two.glb")
    for verb in (["repair"], ["retarget", "--target", str(take)]):
        words = [verb[0], str(folder / "two.glb"), str(folder / f"{verb[0]}.bvh"), *verb[1:]]
        assert run(words) == 2
        assert "--clip" in capsys.readouterr().err
        assert run([*words, "--clip", "c"]) == 2
        assert "no motion 'c'" in capsys.readouterr().err
        assert run([*words, "--clip", "b"]) == 0
        assert ambulo.load(folder / f"{verb[0]}.bvh").frame_count == 60


@pytest.mark.parametrize("verb", [["repair"], ["retarget", "--target", "walk.bvh"]])
def test_a_format_that_cannot_be_written_is_refused_before_the_work(
    take: Path, verb: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("the take was read before its output was looked at")

    monkeypatch.chdir(take.parent)
    monkeypatch.setattr("ambulo.cli.one_take.load_take", work)
    for name in ("out.c3d", "out.txt", "out"):
        assert run([verb[0], "walk.bvh", name, *verb[1:]]) == 2
        shown = capsys.readouterr().err
        assert "cannot be written" in shown and ".bvh" in shown
        assert not Path(name).exists()
