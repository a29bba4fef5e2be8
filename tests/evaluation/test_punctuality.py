"""When events came: the step that shows a range's first frame, nearest to the second that was asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ambulo.evaluation.punctuality import events_met


def recording_of(frames: list[int], rate: float = 60.0) -> Any:
    rows = np.array(frames, np.int64)[:, None]
    return SimpleNamespace(frames=rows, rate=rate, times=np.arange(len(rows)) / rate)


DATABASE: Any = SimpleNamespace(rate=60.0, tags={"kick": np.array([[100, 130], [500, 520]])})


@pytest.mark.parametrize(
    ("frames", "asked", "begins"),
    [
        ([*range(70, 130)], 0.5, 0.5),  # on time
        ([*range(72, 130)], 0.5, round(28 / 60, 3)),  # two frames early
        ([*range(0, 30), *range(500, 520)], 0.2, 0.5),  # late, by a jump to the range
        ([*range(100, 130), *range(0, 30)], 0.5, None),  # only long before it was asked for
        ([*range(105, 130)], 0.0, None),  # the range was entered behind its beginning
        ([*range(0, 60)], 0.5, None),
    ],
)
def test_the_nearest_beginning_counts(frames: list[int], asked: float, begins: float | None) -> None:
    (met,) = events_met(recording_of(frames), DATABASE, [("kick", asked)])
    assert met.begins == (begins,)


def test_steps_that_skip_frames_still_meet_the_range() -> None:
    (met,) = events_met(recording_of([*range(71, 131, 2)], rate=30.0), DATABASE, [("kick", 0.5)])
    assert met.begins == (0.5,)
    assert events_met(recording_of([1, 2]), DATABASE, [("none", 0.0)])[0].begins == (None,)
