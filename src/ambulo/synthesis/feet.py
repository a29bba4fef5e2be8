"""Foot trajectories: rockers in stance about a pivot that does not move, and a swing in between.

In stance a foot turns about its heel (heel rocker), lies flat (ankle rocker), then turns about the ball (toe rocker)
with the toes flat on the ground (J. Perry and J. M. Burnfield, "Gait Analysis", 2nd ed., 2010). In swing a *guide
point* slides along the sole from the pivot that left the ground to the pivot that will land, and travels from the one
place to the other; since its slide along the sole and its speed over the ground start and end at or near zero, the foot
leaves and meets the ground without a jolt. The height of the swing is that of the sole's lowest point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from ambulo.maths import quaternions
from ambulo.synthesis.body import BALL_FORWARD, BALL_HEIGHT, BALL_JOINT, HEEL_BACK, HEEL_SOLE, TOE_LENGTH
from ambulo.synthesis.curves import keyed, ramp, soft_step
from ambulo.synthesis.steps import Footsteps, Step
from ambulo.synthesis.terrain import Terrain

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Feet:
    """Both feet over time; index 0 is left.

    Attributes:
        ankle: ``[2, T, 3]`` world positions of the ankle joints, metres.
        rotation: ``[2, T, 4]`` world rotations of the foot.
        bend: ``[2, T]`` dorsiflexion of the toe joint, radians.
        yaw: ``[2, T]`` heading, radians.
        toe_contact: bool ``[2, T]``: the toe joint stands still on the ground.
        heel_contact: bool ``[2, T]``: the heel stands still on the ground.
        load: ``[2, T]`` share of the body's weight, smooth; both zero in flight.
        progress: ``[2, T]`` 0 at landing to 1 at lift-off in stance; NaN in swing.
        aloft: ``[2, T]`` seconds since the foot lifted; infinite in stance.
        landing: ``[2, T]`` seconds until the foot lands; infinite in stance.
        ground: ``[2, T]`` height of the ground under the place of the step under way, held through the swing.
        speed, run: ``[2, T]`` of the step under way, held through the swing.
    """

    ankle: Array
    rotation: Array
    bend: Array
    yaw: Array
    toe_contact: NDArray[np.bool_]
    heel_contact: NDArray[np.bool_]
    load: Array
    progress: Array
    aloft: Array
    landing: Array
    ground: Array
    speed: Array
    run: Array

    @property
    def ease(self) -> Array:
        """How freely the leg may shorten ``[2, T]``: 0 in stance, up to 1 in a runner's swing but for its ends."""
        free = np.minimum(soft_step(self.aloft / 0.055), soft_step(self.landing / 0.075))
        return np.where(self.down, 0.0, free * (0.35 + 0.65 * self.run))

    @property
    def down(self) -> NDArray[np.bool_]:
        """Whether any part of a foot is on the ground, bool ``[2, T]``."""
        return np.isfinite(self.progress)


def _travel_profile(start: float, stop: float, rest: float) -> Array:
    """Share of the way against share of the time in a swing: a smooth trapezoid of speed.

    A foot still moves a little when it meets the ground; ``rest`` is that share of its top speed.
    """
    speed = ramp(_TRAVEL_TIMES, 0.0, start) * (1.0 - (1.0 - rest) * ramp(_TRAVEL_TIMES, stop, 1.0))
    way = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]))])
    return np.asarray(way / way[-1])


_TRAVEL_TIMES = np.linspace(0.0, 1.0, 4097)
_TRAVEL_WALK, _TRAVEL_RUN = _travel_profile(0.32, 0.68, 0.06), _travel_profile(0.25, 0.76, 0.20)


_SOFTNESS = 0.0015  # How far apart two sole points count as level, m.


def _pivot(pitch: float) -> int:
    """0 where the foot turns about its ball (heel up), 1 about its heel (toe up)."""
    return 1 if pitch > 0.0 else 0


def place_feet(footsteps: Footsteps, frames: int, rate: float, terrain: Terrain) -> Feet:
    """Foot trajectories ``T`` frames long."""
    time = np.arange(frames) / rate
    parts = [_one_foot(footsteps.steps[foot], footsteps.steps[1 - foot], time, terrain) for foot in (0, 1)]
    return Feet(*(np.stack([left, right]) for left, right in zip(*parts, strict=True)))


