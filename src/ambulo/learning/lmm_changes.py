"""What separates a database from the one that a model was trained on: features, and clips that came and went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ambulo.control.frame_sets import NEVER_SHOWN, FrameSet, FrameSets
from ambulo.errors import LearningError
from ambulo.matching.schema import FeatureSchema

if TYPE_CHECKING:
    from ambulo.control.settings import ControlSettings
    from ambulo.database.catalog import Clip
    from ambulo.database.database import Database
    from ambulo.learning.lmm_model import LmmManifest
    from ambulo.matching.index import SearchIndex

_NAMED = 3


def refuse_other_features(schema: FeatureSchema, manifest: LmmManifest) -> None:
    """Refuse a model that was trained with other features.

    Raises:
        LearningError: see above; names those alone that came, went or have other times.
    """
    now = {group.name: group.times for group in schema.groups}
    then = {group.name: group.times for group in FeatureSchema.from_dict(manifest.schema).groups}
    changes = [f"{name} came" for name in now if name not in then]
    changes += [f"{name} went" for name in then if name not in now]
    changes += [f"{name} has other times" for name in now if name in then and now[name] != then[name]]
    if not changes and list(now) != list(then):
        changes = ["they are in another order"]
    if changes:
        raise LearningError(
            f"the model was trained with other features: {', '.join(changes)}",
            key="features",
            remedy="train anew with `ambulo train lmm PROJECT`, or take back what was changed and build",
        )


def added_clips(manifest: LmmManifest, database: Database) -> list[Clip]:
    """The clips that a model does not know by name and length."""
    known = {clip.name: clip.frames for clip in manifest.clips}
    return [clip for clip in database.clips if known.get(clip.name) != clip.stop - clip.start]


def lost_clips(manifest: LmmManifest, database: Database) -> list[str]:
    """Names of the clips that a model was trained on and that are no longer there."""
    names = {clip.name for clip in database.clips}
    return [clip.name for clip in manifest.clips if clip.name not in names]


def left_out(
    database: Database, index: SearchIndex, settings: ControlSettings, tags: Sequence[str], clips: Sequence[Clip]
) -> dict[str, str]:
    """Which of some clips no model of these tags is trained on, and why: name -> reason.

    Args:
        database, index: whose clips they are.
        settings: say what is shown by default.
        tags: that are trained; the default ones where empty.
        clips: that are asked about.
    """
    search = settings.search
    shown = FrameSets(database, index, search, search.minimum_run).of(tuple(tags), ())
    found = {}
    for clip in clips:
        if not shown.allowed[clip.start : clip.stop].any():
            found[clip.name] = _reason(database, shown, clip, chosen=bool(tags))
    return found


def _reason(database: Database, shown: FrameSet, clip: Clip, *, chosen: bool) -> str:
    frames = slice(clip.start, clip.stop)
    usable = np.asarray(database.valid[frames]) != 0
    if not usable.any():
        return "all its frames are glitches"
    for tag in shown.required:
        if tag in database.tags and not (database.mask((tag,), junk=True)[frames] & usable).any():
            return f"it has no tag {tag!r}, which {'--tags asks for' if chosen else '[play] default_tags ask for'}"
    for tag in shown.excluded:
        if database.mask((tag,), junk=True)[frames].any():
            return f"it is tagged {tag!r}" + ("" if tag == NEVER_SHOWN else ", which is shown only if it is asked for")
    return "its frames have not all the tags, or others have a higher priority"


def refuse_only_left_out(added: Sequence[Clip], reasons: dict[str, str]) -> None:
    """Refuse to go on with clips that were added where all of them are left out.

    Raises:
        LearningError: see above; names them, and why.
    """
    if added and len(reasons) == len(added):
        named = {name: why for name, why in reasons.items() if not _is_mirrored(added, name)} or reasons
        raise LearningError(
            f"the model knows every clip that may be shown; left out of what was added: {name_left_out(named)}",
            key="finetune",
            remedy="tag the takes so that they are shown and build, or add them to what is shown in [play], or ask for "
            "them with --tags",
        )


def _is_mirrored(clips: Sequence[Clip], name: str) -> bool:
    return any(clip.mirrored for clip in clips if clip.name == name)


def name_left_out(reasons: dict[str, str]) -> str:
    """The clips that are left out, with their reasons, as one phrase."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    return "; ".join(f"{_listed(names)} ({reason})" for reason, names in by_reason.items())


def age_note(manifest: LmmManifest, database: Database, index: SearchIndex, settings: ControlSettings) -> str | None:
    """What a model does not know of the database that it is used with, and what to do; None where it knows all.

    A database that was only built again, by another version or with other code, is no reason for a note.
    """
    if manifest.database_digest == database.digest:
        return None
    added, lost = added_clips(manifest, database), lost_clips(manifest, database)
    out = left_out(database, index, settings, manifest.tags, added)
    new = [clip.name for clip in added if clip.name not in out and not clip.mirrored]
    new = new or [clip.name for clip in added if clip.name not in out]
    command = f"`ambulo train lmm PROJECT{'' if manifest.name == 'lmm' else f' --name {manifest.name}'}"
    if new:
        return (
            f"the model was trained before {_listed(new)} {'were' if len(new) > 1 else 'was'} added or changed: "
            f"go on with {command} --finetune`"
        )
    if lost:
        return f"the model was also trained on {_listed(lost)}, no longer in the database: {command}` trains it anew"
    return None


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
