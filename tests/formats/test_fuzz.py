"""A small, fixed sample of the mutated files of ``benchmarks/formats.py``: every reader refuses or reads, in time."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ambulo.formats.registry import FORMATS

FILES = 60


@pytest.fixture(scope="module")
def fuzzing() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "fuzzing.py"
    specification = importlib.util.spec_from_file_location("ambulo_fuzzing", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["ambulo_fuzzing"] = module
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [form.name for form in FORMATS])
def test_damaged_files_are_read_or_refused(fuzzing: ModuleType, tmp_path: Path, name: str) -> None:
    if name.startswith("usd"):
        pytest.importorskip("pxr")
    for seed in fuzzing.seeds(next(form for form in FORMATS if form.name == name)):
        path = fuzzing.place(tmp_path, seed)
        assert fuzzing.attempt(path) is None
        assert fuzzing.ambulo.load_all(path), "a sound file must load"
    watch = fuzzing.MemoryWatch()
    for number in range(FILES):
        fault, _, _ = fuzzing.examine(name, number, tmp_path, watch)
        assert fault is None, f"{name} {number}"


def test_the_same_number_gives_the_same_file_and_most_differ(fuzzing: ModuleType) -> None:
    for form in FORMATS:
        if form.name.startswith("usd"):
            continue
        made = [fuzzing.mutated(form.name, number)[1:] for number in range(30)]
        assert made == [fuzzing.mutated(form.name, number)[1:] for number in range(30)]
        sound = [seed[1] for seed in fuzzing.seeds(form)]
        assert sum(data in sound and not beside for data, beside in made) <= 3


def test_faults_are_seen(fuzzing: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> list[object]:
        raise IndexError("wild")

    path = tmp_path / "take.bvh"
    path.write_text("x")
    monkeypatch.setattr(fuzzing.ambulo, "load_all", broken)
    assert "IndexError: wild" in fuzzing.attempt(path)
