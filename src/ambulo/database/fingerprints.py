"""Hashes of what a database depends on: the project file's content, the code, the takes."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import ambulo
from ambulo.database.manifest import SkeletonRecord
from ambulo.database.project import Project
from ambulo.database.takes import TakeInput

FRAME_ROOMS = ("maths", "motion", "formats", "prepare")
"""Packages whose code decides what the frames of a take are."""

DATABASE_ROOMS = (*FRAME_ROOMS, "database", "matching")
"""Packages whose code decides what a database holds."""


def project_content(project: Project) -> dict[str, Any]:
    """What of the project file goes into the database, as JSON values: all but where it lies and how it is played."""
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(project, enc_hook=str))
    for key in ("folder", "play", "controllers"):
        del content[key]
    return content


@cache
def code_fingerprint(rooms: tuple[str, ...]) -> str:
    """Hash of the code of some packages of ambulo: a database made by other code is stale.

    Comments, docstrings and layout do not count.
    """
    digest = hashlib.sha256(ambulo.__version__.encode())
    home = Path(ambulo.__file__).parent
    for room in rooms:
        for file in sorted((home / room).glob("*.py")):
            digest.update(f"{room}/{file.name}\0{_code_of_file(file)}\0".encode())
    return digest.hexdigest()


@cache
def _code_of_file(file: Path) -> str:
    return hash_code(file.read_text(encoding="utf-8"))


def hash_code(source: str) -> str:
    """Hash of what a module does: of its syntax tree without docstrings."""
    tree = ast.parse(source)
    for node in _documented(tree):
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _documented(
    tree: ast.Module,
) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def take_key(project: Project, source: int, take: TakeInput) -> str:
    """Hash of all that the frames of a take depend on; its tags are not among them."""
    spec = project.sources[source]
    parts = [
        take.label,
        take.sha256,
        take.companions_sha256,
        [spec.unit, spec.up, spec.rate, spec.travel],
        msgspec.to_builtins(project.spec_of(source, take.label)),
        sorted(project.roles.items()),
        msgspec.to_builtins(project.prepare),
        project.mirror,
        code_fingerprint(FRAME_ROOMS),
    ]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def skeleton_key(record: SkeletonRecord) -> str:
    """Hash of a skeleton."""
    return hashlib.sha256(msgspec.json.encode(record, order="sorted")).hexdigest()[:16]
