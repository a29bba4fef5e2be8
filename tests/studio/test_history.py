"""The ring of moments."""

from __future__ import annotations

import pytest

from ambulo.errors import StudioError
from ambulo.studio.history import History, Moment, Wish


def moment(tick: int) -> Moment:
    return Moment(
        tick=tick,
        state=f"state {tick}",
        body=b"",
        asked_points=0,
        frame=tick,
        transitioned=False,
        wish=Wish(),
        required_tags=(),
        microseconds=1.0,
    )


def filled(capacity: int, count: int) -> History:
    history = History(capacity)
    for tick in range(1, count + 1):
        history.append(moment(tick))
    return history


def test_keeps_the_newest_moments() -> None:
    history = filled(capacity=5, count=12)
    assert (len(history), history.oldest, history.newest, history.now.tick) == (5, 8, 12, 12)
    assert not history.in_past


@pytest.mark.parametrize(("asked", "shown"), [(9, 9), (0, 8), (8, 8), (12, 12), (99, 12)])
def test_seek_shows_the_nearest_kept_moment(asked: int, shown: int) -> None:
    history = filled(capacity=5, count=12)
    history.seek(asked)
    assert history.now.tick == shown
    assert history.now.state == f"state {shown}"
    assert history.in_past == (shown < 12)


def test_until_now_ends_with_what_is_shown() -> None:
    history = filled(capacity=5, count=12)
    history.seek(10)
    assert [moment.tick for moment in history.until_now()] == [8, 9, 10]


def test_appending_in_the_past_forgets_what_came_after() -> None:
    history = filled(capacity=5, count=12)
    history.seek(9)
    history.append(moment(10))
    assert (history.oldest, history.newest, history.now.tick, len(history)) == (8, 10, 10, 3)


def test_a_gap_is_refused_and_changes_nothing() -> None:
    history = filled(capacity=5, count=3)
    with pytest.raises(StudioError, match="does not follow"):
        history.append(moment(7))
    assert history.newest == 3


def test_capacity_must_be_positive() -> None:
    with pytest.raises(StudioError, match="history_seconds"):
        History(0)
