"""Stacks of controllers by name."""

from __future__ import annotations

from collections.abc import Callable
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


CONTROLLERS: dict[str, Callable[[Database, SearchIndex, ControlSettings], Controller]] = {
    "motion_matching": _motion_matching,
    "blocks": _blocks,
}
"""Bare controllers by name, without their wrappers."""


def create_controller(
    name: str, database: Database, index: SearchIndex, settings: ControlSettings | None = None
) -> Controller:
    """A full stack: the controller of that name, inertialized, with locked feet; four feet are kept above ground.

    Args:
        name: a key of :data:`CONTROLLERS`.
        database: what is played.
        index: exact search over the features of that database. Blocks compare features of their own and use it only if
            it is of those.
        settings: of all layers.

    Raises:
        ControlError: there is no controller of that name; lists the nearest.
    """
    from ambulo.control.above_ground import AboveGround, ground_feet
    from ambulo.control.foot_lock import FootLock, foot_geometry
    from ambulo.control.inertialization import Inertialize

    settings = settings or ControlSettings()
    maker = CONTROLLERS.get(name)
    if maker is None:
        raise ControlError(f"no controller {name!r}; {nearest_names(name, CONTROLLERS)}", key="controller")
    bare = maker(database, index, settings)
    smooth = Inertialize(bare, settings.inertialize)
    if is_quadruped(database.skeleton):
        # A lock of two legs that bend thrice pulls the hips about: worse than what the data itself slides.
        return AboveGround(smooth, ground_feet(database))
    return FootLock(smooth, foot_geometry(database), settings.foot_lock)
