from __future__ import annotations

import pytest

from ambulo.formats.frame_times import NOMINAL_RATES, nominal_rate


@pytest.mark.parametrize("rate", NOMINAL_RATES)
@pytest.mark.parametrize("digits", [5, 6, 7, 8, 10, 16])
def test_rounded_and_cut_frame_times_give_the_nominal_rate(rate: float, digits: int) -> None:
    exact = f"{1.0 / rate:.18f}"
    for written in (f"{1.0 / rate:.{digits}f}", exact[: digits + 2]):
        # Five digits tell 1000 from 1001 frames a second, but not 999.0 from 1000.
        assert nominal_rate(float(written), written) == rate


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        (".0083333", 120.0),
        ("0.008333", 120.0),
        ("8.333e-3", 120.0),
        ("8.3333E-03", 120.0),
        ("0.033", 30.0),
        ("0.0333", 30.0),
        ("0.017", 60.0),
        ("0.0166666675359", 60.0),
        ("0.0333667", 30000 / 1001),
        ("0.03336670", 30000 / 1001),
        ("0.041708", 24000 / 1001),
        ("0.0078125", 128.0),
        ("0.011111", 90.0),
        ("0.03", 1 / 0.03),
        ("0.0123", 1 / 0.0123),
        ("0.26", 1 / 0.26),
        ("30", 1 / 30),
        ("1", 1.0),
    ],
)
def test_frame_times_as_tools_write_them(written: str, rate: float) -> None:
    assert nominal_rate(float(written), written) == pytest.approx(rate, rel=1e-12)
