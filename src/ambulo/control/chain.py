"""A chain of databases behind one controller: the first that can answer does (S0.13, S0.14).

Each *level* is a controller that plays one database; all have the same skeleton. Every character asks from its own
first level on, so that the same logic drives characters of different databases, and asks further down the chain where
that database has nothing with the required tags, or not the event, that is asked for. A preferred tag makes nobody
change the level: one that only other levels know is passed over. A character that changes level stays where it is and
goes on from the pose it is in: the new level is searched for the pose that the old one showed, and the jump is a
transition like any other, smoothed by the wrappers around the chain.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.controller import join, take
from ambulo.control.events import event_key
from ambulo.control.intent import Intent, Tags
from ambulo.control.missing import Missing, OnMissing
from ambulo.control.pose import Pose
from ambulo.control.stacks import innermost, with_innermost
from ambulo.control.step_checks import check_step, raise_foreign_state
from ambulo.database.tag_query import as_query
from ambulo.database.tags import unknown_tag
from ambulo.errors import ControlError, QueryError, nearest_names
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.control.database_controller import DatabaseController
    from ambulo.control.player_state import PlayerState


_KEPT_ANSWERS = 4096


class Level(NamedTuple):
    """One database of a chain and what plays it."""

    name: str
    controller: DatabaseController


@dataclass(frozen=True)
class ChainState:
    """The state of N characters.

    Attributes:
        first: int64 ``[N]``, the level that each asks first.
        level: int64 ``[N]``, the one that answered last.
        answered: int64 ``[N]``, steps so far.
        fallen: int64 ``[N]``, steps in which a lower level than the first one answered.
        player: of that level's controller; queries are as wide as the widest level's.
    """

    first: NDArray[np.int64]
    level: NDArray[np.int64]
    answered: NDArray[np.int64]
    fallen: NDArray[np.int64]
    player: PlayerState

    @property
    def fallback_rate(self) -> float:
        """Part of all steps that the first level could not answer (S0.14)."""
        steps = int(self.answered.sum())
        return float(self.fallen.sum()) / steps if steps else 0.0


class ControllerChain:
    """Controllers of several databases, the special ones first.

    Args:
        levels: name and controller, at least one. Controllers are bare: wrap the chain, not its levels.

    Raises:
        ControlError: no levels, a name twice, or a controller that is wrapped, or other skeletons or features
            than the first level's.
    """

    def __init__(self, levels: Sequence[tuple[str, DatabaseController]]) -> None:
        from ambulo.control.database_controller import DatabaseController

        self.levels = tuple(Level(*level) for level in levels)
        if not self.levels:
            raise ControlError("a chain needs at least one database", key="levels")
        names = [level.name for level in self.levels]
        if len(set(names)) < len(names):
            raise ControlError(f"two databases of a chain have one name: {', '.join(names)}", key="levels")
        for level in self.levels:
            if not isinstance(level.controller, DatabaseController):
                raise ControlError(
                    f"the controller of {level.name!r} is a {type(level.controller).__name__}, not a bare one",
                    key="levels",
                    remedy="make the levels with control.create.CONTROLLERS[name](database, index, settings), "
                    "and wrap the chain: FootLock(Inertialize(chain), foot_geometry(database))",
                )
        self._missing = Missing("")
        self._tags = {name for level in self.levels for name in level.controller.database.tags}
        # No state: databases do not change, so neither do answers. A tag that a level lacks takes long to find out.
        self._answers: dict[tuple[tuple[int, ...], Tags, str | None, OnMissing], int] = {}
        first = self.levels[0].controller
        for level in self.levels[1:]:
            check_alike(first, level.controller, self.levels[0].name, level.name)

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of all levels."""
        return self.levels[0].controller.skeleton

    @property
    def trajectory_times(self) -> NDArray[np.float64]:
        """Seconds ahead of the points of the trajectories, float64 ``[K]``."""
        return self.levels[0].controller.trajectory_times

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> ChainState:
        """N characters that stand, all in the first database. See :meth:`Controller.start`."""
        player = self.levels[0].controller.start(count, seed, position, facing)
        zeros = np.zeros(count, np.int64)
        return ChainState(zeros, zeros, zeros, zeros, player)

    def choose(self, state: ChainState, name: str, characters: ArrayLike | None = None) -> ChainState:
        """Let some characters (all by default) ask a database first, from the next step on. They stay where they are.

        Raises:
            ControlError: no level of that name, or no such character.
        """
        names = [level.name for level in self.levels]
        if name not in names:
            raise ControlError(f"no database {name!r} in the chain; {nearest_names(name, names)}", key="database")
        first = state.first.copy()
        try:
            first[slice(None) if characters is None else np.asarray(characters, np.int64)] = names.index(name)
        except IndexError as error:
            raise ControlError(f"the state has no such character: {error}", key="characters") from None
        return replace(state, first=first)

    def arrive(self, state: PlayerState, before: DatabaseController, intent: Intent) -> ChainState:
        """Characters of another controller that go on here, see :meth:`DatabaseController.arrive`.

        Raises:
            QueryError: no level has what is asked.
        """
        zeros = np.zeros(len(state.playhead), np.int64)
        wanted = self._answering(ChainState(zeros, zeros, zeros, zeros, state), intent)
        players = []
        for n, number in enumerate(wanted.tolist()):
            asked = self._understood(intent.of(np.array([n])), number)
            players.append(self.levels[number].controller.arrive(take(state, n), before, asked))
        return ChainState(zeros, wanted, zeros, zeros, join(players))

    def step(self, state: ChainState, intent: Intent, dt: float) -> tuple[ChainState, Pose]:
        """One step of N characters; :attr:`Pose.levels` says who answered. See :meth:`Controller.step`.

        Raises:
            QueryError: no level has what is asked, and the intent does not pass over what is missing.
        """
        if type(state) is not ChainState or not 0 <= int(state.level.max(initial=0)) < len(self.levels):
            raise_foreign_state()
        count = len(state.level)
        check_step(count, intent, dt)
        wanted = self._answering(state, intent)
        states, poses, order = [], [], []
        for number, level in enumerate(self.levels):
            who = np.flatnonzero(wanted == number)
            if not len(who):
                continue
            everyone = len(who) == count
            player = state.player if everyone else take(state.player, who)
            asked = self._understood(intent if everyone else intent.of(who), number)
            foreign = np.flatnonzero(state.level[who] != number)
            if len(foreign):
                player = self._arrive(player, state.level[who], number, foreign, asked)
            player, pose = level.controller.step(player, asked, dt)
            states.append(player)
            poses.append(pose)
            order.append(who)
        player, pose = states[0], poses[0]
        if len(states) > 1:
            back = np.argsort(np.concatenate(order))
            player, pose = take(join(states), back), take(join(poses), back)
        after = ChainState(state.first, wanted, state.answered + 1, state.fallen + (wanted != state.first), player)
        return after, replace(pose, levels=wanted)

    def explain(self, state: ChainState, character: int = 0) -> Any:
        """The explanation of the level that answered, with its number and name."""
        if type(state) is not ChainState:
            raise_foreign_state()
        if not 0 <= character < len(state.level):
            raise ControlError(f"character {character} of {len(state.level)}", key="character")
        number = int(state.level[character])
        level = self.levels[number]
        told = level.controller.explain(take(state.player, character), 0)
        return replace(told, level=number, database=level.name)

    def with_weights(self, weights: Mapping[str, float]) -> ControllerChain:
        """The same chain with other weights in every level."""
        return ControllerChain([(level.name, level.controller.with_weights(weights)) for level in self.levels])

    def _answering(self, state: ChainState, intent: Intent) -> NDArray[np.int64]:
        """int64 ``[N]``: from each character's first level on, the first that has what is asked; then round to 0.

        Who is in the middle of an event stays in its level until that is over.
        """
        count = len(state.first)
        events = intent.events() or (None,) * count
        pending = state.player.commitments.event
        wanted = np.empty(count, np.int64)
        chosen: dict[tuple[Tags, str | None, tuple[int, ...]], int] = {}
        plain = not intent.events() and not (pending >= 0).any()
        for required, _, members in intent.groups():
            who = np.arange(count) if members is None else members
            if plain:
                for start in {int(level) for level in state.first[who]}:
                    level = self._able((start,), required, None, intent.on_missing)
                    wanted[who[state.first[who] == start]] = level
                continue
            for n in who.tolist():
                event = events[n]
                tag = None if event is None or event[1] < 0.0 else event[0]
                starts: tuple[int, ...] = (int(state.first[n]),)
                if pending[n] >= 0 and (tag is None or event_key(tag) == pending[n]):
                    starts = (int(state.level[n]), *starts)
                question = (required, tag, starts)
                if question not in chosen:
                    chosen[question] = self._able(starts, required, tag, intent.on_missing)
                wanted[n] = chosen[question]
        return wanted

    def _able(self, starts: tuple[int, ...], required: Tags, event: str | None, on_missing: OnMissing) -> int:
        """The first level that has what is asked; where none has, the first with as much of it as any has."""
        question = starts, required, event, on_missing
        found = self._answers.get(question)
        if found is None:
            found = self._find_able(starts, required, event, on_missing)
            if len(self._answers) >= _KEPT_ANSWERS:
                self._answers.clear()
            self._answers[question] = found
        return found

    def _find_able(self, starts: tuple[int, ...], required: Tags, event: str | None, on_missing: OnMissing) -> int:
        if on_missing == "raise":
            return self._first_able(starts, required, event)
        kept: Tags = ()
        for tag in dict.fromkeys(required):
            if tag not in self._tags:
                as_query(tag)  # what is no question at all is refused in any case
            with contextlib.suppress(QueryError):
                self._first_able(starts, (*kept, tag), None)
                kept = (*kept, tag)
        # What is not kept is passed over, and told, by the level that answers.
        with contextlib.suppress(QueryError):
            return self._first_able(starts, kept, event)
        return self._first_able(starts, kept, None)

    def _first_able(self, starts: tuple[int, ...], required: Tags, event: str | None) -> int:
        """The first level that has all required tags and, where one is asked for, the event."""
        first = starts[-1]
        refused: QueryError | None = None
        order: list[int] = [*starts, *range(first, len(self.levels)), *range(first)]
        for number in dict.fromkeys(order):
            try:
                self.levels[number].controller.check_asked(required, event)
            except QueryError as error:
                # One that lacks only the event says best what is wrong.
                if refused is None or (refused.key != "event" and error.key == "event"):
                    refused = error
            else:
                return number
        asked = " and ".join(required) or "anything"
        if event is not None:
            asked = f"{asked} and the event {event!r}" if required else f"the event {event!r}"
        for question in required:
            unknown = [] if question in self._tags else [n for n in as_query(question).tags if n not in self._tags]
            if unknown:
                refused = unknown_tag(unknown[0], self._tags)
                break
        else:
            if event is not None and event not in self._tags:
                refused = unknown_tag(event, self._tags, key="event")
        raise QueryError(
            f"no database of the chain ({self._names()}) has {asked}: {'' if refused is None else refused.message}",
            key="required_tags" if event is None else "event",
            remedy="ask for fewer tags, or add a more general database to the chain",
        )

    def _understood(self, intent: Intent, number: int) -> Intent:
        """What is asked of a level, without preferences that only other levels know.

        Raises:
            QueryError: no level knows a preferred tag.
        """
        preferred = intent.preferred_tags
        names = {name for tags in preferred for name in ((tags,) if isinstance(tags, str) else tags)}
        foreign = names - self.levels[number].controller.database.tags.keys()
        if not foreign:
            return intent
        for name in sorted(foreign - self._tags):
            unknown = unknown_tag(name, self._tags, key="preferred_tags")
            error = QueryError(
                f"no database of the chain ({self._names()}) knows a preference: {unknown.message}",
                key=unknown.key,
                remedy=unknown.remedy,
            )
            if intent.on_missing == "raise":
                raise error
            self._missing.tell(f"the tag {name!r}", error)
        kept: list[Any] = [
            tags if isinstance(tags, str) else tuple(name for name in tags if name not in foreign)
            for tags in preferred
            if not isinstance(tags, str) or tags not in foreign
        ]
        return replace(intent, preferred_tags=tuple(kept))

    def _names(self) -> str:
        return ", ".join(level.name for level in self.levels)

    def _arrive(
        self, player: PlayerState, levels: NDArray[np.int64], number: int, who: NDArray[np.int64], intent: Intent
    ) -> PlayerState:
        """The states of those who come from other levels, each in the pose most like the one that it was in."""
        parts = []
        for n in range(len(levels)):
            own = take(player, n)
            if n in who:
                before = self.levels[int(levels[n])].controller
                own = self.levels[number].controller.arrive(own, before, intent.of(np.array([n])))
            parts.append(own)
        return join(parts)


