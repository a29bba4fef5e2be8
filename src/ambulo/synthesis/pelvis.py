"""The pelvis: rotation, list and tilt from what the feet do; height from the standing leg's knee.

Instead of prescribing a bob, the published knee flexion of the standing leg is prescribed and the height follows from
the leg's geometry: the pelvis then rises over mid-stance and sinks in double support by itself (the determinants of
gait), on any path and any ground. In running and in jumps the flight is ballistic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

from ambulo.maths import quaternions
from ambulo.synthesis import gait
from ambulo.synthesis.body import HIP_DROP, HIP_HALF_WIDTH, SHANK, THIGH
from ambulo.synthesis.curves import keyed, ramp, smooth, smooth_noise, soft_step
from ambulo.synthesis.feet import Feet
from ambulo.synthesis.path import BodyPath
from ambulo.synthesis.steps import Flight, Footsteps, Step
from ambulo.synthesis.styles import Style
from ambulo.synthesis.terrain import Terrain

Array = NDArray[np.floating]

_DEGREE = np.pi / 180.0
_GRAVITY = 9.81
HIP_JOINTS = np.array([[HIP_HALF_WIDTH, -HIP_DROP, 0.0], [-HIP_HALF_WIDTH, -HIP_DROP, 0.0]])


@dataclass(frozen=True)
class Pelvis:
    """The pelvis over time, and the body's lean that the trunk shares.

    Attributes:
        position: ``[T, 3]``, metres.
        rotation: ``[T, 4]``.
        yaw, bank, pitch: its angles ``[T]`` against the facing, the vertical (left side up) and the horizon, radians.
        separation: ``[T]`` how far the left ankle is ahead of the right one, metres, smooth.
        lean: ``[T, 2]`` how far the body leans to the left and forward, radians.
        shift: ``[T]`` share of weight on the left (1) or right (-1) foot, smooth.
        effort: ``[T]`` 0 at rest to 1 in locomotion.
    """

    position: Array
    rotation: Array
    yaw: Array
    bank: Array
    pitch: Array
    separation: Array
    lean: Array
    shift: Array
    effort: Array


def leg_reach(flexion: Array | float) -> Array:
    """Distance from hip joint to ankle at a knee flexion, metres."""
    return np.sqrt(THIGH**2 + SHANK**2 + 2.0 * THIGH * SHANK * np.cos(flexion))


def move_pelvis(
    path: BodyPath,
    feet: Feet,
    footsteps: Footsteps,
    style: Style,
    crouch: Array,
    terrain: Terrain,
    rng: np.random.Generator,
) -> Pelvis:
    """The pelvis over the feet.

    Args:
        path: where the body goes.
        feet: what carries it.
        footsteps: for the flights.
        style: how.
        crouch: ``[T]`` 0 upright to 1 deep; jumps add their own.
        terrain: for the level that the body follows.
        rng: sway at rest and variation.
    """
    rate, frames = path.rate, path.frame_count
    effort = smooth(ramp(path.speed + 0.25 * np.abs(path.turning), 0.05, 0.9), 0.12, rate)
    run = smooth(np.nan_to_num(feet.run).max(axis=0), 0.10, rate)
    left, ahead = _feet_in_facing(path, feet)
    separation = smooth(ahead[0] - ahead[1], 0.045, rate)
    total = np.maximum(feet.load.sum(axis=0), 1e-3)
    shift = smooth((feet.load[0] - feet.load[1]) / np.maximum(total, 0.3), 0.05, rate)

    noise = smooth_noise(rng, frames, rate, 1.1, 4)
    idle = smooth_noise(rng, frames, rate, 1.6, 2) * (1.0 - effort)[:, None]
    unsteady = style.unsteady
    gain = style.pelvis * (1.0 + 0.10 * unsteady * noise[:, 0])
    local = path.in_facing(path.velocity)
    sideways = smooth(np.clip(0.14 * local[:, 0] / np.maximum(path.speed, 0.6), -0.14, 0.14), 0.1, rate)
    yaw = -(0.21 - 0.04 * run) * gain * separation + sideways + 0.012 * unsteady * noise[:, 1] * effort
    bank = gain * (3.2 + 1.0 * run) * _DEGREE * smooth(shift, 0.03, rate) * (0.25 + 0.75 * effort)
    bank += style.side * 0.25 * _DEGREE + 1.1 * _DEGREE * idle[:, 0]
    lean = _lean(path, style, crouch + squat(footsteps.flights, frames, rate), run)
    sway = _sway(path, feet, left, style, effort, run) + 0.016 * idle[:, 0] * max(1.0, 0.4 * unsteady)
    sway += 0.006 * unsteady * noise[:, 2] * effort
    surge = 0.008 * idle[:, 1] + 0.004 * unsteady * noise[:, 3] * effort - 0.03 * np.sin(lean[:, 1])
    pitch = 0.35 * lean[:, 1] + 3.0 * _DEGREE * run + 6.0 * _DEGREE * crouch
    bank -= 0.35 * lean[:, 0]
    rotation = _rotation(path.facing + yaw, pitch, bank)
    level = smooth(terrain.height(path.position[:, 1]), 0.16, rate)

    sine, cosine = np.sin(path.facing), np.cos(path.facing)
    position = np.zeros((frames, 3))
    # The path is the chest's: under a lean the pelvis stays behind and outside.
    sway = sway - 0.26 * np.sin(lean[:, 0])
    surge = surge - 0.20 * np.sin(lean[:, 1] - style.lean * _DEGREE)
    offset = np.stack([sway * cosine + surge * sine, surge * cosine - sway * sine], axis=-1)
    position[:, [0, 2]] = path.position + smooth(offset, 0.045, rate)
    height = _height(path, feet, footsteps, style, crouch, position, rotation, run, level)
    trade = _surge(path, height - level, run)
    position[:, 0] += trade * sine
    position[:, 2] += trade * cosine
    position[:, 1] = _height(path, feet, footsteps, style, crouch, position, rotation, run, level)
    return Pelvis(position, rotation, yaw, bank, pitch, separation, lean, shift, effort)


def _rotation(yaw: Array, pitch: Array, bank: Array) -> Array:
    zero = np.zeros_like(yaw)
    about_x = np.stack([np.sin(0.5 * pitch), zero, zero, np.cos(0.5 * pitch)], axis=-1)
    about_z = np.stack([zero, zero, np.sin(0.5 * bank), np.cos(0.5 * bank)], axis=-1)
    return quaternions.multiply(quaternions.from_yaw(yaw), quaternions.multiply(about_x, about_z))


def _feet_in_facing(path: BodyPath, feet: Feet) -> tuple[Array, Array]:
    """Ankles seen from the body's path: to the left ``[2, T]`` and ahead ``[2, T]``."""
    offset = feet.ankle[:, :, [0, 2]] - path.position
    parts = [path.in_facing(offset[foot]) for foot in (0, 1)]
    return np.stack([part[:, 0] for part in parts]), np.stack([part[:, 1] for part in parts])


