from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ambulo.formats import bvh_numbers_kernels as kernels


def parse(text: str) -> tuple[NDArray[np.float64], list[int], list[int], list[int]]:
    data = np.frombuffer(text.encode() + b"\n", np.uint8)
    room = len(data) // 2 + 2
    values, numbers, ends = np.empty(room), np.empty(room, np.int32), np.empty(room, np.int64)
    fault_tokens, starts = np.empty(8, np.int64), np.empty(8, np.int64)
    tokens, lines, faults = kernels.parse_numbers(data, 1, values, numbers, ends, fault_tokens, starts)
    return values[:tokens], numbers[:lines].tolist(), ends[:lines].tolist(), fault_tokens[: min(faults, 8)].tolist()


def value(text: str) -> float:
    values, _, _, faults = parse(text)
    assert faults == []
    assert len(values) == 1
    return float(values[0])


@given(st.floats(-999_999_999, 999_999_999), st.integers(0, 9))
def test_fixed_point_is_correctly_rounded(number: float, places: int) -> None:
    text = f"{number:.{places}f}"
    if len(text.lstrip("-").replace(".", "")) <= 15:
        assert value(text) == float(text)
    else:
        assert value(text) == pytest.approx(float(text), rel=1e-15)


@given(st.floats(-1e9, 1e9), st.sampled_from(["r", ".17g", ".5e", ".16E", ".6g"]))
def test_any_spelling_is_within_a_few_units_in_the_last_place(number: float, form: str) -> None:
    text = repr(number) if form == "r" else format(number, form)
    if abs(float(text)) <= 1e9:
        # Powers of ten beyond 22 are taken in steps, each of which rounds.
        assert value(text) == pytest.approx(float(text), rel=5e-16 if abs(number) > 1e-4 else 4e-15, abs=1e-307)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("-0", -0.0),
        ("+1", 1.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.5e1", -5.0),
        ("1e-400", 0.0),
        ("0e9999999999999", 0.0),
        ("0" * 400 + "1", 1.0),
        ("0." + "0" * 300 + "1e301", 1.0),
        ("1" + "0" * 300 + "e-300", 1.0),
        ("123456789012345678901234567890e-25", 12345.678901234567),
        ("1e9", 1e9),
        ("1E-05", 1e-5),
        ("3.82968e-14", 3.82968e-14),
    ],
)
def test_corners(text: str, wanted: float) -> None:
    assert value(text) == pytest.approx(wanted, rel=5e-16)
    assert np.signbit(value(text)) == np.signbit(wanted)


@pytest.mark.parametrize(
    "text",
    [
        "nan",
        "-inf",
        "1.2.3",
        "1-2",
        "1,5",
        "-",
        "+",
        ".",
        "e5",
        "1e",
        "1e+",
        "1e5x",
        "--1",
        "0x1",
        "1e10",
        "1e400",
        "9" * 40,
        "é",
    ],
)
def test_faults(text: str) -> None:
    values, lines, ends, faults = parse(f"1 {text}\n3 4")
    assert faults == [1]
    assert lines == [1, 2]
    assert ends == [2, 4]
    np.testing.assert_array_equal(values, [1, np.nan, 3, 4])


def test_lines_are_counted_whatever_ends_them() -> None:
    _, lines, ends, _ = parse("\n 1 2\r\n\r\n\t3\r4\n\n\n5 6 7 \x00\x1a")
    assert lines == [2, 4, 5, 8]
    assert ends == [2, 3, 4, 7]
    assert parse(" \n\n")[0].size == 0


def test_more_faults_than_room_are_counted() -> None:
    values, _, _, faults = parse("x " * 20)
    assert len(faults) == 8
    assert np.isnan(values).all()
    assert len(values) == 20


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=5),
    st.integers(0, 9),
)
def test_numbers_come_back_from_their_text(rows: list[list[float]], places: int) -> None:
    values = np.array(rows)
    text = np.empty(values.size * 24 + len(rows) + 1, np.uint8)
    count = kernels.format_numbers(values, np.full(3, places), text)
    written = text[:count].tobytes().decode()
    assert written.count("\n") == len(rows)
    assert "-0 " not in written.replace("\n", " ") or places > 0
    np.testing.assert_allclose(parse(written)[0].reshape(-1, 3), values, atol=0.5000001 * 10.0**-places, rtol=1e-15)


def test_text_is_as_python_would_write_it() -> None:
    values = np.array([[0.0, -0.0, 1.5, -2.25, 123456.789, -1e-9, 0.05]])
    text = np.empty(values.size * 24 + 2, np.uint8)
    count = kernels.format_numbers(values, np.array([0, 2, 1, 3, 2, 6, 2]), text)
    assert text[:count].tobytes() == b"0 0.00 1.5 -2.250 123456.79 0.000000 0.05\n"
