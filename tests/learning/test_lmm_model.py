"""Files of a trained model: what in them is refused, by the name of the field."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `learn` is not installed")

from ambulo.database.storage import map_tensors, write_tensors
from ambulo.errors import LearningError
from ambulo.learning.lmm_model import MANIFEST, NETWORKS, load_model


@pytest.fixture
def folder(trained: Any, tmp_path: Path) -> Path:
    """A copy of a model's two files."""
    copy = tmp_path / "lmm"
    copy.mkdir()
    for name in (MANIFEST, NETWORKS):
        shutil.copy(Path(trained.folder) / name, copy / name)
    load_model(copy)
    return copy


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda m: m["weights"].pop(), "weights"),
        (lambda m: m["weights"].append(1.0), "weights"),
        (lambda m: m["weights"].__setitem__(0, -1.0), "weights"),
        (lambda m: m.__setitem__("precision", "float8"), "precision"),
        (lambda m: m.__setitem__("precision", ""), "precision"),
    ],
)
def test_a_changed_manifest_is_refused(folder: Path, change: Any, key: str) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    change(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(LearningError) as caught:
        load_model(folder)
    assert caught.value.key == key and caught.value.path == folder / MANIFEST


@pytest.mark.parametrize("name", ["offsets", "start", "lowest", "highest", "feature_mean", "feature_coefficients"])
def test_numbers_that_are_not_finite_are_refused(folder: Path, name: str) -> None:
    """Also where the hash of the file was made anew."""
    arrays = {key: np.array(array) for key, array in map_tensors(folder / NETWORKS).items()}
    arrays[name].reshape(-1)[0] = np.nan
    write_tensors(folder / NETWORKS, dict(sorted(arrays.items(), key=lambda item: -item[1].itemsize)))
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"][NETWORKS] = hashlib.sha256((folder / NETWORKS).read_bytes()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(LearningError, match="not finite") as caught:
        load_model(folder)
    assert caught.value.key == name and caught.value.path == folder / NETWORKS
