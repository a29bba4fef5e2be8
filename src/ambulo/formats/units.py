"""Units of length: their names, and a guess of a file's unit from the size of the body in it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ambulo.errors import FormatError, nearest_names

METRES: dict[str, float] = {
    "metre": 1.0,
    "centimetre": 0.01,
    "millimetre": 0.001,
    "inch": 0.0254,
    "foot": 0.3048,
    # The CMU motion capture database: 1 / 0.45 inch (mocap.cs.cmu.edu, "Frequently Asked Questions").
    "cmu": 0.056444,
}
_ALIASES = {
    **dict.fromkeys(("m", "meter", "meters", "metres"), "metre"),
    **dict.fromkeys(("cm", "centimeter", "centimeters", "centimetres"), "centimetre"),
    **dict.fromkeys(("mm", "millimeter", "millimeters", "millimetres"), "millimetre"),
    **dict.fromkeys(("in", "inches"), "inch"),
    **dict.fromkeys(("ft", "feet"), "foot"),
}

# Toe to fingertip (or to head) along the bones of an adult, over stature about 1.35; from the segment lengths of
# R. Drillis and R. Contini, "Body Segment Parameters", New York University, 1966, and checked on the CMU, Bandai-Namco
# and PFNN skeletons.
HUMAN_SPAN = 2.25

_HUMAN_PARTS = (
    re.compile(r"hip|pelvis|waist|root|腰|骨盤", re.IGNORECASE),
    re.compile(r"leg|thigh|knee|shin|calf|foot|ankle|toe|femur|tibia|足|脚|ひざ", re.IGNORECASE),
    re.compile(r"arm|hand|wrist|elbow|shoulder|shldr|collar|clavicle|humerus|腕|手|肩|ひじ", re.IGNORECASE),
    re.compile(r"head|neck|spine|chest|abdomen|torso|back|頭|首|上半身", re.IGNORECASE),
)
_NOT_HUMAN = re.compile(
    r"tail|paw|hoof|wing|fore_?leg|hind|front_?(leg|foot)|rear_?(leg|foot)|beak|mane|fin\b|tentacle", re.IGNORECASE
)


class UnitGuess(NamedTuple):
    """What unit a file seems to use.

    Attributes:
        name: key of :data:`METRES`.
        metres_per_unit: its length.
        reason: one sentence for a person.
        sure: False where the body is no known kind, or fits two units about equally well.
    """

    name: str
    metres_per_unit: float
    reason: str
    sure: bool


def parse_unit(unit: str | float) -> tuple[str, float]:
    """Name and metres of a unit given by name, by alias, or as metres a unit.

    Raises:
        FormatError: no such unit, or a length that is not positive.
    """
    if isinstance(unit, str):
        name = unit.strip().lower()
        name = _ALIASES.get(name, name)
        if name not in METRES:
            raise FormatError(
                f"no unit is called {unit!r}; {nearest_names(name, [*METRES, *_ALIASES])}",
                key="unit",
                remedy="give one of these names, or the metres of a unit as a number",
            )
        return name, METRES[name]
    metres = float(unit)
    if not (math.isfinite(metres) and metres > 0.0):
        raise FormatError(f"a unit of {unit} metres is not possible", key="unit", remedy="give a positive number")
    name = next((name for name, value in METRES.items() if math.isclose(value, metres, rel_tol=1e-9)), "custom")
    return name, metres


def body_span(parents: ArrayLike, bone_lengths: ArrayLike, end_lengths: ArrayLike) -> float:
    """Longest way along the bones from leaf to leaf, the same in every pose. File units.

    Args:
        parents: ``[J]``, parents first, -1 for a root.
        bone_lengths: ``[J]``, length from the parent; a root's is not used.
        end_lengths: ``[J]``, length of the leaf's own bone, 0 where there is none.
    """
    parent = np.asarray(parents)
    bone = np.asarray(bone_lengths, np.float64)
    deepest = np.array(end_lengths, np.float64)
    second = np.zeros_like(deepest)
    chain = longest = 0.0
    for joint in range(len(parent) - 1, -1, -1):
        # A path turns round where two branches meet. A joint above all branches (a root on the floor below the hips)
        # belongs to no path, unless nothing branches at all.
        chain = max(chain, deepest[joint])
        if second[joint] > 0.0:
            longest = max(longest, deepest[joint] + second[joint])
        above = parent[joint]
        if above >= 0:
            reach = deepest[joint] + bone[joint]
            if reach > deepest[above]:
                second[above] = deepest[above]
                deepest[above] = reach
            elif reach > second[above]:
                second[above] = reach
    return float(longest or chain)


def looks_human(names: Sequence[str]) -> bool:
    """Whether the joints' names are those of a person: hips, legs, arms and a trunk, and no tail or paws."""
    joined = "\n".join(names)
    return not _NOT_HUMAN.search(joined) and all(part.search(joined) for part in _HUMAN_PARTS)


def guess_unit(names: Sequence[str], span: float, root_height: float = 0.0) -> UnitGuess:
    """Guess a file's unit from the body's size.

    The size is taken along the bones, so that lying, crouching and T-poses do not matter.

    Args:
        names: the joints' names.
        span: :func:`body_span`, file units.
        root_height: how far the root is above the origin in the median, file units; used for no known body.

    Returns:
        The unit, with a reason and whether it is sure.
    """
    if not (math.isfinite(span) and span > 0.0):
        if root_height > 0.0:
            span = 2.3 * root_height
        else:
            return UnitGuess("centimetre", 0.01, "the skeleton has no size; centimetre is taken, BVH's custom", False)
    if looks_human(names):
        distance = {name: abs(math.log(span * metres / HUMAN_SPAN)) for name, metres in METRES.items()}
        ranked = sorted(distance, key=lambda name: distance[name])
        best = ranked[0]
        size = span * METRES[best]
        reason = f"the body measures {size:.2f} m along its bones if the unit is {best} (a person's about {HUMAN_SPAN})"
        sure = distance[best] < math.log(1.45) and distance[ranked[1]] - distance[best] > math.log(1.25)
        return UnitGuess(best, METRES[best], reason, sure)
    # Not a person: anything from a mouse to a dragon. Only the units that files commonly use are told apart.
    extent = max(span, 2.3 * root_height)
    if extent < 8.0:
        best = "metre"
    elif extent < 2000.0:
        best = "centimetre"
    else:
        best = "millimetre"
    size = extent * METRES[best]
    reason = f"no known body; as {best} it would measure about {size:.2f} m"
    return UnitGuess(best, METRES[best], reason, False)
