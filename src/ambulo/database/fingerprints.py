"""Hashes of what a database depends on: the project file's content, the code, the takes."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import ambulo
from ambulo.database.manifest import SkeletonRecord
from ambulo.database.project import Project
from ambulo.database.takes import TakeInput
from ambulo.formats.paths import write_whole
from ambulo.maths.user_cache import user_cache

FRAME_ROOMS = (
    "maths",
    "motion",
    "formats",
    "prepare",
    "database/prepare_jobs.py",
    "database/retarget_plan.py",
)
"""Packages and modules whose code decides what the frames of a take are."""

STYLE_ROOMS = ("prepare/stylise", "prepare/repair")
"""Packages whose code decides what operators make of a take."""

RECORD_VERSION = 2
"""Of what a record keeps of a take; raised where it keeps more, so that older ones are made anew."""

DATABASE_ROOMS = (*FRAME_ROOMS, "database", "matching")
"""Packages whose code decides what a database holds."""


def project_content(project: Project) -> dict[str, Any]:
    """What of the project file goes into the database, as JSON values: all but where it lies and how it is played."""
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(project, enc_hook=str))
    for key in ("folder", "play", "controllers"):
        del content[key]
    return content


def database_code(project: Project) -> str:
    """Hash of the code that decides what a project's database holds."""
    return code_fingerprint(DATABASE_ROOMS + (STYLE_ROOMS if project.stylise else ()))


@cache
def code_fingerprint(rooms: tuple[str, ...]) -> str:
    """Hash of the code of some packages and modules of ambulo: a database made by other code is stale.

    Comments, docstrings and layout do not count.
    """
    home = Path(ambulo.__file__).parent
    sources = {
        file.relative_to(home).as_posix(): file.read_bytes()
        for room in rooms
        for file in ([home / room] if room.endswith(".py") else sorted((home / room).glob("*.py")))
    }
    # Reading a hundred syntax trees takes most of a second, so what came of the same bytes is kept.
    raw = hashlib.sha256(repr((sys.version_info[:2], ambulo.__version__, rooms)).encode())
    for name, source in sources.items():
        raw.update(name.encode() + b"\0" + hashlib.sha256(source).digest())
    kept = user_cache() / "code" / raw.hexdigest()[:32]
    with suppress(OSError):
        found = kept.read_text(encoding="ascii")
        if len(found) == 64:
            return found
    digest = hashlib.sha256(ambulo.__version__.encode())
    for name, source in sources.items():
        digest.update(f"{name}\0{hash_code(source.decode())}\0".encode())
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, digest.hexdigest().encode())
    return digest.hexdigest()


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
        RECORD_VERSION,
        take.label,
        take.sha256,
        take.companions_sha256,
        [spec.unit, spec.up, spec.rate, spec.travel],
        msgspec.to_builtins([project.spec_of(source, take.label), project.clip_specs(source, take.label)]),
        sorted(project.roles.items()),
        msgspec.to_builtins(project.prepare),
        project.mirror,
        code_fingerprint(FRAME_ROOMS),
    ]
    style = project.made_by(take.label)
    if style is not None:
        parts.append([msgspec.to_builtins(style.operators), code_fingerprint(STYLE_ROOMS)])
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def skeleton_key(record: SkeletonRecord) -> str:
    """Hash of a skeleton."""
    return hashlib.sha256(msgspec.json.encode(record, order="sorted")).hexdigest()[:16]
