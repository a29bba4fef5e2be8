"""Authored moments: play exactly this part of this clip now, and go on by matching afterwards (S0.51).

The hand-off to the clip and back are transitions like any other, which the wrappers smooth. While it plays, nothing is
searched for, and the root moves as it was captured; what is asked meanwhile is done afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ambulo.control.chain import ChainState, ControllerChain
from ambulo.control.controller import Controller
from ambulo.control.database_controller import DatabaseController
from ambulo.control.events import event_key
from ambulo.control.player_state import PlayerState
from ambulo.database.catalog import Clip
from ambulo.database.database import Database
from ambulo.errors import ControlError, QueryError, nearest_names


def play_clip(
    controller: Controller,
    state: Any,
    clip: str,
    start: float | None = None,
    stop: float | None = None,
    *,
    characters: ArrayLike | None = None,
    mirrored: bool = False,
) -> Any:
    """The state in which some characters (all by default) play a part of a clip from the next step on.

    Args:
        controller: a stack around a controller that plays a database, or a chain of several: then the characters must
            be in the level whose database has the clip.
        state: of it; not changed.
        clip: name of a clip of that database.
        start, stop: seconds of its take; the clip's own where None.
        characters: indices.
        mirrored: play the clip's mirrored twin.

    Raises:
        QueryError: there is no such clip, twin or time.
        ControlError: no such character, or the controller plays no database.
    """
    inner = getattr(controller, "inner", None)
    if inner is not None:
        played = play_clip(inner, state.inner, clip, start, stop, characters=characters, mirrored=mirrored)
        return replace(state, inner=played)
    if isinstance(controller, ControllerChain) and isinstance(state, ChainState):
        return _play_in_chain(controller, state, clip, start, stop, characters, mirrored)
    if not isinstance(controller, DatabaseController) or not isinstance(state, PlayerState):
        raise ControlError(f"a {type(controller).__name__} plays no clips", key="controller")
    who = np.arange(len(state.playhead)) if characters is None else np.atleast_1d(np.asarray(characters, np.int64))
    if ((who < 0) | (who >= len(state.playhead))).any():
        raise ControlError(f"the state has no such character: {who.tolist()}", key="characters")
    database = controller.database
    chosen = find_clip(database, clip)
    if mirrored:
        chosen = mirrored_twin(database, chosen)
    first = 0 if start is None else round((start - chosen.start_time) * database.rate)
    last = chosen.frame_count if stop is None else round((stop - chosen.start_time) * database.rate)
    if not 0 <= first < last <= chosen.frame_count:
        end = chosen.start_time + chosen.frame_count / database.rate
        raise QueryError(
            f"the clip {chosen.name!r} has no {start} to {stop} s",
            key="start",
            remedy=f"it goes from {chosen.start_time:g} to {end:g} s",
        )
    commitments = state.commitments.copy()
    commitments.clear(who)
    commitments.event[who] = event_key(f"clip:{chosen.name}")
    commitments.seconds[who], commitments.delay[who] = 0.0, 0.0
    commitments.marker[who], commitments.reach[who] = chosen.start + first, chosen.start + last
    return replace(state, commitments=commitments)


def _play_in_chain(
    chain: ControllerChain,
    state: ChainState,
    clip: str,
    start: float | None,
    stop: float | None,
    characters: ArrayLike | None,
    mirrored: bool,
) -> ChainState:
    """:func:`play_clip` in the level whose database has the clip, and that the characters are in."""
    owners = [n for n, level in enumerate(chain.levels) if clip in {c.name for c in level.controller.database.clips}]
    if not owners:
        names = {own.name for level in chain.levels for own in level.controller.database.clips}
        raise QueryError(f"no clip {clip!r} in any database of the chain; {nearest_names(clip, names)}", key="clip")
    who = np.arange(len(state.level)) if characters is None else np.atleast_1d(np.asarray(characters, np.int64))
    if ((who < 0) | (who >= len(state.level))).any():
        raise ControlError(f"the state has no such character: {who.tolist()}", key="characters")
    player = state.player
    for n in who.tolist():
        number = int(state.level[n])
        level = chain.levels[number]
        if number not in owners:
            own = chain.levels[owners[0]].name
            raise ControlError(
                f"the clip {clip!r} is of {own!r}, and character {n} is in {level.name!r}",
                key="clip",
                remedy=f"let it go there first: choose(stack, state, {own!r}, [{n}]), and a step that it answers",
            )
        player = play_clip(level.controller, player, clip, start, stop, characters=[n], mirrored=mirrored)
    return replace(state, player=player)


def find_clip(database: Database, name: str) -> Clip:
    """The clip of that name.

    Raises:
        QueryError: there is none; lists the nearest.
    """
    for clip in database.clips:
        if clip.name == name:
            return clip
    raise QueryError(f"no clip {name!r}; {nearest_names(name, [clip.name for clip in database.clips])}", key="clip")


def mirrored_twin(database: Database, clip: Clip) -> Clip:
    """The same stretch of the same take with left and right swapped.

    Raises:
        QueryError: the database has none.
    """
    for other in database.clips:
        if (
            other.mirrored != clip.mirrored
            and other.source == clip.source
            and other.start_time == clip.start_time
            and other.frame_count == clip.frame_count
        ):
            return other
    raise QueryError(
        f"the clip {clip.name!r} has no mirrored twin",
        key="mirrored",
        remedy="set mirror = true in the project and build",
    )