def choose(stack: Any, state: Any, name: str, characters: ArrayLike | None = None) -> Any:
    """:meth:`ControllerChain.choose` for a chain that is wrapped, such as by a foot lock.

    Raises:
        ControlError: there is no chain inside, no level of that name, or no such character.
    """
    chain, inner = innermost(stack, state)
    if not isinstance(chain, ControllerChain) or type(inner) is not ChainState:
        raise _no_chain(chain)
    return with_innermost(state, lambda own: chain.choose(own, name, characters))


def fallback_rate(state: Any) -> float:
    """:attr:`ChainState.fallback_rate` of the state of a stack.

    Raises:
        ControlError: it is of no chain.
    """
    while hasattr(state, "inner"):
        state = state.inner
    if type(state) is not ChainState:
        raise _no_chain(state)
    return state.fallback_rate


def _no_chain(found: Any) -> ControlError:
    return ControlError(
        f"there is no chain inside, but a {type(found).__name__}",
        key="controller",
        remedy="make one with control.create.create_chain",
    )


def check_alike(one: DatabaseController, other: DatabaseController, one_name: str, other_name: str) -> None:
    """Refuse two controllers that no character can go between.

    Raises:
        ControlError: the skeletons or the features differ.
    """
    a, b = one.skeleton, other.skeleton
    if a.names != b.names or not np.array_equal(a.parents, b.parents):
        raise ControlError(
            f"the databases {one_name!r} and {other_name!r} have different skeletons "
            f"({a.joint_count} and {b.joint_count} joints)",
            key="levels",
            remedy="retarget the takes of one to the skeleton of the other in its project, and build it again",
        )
    names = [[(group.name, group.size) for group in controller.schema.groups] for controller in (one, other)]
    if names[0] != names[1]:
        raise ControlError(
            f"the databases {one_name!r} and {other_name!r} compare different features",
            key="levels",
            remedy="give both projects the same [[features]]",
        )
