"""Downloads: broken transfers go on, other files are refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ambulo.database.download import download
from ambulo.errors import ProjectError

from .web_site import Site

DATA = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(DATA).hexdigest()


def test_a_whole_transfer(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"] = DATA
    told: list[tuple[int, int]] = []
    path = tmp_path / "deep" / "a.bin"
    assert (
        download(f"{site.url}/a.bin", path, sha256=SHA256, size=len(DATA), progress=lambda *x: told.append(x)) == SHA256
    )
    assert path.read_bytes() == DATA
    assert told[-1] == (len(DATA), len(DATA))
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.bin"]


def test_broken_transfers_go_on_where_they_ended(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.cut = DATA, [300_000, 200_000]
    download(f"{site.url}/a.bin", tmp_path / "a.bin", sha256=SHA256)
    assert (tmp_path / "a.bin").read_bytes() == DATA
    assert [wanted for _, wanted in site.asked] == ["", "bytes=300000-", "bytes=500000-"]


def test_a_broken_run_goes_on_in_the_next(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.cut = DATA, [100_000] * 5
    with pytest.raises(ProjectError, match="500000 bytes are kept") as caught:
        download(f"{site.url}/a.bin", tmp_path / "a.bin")
    assert "run the same command again" in (caught.value.remedy or "")
    assert not (tmp_path / "a.bin").exists()
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == SHA256
    assert site.asked[-1] == ("/a.bin", "bytes=500000-")


def test_a_server_without_ranges_sends_it_all_again(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.cut, site.ranges = DATA, [300_000], False
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == SHA256
    assert (tmp_path / "a.bin").read_bytes() == DATA


def test_parts_of_two_versions_are_never_put_together(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.cut = DATA, [300_000] + [0] * 4
    with pytest.raises(ProjectError):
        download(f"{site.url}/a.bin", tmp_path / "a.bin")
    other = DATA[::-1]
    site.files["/a.bin"], site.tag = other, '"v2"'
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == hashlib.sha256(other).hexdigest()


def test_a_part_that_is_whole_already_needs_nothing_more(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"] = DATA
    (tmp_path / "a.bin.part").write_bytes(DATA)
    (tmp_path / "a.bin.part.json").write_text(json.dumps({"url": f"{site.url}/a.bin", "tag": '"v1"'}))
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == SHA256
    assert site.asked == [("/a.bin", f"bytes={len(DATA)}-")]


def test_servers_that_are_busy_are_asked_again(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.status = DATA, [503, 429]
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == SHA256
    site.status = [500] * 9
    with pytest.raises(ProjectError, match="answers 500"):
        download(f"{site.url}/a.bin", tmp_path / "b.bin")


def test_a_wrong_checksum_keeps_nothing(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"] = DATA
    with pytest.raises(ProjectError, match=f"has the checksum {SHA256}") as caught:
        download(f"{site.url}/a.bin", tmp_path / "a.bin", sha256="0" * 64)
    assert caught.value.key == "sha256"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [len(DATA) - 1, len(DATA) + 1])
def test_a_wrong_size_is_refused(site: Site, tmp_path: Path, size: int) -> None:
    site.files["/a.bin"] = DATA
    with pytest.raises(ProjectError, match=f"it should have {size}"):
        download(f"{site.url}/a.bin", tmp_path / "a.bin", size=size)
    assert not (tmp_path / "a.bin").exists()


def test_missing_files_and_other_schemes_are_refused_at_once(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="there is no such file"):
        download(f"{site.url}/nothing.zip", tmp_path / "a.bin")
    assert len(site.asked) == 1
    with pytest.raises(ProjectError, match="no address of the web"):
        download((tmp_path / "secret").as_uri(), tmp_path / "a.bin")
    with pytest.raises(ProjectError, match="cannot be reached"):
        download("http://127.0.0.1:1/a.bin", tmp_path / "a.bin")


def test_a_git_lfs_pointer_is_not_the_file(site: Site, tmp_path: Path) -> None:
    site.files["/a.zip"] = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    with pytest.raises(ProjectError, match="Git LFS pointer"):
        download(f"{site.url}/a.zip", tmp_path / "a.zip")
