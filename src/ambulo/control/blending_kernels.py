"""Compiled blending of several places of a database into one pose: who stays in step, what each counts, the mean."""

from __future__ import annotations

import math
from typing import Any

from ambulo.control.playback_kernels import carry, move_root, play_on, write_pose
from ambulo.control.sampling_kernels import root_way
from ambulo.control.simulation_kernels import spring_exponent, spring_velocity
from ambulo.maths.kernels import kernel, quat_inverse, quat_multiply

# A share below this counts nothing, and its slot is free.
_NOTHING = 1e-3


@kernel
def assign_places(
    members: Any, found: Any, costs: Any, own_cost: Any, jumped: Any, softness: float, separation: float, blend: Any
) -> None:
    """Give the places that a search found to the slots of those who searched.

    What is played already goes on where it is; what is new begins in a free slot; what was not found again fades out.
    After a jump of the character itself, all slots begin anew.

    Args:
        members: int64 ``[n]``.
        found, costs: int64, float64 ``[n, K]``, places and what they cost; -1 for none.
        own_cost: float64 ``[n]``, what the character's own place costs.
        jumped: bool ``[n]``.
        softness: what a place must cost more to weigh 1/e.
        separation: frames.
        blend: :class:`ambulo.control.kernel_arrays.BlendArrays`; changed.
    """
    slots = blend.places.shape[1]
    for m in range(members.shape[0]):
        n = members[m]
        for s in range(slots):
            blend.targets[n, s] = 0.0
            if jumped[m]:
                blend.places[n, s], blend.shares[n, s], blend.speeds[n, s] = -1.0, 0.0, 0.0
        for k in range(found.shape[1]):
            frame = found[m, k]
            if frame < 0:
                break
            weight = math.exp(-max(costs[m, k] - own_cost[m], 0.0) / softness)
            if weight < _NOTHING:
                break
            slot = -1
            for s in range(slots):
                if blend.places[n, s] >= 0.0 and abs(blend.places[n, s] - frame) < separation:
                    slot = s
            if slot < 0:
                for s in range(slots):
                    if blend.places[n, s] < 0.0:
                        slot = s
                        break
                if slot >= 0:
                    blend.places[n, slot], blend.shares[n, slot], blend.speeds[n, slot] = float(frame), 0.0, 0.0
            if slot >= 0:
                blend.targets[n, slot] = max(blend.targets[n, slot], weight)


@kernel
def frames_in_step(
    own: float, place: float, own_stop: int, place_stop: int, contacts: Any, slack: int, longest: int
) -> int:
    """For how many frames (at most ``longest``) both have the same feet on the ground, give or take ``slack``."""
    for ahead in range(longest + 1):
        i = int(own + ahead + 0.5)
        j = int(place + ahead + 0.5)
        if i >= own_stop:
            break  # there the character leaves, and all begins anew
        if j >= place_stop:
            return ahead
        same = False
        for d in range(-slack, slack + 1):
            o = min(max(j + d, 0), place_stop - 1)
            if contacts[o, 0] == contacts[i, 0] and contacts[o, 1] == contacts[i, 1]:
                same = True
                break
        if not same:
            return ahead
    return longest


@kernel
def add_frame(j: int, frame: int, weight: float, rate: float, reference: Any, frame_arrays: Any, total: Any) -> None:
    """Add joint ``j`` of a frame to the weighted sums in ``total`` (16 numbers).

    They are position (0:3), rotation (3:7), velocity (7:10), angular velocity (10:13) and what the rotation's sum
    changes by as the weights do (13:17); rotations have the sign of the reference.
    """
    dot = 0.0
    for c in range(4):
        dot += reference[j, c] * frame_arrays.rotations[frame, j, c]
    sign = 1.0 if dot >= 0.0 else -1.0
    for c in range(3):
        position = frame_arrays.positions[frame, j, c]
        total[c] += weight * position
        total[7 + c] += weight * frame_arrays.velocities[frame, j, c] + rate * position
        total[10 + c] += weight * frame_arrays.angular_velocities[frame, j, c]
    for c in range(4):
        rotation = sign * frame_arrays.rotations[frame, j, c]
        total[3 + c] += weight * rotation
        total[13 + c] += rate * rotation


@kernel
def add_moment(
    j: int, moment: float, weight: float, rate: float, reference: Any, frame_arrays: Any, total: Any
) -> None:
    """The same for a moment between two frames."""
    i = int(moment)
    a = moment - i
    if a > 0.0:
        add_frame(j, i, (1.0 - a) * weight, (1.0 - a) * rate, reference, frame_arrays, total)
        add_frame(j, i + 1, a * weight, a * rate, reference, frame_arrays, total)
    else:
        add_frame(j, i, weight, rate, reference, frame_arrays, total)


