"""Hold feet where they stand: contacts found, each held at one place, legs bent to reach it.

The toe of a contact is held over the place where it stood in the median; what that asks of the frames around the
contact fades out, so that nothing snaps. Hip and knee are bent by two-bone IK in the plane in which the take bends
them; the foot keeps its own turn in the world. Frames far from any contact keep every bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.facing import hips_forward_axis
from ambulo.motion.inverse_kinematics import solve_two_bone
from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.motion import Motion
from ambulo.prepare.contacts import contact_joints, contacts
from ambulo.prepare.quality.examination import runs

Bool = NDArray[np.bool_]
Double = NDArray[np.float64]

FADE = 0.12
"""Seconds before and after a contact in which a foot finds to its place and leaves it."""
FARTHEST = 0.25
"""Metres: a contact that asks for more is not held; something else is wrong there."""


@dataclass(frozen=True)
class FeetRepair:
    """The outcome.

    Attributes:
        motion: the take with held feet.
        contacts: bool ``[T, 2]``, what was held.
        creep_before: m/s, mean speed over the ground of held toes, before.
        creep_after: the same after.
        largest: metres, the farthest that a foot was moved.
        missed: metres, the farthest that a foot stayed away from its place, because a leg is too short.
        left: contacts that were not held, as they ask for too much.
    """

    motion: Motion
    contacts: Bool
    creep_before: float
    creep_after: float
    largest: float
    missed: float
    left: int


def hold_feet(
    motion: Motion, *, speed: float = 0.15, window: float = 0.1, fade: float = FADE, farthest: float = FARTHEST
) -> FeetRepair:
    """Hold every standing foot at one place.

    Args:
        motion: with roles, at the rate that is true.
        speed: m/s below which a toe stands, as in :func:`ambulo.prepare.contacts.contacts`.
        window: seconds of the contacts' median filter.
        fade: seconds around a contact.
        farthest: metres that a foot is moved at most.

    Raises:
        SkeletonError: no legs or feet among the roles.
    """
    pose = forward_motion(motion)
    down = contacts(motion, speed=speed, window=window, pose=pose)
    joints = contact_joints(motion.skeleton)
    wishes = np.zeros((motion.frame_count, 2, 3))
    held = np.zeros_like(down)
    left = 0
    for side, joint in enumerate(joints):
        path = pose.positions[:, joint].astype(np.float64)
        for start, stop in runs(down[:, side], 2):
            place = np.median(path[start:stop], axis=0)
            wish = place - path[start:stop]
            wish[:, 1] = 0.0  # the height of a rolling foot is its own
            if np.linalg.norm(wish, axis=-1).max() > farthest:
                left += 1
                continue
            wishes[start:stop, side] = wish
            held[start:stop, side] = True
    offsets = np.stack([faded(wishes[:, side], held[:, side], fade * motion.rate) for side in (0, 1)], axis=1)
    mended = move_feet(motion, offsets, pose)
    after = forward_motion(mended).positions[:, list(joints)].astype(np.float64)
    before = pose.positions[:, list(joints)].astype(np.float64)
    away = np.where(held[..., None], before + offsets - after, 0.0)
    away[..., 1] = 0.0
    return FeetRepair(
        mended,
        held,
        held_speed(before, held, motion.rate),
        held_speed(after, held, motion.rate),
        float(np.linalg.norm(offsets, axis=-1).max(initial=0.0)),
        float(np.linalg.norm(away, axis=-1).max(initial=0.0)),
        left,
    )


def held_speed(toes: Double, held: Bool, rate: float) -> float:
    """Mean horizontal speed in m/s of toes ``[T, 2, 3]`` over steps that begin and end held; 0 for none."""
    steps = np.linalg.norm(np.diff(toes[..., [0, 2]], axis=0), axis=-1) * rate
    both = held[1:] & held[:-1]
    return float(steps[both].mean()) if both.any() else 0.0


def faded(wishes: Double, held: Bool, fade_frames: float) -> Double:
    """Offsets that are exactly the wishes where a foot is held, and fade to zero or to the next contact's between.

    Args:
        wishes: ``[T, 3]``, metres.
        held: ``[T]``.
        fade_frames: frames of a fade.
    """
    offsets = np.where(held[:, None], wishes, 0.0)
    spans = list(runs(held))
    width = max(1, round(fade_frames))
    edges: list[tuple[int, int]] = []  # gaps between held frames: (last held before or -1, first held after or T)
    last = -1
    for start, stop in spans:
        edges.append((last, start))
        last = stop - 1
    edges.append((last, len(held)))
    for before, after in edges:
        frames = np.arange(before + 1, after)
        if not frames.size:
            continue
        between = before >= 0 and after < len(held)
        if between and after - before <= 2 * width:  # from one place straight to the next
            s = ((frames - before) / (after - before))[:, None]
            s = s * s * (3.0 - 2.0 * s)
            offsets[frames] = (1.0 - s) * wishes[before] + s * wishes[after]
            continue
        for at, distance in ((before, frames - before), (after, after - frames)):
            if 0 <= at < len(held):
                s = np.clip(distance / width, 0.0, 1.0)[:, None]
                offsets[frames] += (1.0 - s * s * (3.0 - 2.0 * s)) * wishes[at]
    return offsets


def move_feet(motion: Motion, offsets: Double, pose: GlobalPose | None = None) -> Motion:
    """Move both feet by offsets, bending hip and knee; feet keep their turn in the world.

    Args:
        motion: with roles.
        offsets: ``[T, 2, 3]`` metres, left and right; frames of zero offset keep every bit.
        pose: the motion's global pose where the caller has it already.

    Raises:
        SkeletonError: no legs or feet among the roles.
    """
    pose = pose or forward_motion(motion)
    skeleton = motion.skeleton
    rotations = motion.rotations.copy()
    hips = skeleton.role("hips")
    axis = hips_forward_axis(pose.positions, pose.rotations, skeleton)
    for side, name in enumerate(("left", "right")):
        frames = np.flatnonzero(np.abs(offsets[:, side]).max(axis=-1) > 1e-7)
        if not frames.size:
            continue
        upper, lower, foot = (skeleton.role(f"{name}_{part}") for part in ("upper_leg", "lower_leg", "foot"))
        above = int(skeleton.parents[upper])
        if above < 0 or int(skeleton.parents[foot]) != lower or int(skeleton.parents[lower]) != upper:
            raise SkeletonError(
                "a leg with joints between hip, knee and ankle cannot be bent by two-bone IK",
                joint=skeleton.names[upper],
                path=motion.source.path,
                remedy="repair without --feet",
            )
        p, q = pose.positions[frames], pose.rotations[frames]
        hip_turn, knee_turn = solve_two_bone(
            p[:, upper],
            p[:, lower],
            p[:, foot],
            p[:, foot] + offsets[frames, side],
            _bends(p[:, upper], p[:, lower], p[:, foot], quaternions.rotate(q[:, hips], axis)),
            q[:, upper],
            q[:, lower],
            q[:, above],
            max_length_buffer=0.002,
        )
        rotations[frames, upper] = _alike(hip_turn, motion.rotations[frames, upper])
        rotations[frames, lower] = _alike(knee_turn, motion.rotations[frames, lower])
        thigh = quaternions.multiply(q[:, above], hip_turn)
        shin = quaternions.multiply(thigh, knee_turn)
        ankle = quaternions.normalize(quaternions.inverse_multiply(shin, q[:, foot]))
        rotations[frames, foot] = _alike(ankle, motion.rotations[frames, foot])
    return replace(motion, rotations=rotations)


def _bends(
    hip: NDArray[np.floating], knee: NDArray[np.floating], ankle: NDArray[np.floating], forward: NDArray[np.floating]
) -> Double:
    """Where each knee points ``[N, 3]``: as the take has it, even backward; forward where the leg is straight."""
    line = (ankle - hip).astype(np.float64)
    line /= np.maximum(np.linalg.norm(line, axis=-1, keepdims=True), 1e-9)
    bend = (knee - hip).astype(np.float64)
    bend -= np.sum(bend * line, axis=-1, keepdims=True) * line
    return np.where(np.linalg.norm(bend, axis=-1, keepdims=True) > 1e-3, bend, forward)


def _alike(q: NDArray[np.floating], like: NDArray[np.float32]) -> NDArray[np.floating]:
    """Of the two quaternions of a rotation the one nearer to another."""
    return np.where(np.sum(q * like, axis=-1, keepdims=True) < 0.0, -q, q)
