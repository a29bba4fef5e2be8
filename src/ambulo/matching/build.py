"""From a project to a database that can be searched, and back from the disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo.database.annotation_settings import COMPUTED_CHANNELS
from ambulo.database.build import Finish, Progress, build_frames
from ambulo.database.database import Database
from ambulo.database.feature_spec import DEFAULT_FEATURES, FeatureSpec
from ambulo.database.old_database import CarriedFrames, FrameRun
from ambulo.database.project import load_project
from ambulo.database.remote.addresses import as_url, shown
from ambulo.database.remote.databases import prepare_copy, publish_database
from ambulo.database.report import BuildReport
from ambulo.database.storage import create_tensors, link_or_copy, map_tensors, release, write_tensors
from ambulo.errors import DatabaseError
from ambulo.matching.features import FeatureSet, compute_features
from ambulo.matching.index import SearchIndex
from ambulo.matching.schema import FeatureSchema
from ambulo.motion.quadruped import is_quadruped
from ambulo.motion.skeleton import Skeleton

FEATURES_FILE = "features.safetensors"
INDEX_FILE = "index.safetensors"
_SCRATCH = "index.parts"
_COPIED = 1 << 18
# The end of a clip is not jumped to, there is nothing left to play: 20 frames at 60 fps in D. Holden's public
# Motion-Matching code, here in seconds.
END_MARGIN = 1.0 / 3.0
_FRONT = {"left_foot": "left_front_foot", "right_foot": "right_front_foot"}


def build(
    project_path: str | Path,
    *,
    folder: str | Path | None = None,
    jobs: int | None = None,
    strict: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    engine: str = "local",
) -> BuildReport:
    """Build a project's database with its features and search index, or bring it up to date.

    Args and errors are those of :func:`ambulo.database.build.build_frames`; ``folder`` may be a URL: the database is
    then built in this user's cache, and written there when it is whole. Also:

    Raises:
        SkeletonError: the skeleton lacks a joint that a feature needs.
        QueryError: the features of the project file make no sense.
    """
    url = None if folder is None else as_url(folder)
    if url is not None:
        folder = prepare_copy(url)
    specs = load_project(project_path).features
    finish: Finish = lambda staging, carried: write_index(staging, specs, carried)  # noqa: E731
    compile_project = partial(
        build_frames,
        project_path,
        folder=folder,
        jobs=jobs,
        strict=strict,
        progress=progress,
        finish=finish,
        engine=engine,
    )
    report = compile_project(force=force)
    if report.up_to_date:
        try:
            load_index(Database.open(report.folder))
        except DatabaseError:  # what cannot be loaded is not up to date
            report = compile_project(force=True)
    if url is not None:
        tell = progress or (lambda stage, done, total: None)
        publish_database(Path(report.folder), url, lambda done, total: tell("upload", done, total), force=force)
        report = msgspec.structs.replace(report, folder=shown(url))
    return report


def for_body(specs: Sequence[FeatureSpec], skeleton: Skeleton) -> Sequence[FeatureSpec]:
    """The default features look at all feet that there are: of a quadruped also at the front ones."""
    if tuple(specs) != DEFAULT_FEATURES or not is_quadruped(skeleton):
        return specs
    return tuple(
        each
        for spec in specs
        for each in (
            (spec, msgspec.structs.replace(spec, joint=_FRONT[spec.joint])) if spec.joint in _FRONT else (spec,)
        )
    )


def write_index(
    folder: Path, specs: Sequence[FeatureSpec] = DEFAULT_FEATURES, carried: CarriedFrames | None = None
) -> None:
    """Compute the features and the search index of the database in a folder, and store both beside its frames.

    Features of frames that an old database has come from there; where it has the same frames in the same places, its
    two files are taken over. The memory that it takes is that of one part of the frames
    (:mod:`ambulo.matching.sharded_tree`): frames, features and tree are maps of files.
    """
    database = Database.open(folder)
    specs = for_body(specs, database.skeleton)
    schema = FeatureSchema.compile(specs, database.skeleton, database.rate)
    text = np.frombuffer(json.dumps(schema.to_dict(), sort_keys=True).encode(), np.uint8)
    old = None if carried is None else _carried_features(carried, text)
    annotated = any(group.channel and group.channel not in COMPUTED_CHANNELS for group in schema.groups)
    if (
        carried is not None
        and old is not None
        and carried.whole
        and not annotated
        and carried.old.is_intact(INDEX_FILE)
    ):
        for name in (FEATURES_FILE, INDEX_FILE):
            link_or_copy(carried.old.folder / name, folder / name)
        return
    width = schema.dimension_count
    entries: dict[str, tuple[str, tuple[int, ...]]] = {
        "raw": ("float32", (database.frame_count, width)),
        "mean": ("float32", (width,)),
        "scale": ("float32", (width,)),
        "schema": ("uint8", text.shape),
    }
    maps = (database.positions, database.rotations, database.velocities, database.angular_velocities)
    scratch = folder / _SCRATCH
    scratch.mkdir()
    try:
        with create_tensors(folder / FEATURES_FILE, entries) as file:
            known: list[tuple[int, int]] = []
            if carried is not None and old is not None:
                known = _carry(carried.runs, old, file["raw"])
            pause = lambda: release(*maps, file["raw"])  # noqa: E731
            features = compute_features(database, schema, file["raw"], pause, known)
            file["mean"][:], file["scale"][:], file["schema"][:] = features.mean, features.scale, text
            release(file["raw"])
            index = _index_of(database, features, None, scratch)
            write_tensors(folder / INDEX_FILE, index.to_arrays())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _carried_features(carried: CarriedFrames, schema: NDArray[np.uint8]) -> NDArray[np.float32] | None:
    """The features of the old database, where they are of the same schema (its text) and as they were written."""
    if not carried.old.is_intact(FEATURES_FILE):
        return None
    tensors = map_tensors(carried.old.folder / FEATURES_FILE)
    return tensors["raw"] if np.array_equal(tensors["schema"], schema) else None


def _carry(runs: Sequence[FrameRun], old: NDArray[np.float32], raw: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Copy the rows that the old database has, and return where they are."""
    for start, old_start, count in runs:
        for done in range(0, count, _COPIED):
            some = min(_COPIED, count - done)
            raw[start + done : start + done + some] = old[old_start + done : old_start + done + some]
            release(raw, old)
    return [(run.start, run.start + run.length) for run in runs]


