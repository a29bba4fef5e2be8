from __future__ import annotations

import math

import numpy as np
import pytest

from ambulo.errors import FormatError
from ambulo.formats import units

HUMAN = ("Hips", "LeftUpLeg", "LeftFoot", "RightUpLeg", "RightFoot", "Spine", "LeftArm", "RightArm", "Head")


def test_names_aliases_and_numbers() -> None:
    assert units.parse_unit("centimetre") == ("centimetre", 0.01)
    assert units.parse_unit(" CM ") == ("centimetre", 0.01)
    assert units.parse_unit("meters") == ("metre", 1.0)
    assert units.parse_unit("in") == ("inch", 0.0254)
    assert units.parse_unit("feet") == ("foot", 0.3048)
    assert units.parse_unit("CMU") == ("cmu", 0.056444)
    assert units.parse_unit(0.01) == ("centimetre", 0.01)
    assert units.parse_unit(0.02) == ("custom", 0.02)


@pytest.mark.parametrize("wrong", ["centimeterz", "", 0, -1.0, math.nan, math.inf])
def test_no_such_unit(wrong: str | float) -> None:
    with pytest.raises(FormatError) as caught:
        units.parse_unit(wrong)
    assert caught.value.key == "unit"


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(FormatError, match="'centimetre'"):
        units.parse_unit("centimtre")


@pytest.mark.parametrize("unit", list(units.METRES))
@pytest.mark.parametrize("stature", [0.75, 0.9, 1.0, 1.15])
def test_people_of_every_size_in_every_unit(unit: str, stature: float) -> None:
    guess = units.guess_unit(HUMAN, units.HUMAN_SPAN * stature / units.METRES[unit])
    assert guess.name == unit
    assert guess.metres_per_unit == units.METRES[unit]
    assert unit in guess.reason


def test_an_adult_is_sure_and_an_odd_size_is_not() -> None:
    assert units.guess_unit(HUMAN, 225.0).sure
    # Between a giant in centimetres and a child in inches.
    assert not units.guess_unit(HUMAN, 225.0 / math.sqrt(2.54)).sure


@pytest.mark.parametrize(
    "names", [("Hips", "Spine"), ("root", "body", "wheel"), (*HUMAN, "Tail_01"), (*HUMAN, "FrontLeg")]
)
def test_other_bodies_are_unsure(names: tuple[str, ...]) -> None:
    guess = units.guess_unit(names, 150.0)
    assert not guess.sure
    assert guess.name == "centimetre"
    assert units.guess_unit(names, 1.5).name == "metre"
    assert units.guess_unit(names, 0.0, root_height=0.0).name == "centimetre"


def test_span_is_the_longest_way_from_leaf_to_leaf() -> None:
    #        0
    #      1   2      bones 1, 2; below them 3 (10), 4 (1) under 1 and 5 (20) under 2; 5 ends in a tip of 4
    parents = [-1, 0, 0, 1, 1, 2]
    lengths = [99, 1, 2, 10, 1, 20]
    tips = [0, 0, 0, 0, 0, 4]
    assert units.body_span(parents, lengths, tips) == 10 + 1 + 2 + 20 + 4


def test_span_leaves_out_a_root_above_the_body_and_takes_a_bare_chain() -> None:
    assert units.body_span([-1, 0, 1, 1], [0, 93, 40, 50], np.zeros(4)) == 90
    assert units.body_span([-1, 0, 1], [7, 10, 20], [0, 0, 5]) == 35
    assert units.body_span([-1], [7], [0]) == 0
