"""Archives: what is wanted comes out, hostile ones are refused."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from ambulo.database import archives
from ambulo.database.archives import extract
from ambulo.errors import ProjectError

from .web_site import zipped


def tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("top/link.bvh")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_archives_give_what_is_wanted_without_their_folders(tmp_path: Path, pack: object) -> None:
    data = pack({"top/a/walk.bvh": b"1", "top/a/notes.txt": b"2", "top/Run.BVH": b"3", "loose.bvh": b"4"})  # type: ignore[operator]
    (tmp_path / "x").write_bytes(data)
    found = extract(tmp_path / "x", tmp_path / "out", ["**/*.bvh"], strip=1)
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in found) == [
        "Run.BVH",
        "a/walk.bvh",
        "loose.bvh",
    ]
    assert not (tmp_path / "out" / "link.bvh").exists()


@pytest.mark.parametrize("name", ["../evil.bvh", "/evil.bvh", "a/../../evil.bvh", "..\\evil.bvh", "C:\\evil.bvh"])
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_members_that_lead_out_are_refused(tmp_path: Path, pack: object, name: str) -> None:
    (tmp_path / "x").write_bytes(pack({name: b"1"}))  # type: ignore[operator]
    with pytest.raises(ProjectError, match="leads out of the folder"):
        extract(tmp_path / "x", tmp_path / "in" / "out")
    assert not list(tmp_path.rglob("evil*"))


def test_archives_without_end_or_damaged_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "BYTES_FREE", 1 << 16)
    bomb = tmp_path / "bomb.zip"
    bomb.write_bytes(zipped({"a.bvh": bytes(1 << 22)}))
    with pytest.raises(ProjectError, match="unpacks to more than"):
        extract(bomb, tmp_path / "out")
    whole = zipped({"a.bvh": bytes(range(256)) * 100})
    at = whole.index(b"a.bvh") + 40
    bomb.write_bytes(whole[:at] + b"\xff\xff\xff" + whole[at + 3 :])
    with pytest.raises(ProjectError, match="damaged"):
        extract(bomb, tmp_path / "out2")
    bomb.write_bytes(zipped({"A/x.bvh": b"1", "B/X.bvh": b"2"}))
    with pytest.raises(ProjectError, match="two files"):
        extract(bomb, tmp_path / "out3", strip=1)
    with pytest.raises(ProjectError, match="no file of it matches"):
        extract(bomb, tmp_path / "out4", ["*.fbx"])