def make_index(
    database: Database, specs: Sequence[FeatureSpec] = DEFAULT_FEATURES, *, kind: str | None = None
) -> SearchIndex:
    """The features and the search index of a database, in memory.

    Args:
        database: opened, or made in memory.
        specs: what to compare.
        kind: search method, see :meth:`SearchIndex.build`.
    """
    specs = for_body(specs, database.skeleton)
    schema = FeatureSchema.compile(specs, database.skeleton, database.rate)
    return _index_of(database, compute_features(database, schema), kind)


def _index_of(
    database: Database, features: FeatureSet, kind: str | None = None, scratch: Path | None = None
) -> SearchIndex:
    return SearchIndex.build(
        features,
        database.clip_starts,
        database.clip_stops,
        database.valid,
        end_margin_frames=round(END_MARGIN * database.rate),
        kind=kind,
        scratch=scratch,
    )


def load_index(database: Database) -> tuple[FeatureSet, SearchIndex]:
    """The stored features and search index of a database, memory-mapped; computed where it lies in memory.

    Raises:
        DatabaseError: they are missing, damaged, or do not fit the frames.
    """
    if database.folder is None:
        index = make_index(database)
        return index.feature_set, index
    path = database.folder / FEATURES_FILE
    if not path.is_file():
        raise DatabaseError(
            "the database has frames but no features", path=path, remedy="run `ambulo build` on the project"
        )
    features = _read_features(path, map_tensors(path))
    if features.frame_count != database.frame_count:
        raise DatabaseError(
            f"has {features.frame_count} frames where the database has {database.frame_count}",
            path=path,
            remedy="run `ambulo build` again",
        )
    return features, SearchIndex.from_arrays(features, map_tensors(database.folder / INDEX_FILE))


def _read_features(path: Path, tensors: Mapping[str, NDArray[Any]]) -> FeatureSet:
    try:
        schema = FeatureSchema.from_dict(json.loads(tensors["schema"].tobytes()))
        features = FeatureSet(schema, tensors["raw"], tensors["mean"], tensors["scale"])
        shapes = (features.raw.shape[1:], features.mean.shape, features.scale.shape)
        if shapes != ((schema.dimension_count,),) * 3:
            raise ValueError(f"{schema.dimension_count} dimensions are expected, the arrays have {shapes}")
        return features
    except (KeyError, ValueError) as error:
        raise DatabaseError(f"is damaged: {error}", path=path, remedy="run `ambulo build` again") from None
