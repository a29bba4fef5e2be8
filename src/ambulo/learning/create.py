"""Stacks of controllers by name, trained ones included: what the command line and the studio make controllers with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.control.controller import Controller
from ambulo.control.create import CONTROLLERS
from ambulo.control.create import create_controller as create_plain
from ambulo.control.settings import ControlSettings
from ambulo.errors import ControlError, LearningError, nearest_names

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

MANIFEST = "manifest.json"


def models_folder(project: str | Path) -> Path:
    """Where the trained models of a project lie: ``models`` beside its file; of a database's folder, beside that."""
    place = Path(project)
    folder = place.parent if place.is_file() else place
    if folder.name == "database" and not (folder / "ambulo.toml").exists():
        folder = folder.parent
    return folder / "models"


def trained_models(models: str | Path | None) -> list[str]:
    """Names of the models in a folder, sorted; none where there is no folder."""
    if models is None or not Path(models).is_dir():
        return []
    return sorted(path.name for path in Path(models).iterdir() if (path / MANIFEST).is_file())


def model_stamp(models: str | Path | None, name: str) -> object:
    """Tells a trained model from another that took its place; None for controllers that are no models."""
    try:
        info = (Path(models or "") / name / MANIFEST).stat()
    except OSError:
        return None
    return info.st_ino, info.st_mtime_ns


def controller_names(models: str | Path | None = None) -> list[str]:
    """Every controller that can be made: the plain ones first, then the trained ones."""
    return [*CONTROLLERS, *(name for name in trained_models(models) if name not in CONTROLLERS)]


def create_controller(
    name: str,
    database: Database,
    index: SearchIndex,
    settings: ControlSettings | None = None,
    models: str | Path | None = None,
) -> Controller:
    """A full stack: the controller of that name, inertialized, with locked feet.

    Args:
        name: a key of :data:`ambulo.control.create.CONTROLLERS`, or the name of a trained model.
        database: what is played, or what a model was trained on.
        index: exact search over its features.
        settings: of all layers.
        models: folder of trained models, see :func:`models_folder`.

    Raises:
        ControlError: there is no controller of that name; lists the nearest.
        LearningError: the model is not trained yet, damaged, or does not fit the database.
    """
    if name in CONTROLLERS:
        return create_plain(name, database, index, settings)
    if name not in trained_models(models):
        if name == "lmm":
            raise LearningError(
                "no model 'lmm' was trained yet",
                path=models,
                key="controller",
                remedy="run `ambulo train lmm PROJECT`",
            )
        raise ControlError(f"no controller {name!r}; {nearest_names(name, controller_names(models))}", key="controller")
    return _lmm(Path(str(models)) / name, database, index, settings or ControlSettings())


def _lmm(folder: Path, database: Database, index: SearchIndex, settings: ControlSettings) -> Controller:
    from ambulo.control.foot_lock import FootLock, foot_geometry
    from ambulo.control.inertialization import Inertialize
    from ambulo.learning.lmm_controller import LearnedMotionMatching
    from ambulo.learning.lmm_data import refuse_other_schema
    from ambulo.learning.lmm_model import load_model

    model = load_model(folder)
    refuse_other_schema(index.feature_set.schema, database, model.manifest)
    bare = LearnedMotionMatching(model, settings, database=database, index=index)
    return FootLock(Inertialize(bare, settings.inertialize), foot_geometry(database), settings.foot_lock)
