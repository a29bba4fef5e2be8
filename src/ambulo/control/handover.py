"""Going on with another controller: the character stays where it is, in the pose that it is in.

For a database that was rebuilt while its character walks, for other settings, and for another database of the same
skeleton. The wrappers keep what they know, so that the change is smoothed like any other transition.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ambulo.control.chain import ControllerChain
from ambulo.control.controller import Controller, join, take
from ambulo.control.database_controller import DatabaseController
from ambulo.control.intent import Intent
from ambulo.control.player_state import PlayerState
from ambulo.errors import ControlError


@runtime_checkable
class Arriving(Protocol):
    """A controller with which a character of a database's controller can go on, where it is and as it is."""

    def arrive(self, state: PlayerState, before: DatabaseController, intent: Intent) -> Any:
        """Its state. ``state`` is that of ``before``; not changed."""
        ...


def hand_over(state: Any, before: Controller, after: Controller, intent: Intent) -> Any:
    """The state with which ``after`` goes on where ``before`` is.

    Args:
        state: of ``before``; not changed.
        before, after: stacks of the same wrappers, such as :func:`ambulo.control.create.create_controller` makes.
        intent: what is asked next.

    Raises:
        ControlError: they are not stacks of the same wrappers, or the skeletons differ.
        QueryError: the new database has nothing with the required tags.
    """
    if before.skeleton.names != after.skeleton.names:
        raise ControlError(
            f"the skeletons differ ({before.skeleton.joint_count} and {after.skeleton.joint_count} joints)",
            key="skeleton",
            remedy="start the new controller anew",
        )
    inner_before, inner_after = getattr(before, "inner", None), getattr(after, "inner", None)
    if inner_before is not None and inner_after is not None and type(before) is type(after):
        return replace(state, inner=hand_over(state.inner, inner_before, inner_after, intent))
    if isinstance(before, DatabaseController) and isinstance(after, Arriving):
        return after.arrive(_player(state), before, intent)
    if isinstance(before, ControllerChain) and isinstance(after, Arriving):
        arrived = join(
            [
                after.arrive(
                    _player(take(state.player, n)), before.levels[int(level)].controller, intent.of(np.array([n]))
                )
                for n, level in enumerate(state.level)
            ]
        )
        if isinstance(after, ControllerChain) and [one.name for one in after.levels] == [o.name for o in before.levels]:
            return replace(arrived, first=state.first)
        return arrived
    raise ControlError(
        f"a {type(before).__name__} cannot hand over to a {type(after).__name__}",
        key="controller",
        remedy="start the new controller anew",
    )


def _player(state: Any) -> PlayerState:
    """The part of a state that all controllers of databases share."""
    plain = {entry.name for entry in fields(DatabaseController.state_kind)}
    return DatabaseController.state_kind(**{name: getattr(state, name) for name in plain})
