"""A chain of databases: the first that can answer does, and says so."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.database.chain import DatabaseChain
from ambulo.database.database import Database
from ambulo.database.tag_query import parse_query
from ambulo.errors import QueryError
from ambulo.motion.skeleton import Skeleton

from .test_database import clip


def make(name: str, tags: dict[str, list[tuple[int, int]]], **options: object) -> Database:
    made = Database.from_clips([clip("a", 30, **options)], tags)  # type: ignore[arg-type]
    made.name = name
    return made


@pytest.fixture
def chain() -> DatabaseChain:
    other = Skeleton(("root", "pelvis"), np.array([-1, 0]), np.zeros((2, 3)))
    special = make("karate", {"kick": [(0, 10)], "walk": [(10, 12)], "junk": [(10, 11)]})
    return DatabaseChain([special, make("locomotion", {"walk": [(0, 30)], "turn": [(5, 9)]}, skeleton=other)])


def test_the_first_that_can_answer_does_and_the_rate_of_fallback_is_told(chain: DatabaseChain) -> None:
    assert chain.fallback_rate == 0.0
    first = chain.answer(["kick"])
    assert (first.level, first.mask.sum(), first.reasons) == (0, 10, ())
    second = chain.answer("walk and turn")
    assert (second.level, second.mask.sum()) == (1, 4)
    assert "no range carries the tag 'turn'" in second.reasons[0]
    assert chain.answer(parse_query("walk")).level == 0
    needy = chain.answer("walk", least_frames=5)
    assert (needy.level, needy.reasons) == (1, ("1 frames answer, 5 are needed",))
    assert chain.counts == [2, 2]
    assert chain.fallback_rate == 0.5


def test_frames_with_glitches_are_no_answer(chain: DatabaseChain) -> None:
    chain.databases[0].valid[:] = 0
    assert chain.answer("walk").level == 1


def test_what_nobody_can_answer_is_refused_with_every_reason(chain: DatabaseChain) -> None:
    with pytest.raises(QueryError) as caught:
        chain.answer("kick and turn")
    assert "karate: no range carries the tag 'turn'" in caught.value.message
    assert "locomotion: no range carries the tag 'kick'" in caught.value.message
    assert chain.counts == [0, 0]
    with pytest.raises(QueryError, match="at least one"):
        DatabaseChain([])
