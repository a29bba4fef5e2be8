"""One take under examination: what every check looks at, computed once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.formats.units import HUMAN_SPAN, body_span, looks_human
from ambulo.motion.humanoid import detect_roles
from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.contacts import contact_joints, contacts
from ambulo.prepare.floor import FloorReport, floor_height
from ambulo.prepare.glitches import Glitch, find_glitches
from ambulo.prepare.quality.finding import Finding, Proposal, Severity
from ambulo.prepare.settings import PrepareSettings
from ambulo.prepare.trim import TrimReport, usable_range

Float = NDArray[np.float32]
Bool = NDArray[np.bool_]


class Examination:
    """A take with its roles, its poses in the world and what preparation says of it.

    Args:
        motion: the take, finite, at least one frame, at the rate that is taken for true.
        settings: constants of the preparation.
        file_rate: frames a second as the file says it: findings speak in its seconds.
        pose: the motion's global pose where the caller has it already.

    Attributes:
        motion: with roles.
        settings: as given.
        pose: in the world.
    """

    def __init__(
        self, motion: Motion, settings: PrepareSettings, file_rate: float, pose: GlobalPose | None = None
    ) -> None:
        self.motion, self.settings, self.file_rate = motion, settings, file_rate
        self.pose: GlobalPose = pose or forward_motion(motion)

    def at_rate(self, rate: float) -> Examination:
        """The same take, taken to be at another rate."""
        other = Examination.__new__(Examination)
        other.motion, other.settings, other.file_rate = replace(self.motion, rate=rate), self.settings, self.file_rate
        other.pose = self.pose
        for name in ("steps", "longest_steps", "human_size"):  # metres, not m/s: they are the same at any rate
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    @cached_property
    def steps(self) -> Float:
        """Metres that each joint moves from a frame to the next, ``[T - 1, J]``."""
        moved = np.diff(self.pose.positions, axis=0)
        return np.asarray(np.sqrt(np.einsum("tjk,tjk->tj", moved, moved)))

    @cached_property
    def longest_steps(self) -> Float:
        """The greatest of them, ``[T - 1]``."""
        return np.asarray(self.steps.max(axis=1))

    @cached_property
    def trim(self) -> TrimReport:
        """The part that is no calibration."""
        return usable_range(self.motion, pose=self.pose)

    @property
    def usable(self) -> slice:
        """Frames between calibration at the start and at the end."""
        return slice(self.trim.start_frame, self.trim.stop_frame)

    @cached_property
    def glitches(self) -> list[Glitch]:
        """Faults of the capture; frames counted in the whole take."""
        part = self.usable
        pose = GlobalPose(self.pose.positions[part], self.pose.rotations[part])
        found = find_glitches(self.motion.slice(part.start, part.stop), speed=self.settings.glitch_speed, pose=pose)
        return [
            replace(glitch, start_frame=glitch.start_frame + part.start, stop_frame=glitch.stop_frame + part.start)
            for glitch in found
        ]

    @cached_property
    def has_feet(self) -> bool:
        """Whether both feet are known."""
        roles = self.motion.skeleton.roles
        return all(f"{side}_foot" in roles or f"{side}_toe" in roles for side in ("left", "right"))

    @cached_property
    def has_legs(self) -> bool:
        """Whether hips, legs and ankles are known."""
        parts = ("upper_leg", "foot")
        needed = ("hips", *(f"{side}_{part}" for side in ("left", "right") for part in parts))
        return all(role in self.motion.skeleton.roles for role in needed)

    @cached_property
    def leg_length(self) -> float:
        """Metres along the bones from hip joint to ankle, of the longer leg."""
        skeleton = self.motion.skeleton
        lengths = np.linalg.norm(self.motion.positions[self.trim.start_frame], axis=-1)
        longest = 0.0
        for side in ("left", "right"):
            joint, top = skeleton.roles[f"{side}_foot"], skeleton.roles[f"{side}_upper_leg"]
            length = 0.0
            while joint not in (top, -1):
                length += float(lengths[joint])
                joint = int(skeleton.parents[joint])
            longest = max(longest, length)
        return longest

    @cached_property
    def human_size(self) -> float:
        """Size of the body over an adult's, along its bones, in any pose; 0 where it is no person's."""
        skeleton = self.motion.skeleton
        if not looks_human(skeleton.names):
            return 0.0
        ends = np.nan_to_num(np.linalg.norm(skeleton.end_offsets, axis=-1))
        return body_span(skeleton.parents, np.linalg.norm(self.motion.positions[0], axis=-1), ends) / HUMAN_SPAN

    @cached_property
    def floor(self) -> FloorReport:
        """Where the feet stand, over the usable part."""
        part = self.usable
        pose = GlobalPose(self.pose.positions[part], self.pose.rotations[part])
        return floor_height(self.motion.slice(part.start, part.stop), pose=pose, down=self.contacts)

    @cached_property
    def contacts(self) -> Bool:
        """Feet that stand still, over the usable part ``[usable, 2]``."""
        part = self.usable
        pose = GlobalPose(self.pose.positions[part], self.pose.rotations[part])
        return contacts(
            self.motion.slice(part.start, part.stop),
            speed=self.settings.contact_speed,
            window=self.settings.contact_window,
            pose=pose,
        )

    @cached_property
    def toes(self) -> tuple[int, int]:
        """Left and right joint that stands on the ground."""
        return contact_joints(self.motion.skeleton)

    def finding(
        self,
        code: str,
        severity: Severity,
        span: tuple[int, int],
        message: str,
        *,
        value: float,
        unit: str = "",
        joint: str | None = None,
        remedy: str = "",
        proposal: Proposal | None = None,
    ) -> Finding:
        """A finding in these frames of the take."""
        return Finding(
            code=code,
            severity=severity,
            start_frame=int(span[0]),
            stop_frame=int(span[1]),
            start=round(span[0] / self.file_rate, 6),
            stop=round(span[1] / self.file_rate, 6),
            joint=joint,
            value=float(value),
            unit=unit,
            message=message,
            remedy=remedy,
            proposal=proposal or Proposal(),
        )


def examined(motion: Motion, settings: PrepareSettings, roles: Mapping[str, str] | None = None) -> Examination:
    """A take ready to be examined, its roles found.

    Thousands of takes share one skeleton: roles that were found on it once, legs and feet included, are kept.

    Raises:
        SkeletonError: an override in ``roles`` names no role or no joint.
    """
    if not motion.skeleton.roles or roles:
        skeleton = motion.skeleton
        arrays = (skeleton.parents, skeleton.offsets, skeleton.end_offsets, skeleton.rest_rotations)
        key = (skeleton.names, *(array.tobytes() for array in arrays), *sorted((roles or {}).items()))
        known = _known.get(key)
        if known is None:
            known = skeleton.with_roles(detect_roles(skeleton, motion, roles).roles)
            if {"hips", "left_foot", "right_foot", "left_upper_leg", "right_upper_leg"} <= known.roles.keys():
                if len(_known) >= _MOST_SKELETONS:
                    _known.clear()
                _known[key] = known
        motion = replace(motion, skeleton=known)
    return Examination(motion, settings, motion.rate)


_MOST_SKELETONS = 256
_known: dict[Hashable, Skeleton] = {}


def runs(flags: ArrayLike, least: int = 1) -> Iterator[tuple[int, int]]:
    """Ranges ``[start, stop)`` of true entries, at least ``least`` long. Flags ``[T]``."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.asarray(flags, bool), [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if stop - start >= least:
            yield start, stop
