"""From a project to what learned motion matching trains on; what cannot be trained on is refused here, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ambulo.control.frame_sets import FrameSet, FrameSets
from ambulo.control.project_settings import project_settings
from ambulo.control.settings import ControlSettings
from ambulo.database.database import Database
from ambulo.database.project import PROJECT_FILE, load_project
from ambulo.database.staleness import staleness
from ambulo.errors import LearningError
from ambulo.formats.paths import is_file
from ambulo.learning.lmm_frames import LmmFrames, gather_frames, search_weights
from ambulo.learning.lmm_model import LmmManifest
from ambulo.matching.build import load_index
from ambulo.matching.index import SearchIndex
from ambulo.matching.schema import FeatureSchema

LEAST_SECONDS = 20.0
"""Motion that may be shown, without mirrored copies: with less there is nothing to learn from."""

_WINDOW = 21


@dataclass(frozen=True)
class LmmData:
    """What a training draws on.

    Attributes:
        database: frames and clips.
        index: exact search over its features.
        frame_set: frames that may be shown, and those that may be jumped to.
        frames: the same as arrays.
        settings: of the controllers.
        tags: that all frames carry; the settings' default where empty.
    """

    database: Database
    index: SearchIndex
    frame_set: FrameSet
    frames: LmmFrames
    settings: ControlSettings
    tags: tuple[str, ...] = ()


def open_data(
    project: Path,
    tags: Sequence[str] = (),
    *,
    seed: int = 0,
    begun: LmmManifest | None = None,
    up_to_date: bool = False,
) -> LmmData:
    """The data of a built project, checked.

    Args:
        project: its folder, its file, or that of a database.
        tags: that all frames shall carry; the project's default tags where empty.
        seed: of what is held out.
        begun: of the model that is trained on, where one is; its features are then used.
        up_to_date: the database was compared with its project already (:func:`refuse_stale`); the takes need not be
            here then.

    Raises:
        LearningError: the database is stale, too small, has no contacts, or does not fit the model.
    """
    if not up_to_date:
        refuse_stale(project)
    database = Database.open(project)
    index = load_index(database)[1]
    settings = project_settings(project, known_tags=database.tags)
    return make_data(database, index, settings, tags, seed=seed, begun=begun)


def make_data(
    database: Database,
    index: SearchIndex,
    settings: ControlSettings | None = None,
    tags: Sequence[str] = (),
    *,
    seed: int = 0,
    begun: LmmManifest | None = None,
) -> LmmData:
    """The data of an opened database; as :func:`open_data`."""
    settings = settings or ControlSettings()
    search = settings.search
    schema = index.feature_set.schema
    weights = search_weights(index, search.pose_emphasis)
    if begun is not None:
        refuse_other_schema(schema, database, begun)
        weights = np.array(begun.weights, np.float32)
    frame_set = FrameSets(database, index, search, search.minimum_run).of(tuple(tags), ())
    frames = gather_frames(database, index, frame_set.allowed, frame_set.run_stops, weights, seed=seed)
    _refuse_poor(database, frames)
    return LmmData(database, index, frame_set, frames, settings, tuple(tags))


def refuse_stale(project: Path) -> None:
    """Refuse a database that is not what its project says now.

    Raises:
        LearningError: see above; lists what changed.
    """
    for place in (project, project / PROJECT_FILE, project.parent / PROJECT_FILE):
        if place.name == PROJECT_FILE and is_file(place):
            found = staleness(load_project(place))
            # Another version of ambulo alone is no reason: the frames are the same.
            reasons = [reason for reason in found.reasons if not (found.code and "another version" in reason)]
            if reasons:
                raise LearningError(
                    f"the database is not up to date: {'; '.join(reasons)}",
                    path=place.parent,
                    remedy="run `ambulo build` first",
                )
            return


def refuse_other_schema(schema: FeatureSchema, database: Database, begun: LmmManifest) -> None:
    """Refuse to go on from a model whose features or skeleton are others.

    Raises:
        LearningError: see above; names the first difference.
    """
    remedy = "train anew with `ambulo train lmm PROJECT`"
    mine, theirs = schema, FeatureSchema.from_dict(begun.schema)
    names = [(group.name, group.times) for group in mine.groups]
    others = [(group.name, group.times) for group in theirs.groups]
    if names != others:
        changed = [name for name, _ in names if (name, _) not in others] or [name for name, _ in others]
        raise LearningError(
            f"the model was trained with other features: {', '.join(sorted(set(changed)))} changed",
            key="features",
            remedy=remedy,
        )
    if mine.rate != begun.rate:
        raise LearningError(
            f"the model was trained at {begun.rate:g} frames a second, the database has {mine.rate:g}",
            key="rate",
            remedy=remedy,
        )
    skeleton = begun.skeleton.skeleton()
    if skeleton.names != database.skeleton.names or not np.array_equal(skeleton.parents, database.skeleton.parents):
        raise LearningError("the model was trained on another skeleton", key="skeleton", remedy=remedy)


def with_fresh(data: LmmData, known: dict[str, int]) -> LmmData:
    """The data with those frames marked whose clips a model does not know by name and length.

    Raises:
        LearningError: it knows all of them.
    """
    database = data.database
    fresh = np.zeros(database.frame_count, np.bool_)
    for clip in database.clips:
        fresh[clip.start : clip.stop] = known.get(clip.name) != clip.stop - clip.start
    mine = fresh[data.frames.frames]
    if not mine.any():
        raise LearningError(
            "the model knows every clip that may be shown",
            key="finetune",
            remedy="add clips and build, or train anew without --finetune",
        )
    return replace(data, frames=replace(data.frames, fresh=mine))


def _refuse_poor(database: Database, frames: LmmFrames) -> None:
    mirrored = np.zeros(database.frame_count, np.bool_)
    for clip in database.clips:
        mirrored[clip.start : clip.stop] = clip.mirrored
    seconds = np.count_nonzero(~mirrored[frames.frames]) / frames.rate or len(frames.frames) / frames.rate
    windows = len(frames.window_starts(_WINDOW))
    if seconds < LEAST_SECONDS or windows < 10 * _WINDOW:
        raise LearningError(
            f"there are {seconds:.1f} seconds of motion that may be shown, in {windows} windows of {_WINDOW} frames "
            f"that neither leave a clip nor meet a glitch; at least {LEAST_SECONDS:g} seconds are needed",
            path=database.folder,
            key="frames",
            remedy="add takes, or ask for fewer tags",
        )
    contacts = np.asarray(database.contacts[frames.frames]) != 0
    without = [
        side for side, any_contact in zip(("left", "right"), contacts.any(axis=0), strict=True) if not any_contact
    ]
    if without:
        raise LearningError(
            f"the {' and the '.join(without)} foot never touches the ground",
            path=database.folder,
            key="contacts",
            remedy="look at the roles of toes and feet in the project file, and build again",
        )
