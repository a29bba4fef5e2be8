from __future__ import annotations

import numpy as np
import pytest

from ambulo.errors import SkeletonError
from ambulo.motion.skeleton import Skeleton


def test_rest_rotations_turn_what_is_below() -> None:
    turn = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    offsets = np.array([[0, 1, 0], [0, 1, 0], [0, 1, 0]])
    rest = Skeleton(("a", "b", "c"), np.array([-1, 0, 1]), offsets, rest_rotations=np.array([[0, 0, 0, 1], turn, turn]))
    np.testing.assert_allclose(rest.rest_positions(), [[0, 1, 0], [0, 2, 0], [0, 2, 1]], atol=1e-6)
    np.testing.assert_allclose(rest.rest_pose()[1], [[0, 0, 0, 1], turn, [1, 0, 0, 0]], atol=1e-6)
    plain = Skeleton(("a", "b", "c"), np.array([-1, 0, 1]), offsets)
    np.testing.assert_array_equal(plain.rest_rotations, [[0, 0, 0, 1]] * 3)
    np.testing.assert_allclose(plain.rest_positions()[2], [0, 3, 0], atol=1e-6)
    with pytest.raises(SkeletonError, match="rest_rotations"):
        Skeleton(("a",), np.array([-1]), offsets[:1], rest_rotations=np.zeros((2, 4)))