def _one_foot(steps: tuple[Step, ...], others: tuple[Step, ...], time: Array, terrain: Terrain) -> tuple[Array, ...]:
    frames = len(time)
    pitch, bend, yaw, slope = _angles(steps, time, terrain)
    rotation = quaternions.multiply(quaternions.from_yaw(yaw), _about_x(-(pitch + slope)))
    guide, slide = np.zeros((frames, 3)), np.zeros(frames)
    toe, heel = np.zeros(frames, bool), np.zeros(frames, bool)
    load, progress = np.zeros(frames), np.full(frames, np.nan)
    speed, run, ground = np.zeros(frames), np.zeros(frames), np.zeros(frames)
    aloft, landing = np.full(frames, np.inf), np.full(frames, np.inf)
    for i, step in enumerate(steps):
        stop = steps[i + 1].land if i + 1 < len(steps) else np.inf
        a, b = np.searchsorted(time, [step.land, min(stop, time[-1] + 1.0)])
        lifted = int(np.searchsorted(time, min(step.lift, time[-1] + 1.0), side="right"))
        stance, swing = slice(a, min(lifted, b)), slice(min(lifted, b), b)
        speed[a:b], run[a:b] = step.speed, step.run
        ground[a:b] = _footing(step, terrain)[0]
        flat, rise = _flat_time(step), step.lift - step.roll_time
        heel_point, ball_point = _sole(step, terrain)
        now = time[stance]
        on_heel = pitch[stance] > 0.0
        guide[stance] = np.where(on_heel[:, None], heel_point, ball_point)
        slide[stance] = on_heel
        toe[stance] = np.where(now < flat, step.land_pitch <= 0.0, (now <= rise) | (step.lift_pitch <= 0.0))
        heel[stance] = np.where(now < flat, step.land_pitch > 0.0, (now <= rise) | (step.lift_pitch > 0.0))
        progress[stance] = _progress(step, now)
        load[stance] = ramp(now, step.land - 0.02, step.land + 0.30 * step.nominal) * (
            1.0 - ramp(now, step.lift - 0.30 * step.nominal, step.lift + 0.02) if np.isfinite(step.lift) else 1.0
        )
        if i + 1 < len(steps) and swing.stop > swing.start:
            aloft[swing], landing[swing] = time[swing] - step.lift, stop - time[swing]
            _swing(step, steps[i + 1], others, time, swing, rotation, bend, guide, slide, terrain)
    arm = BALL_JOINT + slide[:, None] * (HEEL_SOLE - BALL_JOINT)
    ankle = guide - quaternions.rotate(rotation, arm)
    return ankle, rotation, bend, yaw, toe, heel, load, progress, aloft, landing, ground, speed, run


def _flat_time(step: Step) -> float:
    return min(step.land + step.flat[0] * step.nominal, step.land + 0.45 * (step.lift - step.land))


def _progress(step: Step, time: Array) -> Array:
    """0 to 1 through a stance; a stance longer than its speed's waits at mid-stance."""
    nominal = min(step.nominal, step.lift - step.land)
    early = np.minimum((time - step.land) / nominal, 0.5)
    late = np.maximum(1.0 - (step.lift - time) / nominal, 0.5) if np.isfinite(step.lift) else 0.5
    return np.asarray(np.clip(early + late - 0.5, 0.0, 1.0))


def _footing(step: Step, terrain: Terrain) -> tuple[float, float]:
    """Ground height under the ankle and tilt along a flat foot: a chord from under the heel to under the ball."""
    z, cosine = step.place[1], float(np.cos(step.yaw))
    if terrain.treads:
        return float(terrain.height(z)), 0.0
    heel, ball = terrain.height(z + np.array([-HEEL_BACK, BALL_FORWARD]) * cosine)
    rise = float(ball - heel) / (HEEL_BACK + BALL_FORWARD)
    return float(heel) + rise * HEEL_BACK, float(np.arctan(rise))


def _sole(step: Step, terrain: Terrain) -> tuple[Array, Array]:
    """World places of the heel's sole and of the toe joint while the foot is flat."""
    sine, cosine = np.sin(step.yaw), np.cos(step.yaw)
    height, tilt = _footing(step, terrain)
    base = np.array([step.place[0], height, step.place[1]])
    ahead = np.array([sine * np.cos(tilt), np.sin(tilt), cosine * np.cos(tilt)])
    normal = np.array([-sine * np.sin(tilt), np.cos(tilt), -cosine * np.sin(tilt)])
    heel = base + HEEL_SOLE[2] * ahead
    ball = base + BALL_JOINT[2] * ahead + BALL_HEIGHT * normal
    return heel, ball