def _lean(path: BodyPath, style: Style, crouch: Array, run: Array) -> Array:
    """How the body leans: against its acceleration, and forward as it gets faster."""
    felt = smooth(path.in_facing(path.acceleration), 0.05, path.rate)
    forward = path.in_facing(path.velocity)[:, 1]
    left = 0.50 * np.arctan(felt[:, 0] / _GRAVITY)
    ahead = 0.40 * np.arctan(felt[:, 1] / _GRAVITY) + (1.1 * forward + 2.5 * run) * _DEGREE
    ahead = ahead + style.lean * _DEGREE + 16.0 * _DEGREE * crouch
    return np.stack([np.clip(left, -0.30, 0.30), np.clip(ahead, -0.25, 0.75)], axis=-1)


def _sway(path: BodyPath, feet: Feet, left: Array, style: Style, effort: Array, run: Array) -> Array:
    """Lateral shift of the pelvis towards the foot that carries it: about 2 cm to each side in free walking."""
    weight = feet.load / np.maximum(feet.load.sum(axis=0), 0.3)
    centre = np.clip((weight * left).sum(axis=0), -0.2, 0.2)
    share = (0.42 - 0.12 * run) * (0.5 + 0.5 * effort) * (0.6 + 0.4 * style.pelvis)
    # Sideways travel carries the body over its feet as it is.
    share = share / (1.0 + 3.0 * smooth(np.abs(path.in_facing(path.velocity)[:, 0]), 0.1, path.rate))
    limp = -0.02 * style.limp * effort
    return smooth(share * centre, 0.07, path.rate) + limp


