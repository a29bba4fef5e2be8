"""The controller protocol: one pure function from what is asked to the next pose.

A state is a frozen dataclass whose fields are arrays with the character axis first, or such a dataclass again (a
wrapper keeps the state of what it wraps in ``inner``). Nothing else is remembered anywhere, so a state can be kept,
rewound to, saved, split by character and joined; :func:`take` and :func:`join` do the last two for any controller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ambulo.control.intent import Intent, float32_array
from ambulo.control.pose import Pose
from ambulo.errors import ControlError
from ambulo.motion.skeleton import Skeleton

State = Any
_T = TypeVar("_T")


@runtime_checkable
class Controller(Protocol):
    """What drives characters: motion matching, blocks, a network, or a wrapper around one of them."""

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the poses, root first."""
        ...

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> State:
        """A state of ``count`` standing characters.

        Args:
            count: number of characters N.
            seed: decides what may differ between characters (the time of their first search); a whole number from 0 up.
            position: ``[3]`` or ``[N, 3]``, metres; the origin by default.
            facing: ``[3]`` or ``[N, 3]``, direction in the ground plane; +Z by default.
        """
        ...

    def step(self, state: State, intent: Intent, dt: float) -> tuple[State, Pose]:
        """The state and the pose ``dt`` seconds later. The given state is not changed."""
        ...

    def explain(self, state: State, character: int = 0) -> Any:
        """Why the pose that is shown was chosen, see :class:`ambulo.control.explanation.Explanation`."""
        ...

    def with_weights(self, weights: Mapping[str, float]) -> Controller:
        """The same controller with other weights of feature groups; nothing is rebuilt."""
        ...


def take(state: _T, characters: ArrayLike) -> _T:
    """The state of some characters of a crowd (copies): an index, a list of indices, or a slice's indices."""
    index = np.atleast_1d(np.asarray(characters, np.int64))
    try:
        return cast(_T, _map(lambda arrays: np.ascontiguousarray(arrays[0][index]), [state]))
    except IndexError as error:
        raise ControlError(f"the state has no such character: {error}", key="characters") from None


def join(states: Sequence[_T]) -> _T:
    """One state of the characters of several states of the same controller, in order."""
    if not states:
        raise ControlError("there is no state to join")
    if len({type(state) for state in states}) > 1:
        raise ControlError(f"states of different controllers: {sorted({type(s).__name__ for s in states})}")
    try:
        return cast(_T, _map(np.concatenate, list(states)))
    except ValueError as error:
        raise ControlError(f"states of different controllers: {error}") from None


def _map(function: Any, states: list[Any]) -> Any:
    kind = type(states[0])
    if not is_dataclass(kind):
        raise ControlError(f"{kind.__name__} is not a controller's state")
    values = {}
    for entry in fields(kind):
        parts = [getattr(state, entry.name) for state in states]
        values[entry.name] = function(parts) if isinstance(parts[0], np.ndarray) else _map(function, parts)
    return kind(**values)


def generator_of(seed: int) -> np.random.Generator:
    """The generator of a seed.

    Raises:
        ControlError: it is no whole number from 0 up.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ControlError(f"a seed is a whole number from 0 up, not {seed!r}", key="seed")
    return np.random.default_rng(seed)


def start_arrays(count: int, position: ArrayLike | None, facing: ArrayLike | None) -> tuple[Any, Any]:
    """Positions ``[N, 3]`` and rotations ``[N, 4]`` of characters about to start.

    Raises:
        ControlError: the count is not positive, or the arrays have other shapes, are not finite, or a facing is zero.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise ControlError(f"a number of characters is a whole number, not {count!r}", key="count")
    if count < 1:
        raise ControlError(f"at least one character starts, not {count}", key="count", remedy="give 1 or more")
    positions = _row(count, (0.0, 0.0, 0.0) if position is None else position, "position")
    facings = _row(count, (0.0, 0.0, 1.0) if facing is None else facing, "facing")
    if (np.hypot(facings[:, 0], facings[:, 2]) < 1e-6).any():
        raise ControlError("a facing needs a direction in the ground plane", key="facing")
    half = 0.5 * np.arctan2(facings[:, 0], facings[:, 2])
    rotations = np.zeros((count, 4), np.float32)
    rotations[:, 1], rotations[:, 3] = np.sin(half), np.cos(half)
    return positions, rotations


def _row(count: int, values: ArrayLike, key: str) -> Any:
    array = float32_array(values, key)
    if array.shape not in ((3,), (count, 3)):
        raise ControlError(f"{key} must be [3] or [{count}, 3], got {array.shape}", key=key)
    if not np.isfinite(array).all():
        raise ControlError(f"{key} has a number that is not finite", key=key)
    return np.ascontiguousarray(np.broadcast_to(array, (count, 3)))
