"""The package as a whole: quick to import, complete in its public names, light at the core."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ambulo


def _modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(shown.stdout.split())


def test_import_brings_nothing_heavy() -> None:
    # What makes an import slow is what it imports; benchmarks/startup.py measures the time itself.
    modules = _modules_after("import ambulo")
    assert "ambulo" in modules
    assert not modules & {"numpy", "scipy", "numba", "torch", "starlette", "rich", "tyro"}


@pytest.mark.parametrize("statement", ["from ambulo import Motion, Skeleton", "from ambulo import load, save"])
def test_types_and_readers_come_without_compilers(statement: str) -> None:
    modules = _modules_after(statement)
    assert not modules & {"scipy", "numba", "torch", "starlette", "tyro"}


@pytest.mark.parametrize("name", ambulo.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(ambulo, name) is not None
    assert name in dir(ambulo)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        ambulo.walk  # noqa: B018
