"""Several databases end to end, as one in memory: for what looks at the frames that a chain of them has shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ambulo.database.channels import CHANNELS
from ambulo.database.database import Database
from ambulo.errors import DatabaseError


def join_databases(databases: Sequence[Database]) -> Database:
    """One database of all frames, clips and tags; priorities, bonuses and numbers are left out.

    Frame ``f`` of database ``d`` becomes ``frame_offsets(databases)[d] + f``.

    Raises:
        DatabaseError: none is given, or they differ in skeleton or rate.
    """
    if not databases:
        raise DatabaseError("there is no database to join")
    first = databases[0]
    if len(databases) == 1:
        return first
    for other in databases[1:]:
        a, b = first.skeleton, other.skeleton
        if a.names != b.names or not np.array_equal(a.parents, b.parents):
            raise DatabaseError(
                f"the databases {first.name!r} and {other.name!r} have different skeletons",
                path=other.folder,
                remedy="name the same [skeleton] target in both projects, and build them again",
            )
        if first.rate != other.rate:
            raise DatabaseError(
                f"the databases {first.name!r} and {other.name!r} have other rates: {first.rate:g}, {other.rate:g}",
                path=other.folder,
                remedy="set the same rate in both projects, and build them again",
            )
    tags: dict[str, list[NDArray[np.int64]]] = {}
    clips = []
    for database, offset in zip(databases, frame_offsets(databases).tolist(), strict=True):
        clips += [clip._replace(start=clip.start + offset, stop=clip.stop + offset) for clip in database.clips]
        for tag, ranges in database.tags.items():
            tags.setdefault(tag, []).append(ranges + offset)
    channels = {c.name: np.concatenate([getattr(database, c.name) for database in databases]) for c in CHANNELS}
    merged = {tag: np.concatenate(tags[tag]) for tag in sorted(tags)}
    name = " + ".join(database.name for database in databases)
    return Database(first.skeleton, first.rate, channels, clips, merged, name=name)


def frame_offsets(databases: Sequence[Database]) -> NDArray[np.int64]:
    """Where each database begins, int64 ``[D]``."""
    counts = [database.frame_count for database in databases]
    return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
