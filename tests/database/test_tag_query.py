"""Questions: their grammar, what they mean on frames, and how wrong ones are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.database.annotations import Annotations, NumberSpan
from ambulo.database.database import Database
from ambulo.database.tag_query import All, Any, Comparison, Near, Not, Tag, TagQuery, parse_query
from ambulo.database.tags import unknown_tag
from ambulo.errors import QueryError

from .test_database import clip

# Two clips of 30 frames at 60 a second. `jump` crosses no clip; `edge` ends with the first and `walk` covers both.
TAGS = {"walk": [(0, 60)], "turn": [(10, 20), (40, 45)], "edge": [(24, 30)], "jump": [(36, 42)], "junk": [(50, 60)]}


@pytest.fixture(scope="module")
def database() -> Database:
    made = Database.from_clips([clip("a", 30), clip("b", 30)], TAGS)
    made.velocities[:] = 0.0
    made.velocities[12:15, 0] = (1.2, 50.0, -1.6)  # 2 m/s over the ground; the height does not count
    made.angular_velocities[:] = 0.0
    made.angular_velocities[30:33, 0, 1] = -1.0
    made.annotations = Annotations((), (NumberSpan("fatigue", 0, 20, 0.0, 1.0),), {"fatigue": "", "age": "years"})
    return made


def frames(database: Database, text: str) -> list[int]:
    query = parse_query(text)
    found = np.flatnonzero(query.mask(database)).tolist()
    expected = [frame for start, stop in query.ranges(database) for frame in range(start, stop)]
    assert found == expected
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("walk", range(50)),
        ("", range(50)),
        ("not walk", []),
        ("turn", [*range(10, 20), *range(40, 45)]),
        ("walk and not turn", [*range(10), *range(20, 40), *range(45, 50)]),
        ("turn and jump", range(40, 42)),
        ("turn or jump", [*range(10, 20), *range(36, 45)]),
        ("turn and jump or edge", [*range(24, 30), *range(40, 42)]),
        ("turn and (jump or edge)", range(40, 42)),
        ("not not turn", [*range(10, 20), *range(40, 45)]),
        ("not turn and not jump", [*range(10), *range(20, 36), *range(45, 50)]),
        ('before("jump", 0.05)', range(33, 36)),
        ("after(jump, 0.05)", range(42, 45)),
        ("within(jump, 0.05)", range(33, 45)),
        ("before(jump, 9)", range(30, 36)),  # not into the clip before
        ("after(edge, 1)", []),  # not into the clip after
        ("within(edge, 0.1)", range(18, 30)),
        ("within(jump, 0)", range(36, 42)),
        ("junk", range(50, 60)),
        ("WALK AND Turn", [*range(10, 20), *range(40, 45)]),
        ("fatigue >= 0.5", range(10, 20)),
        ("fatigue < 0.5", range(10)),
        ("not fatigue < 0.5", range(10, 50)),
        ("age > 0", []),
        ("speed > 1.9", range(12, 15)),
        ("turn_rate <= -1 and speed < 1", range(30, 33)),
    ],
)
def test_what_a_question_means(database: Database, text: str, expected: list[int]) -> None:
    assert frames(database, text) == list(expected)


def test_a_database_takes_names_text_and_questions(database: Database) -> None:
    both = database.mask(["turn", "jump"])
    assert np.array_equal(database.mask("turn and jump"), both)
    assert np.array_equal(database.mask(parse_query("jump and turn")), both)
    assert both.sum() == 2
    assert database.mask([]).sum() == 50 and database.mask([], junk=True).all()
    assert database.mask(("junk",)).sum() == 10


def test_tags_that_are_words_of_the_language_stand_in_quotes() -> None:
    assert parse_query('"and" or "before"') == Any((Tag("and"), Tag("before")))
    assert parse_query("before and after") == All((Tag("before"), Tag("after")))
    assert parse_query("not-confident or not confident") == Any((Tag("not-confident"), Not(Tag("confident"))))


def test_a_question_names_its_tags() -> None:
    assert parse_query("a and (not b or within(c, 1)) and speed > 2").tags == ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("walk and", "it ends where a tag is expected, at character 9"),
        ("and walk", "'and' where a tag is expected, at character 1"),
        ("walk turn", "'turn' does not belong here ('and' or 'or' stands between two tags), at character 6"),
        ("(walk or turn", "a bracket is not closed, at character 1"),
        ("walk)", "')' does not belong here, at character 5"),
        ("walk & turn", "'&' is not understood, at character 6"),
        ("before(walk)", 'before is written before("tag", seconds)'),
        ("before(walk, soon)", "'soon' is not a number"),
        ("before(walk, -1)", "-1 seconds are not possible"),
        ("speed > fast", "'fast' is not a number, at character 9"),
        ("speed >", "'' is not a number"),
        ('"wa/lk"', "cannot be a tag"),
        ("(" * 100 + "walk" + ")" * 100, "too many brackets"),
        ("not " * 5000 + "walk", "too many brackets"),
    ],
)
def test_what_is_no_question_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert words in caught.value.message
    assert caught.value.remedy


def test_unknown_tags_and_numbers_list_the_nearest(database: Database) -> None:
    with pytest.raises(QueryError, match="did you mean 'turn'"):
        database.mask("walk and not turm")
    with pytest.raises(QueryError, match="did you mean 'fatigue'"):
        database.mask("fatige > 0")
    with pytest.raises(QueryError, match="turn"):
        database.mask("before(turns, 1)")


def test_an_unknown_tag_says_what_to_do_and_no_reserved_tag_is_taken_for_it() -> None:
    found = unknown_tag("injured", ["mirrored", "limping", "walking"])
    assert "'mirrored'" not in found.message and "limping" in found.message
    assert found.remedy is not None and "ambulo tag add TAKE injured" in found.remedy
    assert "did you mean 'mirrored'?" in unknown_tag("mirored", ["mirrored", "walking"]).message


def test_an_unknown_number_says_how_to_declare_it(database: Database) -> None:
    with pytest.raises(QueryError) as caught:
        database.number("tiredness")
    assert caught.value.remedy is not None and "[channels.tiredness]" in caught.value.remedy


names = st.sampled_from([*TAGS, "and", "before", "left-turn"]).map(Tag)
leaves: st.SearchStrategy[TagQuery] = st.one_of(
    names,
    st.builds(Near, st.sampled_from(["before", "after", "within"]), names, st.sampled_from([0.0, 0.25, 3.0])),
    st.builds(Comparison, st.just("speed"), st.sampled_from(["<", ">=", "!="]), st.floats(-1e3, 1e3)),
)


def several(parts: st.SearchStrategy[TagQuery]) -> st.SearchStrategy[tuple[TagQuery, ...]]:
    return st.lists(parts, min_size=2, max_size=3).map(tuple)


questions = st.recursive(
    leaves, lambda parts: st.one_of(parts.map(Not), several(parts).map(All), several(parts).map(Any)), max_leaves=8
)


@given(questions)
def test_a_question_reads_back_from_its_text(query: TagQuery) -> None:
    assert parse_query(str(query)) == query
    assert hash(parse_query(str(query))) == hash(query)


@given(questions)
def test_not_is_the_rest_and_all_and_any_are_those_of_sets(query: TagQuery) -> None:
    tags = {**TAGS, "and": [(0, 9)], "before": [(3, 33)], "left-turn": []}
    database = Database.from_clips([clip("a", 30), clip("b", 30)], tags)
    one, other = query.mask(database, junk=True), Tag("turn").mask(database)
    assert np.array_equal(Not(query).mask(database, junk=True), ~one)
    assert np.array_equal(All((query, Tag("turn"))).mask(database, junk=True), one & other)
    assert np.array_equal(Any((query, Tag("turn"))).mask(database, junk=True), one | other)
