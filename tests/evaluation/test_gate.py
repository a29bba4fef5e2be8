"""The gate catches what is past a bar, and the embedded data stays inside its bars."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ambulo.errors import AmbuloError
from ambulo.evaluation.gate import Bar, check, load_bars
from ambulo.evaluation.measure import Measure
from ambulo.evaluation.measures import measure as measure_recording


def made(value: float, raw: float | None = None) -> Measure:
    return Measure(value, raw, "cm", False, "")


def test_a_bar_in_units_and_one_in_raw() -> None:
    results = {
        "a": {"x": made(3.0, 2.0), "y": made(5.0, 4.0)},
        "b": {"x": made(2.0, 2.0), "y": made(4.7, 4.0)},
    }
    failures = check(results, [Bar("x", at_most=2.5), Bar("y", at_most_times_raw=1.2)])
    assert [(f.script, f.measure, f.value, round(f.limit, 9)) for f in failures] == [
        ("a", "x", 3.0, 2.5),
        ("a", "y", 5.0, 4.8),
    ]
    assert str(failures[0]) == "a: x is 3 cm, at most 2.5 cm"


def test_at_the_bar_is_inside() -> None:
    assert check({"a": {"x": made(0.0, 0.0)}}, [Bar("x", at_most=0.0), Bar("x", at_most_times_raw=1.2)]) == []


def test_the_larger_of_two_limits_counts() -> None:
    bar = Bar("x", at_most=1.0, at_most_times_raw=1.2)
    assert bar.limit(made(0.0, 0.1)) == 1.0
    assert bar.limit(made(0.0, 10.0)) == pytest.approx(12.0)
    assert math.isnan(Bar("x", at_most_times_raw=1.2).limit(made(0.0)))


def test_bars_hold_for_their_scripts_alone() -> None:
    results = {"circle": {"path_error": made(12.0)}, "star": {"path_error": made(90.0)}}
    failures = check(results, [Bar("path_error", at_most=10.0, scripts=("circle",))])
    assert [failure.script for failure in failures] == ["circle"]


def test_a_pooled_bar_judges_the_mean() -> None:
    results = {"a": {"x": made(3.0, 2.0)}, "b": {"x": made(1.0, 2.0)}, "c": {"x": made(math.nan, 9.0)}}
    assert check(results, [Bar("x", at_most_times_raw=1.0, pooled=True)]) == []
    (failure,) = check(results, [Bar("x", at_most_times_raw=0.9, pooled=True)])
    assert (failure.script, failure.value, failure.limit) == ("mean of 2 scripts", 2.0, 1.8)


@pytest.mark.parametrize("results", [{}, {"a": {"other": made(1.0)}}, {"a": {"x": made(math.nan)}}])
def test_a_gate_that_looks_at_nothing_is_an_error(results: dict[str, dict[str, Measure]]) -> None:
    with pytest.raises(AmbuloError, match="judged nothing"):
        check(results, [Bar("x", at_most=1.0)])


def test_bars_are_read_with_their_faults_named(tmp_path: Path) -> None:
    path = tmp_path / "bars.toml"
    path.write_text('[[bar]]\nmeasure = "x"\nat_most = 2.0\n')
    assert load_bars(path) == [Bar("x", at_most=2.0)]
    path.write_text('[[bar]]\nmeasure = "x"\n')
    with pytest.raises(AmbuloError, match="no height"):
        load_bars(path)
    path.write_text('[[bar]]\nmeasure = "x"\nat_mots = 2.0\n')
    with pytest.raises(AmbuloError, match="at_mots"):
        load_bars(path)
    with pytest.raises(AmbuloError, match="cannot be read"):
        load_bars(tmp_path / "none.toml")


def test_the_embedded_bars_speak_of_measures_that_exist() -> None:
    text = Path(measure_recording.__code__.co_filename).parent
    source = "".join(file.read_text(encoding="utf-8") for file in sorted(text.glob("*.py")))
    for bar in load_bars():
        name = bar.measure.replace("180", "{degrees}")
        assert f'"{name}"' in source, bar.measure
