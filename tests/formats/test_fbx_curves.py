"""FBX curves: what is between keys, for every kind of key."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from fbx_files import (
    AUTO,
    BROKEN,
    CONSTANT,
    CONSTANT_NEXT,
    CUBIC,
    LINEAR,
    TCB,
    TICKS,
    USER,
    WEIGHTED,
    Key,
    curve,
    write_binary,
)

from ambulo.errors import FormatError
from ambulo.formats.fbx_binary import parse_binary
from ambulo.formats.fbx_curves import Curve, read_curve, sample_curve
from ambulo.formats.fbx_document import FbxObject

TIME_INDEPENDENT, CLAMP_PROGRESSIVE = 0x2000, 0x4000


def read(keys: list[Key]) -> Curve | None:
    _, top = parse_binary(write_binary([curve(1, "curve", keys, binary=True)]), Path("curve.fbx"))
    return read_curve(FbxObject(1, "AnimationCurve", "", "", next(top.children())))


def sample(keys: list[Key], times: object) -> np.ndarray:
    found = read(keys)
    assert found is not None
    return sample_curve(found, np.round(np.asarray(times, np.float64) * TICKS).astype(np.int64))


def test_linear() -> None:
    keys = [Key(0.0, 1.0), Key(1.0, 3.0), Key(3.0, -1.0)]
    np.testing.assert_allclose(sample(keys, [-1, 0, 0.25, 1, 2, 3, 9]), [1, 1, 1.5, 3, 1, -1, -1])


def test_constant_holds_or_takes_the_next() -> None:
    keys = [Key(0.0, 1.0, CONSTANT), Key(1.0, 2.0, CONSTANT_NEXT), Key(2.0, 3.0, CONSTANT)]
    np.testing.assert_allclose(sample(keys, [0, 0.5, 0.999, 1, 1.001, 1.5, 2, 3]), [1, 1, 1, 2, 3, 3, 3, 3])


def test_user_tangents_reproduce_a_cubic() -> None:
    """Two keys with the slopes of a polynomial of third degree are that polynomial."""
    polynomial = np.polynomial.Polynomial([1.0, -2.0, 3.0, -4.0])
    slope = polynomial.deriv()
    times = [0.0, 0.5, 2.0]
    keys = [
        Key(t, float(polynomial(t)), CUBIC | USER | BROKEN, (float(slope(t)), float(slope(n)), 0, 0.0))
        for t, n in zip(times, [*times[1:], 2.0], strict=True)
    ]
    at = np.linspace(0.0, 2.0, 41)
    np.testing.assert_allclose(sample(keys, at), polynomial(at), atol=1e-5)


def test_weighted_tangents_lie_on_their_bezier_curve() -> None:
    """Points of the curve in time and value, found by its parameter, are found by their time."""
    right, left, span = 0.7, 0.2, 2.0
    slopes = (4.0, -3.0)
    packed = round(right * 1e4) | round(left * 1e4) << 16
    keys = [Key(1.0, 1.0, CUBIC | USER | WEIGHTED, (*slopes, packed, 0.0)), Key(1.0 + span, 5.0)]
    u = np.linspace(0.0, 1.0, 101)[:, None]
    points = np.array(
        [
            [1.0, 1.0],
            [1.0 + right * span, 1.0 + slopes[0] * right * span],
            [3.0 - left * span, 5.0 - slopes[1] * left * span],
            [3.0, 5.0],
        ]
    )
    curve_points = (1 - u) ** 3 * points[0] + 3 * (1 - u) ** 2 * u * points[1]
    curve_points = curve_points + 3 * (1 - u) * u**2 * points[2] + u**3 * points[3]
    np.testing.assert_allclose(sample(keys, curve_points[:, 0]), curve_points[:, 1], atol=1e-5)


def test_automatic_tangents_look_both_ways() -> None:
    """With even keys on a parabola the inner pieces are the parabola itself."""
    times = np.arange(6) * 0.5
    keys = [Key(float(t), float(t * t), CUBIC | AUTO | TIME_INDEPENDENT) for t in times]
    inside = np.linspace(0.5, 2.0, 31)
    np.testing.assert_allclose(sample(keys, inside), inside**2, atol=1e-6)


def test_clamped_automatic_tangents_never_overshoot() -> None:
    rng = np.random.default_rng(3)
    keys = [
        Key(float(t), float(v), CUBIC | AUTO | TIME_INDEPENDENT | CLAMP_PROGRESSIVE)
        for t, v in zip(np.cumsum(rng.uniform(0.1, 1.0, 20)), rng.normal(size=20), strict=True)
    ]
    for before, after in pairwise(keys):
        values = sample(keys, np.linspace(before.time, after.time, 50))
        low, high = sorted((before.value, after.value))
        assert values.min() >= low - 1e-5 and values.max() <= high + 1e-5
        assert (np.diff(values) * np.sign(after.value - before.value) >= -1e-6).all()


def test_tcb_without_bias_is_a_cardinal_spline() -> None:
    times, values = np.arange(5.0), np.array([0.0, 2.0, 1.0, 4.0, 3.0])
    keys = [Key(float(t), float(v), CUBIC | TCB) for t, v in zip(times, values, strict=True)]
    m1, m2 = (values[2] - values[0]) / 2, (values[3] - values[1]) / 2
    expected = 0.5 * values[1] + 0.125 * m1 + 0.5 * values[2] - 0.125 * m2
    np.testing.assert_allclose(sample(keys, [1.5]), [expected], atol=1e-6)


def test_an_automatic_key_beside_other_kinds_keeps_its_own_slopes() -> None:
    keys = [
        Key(0.0, 0.0, LINEAR),
        Key(1.0, 1.0, CUBIC | AUTO | TIME_INDEPENDENT),
        Key(2.0, 0.0, CONSTANT),
        Key(3.0, 7.0),
    ]
    np.testing.assert_allclose(sample(keys, [0.5, 1.0, 2.0, 2.9, 3.0]), [0.5, 1.0, 0.0, 0.0, 7.0], atol=1e-6)
    # Level at the peak, and at the end the slope that the key itself keeps: none.
    np.testing.assert_allclose(sample(keys, [1.5]), [0.5], atol=1e-6)


def test_one_key_is_a_constant_and_none_is_no_curve() -> None:
    np.testing.assert_allclose(sample([Key(5.0, 2.5, CUBIC)], [0, 5, 9]), 2.5)
    assert read([]) is None


def test_keys_out_of_order_are_sorted_and_the_last_of_equals_counts() -> None:
    keys = [Key(1.0, 1.0), Key(0.0, 0.0), Key(2.0, 9.0), Key(2.0, 2.0)]
    found = read(keys)
    assert found is not None and found.unsorted
    np.testing.assert_allclose(sample(keys, [0, 0.5, 1.5, 2]), [0, 0.5, 1.5, 2])


def test_attributes_that_stand_for_runs_of_keys() -> None:
    record = curve(1, "curve", [Key(t, float(t)) for t in (0.0, 1.0, 2.0, 3.0)], binary=True)
    children = {name: values[0] for name, values, _ in record[2]}
    children["KeyAttrFlags"] = np.array([LINEAR, CONSTANT], np.int32)
    children["KeyAttrDataFloat"] = np.zeros(8, np.float32)
    children["KeyAttrRefCount"] = np.array([2, 2], np.int32)
    record = (record[0], record[1], [(name, [value], []) for name, value in children.items()])
    _, top = parse_binary(write_binary([record]), Path("curve.fbx"))
    found = read_curve(FbxObject(1, "AnimationCurve", "", "", next(top.children())))
    assert found is not None
    np.testing.assert_allclose(sample_curve(found, np.array([5, 15, 25]) * (TICKS // 10)), [0.5, 1.5, 2.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"KeyValueFloat": np.zeros(3, np.float32)}, "2 times and 3 values"),
        ({"KeyValueFloat": np.array([0.0, np.nan], np.float32)}, "key 1 of a curve is nan"),
        ({"KeyAttrRefCount": np.array([1, 0], np.int32)}, "cover 1 keys, there are 2"),
        ({"KeyAttrRefCount": np.array([1, -1], np.int32)}, "cover 0 keys"),
        ({"KeyAttrDataFloat": np.zeros(7, np.float32)}, "7 numbers"),
        ({"KeyTime": None}, "values without times"),
    ],
)
def test_damaged_curves_are_refused(change: dict[str, np.ndarray | None], message: str) -> None:
    name, values, children = curve(1, "curve", [Key(0.0, 0.0), Key(1.0, 1.0)], binary=True)
    kept = [
        (child, [change.get(child, old[0])], []) for child, old, _ in children if change.get(child, old[0]) is not None
    ]
    _, top = parse_binary(write_binary([(name, values, kept)]), Path("curve.fbx"))
    with pytest.raises(FormatError, match=message) as caught:
        read_curve(FbxObject(1, "AnimationCurve", "", "", next(top.children())))
    assert "AnimationCurve" in str(caught.value) and "at byte" in str(caught.value)
