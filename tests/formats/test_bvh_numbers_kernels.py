from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ambulo.formats import bvh_numbers_kernels as kernels
from ambulo.maths import quaternions


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


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), middle=st.sampled_from([None, 90.0, -90.0, 89.9999, -89.9999, 90.00001]))
def test_euler_angles_give_the_rotation_back(order: str, seed: int, middle: float | None) -> None:
    random = np.random.default_rng(seed)
    angles = random.uniform(-400, 400, (6, 2, 3))
    if middle is not None:
        angles[:, :, 1] = middle
    q = quaternions.from_euler(np.radians(angles), order).astype(np.float32)
    degrees = np.empty((6, 2, 3))
    i, j, k = ("XYZ".index(axis) for axis in order)
    kernels.quaternions_to_euler(q, i, j, k, degrees)
    again = quaternions.from_euler(np.radians(degrees), order)
    assert np.degrees(quaternions.angle_between(quaternions.normalize(q.astype(np.float64)), again)).max() < 2e-5


def test_euler_angles_are_smooth_over_whole_turns_and_through_the_pole() -> None:
    turn = np.linspace(0.0, 1080.0, 200)
    degrees = np.empty((200, 1, 3))
    for axis, letter in enumerate("XYZ"):
        q = quaternions.unroll(quaternions.from_euler(np.radians(turn)[:, None], letter))[:, None].astype(np.float32)
        kernels.quaternions_to_euler(q, 0, 1, 2, degrees)
        # The middle angle passes its poles too: the other set of angles carries it over.
        np.testing.assert_allclose(degrees[:, 0, axis], turn, atol=1e-3)
        assert np.abs(np.delete(degrees[:, 0], axis, axis=1)).max() < 1e-3
