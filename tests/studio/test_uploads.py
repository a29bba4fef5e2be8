"""Dropped files: safe names, checked content, nothing overwritten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import ambulo
from ambulo.errors import AmbuloError, StudioError
from ambulo.studio import uploads
from ambulo.synthesis.performance import synthesize


@pytest.fixture(scope="module")
def take() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        ambulo.save(synthesize(4, 0.2)[0].motion, Path(folder) / "walk.bvh")
        return (Path(folder) / "walk.bvh").read_bytes()


@pytest.fixture
def project(tmp_path: Path, take: bytes) -> Path:
    (tmp_path / "takes").mkdir()
    (tmp_path / "takes" / "base.bvh").write_bytes(take)
    (tmp_path / "ambulo.toml").write_text('name = "p"\n[[sources]]\npath = "takes"\n')
    return tmp_path


def drop(project: Path, name: str, content: bytes) -> uploads.Received:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(content), 65536):
            yield content[start : start + 65536]

    return asyncio.run(uploads.receive(project, name, chunks()))


def names(project: Path) -> list[str]:
    return sorted(path.name for path in (project / "takes").iterdir())


def test_a_take_and_its_tags_are_taken(project: Path, take: bytes) -> None:
    assert drop(project, "Läufer (2).bvh", take) == ("Läufer (2).bvh", False)
    assert drop(project, "Läufer (2).tags.csv", b"start,stop,tag\n,,injured\n") == ("Läufer (2).tags.csv", False)
    assert (project / "takes" / "Läufer (2).bvh").read_bytes() == take
    assert names(project) == ["Läufer (2).bvh", "Läufer (2).tags.csv", "base.bvh"]


def test_a_name_that_is_taken_is_not_taken_away(project: Path, take: bytes) -> None:
    other = take.replace(b"Frame Time", b"Frame  Time") if b"Frame  Time" in take else take + b"\n"
    assert drop(project, "base.bvh", other) == ("base_2.bvh", True)
    assert drop(project, "base.bvh", other + b"\n") == ("base_3.bvh", True)
    assert (project / "takes" / "base.bvh").read_bytes() == take
    with pytest.raises(StudioError, match="same content"):
        drop(project, "base.bvh", take)
    drop(project, "base.tags.csv", b"start,stop,tag\n,,old\n")
    with pytest.raises(StudioError, match="not overwritten"):
        drop(project, "base.tags.csv", b"start,stop,tag\n,,new\n")
    assert b"old" in (project / "takes" / "base.tags.csv").read_bytes()


@pytest.mark.parametrize(
    "name",
    ["", ".bvh", "../x.bvh", "a/b.bvh", "a\\b.bvh", "a:b.bvh", "a\0.bvh", "..bvh", "x..bvh", "con.bvh", "LPT1.tags.csv",
     "a\n.bvh", " a.bvh", "a.bvh ", "-rf.bvh", "~.bvh", "x" * 130 + ".bvh", "a*.bvh", "a%2e.bvh"],
)  # fmt: skip
def test_names_that_are_not_safe_are_refused(project: Path, take: bytes, name: str) -> None:
    with pytest.raises(StudioError):
        drop(project, name, take)
    assert names(project) == ["base.bvh"]
    assert sorted(path.name for path in project.iterdir()) == ["ambulo.toml", "takes"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.bvh", b"HIERARCHY\nROOT Hips\n{\n"),
        ("a.bvh", b"\x89PNG\r\n\x1a\n" + bytes(100)),
        ("a.fbx", b"HIERARCHY\nROOT Hips"),
        ("a.glb", b"glTF"),
        ("a.bvh", b""),
        ("a.exe", b"MZ"),
        ("a.toml", b"name = 1"),
        ("ambulo.toml", b"name = 1"),
        ("a.csv", b"start,stop,tag\n"),
        ("base.tags.csv", b"start,stop,tag\n1,0,walk\n"),
        ("base.tags.csv", b"what\n"),
        ("base.channels.csv", b"nonsense\n1"),
        ("nobody.tags.csv", b"start,stop,tag\n,,walk\n"),
    ],
)
def test_what_cannot_be_used_is_refused_and_gone(project: Path, name: str, content: bytes) -> None:
    with pytest.raises(AmbuloError) as caught:
        drop(project, name, content)
    assert ".dropped" not in str(caught.value)  # nobody knows that place
    assert names(project) == ["base.bvh"]


def test_what_is_too_large_is_refused_on_the_way(project: Path, take: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAXIMUM_BYTES", 100_000)
    with pytest.raises(StudioError, match="larger than"):
        drop(project, "a.bvh", take + bytes(200_000))
    assert names(project) == ["base.bvh"]


def test_a_page_that_goes_leaves_nothing(project: Path, take: bytes) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield take[:1000]
        raise ConnectionError("gone")

    with pytest.raises((ConnectionError, StudioError)):
        asyncio.run(uploads.receive(project, "a.bvh", chunks()))
    assert names(project) == ["base.bvh"]


def test_a_source_that_takes_other_files_is_passed_over(project: Path, take: bytes) -> None:
    (project / "fbx").mkdir()
    (project / "ambulo.toml").write_text(
        'name = "p"\n[[sources]]\npath = "fbx"\nglob = "*.fbx"\n[[sources]]\npath = "takes"\n'
    )
    drop(project, "a.bvh", take)
    assert names(project) == ["a.bvh", "base.bvh"]
    (project / "ambulo.toml").write_text('name = "p"\n[[sources]]\npath = "takes/base.bvh"\n')
    with pytest.raises(StudioError, match="no source"):
        drop(project, "b.bvh", take)