def _angles(steps: tuple[Step, ...], time: Array, terrain: Terrain) -> tuple[Array, Array, Array, Array]:
    """Pitch over the ground, toe bend, heading and ground slope along the foot ``[T]``."""
    pitch: list[tuple[float, float]] = []
    bend: list[tuple[float, float]] = []
    yaw: list[tuple[float, float]] = []
    slope: list[tuple[float, float]] = []
    for i, step in enumerate(steps):
        heading = step.yaw
        flat = _flat_time(step)
        ground = _footing(step, terrain)[1]
        if i:
            pitch.append((step.land, step.land_pitch))
            bend.append((step.land, max(-step.land_pitch, 0.0)))
            yaw.append((step.land, heading))
            slope.append((step.land, ground))
        pitch.append((flat, 0.0))
        bend.append((flat, 0.0))
        if not np.isfinite(step.lift):
            yaw.append((flat, heading))
            slope.append((flat, ground))
            break
        rise = max(step.lift - step.roll_time, flat + 1e-3)
        middle = rise + 0.55 * (step.lift - rise)
        pitch += [(rise, 0.0), (middle, 0.42 * step.lift_pitch), (step.lift, step.lift_pitch)]
        raised = max(-step.lift_pitch, 0.0)
        bend += [(rise, 0.0), (middle, 0.42 * raised), (step.lift, raised)]
        yaw += [(rise, heading), *((time, heading + angle) for time, angle in step.swivel if time > rise + 1e-3)]
        heading = yaw[-1][1]
        slope.append((step.lift, ground))
        if i + 1 == len(steps):
            break
        following = steps[i + 1]
        swing = following.land - step.lift
        back = min(0.0, 1.12 * step.lift_pitch - 0.25 * following.run)
        pitch += [
            (step.lift + 0.20 * swing, back if step.lift_pitch < 0.0 else step.lift_pitch),
            (step.lift + 0.62 * swing, 0.5 * min(following.land_pitch, 0.0) - 0.12 * following.run - 0.04),
            (step.lift + 0.88 * swing, 1.08 * following.land_pitch),
        ]
        bend += [
            (step.lift + 0.30 * swing, 0.12),
            (step.lift + 0.80 * swing, 0.10 + 0.5 * max(-following.land_pitch, 0.0)),
        ]
    curves = [_curve(keys, time) for keys in (pitch, bend, yaw, slope)]
    # In stance the toes lie flat: the bend is the heel's rise, exactly.
    for step in steps:
        stance = (time >= step.land) & (time <= step.lift)
        curves[1][stance] = np.maximum(-curves[0][stance], 0.0)
    return curves[0], curves[1], curves[2], curves[3]


def _curve(keys: list[tuple[float, float]], time: Array) -> Array:
    times, values = np.array(keys).T
    return keyed(times, values, time)


def _about_x(angle: Array) -> Array:
    zero = np.zeros_like(angle)
    return np.stack([np.sin(0.5 * angle), zero, zero, np.cos(0.5 * angle)], axis=-1)


def sole_points(rotation: Array, bend: Array) -> Array:
    """Heel, ball and toe tip as they would touch the ground, from the ankle, in the world. Returns ``[T, 3, 3]``."""
    heel = quaternions.rotate(rotation, HEEL_SOLE)
    ball = quaternions.rotate(rotation, BALL_JOINT)
    toe = quaternions.multiply(rotation, _about_x(-bend))
    tip = ball + quaternions.rotate(toe, np.array([0.0, -BALL_HEIGHT, TOE_LENGTH]))
    under = ball - np.array([0.0, BALL_HEIGHT, 0.0])
    return np.stack([heel, under, tip], axis=-2)