def _surge(path: BodyPath, height: Array, run: Array) -> Array:
    """Fore-and-aft fluctuation within a step: a walker trades speed for height, a runner loses both in mid-stance."""
    forward = path.in_facing(path.velocity)[:, 1]
    high = height - smooth(height, 0.30, path.rate)
    gain = 0.6 * forward / (forward**2 + 0.6) * (1.0 - 1.8 * run)
    change = np.cumsum(-_GRAVITY * gain * high) / path.rate
    return np.clip(change - smooth(change, 0.25, path.rate), -0.03, 0.03)


def _height(
    path: BodyPath,
    feet: Feet,
    footsteps: Footsteps,
    style: Style,
    crouch: Array,
    position: Array,
    rotation: Array,
    run: Array,
    level: Array,
) -> Array:
    rate, frames = path.rate, path.frame_count
    hips = np.stack([quaternions.rotate(rotation, joint) for joint in HIP_JOINTS])
    ground = position[None, :, [0, 2]] + hips[:, :, [0, 2]]
    apart = np.linalg.norm(ground - feet.ankle[:, :, [0, 2]], axis=-1)

    def height(reach: Array | float) -> Array:
        """Pelvis height at which each leg spans ``reach``."""
        span = np.sqrt(np.maximum(reach**2 - apart**2, 0.15**2))
        return np.asarray(feet.ankle[:, :, 1] + span - hips[:, :, 1])

    bend = (style.knee + 62.0 * crouch) * _DEGREE
    progress = np.nan_to_num(feet.progress, nan=0.5)
    flexion = np.clip(gait.stance_knee_walk(progress, feet.speed) + bend, 3.0 * _DEGREE, None)
    if style.limp:
        flexion[0] = np.clip(0.55 * flexion[0], 3.0 * _DEGREE, None)
    flexion += 2.5 * (style.bounce - 1.0) * _DEGREE * np.cos(2.0 * np.pi * progress) * (feet.speed > 0.1)
    # Each leg's height over its own ground: on slopes and stairs the body follows the level, and the upper leg bends.
    walk = level + _weighted(height(leg_reach(flexion)) - feet.ground, feet)
    running = gait.stance_knee_run(np.full_like(progress, 0.5)) + 0.6 * bend
    base = level + _at_mid_stance(height(leg_reach(running)) - feet.ground, footsteps, rate)
    result: Array = (1.0 - run) * walk + run * (base + _bounce(footsteps.ordered(), frames, rate))
    limit = _reach_limit(feet, height)
    for _ in range(2):
        result = smooth(np.minimum(result, limit), 0.034, rate)
    for flight in footsteps.flights:
        result = _leap(result, flight.start, flight.stop, flight.standing, rate)
    return result - _covering(np.maximum(result - limit, 0.0), 0.065, rate)


def _reach_limit(feet: Feet, height: Callable[[Array | float], Array]) -> Array:
    """Height of the pelvis above which a leg would be too straight ``[T]``.

    No standing leg is stretched beyond a slight bend of the knee, and the knee is already bending at push-off. Swinging
    legs count just after they left and just before they land.
    """
    bent = (6.0 + 15.0 * ramp(np.nan_to_num(feet.progress), 0.72, 1.0)) * _DEGREE
    limit = np.where(feet.down, height(leg_reach(bent)), np.inf)
    limit = np.where(feet.aloft < 0.045, height(leg_reach(21.0 * _DEGREE)), limit)
    return np.asarray(np.where(feet.landing < 0.035, height(leg_reach(3.5 * _DEGREE)), limit).min(axis=0))


def _covering(values: Array, seconds: float, rate: float) -> Array:
    """A smooth curve that is nowhere below ``values``: the maximum over a window, then a bell no wider than it."""
    half = max(1, round(seconds * rate))
    bell = np.hanning(2 * half + 3)[1:-1]
    high = maximum_filter1d(values, 2 * half + 1, mode="nearest")
    return np.asarray(np.convolve(np.pad(high, half, mode="edge"), bell / bell.sum(), mode="valid"), np.float64)


