"""A Gaussian over poses, and its closed-form conditional given any linear observations of points.

The conditional mean is the linear regression from whatever is observed to everything else; tolerances enter as the
observations' variances. With a Gaussian whose covariance is symmetric under turns about the vertical, the completion
of turned observations is the turned completion, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import PosingError
from ambulo.posing.observations import Observations
from ambulo.posing.points import POINT_COUNT

Double = NDArray[np.float64]

_DIMENSIONS = 3 * POINT_COUNT
_ANYWHERE = 100.0
_LEAST = 1e-5
_EXACT = 1e-8


@dataclass(frozen=True)
class PoseGaussian:
    """A normal distribution of the 43 points.

    Attributes:
        mean: float64 ``[129]``, metres, point by point.
        covariance: float64 ``[129, 129]``, square metres.
    """

    mean: Double
    covariance: Double

    def pack(self) -> dict[str, NDArray[np.float32]]:
        """What to store: the mean, and the covariance about the place where the body stands, which float32 can hold."""
        own = self.covariance - _spread()
        return {"mean": self.mean.astype(np.float32), "covariance": own.astype(np.float32)}

    @classmethod
    def unpack(cls, mean: NDArray[np.floating], covariance: NDArray[np.floating]) -> PoseGaussian:
        """Inverse of :meth:`pack`.

        Raises:
            PosingError: arrays of another shape, or numbers that are not finite.
        """
        for name, array, shape in (("mean", mean, (_DIMENSIONS,)), ("covariance", covariance, (_DIMENSIONS,) * 2)):
            if array.shape != shape or not np.isfinite(array).all():
                raise PosingError(f"a Gaussian's {name} must be {shape} finite numbers", key=name)
        return cls(mean.astype(np.float64), covariance.astype(np.float64) + _spread())

    def condition(self, wishes: Observations) -> tuple[Double, Double]:
        """The distribution given wishes.

        Returns:
            Conditional means ``[N, 43, 3]`` and standard deviations ``[43, 3]`` in metres, the same for all poses.
        """
        # Rows weigh whole points, so the product with rows x I_3 is one over points.
        size = 3 * len(wishes.rows)
        seen = np.tensordot(wishes.rows, self.covariance.reshape(POINT_COUNT, -1), axes=1).reshape(size, _DIMENSIONS)
        inner = seen.reshape(size, POINT_COUNT, 3).transpose(0, 2, 1) @ wishes.rows.T
        inner = inner.transpose(0, 2, 1).reshape(size, size)
        inner[np.diag_indices(size)] += np.repeat(np.maximum(wishes.variances, _EXACT), 3)
        gain = np.linalg.solve(inner, seen)
        expected = wishes.rows @ self.mean.reshape(POINT_COUNT, 3)
        means = self.mean + (wishes.values - expected).reshape(wishes.count, size) @ gain
        left = np.diag(self.covariance) - np.einsum("ij,ij->j", gain, seen)
        return means.reshape(-1, POINT_COUNT, 3), np.sqrt(np.maximum(left, 0.0)).reshape(POINT_COUNT, 3)


def fit_turned(points: NDArray[np.floating]) -> PoseGaussian:
    """The Gaussian of poses that face every way and stand anywhere.

    The mean over all turns about the vertical is taken exactly, not by drawing turns.

    Args:
        points: ``[N, 43, 3]``, the hips over the origin.
    """
    x = np.asarray(points, np.float64)
    count = len(x)
    across, height = x[..., [0, 2]], x[..., 1]
    mean = np.zeros((POINT_COUNT, 3))
    mean[:, 1] = height.mean(axis=0)
    moment = np.einsum("nia,njb->ijab", across, across, optimize=True) / count
    # The mean of R M R^T over all turns R of the plane: what of M turns leave alone.
    even = 0.5 * (moment[..., 0, 0] + moment[..., 1, 1])
    odd = 0.5 * (moment[..., 0, 1] - moment[..., 1, 0])
    covariance = np.zeros((POINT_COUNT, 3, POINT_COUNT, 3))
    covariance[:, 0, :, 0] = covariance[:, 2, :, 2] = even
    covariance[:, 0, :, 2], covariance[:, 2, :, 0] = odd, -odd
    centred = height - mean[:, 1]
    covariance[:, 1, :, 1] = centred.T @ centred / count
    return _anywhere(mean.reshape(-1), covariance.reshape(_DIMENSIONS, _DIMENSIONS))


def fit_facing(points: NDArray[np.floating]) -> PoseGaussian:
    """The Gaussian of poses that all face +Z, but stand anywhere.

    Args:
        points: ``[N, 43, 3]``, the hips over the origin, facing +Z.
    """
    flat = np.asarray(points, np.float64).reshape(len(points), -1)
    mean = flat.mean(axis=0)
    centred = flat - mean
    return _anywhere(mean, centred.T @ centred / len(flat))


def _anywhere(mean: Double, covariance: Double) -> PoseGaussian:
    return PoseGaussian(mean, covariance + _spread())


def _spread() -> Double:
    """A broad prior on where the body stands, so that observations need not be centred (and what is fixed to each other
    stays invertible)."""
    along_x, along_z = np.zeros(_DIMENSIONS), np.zeros(_DIMENSIONS)
    along_x[0::3] = along_z[2::3] = 1.0
    spread: Double = _ANYWHERE * (np.outer(along_x, along_x) + np.outer(along_z, along_z))
    return spread + _LEAST * np.eye(_DIMENSIONS)
