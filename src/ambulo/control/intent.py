"""The intent: what is asked of the characters in one step, by variables and never by the name of a clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from ambulo.control.missing import OnMissing
from ambulo.errors import ControlError

Tags = tuple[str, ...]
Event = tuple[str, float]


@dataclass(frozen=True)
class Intent:
    """What N characters are asked to do now.

    Attributes:
        velocity: float32 ``[N, 3]``, m/s in the world; the ground plane's part is used.
        facing: float32 ``[N, 3]``, direction in the world that the body shall face, of any length; the zero vector
            means "face where you go". None stands for zeros.
        required_tags: only frames that carry all of these are shown. Each is a name or a question such as
            ``"walk and not turn"`` (:mod:`ambulo.database.tag_query`). One text, or one tuple of them, for all
            characters, or one tuple a character (then they are searched in groups of equal tags).
        preferred_tags: names in the same form; a frame that carries one costs less
            (:attr:`ambulo.control.settings.SearchSettings.preference`), others may still be shown.
        numbers: wanted values of the database's numeric channels (S0.17, S0.18, S0.22), one number or float32 ``[N]``
            each, in the channel's unit; the nearest frames win. The project must list the channel as a feature.
        event: ``(tag, seconds)``: a range with that tag shall begin in so many seconds (S0.58), chosen so that it fits
            the pose. None for none, or one entry a character. It is remembered: ask for it once, or count it down.
        on_missing: what happens where the data has no such tag, number or event: ``"raise"`` refuses the step,
            ``"report"`` goes on without it, and says so (a warning once, and
            :attr:`ambulo.control.explanation.Explanation.passed_over`). Of the required tags each then counts, in their
            order, with which there is still something to show. A game asks with ``"report"``, a tool with ``"raise"``.

    Raises:
        ControlError: the arrays do not have the shapes above. Velocities and facings that are not finite are refused
            by the controller, which looks at them anyway.
    """

    velocity: NDArray[np.float32]
    facing: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 3), np.float32))
    required_tags: str | Tags | tuple[Tags, ...] = ()
    preferred_tags: Tags | tuple[Tags, ...] = ()
    numbers: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    event: Event | tuple[Event | None, ...] | None = None
    on_missing: OnMissing = "raise"

    def __post_init__(self) -> None:
        velocity = float32_array(self.velocity, "velocity")
        if velocity.ndim != 2 or velocity.shape[1] != 3:
            raise ControlError(f"an intent's velocity must be [N, 3], got {velocity.shape}", key="velocity")
        facing = float32_array(self.facing, "facing")
        if facing.shape == (0, 3) and len(velocity):
            facing = np.zeros_like(velocity)
        if facing.shape != velocity.shape:
            raise ControlError(f"an intent's facing must be {velocity.shape}, got {facing.shape}", key="facing")
        for key in ("required_tags", "preferred_tags"):
            tags: object = getattr(self, key)
            object.__setattr__(self, key, _checked_tags((tags,) if isinstance(tags, str) else tags, key))
        if self.numbers:
            object.__setattr__(self, "numbers", _checked_numbers(self.numbers, len(velocity)))
        if self.on_missing not in get_args(OnMissing):
            raise ControlError(f"what is missing can be raised or reported, not {self.on_missing!r}", key="on_missing")
        if self.event is not None:
            object.__setattr__(self, "event", _checked_events(self.event, len(velocity)))
        object.__setattr__(self, "velocity", velocity)
        object.__setattr__(self, "facing", facing)

    @property
    def count(self) -> int:
        """Number of characters N."""
        return len(self.velocity)

    def of(self, characters: NDArray[np.int64]) -> Intent:
        """What some of the characters are asked."""

        def rows(tags: Any) -> Any:
            return tags if _is_shared(tags) else tuple(tags[n] for n in characters)

        return Intent(
            self.velocity[characters],
            self.facing[characters],
            required_tags=rows(self.required_tags),
            preferred_tags=rows(self.preferred_tags),
            numbers={name: values[characters] for name, values in self.numbers.items()},
            event=tuple(self.events()[n] for n in characters) if self.event is not None else None,
            on_missing=self.on_missing,
        )

    def events(self) -> tuple[Event | None, ...]:
        """What is to happen to each character; empty where nothing is asked."""
        return cast("tuple[Event | None, ...]", self.event or ())

    def groups(self) -> list[tuple[Tags, Tags, NDArray[np.int64] | None]]:
        """Characters of equal tags together: (required, preferred, indices); None for the indices means everyone.

        Raises:
            ControlError: tags are given a character, but not for N characters.
        """
        required, preferred = cast("Tags | tuple[Tags, ...]", self.required_tags), self.preferred_tags
        if _is_shared(required) and _is_shared(preferred):
            return [(cast(Tags, required), cast(Tags, preferred), None)]
        each = list(
            zip(
                _by_character(required, self.count, "required_tags"),
                _by_character(preferred, self.count, "preferred_tags"),
                strict=True,
            )
        )
        members: dict[tuple[Tags, Tags], list[int]] = {}
        for character, tags in enumerate(each):
            members.setdefault(tags, []).append(character)
        return [(*tags, np.asarray(indices, np.int64)) for tags, indices in members.items()]


def float32_array(values: object, key: str) -> NDArray[np.float32]:
    """Numbers as a contiguous float32 array; what is beyond its range becomes infinite.

    Raises:
        ControlError: they are no real numbers, or their rows differ in length.
    """
    try:
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(values, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ControlError(f"{key} must be an array of real numbers", key=key) from None


def _checked_tags(tags: object, key: str) -> Tags | tuple[Tags, ...]:
    """The tags as hashable tuples: of names, or of tuples of names."""
    if isinstance(tags, list | tuple):
        if all(isinstance(name, str) for name in tags):
            return tuple(tags)
        rows = [tuple(names) for names in tags if isinstance(names, list | tuple)]
        if len(rows) == len(tags) and all(isinstance(name, str) for row in rows for name in row):
            return tuple(rows)
    raise ControlError(f"{key} must be a tuple of names, or one such tuple a character", key=key)


def _checked_numbers(numbers: object, count: int) -> dict[str, NDArray[np.float32]]:
    """Numbers by channel as float32 ``[N]``."""
    if not isinstance(numbers, Mapping) or not all(isinstance(name, str) for name in numbers):
        raise ControlError("numbers maps names of channels to values", key="numbers", remedy='{"fatigue": 0.5}')
    checked = {}
    for name, value in numbers.items():
        values = float32_array(value, f"numbers[{name!r}]")
        if values.shape not in ((), (1,), (count,)) or not np.isfinite(values).all():
            raise ControlError(
                f"the number {name!r} must be one finite value, or one for each of {count} characters", key="numbers"
            )
        checked[name] = np.ascontiguousarray(np.broadcast_to(values, (count,)))
    return checked


def _checked_events(event: object, count: int) -> tuple[Event | None, ...]:
    """One event, or None, a character."""
    events = [event] * count if _is_event(event) else list(event) if isinstance(event, list | tuple) else []
    if len(events) != count or not all(one is None or _is_event(one) for one in events):
        raise ControlError(
            f"an event is (tag, seconds), for everyone or one for each of {count} characters", key="event"
        )
    pairs = [cast("Event | None", one) for one in events]
    return tuple(None if pair is None else (pair[0], float(pair[1])) for pair in pairs)


def _is_event(event: object) -> bool:
    return (
        isinstance(event, tuple)
        and len(event) == 2
        and isinstance(event[0], str)
        and isinstance(event[1], int | float | np.floating)
        and not isinstance(event[1], bool)
        and abs(float(event[1])) < 1e6
    )


def _is_shared(tags: Tags | tuple[Tags, ...]) -> bool:
    return not tags or isinstance(tags[0], str)


def _by_character(tags: Tags | tuple[Tags, ...], count: int, key: str) -> list[Tags]:
    if _is_shared(tags):
        return [cast(Tags, tags)] * count
    if len(tags) != count:
        raise ControlError(f"{key} names the tags of {len(tags)} characters, the intent moves {count}", key=key)
    return list(cast(tuple[Tags, ...], tags))
