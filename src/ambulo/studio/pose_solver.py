"""Pins in, poses out: what the posing page asks for, on the body of the project that is open. No sockets."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import AmbuloError, StudioError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward
from ambulo.motion.motion import Motion
from ambulo.motion.quadruped import is_quadruped
from ambulo.posing.body_points import BodyPoints
from ambulo.posing.observations import observe_points
from ambulo.posing.points import MIRRORED, POINTS, SCHEMES, point_indices
from ambulo.posing.pose_from_points import posing_body
from ambulo.posing.poser import Poser
from ambulo.posing.projection import Projected, Projector
from ambulo.studio import messages, pose_messages
from ambulo.studio.open_project import OpenProject, bind_pose

log = logging.getLogger(__name__)

REFERENCE_FRAMES = 3000
"""Frames of a project's take that tell how its skeleton stands."""

Pins = Mapping[str, Sequence[float]]


class PoseSolver:
    """Poses one body.

    Args:
        name: of the project whose body it is.
        body: its points.
        bind: a standing pose of it.
        poser: the model; the packaged one by default.

    Raises:
        PosingError: the model is missing or damaged.
    """

    def __init__(self, name: str, body: BodyPoints, bind: messages.BindInfo, poser: Poser | None = None) -> None:
        self.name = name
        self.body = body
        self.bind = bind
        self.poser = poser or Poser.default()
        self._projector = Projector(body)
        stand = body.of_pose(bind.positions, bind.rotations)
        self.start = {name: [float(x) for x in stand[POINTS.index(name)]] for name in SCHEMES[6]}
        self.solve(self.start)  # what is compiled is compiled now

    def solve(self, pins: Pins, *, floor: bool = True) -> Projected:
        """The pose that does what the pins ask, as near as the body can.

        Raises:
            PosingError: an unknown point, no pins, or a place that is no number.
        """
        names = list(pins)
        places = np.array([pins[name] for name in names], np.float64).reshape(-1, 3)
        goal = self.poser.complete(observe_points(names, places), self.body)
        indices = point_indices(names)
        goal[:, indices] = places
        return self._projector.project(goal, pinned=indices, floor=0.0 if floor else None)

    def posed(self, message: pose_messages.SolvePose) -> pose_messages.Posed:
        """The answer to a page."""
        began = time.perf_counter()
        found = self.solve(message.pins, floor=message.floor)
        microseconds = (time.perf_counter() - began) * 1e6
        return pose_messages.Posed(
            sequence=message.sequence,
            positions=_rounded(found.positions[0]),
            rotations=_rounded(found.rotations[0]),
            unreached=[pose_messages.UnreachedPin(pin.point, 1000.0 * pin.metres) for pin in found.unreachable],
            microseconds=microseconds,
        )

    def hello(self) -> pose_messages.PoseHello:
        """What the page must know."""
        skeleton = self.body.reference.skeleton
        manifest = self.poser.manifest
        return pose_messages.PoseHello(
            project=self.name,
            model=f"{manifest.name}: {manifest.data}" if manifest.data else manifest.name,
            skeleton=messages.SkeletonInfo(
                names=list(skeleton.names),
                parents=[int(parent) for parent in skeleton.parents],
                roles={role: int(joint) for role, joint in skeleton.roles.items()},
                offsets=skeleton.offsets.tolist(),
                end_offsets=[None if np.isnan(end).any() else end.tolist() for end in skeleton.end_offsets],
            ),
            bind=self.bind,
            points=[
                pose_messages.PosePoint(
                    name=name,
                    scheme=next((size for size, names in sorted(SCHEMES.items()) if name in names), len(POINTS)),
                    mirrored=int(MIRRORED[i]),
                    joint=int(self.body.joints[i]),
                    offset=_rounded(self.body.offsets[i]),
                )
                for i, name in enumerate(POINTS)
            ],
            start=self.start,
        )

    def motion(self, keys: Sequence[pose_messages.KeyPose], *, rate: float, floor: bool = True) -> Motion:
        """The keys as a motion: rotations by slerp, the hips by straight lines. One key is one frame.

        Raises:
            StudioError: two keys at one time.
            PosingError: a key that cannot be posed.
        """
        keys = sorted(keys, key=lambda key: key.time)
        times = np.array([key.time for key in keys]) - keys[0].time
        if len(keys) > 1 and np.diff(times).min() < 0.5 / rate:
            raise StudioError("two keys are less than half a frame apart", key="time", remedy="move one of them")
        found = [self.solve(key.pins, floor=floor) for key in keys]
        positions = np.concatenate([pose.positions for pose in found])
        rotations = np.concatenate([pose.rotations for pose in found])
        at = np.arange(round(float(times[-1]) * rate) + 1) / rate
        before = np.clip(np.searchsorted(times, at, side="right") - 1, 0, max(len(keys) - 2, 0))
        after = np.minimum(before + 1, len(keys) - 1)
        gap = np.where(after > before, times[after] - times[before], 1.0)
        share = np.clip((at - times[before]) / gap, 0.0, 1.0)[:, None, None]
        turned = quaternions.slerp(rotations[before], rotations[after], share[..., 0])
        moved = positions[before] + share * (positions[after] - positions[before])
        skeleton = self.body.reference.skeleton
        return Motion(
            skeleton, moved.astype(np.float32), quaternions.unroll(np.asarray(turned, np.float32)), rate, "pose"
        )


def project_solver(project: OpenProject, poser: Poser | None = None) -> PoseSolver:
    """A solver for a project's own body; the embedded body where that is an animal, or has no hands, knees and so on.

    Raises:
        PosingError: the model is missing or damaged.
    """
    if not is_quadruped(project.database.skeleton):  # it has the roles, but the model knows people
        try:
            return PoseSolver(project.name, posing_body(_take(project)), bind_pose(project.database), poser)
        except AmbuloError as error:
            log.info("%s cannot be posed itself: %s", project.name, error)
    body = posing_body()
    skeleton = body.reference.skeleton
    still = np.array(skeleton.offsets, np.float32)[None]
    stand = forward(still, np.array(skeleton.rest_rotations, np.float32)[None], skeleton.parents)
    bind = messages.BindInfo(stand.positions[0].tolist(), stand.rotations[0].tolist())
    return PoseSolver("the embedded body", body, bind, poser)


def _take(project: OpenProject) -> Motion:
    """Some of the project's motion, which tells how its skeleton stands."""
    database = project.database
    clip = max(database.clips, key=lambda clip: min(clip.stop - clip.start, REFERENCE_FRAMES))
    frames = slice(clip.start, min(clip.stop, clip.start + REFERENCE_FRAMES))
    return Motion(
        database.skeleton,
        np.array(database.positions[frames], np.float32),
        np.array(database.rotations[frames], np.float32),
        database.rate,
        clip.name,
    )


def _rounded(values: ArrayLike) -> list[float]:
    array: NDArray[np.float64] = np.asarray(values, np.float64)
    return [round(float(value), 6) for value in array.ravel()]
