"""A script that asks besides where to go: preferred tags, and events counted down to their time."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.control.asking_script import AskingScript, parse_event
from ambulo.control.scripts import circle, forward
from ambulo.errors import ControlError
from ambulo.evaluation.path import script_path

HERE, AHEAD = np.zeros((2, 3), np.float32), np.array([[0.0, 0.0, 1.0]] * 2, np.float32)


def test_events_are_counted_down_one_after_the_other() -> None:
    script = AskingScript(forward(), ("injured",), (("kick", 1.0), ("jump", 2.0)))
    for time, event in ((0.25, ("kick", 0.75)), (1.0, ("kick", 0.0)), (1.5, ("jump", 0.5)), (2.5, None)):
        intent = script.intent(time, HERE, AHEAD)
        assert intent.event == (None if event is None else (event, event))
        assert intent.preferred_tags == ("injured",)
        np.testing.assert_array_equal(intent.velocity, forward().intent(time, HERE, AHEAD).velocity)


def test_it_is_still_the_script_that_it_was() -> None:
    script = AskingScript(circle())
    assert script.name == "circle" and script_path(script) is not None
    assert script.desired_path(10).shape == (10, 3)


@pytest.mark.parametrize("text", ["kick", "kick@", "@2", "kick@soon", "kick@-1", "kick@nan"])
def test_what_is_no_event_is_refused(text: str) -> None:
    assert parse_event("kick@2.5") == ("kick", 2.5)
    with pytest.raises(ControlError, match="no event"):
        parse_event(text)
