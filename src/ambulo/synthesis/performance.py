"""A performance: one synthetic take with its exact ground truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import MotionError
from ambulo.formats.tag_file import TagRange
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion, Source
from ambulo.synthesis import programme
from ambulo.synthesis.body import default_skeleton
from ambulo.synthesis.curves import smooth
from ambulo.synthesis.directions import Directions
from ambulo.synthesis.feet import Feet, place_feet
from ambulo.synthesis.footsteps import plan
from ambulo.synthesis.legs import solve_leg
from ambulo.synthesis.path import BodyPath, follow
from ambulo.synthesis.pelvis import HIP_JOINTS, Pelvis, move_pelvis, squat
from ambulo.synthesis.steps import Footsteps
from ambulo.synthesis.terrain import Terrain
from ambulo.synthesis.upper_body import knee_heading, pose_upper_body

Array = NDArray[np.floating]


@dataclass(frozen=True)
class GroundTruth:
    """What is exactly known about a synthetic take.

    Attributes:
        contacts: bool ``[T, 2]``: the left and right toe joint stands still on the ground.
        heel_contacts: bool ``[T, 2]``: the same for the heels.
        phase: float32 ``[T]`` in ``[0, 2 pi)``: 0 where the left foot lands, pi where the right one does (S0.38); it
            stands still while both feet do.
        gait: str ``[T]``: ``idle``, ``walk``, ``run`` or ``jump``.
        root_positions: float32 ``[T, 3]`` of the body's path on the ground, metres.
        root_directions: float32 ``[T, 3]`` unit facing.
        ground_heights: float32 ``[T]`` under the body, metres.
    """

    contacts: NDArray[np.bool_]
    heel_contacts: NDArray[np.bool_]
    phase: NDArray[np.float32]
    gait: NDArray[np.str_]
    root_positions: NDArray[np.float32]
    root_directions: NDArray[np.float32]
    ground_heights: NDArray[np.float32]


@dataclass(frozen=True)
class Performance:
    """A take: the motion, its ground truth, its tags, and the folder it belongs to."""

    motion: Motion
    truth: GroundTruth
    tags: list[TagRange]
    folder: str = ""


def perform(directions: Directions, rng: np.random.Generator, rate: float) -> Performance:
    """Act out one take.

    Args:
        directions: what to do.
        rng: variation.
        rate: frames a second.
    """
    style, wish = directions.style, directions.wish
    path = follow(wish, rate)
    crouch = smooth(directions.crouch, 0.16, rate)
    footsteps = plan(path, style, rng, directions.jumps, directions.terrain)
    feet = place_feet(footsteps, path.frame_count, rate, directions.terrain)
    pelvis = move_pelvis(path, feet, footsteps, style, crouch, directions.terrain, rng)
    run = smooth(feet.run.max(axis=0) * pelvis.effort, 0.12, rate)
    folded = crouch + squat(footsteps.flights, path.frame_count, rate)
    above = pose_upper_body(path, pelvis, style, folded, run, footsteps.flights, rng)
    motion = _assemble(directions.name, path, feet, pelvis, above, rate)
    truth = _truth(path, feet, footsteps, directions.terrain)
    tags = [*directions.tags, *_gait_tags(truth.gait, rate)]
    return Performance(motion, truth, tags, directions.folder)


def synthesize(seed: int = 0, minutes: float = 20.0, rate: float = 60.0) -> list[Performance]:
    """The embedded data set: at least ``minutes`` of takes with ground truth.

    The same seed gives the same bytes; a take does not depend on the takes before it.

    Args:
        seed: any non-negative integer.
        minutes: total length, above zero.
        rate: frames a second.

    Raises:
        MotionError: minutes or rate are not positive numbers.
    """
    if not (np.isfinite(minutes) and minutes > 0.0):
        raise MotionError(f"cannot synthesize {minutes} minutes", key="minutes", remedy="give a number above zero")
    if not (np.isfinite(rate) and 20.0 <= rate <= 480.0):
        raise MotionError(f"cannot synthesize at {rate} frames a second", key="rate", remedy="give 20 to 480")
    result: list[Performance] = []
    for index, (turn, take) in enumerate(programme.takes(minutes)):
        rng = np.random.default_rng([seed, index])
        directions = programme.direct(take, turn + 1, rng, rate)
        result.append(perform(directions, rng, rate))
    return result


def _assemble(name: str, path: BodyPath, feet: Feet, pelvis: Pelvis, above: dict[str, Array], rate: float) -> Motion:
    skeleton = default_skeleton()
    frames = path.frame_count
    rotations = quaternions.identity((frames, skeleton.joint_count), np.float64)
    positions = np.broadcast_to(skeleton.offsets, (frames, skeleton.joint_count, 3)).copy()
    positions[:, 0] = pelvis.position
    rotations[:, 0] = pelvis.rotation
    for joint, local in above.items():
        rotations[:, skeleton.index(joint)] = local
    ease = feet.ease
    for foot, side in enumerate(("Left", "Right")):
        hip = pelvis.position + quaternions.rotate(pelvis.rotation, HIP_JOINTS[foot])
        heading = knee_heading(path, pelvis, feet.yaw[foot])
        forward = np.stack([np.sin(heading), np.zeros(frames), np.cos(heading)], axis=-1)
        thigh, shank = solve_leg(hip, feet.ankle[foot], forward, ease[foot])
        zero = np.zeros(frames)
        half = -0.5 * feet.bend[foot]
        toe = np.stack([np.sin(half), zero, zero, np.cos(half)], axis=-1)
        chain = (pelvis.rotation, thigh, shank, feet.rotation[foot])
        joints = ("UpLeg", "Leg", "Foot")
        for joint, above_q, own_q in zip(joints, chain[:-1], chain[1:], strict=True):
            rotations[:, skeleton.index(side + joint)] = quaternions.inverse_multiply(above_q, own_q)
        rotations[:, skeleton.index(f"{side}ToeBase")] = toe
    rotations = quaternions.unroll(quaternions.normalize(rotations))
    source = Source(
        path=Path(f"{name}.bvh"), format="synthetic", licence="Apache-2.0", attribution="generated by ambulo"
    )
    return Motion(skeleton, positions.astype(np.float32), rotations.astype(np.float32), rate, name, source)


def _truth(path: BodyPath, feet: Feet, footsteps: Footsteps, terrain: Terrain) -> GroundTruth:
    frames, rate = path.frame_count, path.rate
    time = np.arange(frames) / rate
    phase = _phase(footsteps, time)
    moving = np.zeros(frames, bool)
    running = np.zeros(frames, bool)
    ordered = footsteps.ordered()
    for step in ordered:
        if step.land < 0.0:
            continue
        mine = footsteps.steps[step.foot]
        before = mine[mine.index(step) - 1]
        a, b = np.searchsorted(time, [before.lift, step.land])
        moving[a:b] = True
        running[a:b] |= step.run > 0.5
    # Between two swings that follow closely the body is still walking.
    for start, stop in _runs(~moving):
        if stop - start < 0.5 * rate and start > 0 and stop < frames:
            moving[start:stop] = True
    for start, stop in _runs(~running):
        if stop - start < 0.4 * rate and start > 0 and stop < frames:
            running[start:stop] = True
    running &= smooth(path.speed, 0.05, rate) > 1.5
    gait = np.where(running, "run", np.where(moving, "walk", "idle"))
    for flight in footsteps.flights:
        a, b = np.searchsorted(time, [flight.start - (0.6 if flight.standing else 0.2), flight.stop + 0.3])
        gait[a:b] = "jump"
    root = np.zeros((frames, 3), np.float32)
    root[:, [0, 2]] = path.position
    heights = terrain.height(path.position[:, 1]).astype(np.float32)
    root[:, 1] = heights
    facing = np.stack([np.sin(path.facing), np.zeros(frames), np.cos(path.facing)], axis=-1)
    return GroundTruth(
        np.ascontiguousarray(feet.toe_contact.T),
        np.ascontiguousarray(feet.heel_contact.T),
        phase,
        gait,
        root,
        facing.astype(np.float32),
        heights,
    )


def _phase(footsteps: Footsteps, time: Array) -> NDArray[np.float32]:
    """Phase from landings: linear from one to the next, standing still while both feet stay down."""
    keys: list[tuple[float, float]] = [(0.0, 0.0)]
    previous = 0.0
    for step in footsteps.ordered():
        if step.land < 0.0:
            continue
        mine = footsteps.steps[step.foot]
        begin = max(mine[mine.index(step) - 1].lift, keys[-1][0])
        aim = np.pi * step.foot
        turn = (aim - previous) % (2.0 * np.pi) or 2.0 * np.pi
        if begin > keys[-1][0] + 0.25:
            keys.append((begin, previous))
        if step.land > keys[-1][0] + 0.03:
            previous += turn
            keys.append((step.land, previous))
    times, values = np.array(keys).T
    return np.asarray(np.interp(time, times, values) % (2.0 * np.pi), np.float32)


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Half-open ranges of frames in which a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _gait_tags(gait: NDArray[np.str_], rate: float) -> list[TagRange]:
    tags = []
    for name in ("idle", "walk", "run", "jump"):
        tags += [TagRange(start / rate, stop / rate, name) for start, stop in _runs(gait == name)]
    return sorted(tags, key=lambda tag: (tag.start or 0.0, tag.tag))
