"""Ground heights."""

import numpy as np

from ambulo.synthesis.terrain import FLAT, hill, stairs


def test_flat_is_level_everywhere():
    assert FLAT.flat
    assert np.all(FLAT.height(np.linspace(-50, 50, 11)) == 0.0)


def test_hill_rises_and_falls():
    terrain = hill(1.0, 4.0, 0.8, 2.0)
    assert np.allclose(terrain.height([0.0, 1.0, 3.0, 5.0, 6.0, 9.0, 11.0, 20.0]), [0, 0, 0.4, 0.8, 0.8, 0.4, 0, 0])


def test_stairs_are_level_on_every_tread():
    terrain = stairs(1.0, 4, 0.3, 0.17, 1.0)
    for i, tread in enumerate(terrain.treads[:4]):
        assert np.allclose(terrain.height(tread + np.array([-0.14, 0.0, 0.14])), (i + 1) * 0.17)
    for i, tread in enumerate(terrain.treads[4:]):
        assert np.allclose(terrain.height(tread + np.array([-0.14, 0.0, 0.14])), (3 - i) * 0.17)
