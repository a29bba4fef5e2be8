"""Where an export goes: what people put or changed there stays unless they say otherwise."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ambulo.errors import AmbuloError
from ambulo.export.engine.output_folder import leftovers, refuse_overwriting, refuse_project_folders

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


def a_project(folder: Path, takes: str = "takes") -> Path:
    for name in ("database", "models", "takes"):
        (folder / name / "below").mkdir(parents=True)
    text = f'name = "walker"\n\n[[sources]]\npath = "{takes}"\n'
    (folder / "ambulo.toml").write_text(text)
    return folder


@pytest.mark.parametrize("place", [".", "database", "models/lmm", "takes", "takes/below", "takes/../models"])
def test_a_projects_own_folders_are_refused(tmp_path: Path, place: str) -> None:
    project = a_project(tmp_path / "project")
    for named in (project, project / "ambulo.toml"):
        with pytest.raises(AmbuloError, match="the folder is") as caught:
            refuse_project_folders(project / place, named)
        assert caught.value.key == "out" and "export/NAME" in str(caught.value)
    with pytest.raises(AmbuloError, match="is an ambulo project"):
        refuse_project_folders(project, a_project(tmp_path / "another"))


def test_other_folders_of_a_project_may_be_written_to(tmp_path: Path) -> None:
    project = a_project(tmp_path / "project")
    for place in ("export/unity-lmm", "unity", "../beside", "../"):
        refuse_project_folders(project / place, project)
    around = a_project(tmp_path / "around", takes=".")  # takes beside the project file
    refuse_project_folders(around / "export" / "x", around)


@pytest.mark.parametrize("kind", ["ambulo database", "ambulo lmm", "ambulo poser"])
def test_other_things_of_ours_are_no_earlier_export(tmp_path: Path, kind: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text(json.dumps({"format": kind, "files": {}}))
    with pytest.raises(AmbuloError, match=kind):
        refuse_project_folders(tmp_path / "out", a_project(tmp_path / "project"))


def test_what_an_earlier_export_left_is_told_from_what_others_did(tmp_path: Path) -> None:
    folder = exported(tmp_path / "earlier")
    told = json.loads((folder / "manifest.json").read_text())
    digest = hashlib.sha256(b"graph").hexdigest()
    told["files"] |= dict.fromkeys(("stepper.onnx", "changed.onnx", "gone.onnx", "../outside.onnx"), digest)
    (folder / "manifest.json").write_text(json.dumps(told))
    for path in (folder / "stepper.onnx", tmp_path / "outside.onnx", folder / "mine.onnx"):
        path.write_bytes(b"graph")
    (folder / "changed.onnx").write_bytes(b"other")
    assert leftovers(folder, NAMES) == [folder / "stepper.onnx"]
    assert leftovers(tmp_path, NAMES) == []
