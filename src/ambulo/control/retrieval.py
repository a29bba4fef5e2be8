"""Several places for what is asked, with weights, where others would take the best one (S0.7, S0.8).

What a caller blends them into is up to it: :func:`ambulo.database.pointer.blend_pointers` makes one pose of them.
:class:`ambulo.control.blended_matching.BlendedMatching` plays them on, in step with one another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.control.chain import ChainState, ControllerChain
from ambulo.control.controller import take
from ambulo.control.database_controller import DatabaseController
from ambulo.control.player_state import PlayerState
from ambulo.control.stacks import innermost
from ambulo.database.pointer import DbPointer
from ambulo.errors import ControlError


class Retrieved(NamedTuple):
    """The k best places, best first.

    Attributes:
        pointers: where.
        weights: float64 ``[k]``, falling, summing to 1.
        costs: float64 ``[k]``, squared distances in normalised, weighted features, less bonuses.
        level: of a chain, the one that answered last, whose database the places are of; else 0.
    """

    pointers: tuple[DbPointer, ...]
    weights: NDArray[np.float64]
    costs: NDArray[np.float64]
    level: int = 0


def retrieve(
    controller: Any, state: Any, count: int = 4, *, character: int = 0, softness: float = 1.0, separation: float = 0.5
) -> Retrieved:
    """The best places for the last search of a character: its pose, its way, its tags and numbers.

    Args:
        controller: a stack around a controller that plays a database, or a chain of several.
        state: of it.
        count: how many at most; fewer where fewer can be shown.
        character: whose search.
        softness: what a place must cost more than the best one to weigh 1/e of it, in the units of the costs.
        separation: seconds; of places in one clip that are nearer than this only the best counts.

    Raises:
        ControlError: no such character, a number that makes no sense, or the controller plays no database.
    """
    controller, state = innermost(controller, state)
    level = 0
    if isinstance(controller, ControllerChain) and isinstance(state, ChainState):
        if not 0 <= character < len(state.level):
            raise ControlError(f"character {character} of {len(state.level)}", key="character")
        level = int(state.level[character])
        controller, state, character = controller.levels[level].controller, take(state.player, character), 0
    if not isinstance(controller, DatabaseController) or not isinstance(state, PlayerState):
        raise ControlError(f"a {type(controller).__name__} searches no database", key="controller")
    if not 0 <= character < len(state.playhead):
        raise ControlError(f"character {character} of {len(state.playhead)}", key="character")
    if count < 1 or not (np.isfinite(softness) and softness > 0.0) or not (np.isfinite(separation) and separation >= 0):
        raise ControlError(
            f"{count} places with a softness of {softness} and {separation} s between them are not possible",
            key="count",
            remedy="ask for one or more, softness above 0, separation from 0",
        )
    search = controller.frame_search
    frame_set = controller.frame_sets.of_key(int(state.tag_set[character])) or controller.frame_sets.of((), ())
    rivals = controller.index.top(
        state.query[character],
        count,
        mask=frame_set.mask,
        weights=search.weights_for(bool(state.eager[character]), search.numbers_of(int(state.numbers[character]))),
        separation_frames=max(round(separation * controller.database.rate), 1),
    )
    costs = np.array([rival.cost for rival in rivals])
    shares = np.exp(-(costs - costs[0]) / softness)
    pointers = tuple(DbPointer.of_frame(controller.database, int(rival.frame)) for rival in rivals)
    return Retrieved(pointers, shares / shares.sum(), costs, level)