def _swing(
    step: Step,
    following: Step,
    others: tuple[Step, ...],
    time: Array,
    frames: slice,
    rotation: Array,
    bend: Array,
    guide: Array,
    slide: Array,
    terrain: Terrain,
) -> None:
    """Fill the guide point and its slide along the sole over one swing."""
    x = (time[frames] - step.lift) / (following.land - step.lift)
    travel = (1.0 - following.run) * _TRAVEL_WALK + following.run * _TRAVEL_RUN
    way = np.interp(x, _TRAVEL_TIMES, travel)
    start_pivot, stop_pivot = _pivot(step.lift_pitch), _pivot(following.land_pitch)
    start = _sole(step, terrain)[1 - start_pivot]
    stop = _sole(following, terrain)[1 - stop_pivot]
    s = start_pivot + (stop_pivot - start_pivot) * soft_step(x)
    point = start + way[:, None] * (stop - start)
    point += _around(step, following, others, way)[:, None] * _across(start, stop)
    # The guide point's height over the sole's lowest point, then clearance over the ground below every sole point.
    arm = BALL_JOINT + s[:, None] * (HEEL_SOLE - BALL_JOINT)
    guide_arm = quaternions.rotate(rotation[frames], arm)
    soles = sole_points(rotation[frames], bend[frames])
    places = point[:, None, 2] + (soles - guide_arm[:, None])[..., 2]
    start[1] + (stop[1] - start[1]) * way
    low = np.array([start[1] - (1 - start_pivot) * BALL_HEIGHT, stop[1] - (1 - stop_pivot) * BALL_HEIGHT])
    early, late = 1.0 - soft_step(x / 0.5), soft_step((x - 0.5) / 0.5)
    ground: Array | float = 0.0
    if not terrain.flat:
        ground = _over(np.maximum(terrain.height(places), (low[0] + (low[1] - low[0]) * way)[:, None]))
        # The smooth way over begins and ends where the foot stands.
        ground += (low[0] - ground[0]) * early[:, None] + (low[1] - ground[-1]) * late[:, None]
    height = _soft_maximum(ground - (soles - guide_arm[:, None])[..., 1], _SOFTNESS)
    # Ball and toe tip touch together where the toes are flat: take back what the soft maximum adds there.
    height -= _SOFTNESS * np.log(2.0) * ((1 - start_pivot) * early + (1 - stop_pivot) * late)
    peak = 0.42 if following.run > 0.5 else 0.5
    bump = np.where(x < peak, soft_step(x / peak), soft_step((1.0 - x) / (1.0 - peak)))
    extra = 0.09 * min(abs(stop[1] - start[1]) / 0.15, 1.0) if not terrain.flat else 0.0
    point[:, 1] = height + bump * (following.rise + extra)
    guide[frames], slide[frames] = point, s


def _over(ground: Array) -> Array:
    """A smooth way over ground that may step, for each sole point ``[T, 3]``: early up and late down."""
    width = max(3, len(ground) // 3)
    return np.asarray(gaussian_filter1d(maximum_filter1d(ground, width, axis=0), 0.35 * width, axis=0))


def _soft_maximum(values: Array, softness: float) -> Array:
    top = values.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + softness * np.log(np.exp((values - top) / softness).sum(axis=-1)))


def _across(start: Array, stop: Array) -> Array:
    """Unit ground vector to the left of the way."""
    d = stop - start
    length = np.hypot(d[0], d[2])
    return np.array([d[2], 0.0, -d[0]]) / length if length > 1e-3 else np.array([0.0, 0.0, 0.0])


def _around(step: Step, following: Step, others: tuple[Step, ...], way: Array) -> Array:
    """How far a swing goes around the standing foot, to the left of its way."""
    middle = 0.5 * (step.lift + following.land)
    standing = next((other for other in others if other.land <= middle <= other.lift), None)
    if standing is None:
        return np.zeros_like(way)
    a, b = np.array(step.place), np.array(following.place)
    d = b - a
    length = float(np.hypot(*d))
    if length < 0.05:
        return np.zeros_like(way)
    offset = np.array(standing.place) - a
    along = float(offset @ d) / length**2
    if not 0.0 < along < 1.0:
        return np.zeros_like(way)
    left = float(offset[0] * d[1] - offset[1] * d[0]) / length
    forward = np.array([np.sin(following.yaw), np.cos(following.yaw)])
    own = -1.0 if step.foot == 0 else 1.0
    across = float(forward[0] * d[1] - forward[1] * d[0]) / length
    if abs(across) > 0.6:
        # A sideways step: the trailing foot passes in front of the standing one, the leading foot behind it.
        leading = float(d @ np.array([forward[1], -forward[0]])) * -own > 0.0
        side = float(np.sign(across)) * (-1.0 if leading else 1.0)
        push = np.clip(0.20 + side * left, 0.0, 0.24)
        return np.asarray(side * push * np.sin(np.pi * soft_step(way)) ** 2)
    # Pass where there is already more room; the own side of the body breaks a tie.
    side = float(np.sign(left)) if abs(left) > 0.04 else own
    push = max(0.0, (0.115 + 0.03 * following.run) - abs(left))
    return np.asarray(-side * push * np.sin(np.pi * soft_step(way)) ** 2)
