"""Stacks of controllers by name, trained ones included: what the command line and the studio make controllers with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.control.controller import Controller
from ambulo.control.create import ALIASES, CONTROLLERS, create_chain, full_name
from ambulo.control.create import create_controller as create_plain
from ambulo.control.settings import ControlSettings
from ambulo.errors import ControlError, LearningError, nearest_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ambulo.control.recording import Recording
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
    taken = {*CONTROLLERS, *ALIASES}
    return [*CONTROLLERS, *(name for name in trained_models(models) if name not in taken)]


def exportable_controllers(models: str | Path | None = None) -> list[str]:
    """What `ambulo export` can write as a graph: motion matching, by its short name, and the trained models."""
    taken = {*CONTROLLERS, *ALIASES}
    return [
        "mm",
        *(name for name in trained_models(models) if name not in taken and _is_lmm(Path(models or "") / name)),
    ]


def _is_lmm(folder: Path) -> bool:
    """Whether a folder's model is a controller: a posing model lies beside it."""
    import msgspec

    from ambulo.learning.lmm_model import FORMAT

    try:
        found = msgspec.json.decode((folder / MANIFEST).read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError):
        return True  # damaged: the refusal that says so comes when it is opened
    return isinstance(found, dict) and found.get("format") == FORMAT


def create_controller(
    name: str,
    database: Database,
    index: SearchIndex,
    settings: ControlSettings | None = None,
    models: str | Path | None = None,
) -> Controller:
    """A full stack: the controller of that name, inertialized, with locked feet.

    Args:
        name: a key of :data:`ambulo.control.create.CONTROLLERS` or of its aliases, or the name of a trained model.
        database: what is played, or what a model was trained on.
        index: exact search over its features.
        settings: of all layers.
        models: folder of trained models, see :func:`models_folder`.

    Raises:
        ControlError: there is no controller of that name; lists the nearest.
        LearningError: the model is not trained yet, damaged, or does not fit the database.
    """
    name = full_name(name)
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
        known = [*controller_names(models), *ALIASES]
        raise ControlError(f"no controller {name!r}; {nearest_names(name, known)}", key="controller")
    return _lmm(Path(str(models)) / name, database, index, settings or ControlSettings())


@dataclass(frozen=True)
class OpenStack:
    """A project's controller, ready to be simulated, and what is needed to look at what it shows.

    Attributes:
        name: the controller's.
        controller: the full stack; around a chain where there is more than one level.
        levels: names of the databases, in the order in which they answer.
        database: what is played; of several levels, all of them end to end.
        index: of the first level.
    """

    name: str
    controller: Controller
    levels: tuple[str, ...]
    database: Database
    index: SearchIndex
    offsets: NDArray[np.int64]

    def as_one(self, recording: Recording) -> Recording:
        """The same recording with frames of :attr:`database` in place of frames of the level that answered."""
        if recording.levels is None or len(self.levels) == 1:
            return recording
        return replace(recording, frames=recording.frames + self.offsets[recording.levels])

    def answered(self, recording: Recording) -> dict[str, float]:
        """Part of the steps that each level has answered."""
        levels = () if recording.levels is None else recording.levels.reshape(-1).tolist()
        return {name: levels.count(level) / max(len(levels), 1) for level, name in enumerate(self.levels)}


def open_stack(project: str | Path, controller: str | None = None, fallback: Sequence[str | Path] = ()) -> OpenStack:
    """Open a built project and make its controller, with the databases that answer what it cannot.

    Args:
        project: its folder or file, or that of a database.
        controller: a name; the first that the project names where None.
        fallback: folders of further built projects, after those that the project's file names.

    Raises:
        ControlError: there is no such controller, or it plays no chain, or the databases do not fit together.
        DatabaseError: a project was not built, or is damaged; or databases have different skeletons or rates.
        ProjectError: a project file cannot be used.
    """
    from ambulo.control.project_settings import project_controller, project_fallback, project_settings
    from ambulo.database.database import Database
    from ambulo.database.joined import frame_offsets, join_databases
    from ambulo.matching.build import load_index

    models = models_folder(project)
    name = full_name(controller or project_controller(project, trained=trained_models(models)))
    places = [Path(project), *project_fallback(project), *map(Path, fallback)]
    levels: list[tuple[str, Database, SearchIndex, ControlSettings]] = []
    for place in places:
        database = Database.open(place)
        settings = project_settings(place, known_tags=database.tags)
        levels.append((_title(database, place, levels), database, load_index(database)[1], settings))
    first = levels[0]
    if len(levels) == 1:
        made = create_controller(name, first[1], first[2], first[3], models)
    elif name in CONTROLLERS:
        made = create_chain(name, levels)
    else:
        raise ControlError(
            f"a trained model such as {name!r} plays no chain of databases",
            key="fallback",
            remedy="leave the other databases out, or use --controller motion_matching",
        )
    databases = [level[1] for level in levels]
    titles = tuple(level[0] for level in levels)
    return OpenStack(name, made, titles, join_databases(databases), first[2], frame_offsets(databases))


def _title(
    database: Database, place: Path, others: Sequence[tuple[str, Database, SearchIndex, ControlSettings]]
) -> str:
    """A name for a level that no other has."""
    title = database.name or place.resolve().name
    return place.resolve().as_posix() if title in [other[0] for other in others] else title


def _lmm(folder: Path, database: Database, index: SearchIndex, settings: ControlSettings) -> Controller:
    from ambulo.control.foot_lock import FootLock, foot_geometry
    from ambulo.control.inertialization import Inertialize
    from ambulo.learning.lmm_changes import refuse_other_features
    from ambulo.learning.lmm_controller import LearnedMotionMatching
    from ambulo.learning.lmm_data import refuse_other_schema
    from ambulo.learning.lmm_model import load_model

    model = load_model(folder)
    refuse_other_features(index.feature_set.schema, model.manifest)
    refuse_other_schema(index.feature_set.schema, database, model.manifest)
    bare = LearnedMotionMatching(model, settings, database=database, index=index)
    return FootLock(Inertialize(bare, settings.inertialize), foot_geometry(database), settings.foot_lock)
