"""The camera of the software renderer: where it stands, what it sees, and where a point falls on the picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import AmbuloError, nearest_names

View = Literal["side", "front", "three_quarter", "top", "back"]

# Azimuth from the figure's forward axis towards its left, and elevation above the horizon, degrees.
_ANGLES: dict[str, tuple[float, float]] = {
    "side": (90.0, 4.0),
    "front": (0.0, 4.0),
    "three_quarter": (40.0, 14.0),
    "top": (180.0, 80.0),
    "back": (205.0, 16.0),
}


@dataclass(frozen=True)
class Camera:
    """A pinhole camera.

    Attributes:
        eye: where it stands ``[3]``, metres.
        target: what is in the middle of the picture ``[3]``, metres.
        vertical_angle: opening from top to bottom, radians.
    """

    eye: NDArray[np.float64]
    target: NDArray[np.float64]
    vertical_angle: float = math.radians(25.0)

    def axes(self) -> NDArray[np.float64]:
        """Rows right, up, forward ``[3, 3]`` in the world; unit and square to each other."""
        forward = np.asarray(self.target, np.float64) - np.asarray(self.eye, np.float64)
        forward = forward / np.linalg.norm(forward)
        helper = np.array([0.0, 1.0, 0.0]) if abs(forward[1]) < 0.999 else np.array([0.0, 0.0, 1.0])
        right = np.cross(forward, helper)
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    def project(self, points: ArrayLike, size: tuple[int, int]) -> NDArray[np.float64]:
        """Picture coordinates of points in the world.

        Args:
            points: ``[..., 3]``, metres.
            size: width and height of the picture, pixels.

        Returns:
            ``[..., 3]``: x to the right and y downward in pixels from the upper left corner, and the depth in metres.
        """
        width, height = size
        seen = (np.asarray(points, np.float64) - self.eye) @ self.axes().T
        focal = 0.5 * height / math.tan(0.5 * self.vertical_angle)
        depth = seen[..., 2]
        x = 0.5 * width + focal * seen[..., 0] / depth
        y = 0.5 * height - focal * seen[..., 1] / depth
        return np.stack([x, y, depth], axis=-1)


def view_camera(
    target: ArrayLike,
    forward: ArrayLike = (0.0, 0.0, 1.0),
    view: str = "three_quarter",
    *,
    height: float = 2.2,
    aspect: float = 1.0,
    width: float | None = None,
) -> Camera:
    """A camera that looks at a point from a named side.

    Args:
        target: ``[3]``, metres.
        forward: ``[3]``, the direction that counts as the figure's front; its height is ignored.
        view: ``"side"`` (from the figure's left), ``"front"``, ``"three_quarter"``, ``"back"`` or ``"top"``.
        height: metres from the bottom to the top of the picture at the target.
        aspect: width of the picture by its height.
        width: metres from left to right that must fit too.

    Raises:
        AmbuloError: no view of that name.
    """
    if view not in _ANGLES:
        raise AmbuloError(f"no view {view!r}; {nearest_names(view, get_args(View))}", key="view")
    azimuth, elevation = (math.radians(angle) for angle in _ANGLES[view])
    direction = np.asarray(forward, np.float64)
    heading = math.atan2(direction[0], direction[2]) + azimuth
    opening = math.radians(25.0)
    needed = max(height, 0.0 if width is None else width / aspect)
    distance = 0.5 * needed / math.tan(0.5 * opening)
    offset = np.array(
        [
            math.sin(heading) * math.cos(elevation),
            math.sin(elevation),
            math.cos(heading) * math.cos(elevation),
        ]
    )
    middle = np.asarray(target, np.float64)
    return Camera(middle + distance * offset, middle, opening)
