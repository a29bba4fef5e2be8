"""Stacks of controllers by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ambulo.control.controller import Controller
from ambulo.control.settings import ControlSettings
from ambulo.errors import ControlError, nearest_names
from ambulo.motion.quadruped import is_quadruped

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex


def _motion_matching(database: Database, index: SearchIndex, settings: ControlSettings) -> Controller:
    from ambulo.control.motion_matching import MotionMatching

    return MotionMatching(database, index, settings)


def _blocks(database: Database, index: SearchIndex, settings: ControlSettings) -> Controller:
    from ambulo.control.blocks import Blocks

    return Blocks(database, index, settings)


def _blended_matching(database: Database, index: SearchIndex, settings: ControlSettings) -> Controller:
    from ambulo.control.blended_matching import BlendedMatching

    return BlendedMatching(database, index, settings)


CONTROLLERS: dict[str, Callable[[Database, SearchIndex, ControlSettings], Controller]] = {
    "motion_matching": _motion_matching,
    "blocks": _blocks,
    "blended_matching": _blended_matching,
}
"""Bare controllers by name, without their wrappers."""

ALIASES = {"mm": "motion_matching"}
"""Other names of controllers, wherever a controller is named -> their own."""


def full_name(name: str) -> str:
    """The own name of a controller that may be called by an alias."""
    return ALIASES.get(name, name)


def create_controller(
    name: str, database: Database, index: SearchIndex, settings: ControlSettings | None = None
) -> Controller:
    """A full stack: the controller of that name, inertialized, with locked feet; four feet are kept above ground.

    Args:
        name: a key of :data:`CONTROLLERS` or of :data:`ALIASES`.
        database: what is played.
        index: exact search over the features of that database. Blocks compare features of their own and use it only if
            it is of those.
        settings: of all layers.

    Raises:
        ControlError: there is no controller of that name; lists the nearest.
    """
    settings = settings or ControlSettings()
    return _wrap(_bare(name, database, index, settings), database, settings)


def create_chain(
    name: str,
    levels: Sequence[tuple[str, Database, SearchIndex, ControlSettings]],
    settings: ControlSettings | None = None,
) -> Controller:
    """The same stack around a chain of databases, the special ones first (S0.13, S0.14).

    Args:
        name: a key of :data:`CONTROLLERS` or of :data:`ALIASES`, of all levels.
        levels: name, database, index and settings of each; which tags are shown by default is each one's own.
        settings: of the wrappers; the first level's where None.

    Raises:
        ControlError: there is no controller of that name, or the levels do not fit together.
    """
    from ambulo.control.chain import ControllerChain

    bare = [(title, _bare(name, database, index, own)) for title, database, index, own in levels]
    chain = ControllerChain(bare)  # type: ignore[arg-type]
    return _wrap(chain, levels[0][1], settings or levels[0][3])


def _bare(name: str, database: Database, index: SearchIndex, settings: ControlSettings) -> Controller:
    maker = CONTROLLERS.get(full_name(name))
    if maker is None:
        raise ControlError(f"no controller {name!r}; {nearest_names(name, [*CONTROLLERS, *ALIASES])}", key="controller")
    return maker(database, index, settings)


def _wrap(bare: Controller, database: Database, settings: ControlSettings) -> Controller:
    from ambulo.control.above_ground import AboveGround, ground_feet
    from ambulo.control.foot_lock import FootLock, foot_geometry
    from ambulo.control.inertialization import Inertialize

    smooth = Inertialize(bare, settings.inertialize)
    if is_quadruped(database.skeleton):
        # A lock of two legs that bend thrice pulls the hips about: worse than what the data itself slides.
        return AboveGround(smooth, ground_feet(database))
    return FootLock(smooth, foot_geometry(database), settings.foot_lock)