def _weighted(heights: Array, feet: Feet) -> Array:
    """Heights of both legs, weighted by load; flights are bridged."""
    frames = heights.shape[1]
    load = feet.load * feet.down
    total = load.sum(axis=0)
    known = total > 1e-3
    mixed = (heights * load).sum(axis=0) / np.maximum(total, 1e-3)
    at = np.arange(frames)
    return np.asarray(np.interp(at, at[known], mixed[known]) if known.any() else mixed)


def _at_mid_stance(heights: Array, footsteps: Footsteps, rate: float) -> Array:
    """Heights of the standing legs at the middle of each stance, joined smoothly."""
    frames = heights.shape[1]
    keys: dict[int, float] = {}
    for step in footsteps.ordered():
        stop = min(step.lift, (frames - 1) / rate)
        middle = round(0.5 * (max(step.land, 0.0) + stop) * rate)
        keys[min(middle, frames - 1)] = float(heights[step.foot, min(middle, frames - 1)])
    times = np.array(sorted(keys), np.float64)
    values = np.array([keys[int(t)] for t in times])
    return smooth(keyed(times, values, np.arange(frames, dtype=np.float64)), 0.06, rate)


def _bounce(steps: list[Step], frames: int, rate: float) -> Array:
    """Vertical motion of a runner about the mid-stance height: a parabola in flight, half a sine in stance."""
    time = np.arange(frames) / rate
    result = np.zeros(frames)
    for step, following in pairwise(steps):
        if step.run < 0.05 or not np.isfinite(step.lift) or following.leap:
            continue
        # Weight is borne for less long than the foot touches: effective contact is some 60 % of a step
        # (R. Blickhan, J. Biomech. 22, 1989), and the body flies, to its own feeling, the rest of it.
        period = following.land - step.land
        contact = min(step.lift - step.land, 0.60 * period)
        start = step.land + 0.5 * (step.lift - step.land - contact)
        rise = 0.5 * _GRAVITY * (period - contact)
        depth = rise * contact / np.pi
        a, m, b = np.searchsorted(time, [start, start + contact, start + period])
        result[a:m] = depth * (1.0 - np.sin(np.pi * (time[a:m] - start) / contact))
        t = time[m:b] - start - contact
        result[m:b] = depth + rise * t - 0.5 * _GRAVITY * t * t
    return result


def squat(flights: tuple[Flight, ...], frames: int, rate: float) -> Array:
    """How far the trunk folds before and after jumps ``[T]``: 0 upright to 1 as in a deep crouch."""
    time = np.arange(frames) / rate
    result = np.zeros(frames)
    for flight in flights:
        before = soft_step((time - flight.start + 0.62) / 0.36) * (1.0 - soft_step((time - flight.start + 0.22) / 0.24))
        after = soft_step((time - flight.stop) / 0.16) * (1.0 - soft_step((time - flight.stop - 0.22) / 0.60))
        result += 1.1 * before * flight.standing + (0.9 if flight.standing else 0.3) * after
    return result


def _leap(height: Array, start: float, stop: float, standing: bool, rate: float) -> Array:
    """A jump's height: sink, ballistic flight, and give on landing."""
    result = height.copy()
    time = np.arange(len(height)) / rate
    flight = stop - start
    speed = 0.5 * _GRAVITY * flight
    a, b = np.searchsorted(time, [start, stop])
    if b >= len(height) or a < 2:
        return result
    if standing:
        sink = np.where(time < start, -0.26 * soft_step((time - start + 0.62) / 0.40), 0.0)
        drive = soft_step((time - start + 0.22) / 0.22)
        top_start = float(height[a]) + 0.035
        before = height + sink * (1.0 - drive) + 0.035 * drive
        result[:a] = before[:a]
        give = 0.19
    else:
        top_start = float(height[a]) + 0.02
        result[:a] += 0.02 * soft_step((time[:a] - start + 0.15) / 0.15)
        give = 0.08
    t = time[a:b] - start
    top_stop = float(height[b]) + 0.01
    straight = top_start + (top_stop - top_start) * t / flight
    result[a:b] = straight + speed * t - 0.5 * _GRAVITY * t * t
    # Landing: a damped dip that starts with the speed of the fall.
    after = time[b:] - stop
    stiff = speed / give * np.e**-1.0
    tail = 1.0 + after * 0.0
    result[b:] = height[b:] + 0.01 * np.exp(-after / 0.1) * tail - speed * after * np.exp(-after * stiff)
    return result
