"""Errors say what, where, why and what to do, and survive a trip between processes."""

from __future__ import annotations

import json
import pickle

from ambulo.errors import AmbuloError, FormatError, nearest_names


def test_message_has_place_details_and_remedy() -> None:
    error = FormatError("5 of 9 values", path="walk.bvh", line=21, joint="Hips", remedy="load it with lenient=True")
    assert str(error) == "walk.bvh:21: 5 of 9 values (joint 'Hips') | load it with lenient=True"


def test_details_that_the_message_names_are_not_said_twice() -> None:
    assert str(AmbuloError("no joint 'Hips'", joint="Hips")) == "no joint 'Hips'"


def test_line_without_path() -> None:
    assert str(AmbuloError("odd", line=3)) == "line 3: odd"


def test_pickle_keeps_class_and_facts() -> None:
    error = FormatError("bad row", path="a.bvh", line=7, frame=2, key="x", remedy="fix it")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is FormatError
    assert str(again) == str(error)
    assert again.facts() == error.facts()


def test_nearest_names_puts_the_likely_one_first() -> None:
    assert nearest_names("left_fot", ["hips", "left_foot", "right_foot"]).startswith("did you mean 'left_foot'")
    assert nearest_names("zzz", ["b", "a"]) == "valid names: a, b"
    assert nearest_names("zzz", []) == "there are none"


def test_names_that_are_no_text_are_shown_with_their_bytes() -> None:
    error = AmbuloError("'a\udcff.bvh' is empty", path="takes/a\udcff.bvh")
    assert error.message == r"'a\xff.bvh' is empty"
    assert error.facts()["path"] == r"takes/a\xff.bvh"
    json.dumps(error.facts()).encode()
