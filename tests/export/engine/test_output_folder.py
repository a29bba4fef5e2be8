"""Where an export goes: what people put or changed there stays unless they say otherwise."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ambulo.errors import AmbuloError
from ambulo.export.engine.output_folder import refuse_overwriting

NAMES = ["controller.onnx", "manifest.json"]


def exported(folder: Path, data: bytes = b"graph") -> Path:
    folder.mkdir()
    (folder / "controller.onnx").write_bytes(data)
    manifest = {"format": "ambulo controller", "files": {"controller.onnx": hashlib.sha256(b"graph").hexdigest()}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_new_folders_and_earlier_exports_are_written_to(tmp_path: Path) -> None:
    refuse_overwriting(tmp_path / "new" / "below", NAMES, force=False)
    refuse_overwriting(tmp_path, NAMES, force=False)
    refuse_overwriting(exported(tmp_path / "earlier"), NAMES, force=False)
    assert list(tmp_path.iterdir()) == [tmp_path / "earlier"]


@pytest.mark.parametrize("manifest", [None, "not JSON", "[]", '{"format": "theirs", "files": {}}', '{"files": 3}'])
def test_files_of_somebody_else_need_force(tmp_path: Path, manifest: str | None) -> None:
    (tmp_path / "controller.onnx").write_bytes(b"graph")
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(AmbuloError, match="there already") as caught:
        refuse_overwriting(tmp_path, NAMES, force=False)
    assert caught.value.path is not None and "--force" in str(caught.value)
    refuse_overwriting(tmp_path, NAMES, force=True)


def test_a_changed_file_of_an_earlier_export_needs_force(tmp_path: Path) -> None:
    folder = exported(tmp_path / "earlier", b"changed by hand")
    with pytest.raises(AmbuloError, match=r"controller\.onnx"):
        refuse_overwriting(folder, NAMES, force=False)
    refuse_overwriting(folder, NAMES, force=True)


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("notes")
    for place in (tmp_path / "out", tmp_path / "out" / "below"):
        with pytest.raises(AmbuloError, match="a file is where the folder should be"):
            refuse_overwriting(place, NAMES, force=True)
    (tmp_path / "other" / "controller.onnx").mkdir(parents=True)
    with pytest.raises(AmbuloError, match="a folder is where a file should be"):
        refuse_overwriting(tmp_path / "other", NAMES, force=True)
