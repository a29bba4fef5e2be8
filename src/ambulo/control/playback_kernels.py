"""Compiled second half of a step: play on, move the root, read the pose."""

from __future__ import annotations

import math
from typing import Any

from ambulo.control.query_kernels import ROOT_HEADING, ROOT_VELOCITY_X, ROOT_VELOCITY_Z, ROOT_X, ROOT_Y, ROOT_Z
from ambulo.control.sampling_kernels import blend_joints, forward_row, place_root, root_way, sample_joints
from ambulo.control.simulation_kernels import HEADING, POSITION, follow, wrap_angle
from ambulo.maths.kernels import kernel

# Seconds over which the body's velocity is smoothed before it is compared with the wish.
_SMOOTHING = 0.1


@kernel
def play_on(moment: float, frame_step: float, run_stop: int) -> float:
    """The playhead one step later, held before the frame ``run_stop``; whole frames are met exactly."""
    stop = min(moment + frame_step, float(run_stop - 1))
    nearest = math.floor(stop + 0.5)
    return nearest if abs(stop - nearest) < 1e-6 else stop


@kernel
def move_root(
    n: int, way: tuple[float, float, float], root: Any, simulation: Any, constants: Any, dt: float, new_root: Any,
    pose: Any,
) -> None:  # fmt: skip
    """Move the root by the animation's way (left, ahead, turn), draw it to the simulation object, write joint 0."""
    left, ahead, turn = way
    old = root[n, ROOT_HEADING]
    s, c = math.sin(old), math.cos(old)
    x, z, heading = follow(
        root[n, ROOT_X] + c * left + s * ahead,
        root[n, ROOT_Z] - s * left + c * ahead,
        old + turn,
        math.sqrt(left * left + ahead * ahead) / dt,
        turn / dt,
        simulation[n],
        constants,
        dt,
    )
    new_root[n, ROOT_X] = x
    new_root[n, ROOT_Y] = root[n, ROOT_Y]
    new_root[n, ROOT_Z] = z
    new_root[n, ROOT_HEADING] = wrap_angle(heading)
    part = 1.0 - math.exp(-dt / _SMOOTHING)
    vx, vz = (x - root[n, ROOT_X]) / dt, (z - root[n, ROOT_Z]) / dt
    new_root[n, ROOT_VELOCITY_X] = root[n, ROOT_VELOCITY_X] + part * (vx - root[n, ROOT_VELOCITY_X])
    new_root[n, ROOT_VELOCITY_Z] = root[n, ROOT_VELOCITY_Z] + part * (vz - root[n, ROOT_VELOCITY_Z])
    place_root(n, x, root[n, ROOT_Y], z, heading, root[n, ROOT_X], root[n, ROOT_Z], old, dt, pose)


@kernel
def carry(n: int, way: tuple[float, float, float], root: Any, simulation: Any) -> None:
    """Take the simulation object along to where the animation leads, so that nothing draws the root elsewhere."""
    left, ahead, turn = way
    s, c = math.sin(root[n, ROOT_HEADING]), math.cos(root[n, ROOT_HEADING])
    simulation[n, POSITION] = root[n, ROOT_X] + c * left + s * ahead
    simulation[n, POSITION + 2] = root[n, ROOT_Z] - s * left + c * ahead
    simulation[n, HEADING] = wrap_angle(root[n, ROOT_HEADING] + turn)


@kernel
def write_pose(n: int, shown: int, source: int, parents: Any, frame_arrays: Any, pose: Any, out: Any) -> None:
    """Joints in the world, the frame shown, and the contacts of the frame ``source``."""
    forward_row(n, parents, pose.positions, pose.rotations, pose.global_positions, pose.global_rotations)
    out.frames[n] = shown
    out.contacts[n, 0] = frame_arrays.contacts[source, 0]
    out.contacts[n, 1] = frame_arrays.contacts[source, 1]


@kernel
def advance(
    members: Any, playhead: Any, jump: Any, root: Any, simulation: Any, stops: Any, committed: Any, frame_arrays: Any,
    parents: Any, constants: Any, frame_step: float, dt: float, pose: Any, out: Any,
) -> None:  # fmt: skip
    """After the search: jump where ``jump[n] >= 0``, play on by ``dt``, move the root, read the pose.

    ``stops`` is int64 ``[N]``, where each character's run ends; ``committed`` is int64 ``[N]``, up to which frame
    it plays what was captured, its root too. ``frame_arrays``, ``pose`` and ``out`` are packs of
    :mod:`ambulo.control.kernel_arrays`; the last two are filled.
    """
    for m in range(members.shape[0]):
        n = members[m]
        start = playhead[n]
        if jump[n] >= 0:
            start = float(jump[n])
        stop = play_on(start, frame_step, stops[n])
        out.playhead[n] = stop
        way = root_way(frame_arrays.positions, frame_arrays.rotations, start, stop)
        if committed[n] > start:
            carry(n, way, root, simulation)
        move_root(n, way, root, simulation, constants, dt, out.root, pose)
        sample_joints(n, stop, frame_arrays, pose)
        shown = int(stop + 0.5)
        write_pose(n, shown, shown, parents, frame_arrays, pose, out)


@kernel
def advance_blended(
    members: Any, playhead: Any, fading: Any, faded: Any, jump: Any, root: Any, simulation: Any, stops: Any,
    run_stops: Any, frame_arrays: Any, parents: Any, constants: Any, frame_step: float, dt: float, fade: float,
    new_fading: Any, new_faded: Any, pose: Any, out: Any,
) -> None:  # fmt: skip
    """The same with a cross-fade of ``fade`` seconds after each jump (S0.30).

    ``fading`` is the playhead that is left behind, -1 where there is none, and ``faded`` the seconds since the jump.
    A jump during a fade leaves the clip that was fading behind at once; inertialization takes that jump.
    """
    for m in range(members.shape[0]):
        n = members[m]
        start, behind, since = playhead[n], fading[n], faded[n]
        if jump[n] >= 0:
            behind, start, since = start, float(jump[n]), 0.0
        since += dt
        if since >= fade:
            behind = -1.0
        stop = play_on(start, frame_step, stops[n])
        left, ahead, turn = root_way(frame_arrays.positions, frame_arrays.rotations, start, stop)
        weight, rate = 1.0, 0.0
        behind_stop = behind
        if behind >= 0.0:
            u = since / fade
            weight, rate = u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u) / fade
            if run_stops[int(behind)] > 0:
                behind_stop = play_on(behind, frame_step, run_stops[int(behind)])
            old_left, old_ahead, old_turn = root_way(
                frame_arrays.positions, frame_arrays.rotations, behind, behind_stop
            )
            left = old_left + weight * (left - old_left)
            ahead = old_ahead + weight * (ahead - old_ahead)
            turn = old_turn + weight * (turn - old_turn)
        out.playhead[n], new_fading[n], new_faded[n] = stop, behind_stop, since
        move_root(n, (left, ahead, turn), root, simulation, constants, dt, out.root, pose)
        sample_joints(n, stop, frame_arrays, pose)
        if behind >= 0.0:
            blend_joints(n, behind_stop, weight, rate, frame_arrays, pose)
        shown = int(stop + 0.5)
        write_pose(n, shown, shown if weight >= 0.5 else int(behind_stop + 0.5), parents, frame_arrays, pose, out)
