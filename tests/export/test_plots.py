"""Plots are well-formed SVG with their points where the axes say."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from ambulo.export.plots import Line, line_plot, map_plot, ticks


def lines_of(text: str) -> list[np.ndarray]:
    svg = ElementTree.fromstring(text[: text.index("</svg>") + 6])
    return [
        np.array([[float(v) for v in pair.split(",")] for pair in element.attrib["points"].split()])
        for element in svg.iter("polyline")
    ]


def test_a_line_rises_where_its_values_do() -> None:
    time = np.linspace(0.0, 10.0, 50)
    (points,) = lines_of(line_plot([Line("speed", time, 0.3 * time)], unit="m/s"))
    assert (np.diff(points[:, 0]) > 0).all() and (np.diff(points[:, 1]) < 0).all()
    slopes = np.diff(points[:, 1]) / np.diff(points[:, 0])
    np.testing.assert_allclose(slopes, slopes.mean(), atol=0.05)


def test_gaps_break_the_line() -> None:
    values = np.ones(30)
    values[10:12] = np.nan
    assert [len(line) for line in lines_of(line_plot([Line("x", np.arange(30.0), values)], unit="m"))] == [10, 18]


def test_names_are_escaped() -> None:
    assert "<b>" not in line_plot([Line("<b>", [0.0, 1.0], [0.0, 1.0])], unit="<b>")


def test_a_map_keeps_angles_and_has_the_left_on_the_left() -> None:
    (points,) = lines_of(map_plot([Line("way", [0.0, 3.0, 3.0], [0.0, 0.0, 3.0])]))
    first, second = np.diff(points, axis=0)
    assert np.linalg.norm(first) == pytest.approx(np.linalg.norm(second), rel=0.01)
    assert first[0] < 0.0 and second[1] < 0.0


def test_a_long_line_is_thinned() -> None:
    (points,) = lines_of(line_plot([Line("x", np.arange(40_000.0), np.zeros(40_000))], unit="m"))
    assert len(points) <= 1500


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.3), (-2.0, 7.0), (0.0, 30.0), (5.0, 5.001), (-0.01, 0.02)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high, 4)
    assert 2 <= len(found) <= 6
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in found)


def test_nothing_and_a_point_are_no_harm() -> None:
    assert map_plot([Line("none", [], [])]) == ""
    assert re.search("<svg", line_plot([Line("point", [0.0], [2.0])], unit="m"))
    assert re.search("<svg", map_plot([Line("point", [1.0, 1.0], [2.0, 2.0])]))


@pytest.mark.parametrize("top", [90.0, 97.0, 100.0, 103.9])
def test_the_unit_stands_clear_of_the_labels_below_it(top: float) -> None:
    text = line_plot([Line("facing", [0.0, 1.0], [-top, top])], unit="deg", floor=None)
    svg = ElementTree.fromstring(text[: text.index("</svg>") + 6])
    left = {e.text: float(e.attrib["y"]) for e in svg.iter("text") if e.attrib["text-anchor"] == "end"}
    unit = left.pop("deg")
    assert left and min(left.values()) - unit >= 12.0