@kernel
def blend_places(
    n: int, own: float, places: Any, weights: Any, rates: Any, frame_arrays: Any, total: Any, pose: Any
) -> None:
    """Fill row ``n`` of a pose with the weighted mean of several moments, joints 1 to J-1.

    Rotations are summed with the sign of the character's own place, and normalised: for poses that are alike, as the
    nearest ones are, that is the mean of Markley et al. (2007) to the second order. ``weights`` and ``rates`` (their
    time derivatives) are ``[S + 1]``, the character's own last.
    """
    reference = frame_arrays.rotations[int(own + 0.5)]
    slots = places.shape[0]
    for j in range(1, frame_arrays.positions.shape[1]):
        for c in range(17):
            total[c] = 0.0
        add_moment(j, own, weights[slots], rates[slots], reference, frame_arrays, total)
        for s in range(slots):
            if weights[s] > 0.0 or rates[s] != 0.0:
                add_moment(j, places[s], weights[s], rates[s], reference, frame_arrays, total)
        square = 0.0
        for c in range(4):
            square += total[3 + c] * total[3 + c]
        scale = 1.0 / math.sqrt(square)
        q = (scale * total[3], scale * total[4], scale * total[5], scale * total[6])
        change = (scale * total[13], scale * total[14], scale * total[15], scale * total[16])
        turning = quat_multiply(change, quat_inverse(q))
        for c in range(3):
            pose.positions[n, j, c] = total[c]
            pose.velocities[n, j, c] = total[7 + c]
            pose.angular_velocities[n, j, c] = total[10 + c] + 2.0 * turning[c]
        for c in range(4):
            pose.rotations[n, j, c] = q[c]


@kernel
def advance_together(
    members: Any, playhead: Any, jump: Any, stops: Any, committed: Any, run_stops: Any, root: Any, simulation: Any,
    limits: Any, pace: Any, frame_arrays: Any, parents: Any, constants: Any, blend: Any, scratch: Any, pose: Any,
    out: Any,
) -> None:  # fmt: skip
    """After the search: play all places of each character on, and show their mean.

    A place counts only while it is in step: while it has the same feet on the ground as the character's own place, and
    will have for a while. Its share fades out before that ends.

    Args:
        members: int64, whom ``run_stops`` are for.
        playhead, jump, stops, committed, root, simulation: as :func:`ambulo.control.playback_kernels.advance`.
        run_stops: int64 ``[F]``.
        limits: float64: seconds before the end at which a fade begins, half-life (s) of a share, frames of slack,
            seconds before the end at which a fade is over.
        pace: of the step.
        blend: places, shares and targets; changed.
        scratch: float64 ``[3, S + 18]``, overwritten.
        frame_arrays, pose, out: packs of :mod:`ambulo.control.kernel_arrays`; the last two are filled.
    """
    dt = pace.seconds
    slots = blend.places.shape[1]
    longest = int(limits[0] / dt * pace.frames + 0.5)
    soonest = limits[3] / dt * pace.frames
    y = spring_exponent(limits[1])
    slack = int(limits[2] + 0.5)
    weights, rates, total = scratch[0, : slots + 1], scratch[1, : slots + 1], scratch[2, :17]
    for m in range(members.shape[0]):
        n = members[m]
        start = playhead[n]
        fresh = jump[n] >= 0
        if fresh:
            start = float(jump[n])
        stop = play_on(start, pace.frames, stops[n])
        tied = committed[n] > start
        before = 1.0
        after = 1.0
        for s in range(slots):
            place = blend.places[n, s]
            weights[s], rates[s] = 0.0, 0.0
            if place < 0.0:
                continue
            if tied:
                blend.places[n, s], blend.targets[n, s] = -1.0, 0.0
                blend.shares[n, s], blend.speeds[n, s] = 0.0, 0.0
                continue
            place_stop = run_stops[int(place)]
            to = place + stop - start
            ahead = 0
            if to < place_stop - 1:
                ahead = frames_in_step(stop, to, stops[n], place_stop, frame_arrays.contacts, slack, longest)
            else:
                to = place  # it ends, or its tags do
            u = min(max((ahead - soonest) / (longest - soonest), 0.0), 1.0)
            cap = u * u * (3.0 - 2.0 * u)
            target = cap * blend.targets[n, s]
            share, new_share, speed = blend.shares[n, s], target, 0.0
            if fresh:
                share = target
            else:
                _, new_share, speed = spring_velocity(share, blend.speeds[n, s], target, y, dt)
                new_share = min(max(new_share, 0.0), 1.0)
            before += share
            after += new_share
            weights[s], rates[s] = new_share, share
            blend.shares[n, s], blend.speeds[n, s] = new_share, speed
            if new_share < _NOTHING and (target < _NOTHING or to >= place_stop - 1):
                after -= new_share
                weights[s] = 0.0
                blend.shares[n, s], blend.speeds[n, s], blend.targets[n, s] = 0.0, 0.0, 0.0
                to = -1.0
            scratch[2, 17 + s] = place
            blend.places[n, s] = to
        left_way, ahead_way, turn = root_way(frame_arrays.positions, frame_arrays.rotations, start, stop)
        weights[slots] = 1.0 / after
        rates[slots] = (1.0 / after - 1.0 / before) / dt
        left_way, ahead_way, turn = weights[slots] * left_way, weights[slots] * ahead_way, weights[slots] * turn
        for s in range(slots):
            weights[s] /= after
            rates[s] = (weights[s] - rates[s] / before) / dt
            if weights[s] > 0.0:
                one = root_way(frame_arrays.positions, frame_arrays.rotations, scratch[2, 17 + s], blend.places[n, s])
                left_way += weights[s] * one[0]
                ahead_way += weights[s] * one[1]
                turn += weights[s] * one[2]
            else:
                rates[s] = 0.0
        out.playhead[n] = stop
        if tied:
            carry(n, (left_way, ahead_way, turn), root, simulation)
        move_root(n, (left_way, ahead_way, turn), root, simulation, constants, dt, out.root, pose)
        blend_places(n, stop, blend.places[n], weights, rates, frame_arrays, total, pose)
        shown = int(stop + 0.5)
        write_pose(n, shown, shown, parents, frame_arrays, pose, out)
