"""The intent: what is asked of the characters in one step, by variables and never by the name of a clip."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import ControlError

Tags = tuple[str, ...]


@dataclass(frozen=True)
class Intent:
    """What N characters are asked to do now.

    Attributes:
        velocity: float32 ``[N, 3]``, m/s in the world; the ground plane's part is used.
        facing: float32 ``[N, 3]``, direction in the world that the body shall face, of any length; the zero vector
            means "face where you go". None stands for zeros.
        required_tags: only frames that carry all of these are shown. One tuple of names for all characters, or one
            tuple of names a character (then they are searched in groups of equal tags).
        preferred_tags: the same, dropped where no frame carries them together with the required ones.

    Raises:
        ControlError: the arrays do not have the shapes above. Numbers that are not finite are refused by the
            controller, which looks at them anyway.
    """

    velocity: NDArray[np.float32]
    facing: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 3), np.float32))
    required_tags: Tags | tuple[Tags, ...] = ()
    preferred_tags: Tags | tuple[Tags, ...] = ()

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
            if isinstance(tags, str):
                raise ControlError(f"{key} is a tuple of names, not the text {tags!r}", key=key, remedy=f"({tags!r},)")
            object.__setattr__(self, key, _checked_tags(tags, key))
        object.__setattr__(self, "velocity", velocity)
        object.__setattr__(self, "facing", facing)

    @property
    def count(self) -> int:
        """Number of characters N."""
        return len(self.velocity)

    def groups(self) -> list[tuple[Tags, Tags, NDArray[np.int64] | None]]:
        """Characters of equal tags together: (required, preferred, indices); None for the indices means everyone.

        Raises:
            ControlError: tags are given a character, but not for N characters.
        """
        required, preferred = self.required_tags, self.preferred_tags
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


def _is_shared(tags: Tags | tuple[Tags, ...]) -> bool:
    return not tags or isinstance(tags[0], str)


def _by_character(tags: Tags | tuple[Tags, ...], count: int, key: str) -> list[Tags]:
    if _is_shared(tags):
        return [cast(Tags, tags)] * count
    if len(tags) != count:
        raise ControlError(f"{key} names the tags of {len(tags)} characters, the intent moves {count}", key=key)
    return list(cast(tuple[Tags, ...], tags))
