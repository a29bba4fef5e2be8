"""What an actor is asked to do in one take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ambulo.formats.tag_file import TagRange
from ambulo.synthesis.path import Wish
from ambulo.synthesis.steps import Jump
from ambulo.synthesis.styles import Style
from ambulo.synthesis.terrain import FLAT, Terrain

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Directions:
    """What an actor is asked to do in one take.

    Attributes:
        name: of the take.
        folder: of the take.
        style: how to move.
        wish: velocity and facing over time.
        crouch: 0 upright to 1 deep ``[T]``.
        jumps: in order of time.
        terrain: heights along +Z.
        tags: of the take.
    """

    name: str
    folder: str
    style: Style
    wish: Wish
    crouch: Array
    jumps: tuple[Jump, ...] = ()
    terrain: Terrain = FLAT
    tags: Sequence[TagRange] = field(default_factory=list)
