"""What a training of learned motion matching is asked for, looked at before any data is opened.

Names, precisions and checkpoints that do not fit are known at once; a training should not find out at its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ambulo.control.create import ALIASES, CONTROLLERS
from ambulo.errors import LearningError, nearest_names
from ambulo.learning.checkpoints import CHECKPOINT
from ambulo.learning.create import models_folder
from ambulo.learning.weights import PRECISIONS

LEAST_RATE = 50.0
"""Frames a second below which a game's steps are so much shorter than the data's that feet skate more."""

_BAD_CHARACTERS = frozenset('/\\:*?"<>|')
_IDENTITY = re.compile(r"decompressor (?P<digest>\S+) (?P<tags>\[.*\]) (?P<seed>\d+)")


def refuse_name(name: str, *, controller: bool = True) -> None:
    """Refuse the name of a model that would lie elsewhere, or that a controller has already.

    Args:
        name: of the model; a folder of that name is made in ``PROJECT/models``.
        controller: the model will be a controller of that name.

    Raises:
        LearningError: see above.
    """
    bad = sorted({c for c in name if c in _BAD_CHARACTERS or not c.isprintable()})
    if not name.strip(" .") or name.startswith(".") or name != name.strip() or bad or len(name.encode()) > 100:
        why = f": it has {' '.join(map(repr, bad))}" if bad else ""
        raise LearningError(
            f"a model cannot be called {name!r}{why}",
            key="name",
            remedy="give the name of one folder, such as lmm_crouch",
        )
    if controller and (name in CONTROLLERS or name in ALIASES):
        raise LearningError(
            f"a model cannot be called {name!r}: a controller is called so, which would be played in its place",
            key="name",
            remedy=f"give another name, such as lmm_{name}",
        )


def refuse_precision(precision: str) -> None:
    """Refuse a precision in which no weights can be stored.

    Raises:
        LearningError: see above.
    """
    if precision not in PRECISIONS:
        raise LearningError(f"no precision {precision!r}; {nearest_names(precision, PRECISIONS)}", key="precision")


def refuse_other_checkpoint(
    project: Path, name: str, tags: Sequence[str], seed: int, digest: str, *, finetune: bool = False
) -> None:
    """Refuse to resume from a checkpoint that was made with another seed, other tags or another database.

    Args:
        project: its folder or file.
        name: of the model.
        tags, seed: of the training that shall go on.
        digest: of the project's database.
        finetune: whether it goes on from a trained model.

    Raises:
        LearningError: see above; names what is different, then and now.
    """
    training = models_folder(project) / name / "training"
    path = (training / "finetune" if finetune else training) / "decompressor" / CHECKPOINT
    try:
        task = msgspec.json.decode(path.read_bytes())["task"]
        found = _IDENTITY.fullmatch(task)
    except (OSError, msgspec.DecodeError, KeyError, TypeError, RecursionError):
        return  # there is none, or it is damaged: whoever reads the whole of it says so
    if found is None:
        return
    asked = str(sorted(tags))
    for key, then, now in (("seed", found["seed"], str(seed)), ("tags", found["tags"], asked)):
        if then != now:
            raise LearningError(
                f"the checkpoint was trained with {key} {then}, not {now}",
                path=path,
                key=key,
                remedy=f"resume with the {key} that it was begun with, or train anew without --resume",
            )
    if found["digest"] != digest:
        raise LearningError(
            "the checkpoint was trained on another database: takes, features or settings of the project were changed "
            "and built since",
            path=path,
            key="database",
            remedy="train anew without --resume, or take back what was changed and build",
        )


def low_rate_note(rate: float) -> str | None:
    """What is to be known of a model of a database with few frames a second; None where there are enough.

    Played at 60 steps a second, a stepper trained on 30 stands between two frames of its data in every other step.
    """
    if rate >= LEAST_RATE:
        return None
    return (
        f"the database has {rate:g} frames a second: played at 60, the stepper takes parts of steps, which it was not "
        "trained on, and feet skate more; `rate = 60` in ambulo.toml and a build mend it"
    )


def look_at_request(
    project: Path,
    *,
    name: str = "lmm",
    tags: Sequence[str] = (),
    precision: str = "float16",
    seed: int = 0,
    resume: bool = False,
    finetune: bool = False,
) -> list[str]:
    """Look at what a training of a built project is asked for, and refuse what cannot be.

    Args:
        project: its folder or file.
        name, tags, precision, seed, resume, finetune: as for :func:`ambulo.learning.lmm_training.train_lmm`.

    Returns:
        What is to be known before it begins, a sentence each.

    Raises:
        LearningError: the name, the precision, the checkpoint or the model to go on from does not fit, or the database
            is not up to date.
        DatabaseError: there is no database, or it is damaged.
    """
    refuse_name(name)
    refuse_precision(precision)
    from ambulo.control.project_settings import project_settings
    from ambulo.database.database import Database
    from ambulo.learning.lmm_changes import (
        added_clips,
        left_out,
        name_left_out,
        refuse_only_left_out,
        refuse_other_features,
    )
    from ambulo.learning.lmm_data import refuse_stale
    from ambulo.learning.lmm_model import load_model
    from ambulo.matching.build import load_index

    refuse_stale(project)
    database = Database.open(project)
    notes = [note] if (note := low_rate_note(database.rate)) else []
    if finetune:
        manifest = load_model(models_folder(project) / name).manifest
        tags = tags or manifest.tags
        index = load_index(database)[1]
        refuse_other_features(index.feature_set.schema, manifest)
        added = added_clips(manifest, database)
        if added:
            settings = project_settings(project, known_tags=database.tags)
            reasons = left_out(database, index, settings, tags, added)
            refuse_only_left_out(added, reasons)
            if reasons:
                notes.append(f"left out of what was added: {name_left_out(reasons)}")
    if resume:
        refuse_other_checkpoint(project, name, tags, seed, database.digest, finetune=finetune)
    return notes
