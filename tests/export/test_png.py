"""PNG files hold exactly the pixels given, and half a file is never left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.errors import AmbuloError
from ambulo.export.png import encode_png, write_png


@pytest.mark.parametrize("shape", [(1, 1, 3), (7, 5, 3), (4, 9, 4)])
def test_pixels_survive(decode: Callable[[bytes], np.ndarray], shape: tuple[int, int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(decode(encode_png(pixels)), pixels)


def test_another_reader_agrees(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 256, (33, 20, 3), dtype=np.uint8)
    path = write_png(tmp_path / "deep" / "x.png", pixels)
    np.testing.assert_array_equal(np.asarray(image.open(path)), pixels)
    assert [entry.name for entry in path.parent.iterdir()] == ["x.png"]


@pytest.mark.parametrize("wrong", [np.zeros((4, 4, 3)), np.zeros((4, 4), np.uint8), np.zeros((0, 4, 3), np.uint8)])
def test_other_arrays_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(AmbuloError, match="uint8"):
        encode_png(wrong)
