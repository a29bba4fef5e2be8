"""Pointers into a database, and the pose between several of them (S0.7, S0.8).

What decides (a state machine, a planner) names places in the data and weights; it holds no motion itself. What is
fetched is blended afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import QueryError, nearest_names
from ambulo.maths import quaternions

if TYPE_CHECKING:
    from ambulo.database.catalog import Clip
    from ambulo.database.database import Database

_TOLERANCE = 1e-3
_TWIN = "_mirrored"


class DbPointer(NamedTuple):
    """A place in a database: a frame of a clip. Plain data that can be stored, sent and compared.

    Attributes:
        clip: name of the clip.
        frame: frame of the clip, from 0.
    """

    clip: str
    frame: int

    @classmethod
    def at(cls, database: Database, clip: str, seconds: float) -> DbPointer:
        """The place in a clip that is nearest to a time of its take.

        Raises:
            QueryError: there is no such clip, or it does not reach to that time.
        """
        found = _clip(database, clip)
        frame = round((seconds - found.start_time) * database.rate)
        pointer = cls(clip, frame)
        pointer.resolve(database)
        return pointer

    @classmethod
    def of_frame(cls, database: Database, frame: int) -> DbPointer:
        """The pointer to a frame of the database.

        Raises:
            QueryError: a frame outside of it.
        """
        clip = database.clips[int(database.clip_of_frame(frame))]
        return cls(clip.name, int(frame) - clip.start)

    def resolve(self, database: Database) -> int:
        """The frame of the database.

        Raises:
            QueryError: there is no such clip (lists the nearest), or it has no such frame.
        """
        clip = _clip(database, self.clip)
        if not 0 <= self.frame < clip.frame_count:
            first, last = clip.start_time, clip.start_time + (clip.frame_count - 1) / database.rate
            raise QueryError(
                f"the clip {self.clip!r} has {clip.frame_count} frames ({first:.2f} to {last:.2f} s of its take), "
                f"none is {self.frame}",
                frame=self.frame,
                key=self.clip,
            )
        return clip.start + self.frame

    def mirrored(self, database: Database) -> DbPointer:
        """The same place with left and right swapped: in the clip's mirrored twin, or back from it.

        Raises:
            QueryError: the database has no such clip, or no twin of it (``mirror = false``).
        """
        clip = _clip(database, self.clip)
        name = self.clip.removesuffix(_TWIN) if clip.mirrored else self.clip + _TWIN
        twin = database.clips_by_name.get(name)
        if twin is None or twin.mirrored == clip.mirrored or twin.frame_count != clip.frame_count:
            raise QueryError(
                f"the clip {self.clip!r} has no mirrored twin", key=self.clip, remedy="build with mirror = true"
            )
        return DbPointer(name, self.frame)


class BlendedPose(NamedTuple):
    """A pose between several, with the root at the origin: whoever shows it says where.

    Attributes:
        positions: float32 ``[J, 3]`` local, metres; the root's is zero.
        rotations: float32 ``[J, 4]`` local, unit; the root's is the identity.
        velocities: float32 ``[J, 3]``, m/s; the root's in its own space.
        angular_velocities: float32 ``[J, 3]``, rad/s; the root's in its own space.
        contacts: float32 ``[2]``: how much of the weight has the left and the right foot on the ground.
    """

    positions: NDArray[np.float32]
    rotations: NDArray[np.float32]
    velocities: NDArray[np.float32]
    angular_velocities: NDArray[np.float32]
    contacts: NDArray[np.float32]


def blend_pointers(database: Database, pointers: Sequence[DbPointer], weights: ArrayLike) -> BlendedPose:
    """Fetch several places and blend their poses.

    Rotations are averaged so that the sign of a quaternion does not matter: the average is the one nearest to all in
    the sense of Markley, Cheng, Crassidis and Oshman, "Averaging Quaternions" (2007). All else is a weighted sum.

    Args:
        database: where they point.
        pointers: n places.
        weights: ``[n]``, from 0 up, summing to 1.

    Raises:
        QueryError: a pointer leads nowhere; weights are negative, do not sum to 1, or are not one a pointer.
    """
    shares = np.asarray(weights, np.float64)
    if shares.shape != (len(pointers),) or not len(pointers):
        raise QueryError(f"{len(pointers)} pointers need as many weights, got {list(shares.shape)}", key="weights")
    if not np.isfinite(shares).all() or (shares < 0).any():
        raise QueryError(f"weights are numbers from 0 up, got {shares.tolist()}", key="weights")
    total = float(shares.sum())
    if abs(total - 1.0) > _TOLERANCE:
        raise QueryError(f"the weights sum to {total:g}, not to 1", key="weights", remedy="divide them by their sum")
    frames = np.array([pointer.resolve(database) for pointer in pointers])
    shares /= total
    inverse = quaternions.inverse(np.asarray(database.rotations[frames, 0]))
    positions, rotations, velocities, spins = (
        np.array(channel[frames], np.float64)
        for channel in (database.positions, database.rotations, database.velocities, database.angular_velocities)
    )
    positions[:, 0], rotations[:, 0] = 0.0, (0.0, 0.0, 0.0, 1.0)
    velocities[:, 0], spins[:, 0] = (quaternions.rotate(inverse, rows[:, 0]) for rows in (velocities, spins))
    contacts = np.asarray(database.contacts[frames], np.float64)
    position, velocity, spin, contact = (
        np.tensordot(shares, rows, 1).astype(np.float32) for rows in (positions, velocities, spins, contacts)
    )
    return BlendedPose(position, _average(rotations, shares), velocity, spin, contact)


def _average(rotations: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """The weighted average of unit quaternions ``[n, J, 4]``, with the sign of the heaviest."""
    products = np.einsum("n,njp,njq->jpq", shares, rotations, rotations)
    average = np.linalg.eigh(products)[1][..., -1]
    heaviest = rotations[int(np.argmax(shares))]
    average *= np.where((average * heaviest).sum(-1, keepdims=True) < 0.0, -1.0, 1.0)
    return np.ascontiguousarray(average, np.float32)


def _clip(database: Database, name: str) -> Clip:
    found = database.clips_by_name.get(name)
    if found is None:
        raise QueryError(f"no clip is called {name!r}; {nearest_names(name, database.clips_by_name)}", key=name)
    return found
