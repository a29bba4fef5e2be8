"""Trunk, head and arms: what rides on the pelvis.

The chest turns against the pelvis, the arms swing against the legs (both are driven by how far one foot is ahead of the
other, so they follow any gait, start and stop by themselves), the head stays level and looks into the turn. Ranges from
J. Perry and J. M. Burnfield, "Gait Analysis", 2nd ed. (2010), ch. 8, and T. F. Novacheck, Gait and Posture 7 (1998).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.synthesis.curves import smooth, smooth_noise, soft_step
from ambulo.synthesis.path import BodyPath
from ambulo.synthesis.pelvis import Pelvis
from ambulo.synthesis.steps import Flight
from ambulo.synthesis.styles import Style

Array = NDArray[np.floating]

_DEGREE = np.pi / 180.0
# How the trunk's rotation is shared by the three joints of the spine.
_SHARES = np.array([0.26, 0.37, 0.37])
_HUNCH_SHARES = np.array([0.10, 0.35, 0.55])


def rotation(x: Array | float, y: Array | float, z: Array | float, frames: int) -> Array:
    """Rotation about Z, then X, then Y (``Y X Z``), as for a trunk: bank, then pitch, then turn. ``[T, 4]``."""
    parts = []
    for axis, angle in enumerate((x, y, z)):
        half = 0.5 * np.broadcast_to(np.asarray(angle, np.float64), (frames,))
        q = np.zeros((frames, 4))
        q[:, axis], q[:, 3] = np.sin(half), np.cos(half)
        parts.append(q)
    return quaternions.multiply(parts[1], quaternions.multiply(parts[0], parts[2]))


def pose_upper_body(
    path: BodyPath,
    pelvis: Pelvis,
    style: Style,
    crouch: Array,
    run: Array,
    flights: tuple[Flight, ...],
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Local rotations of all joints above the hips, by joint name ``[T, 4]``."""
    rate, frames = path.rate, path.frame_count
    time = np.arange(frames) / rate
    noise = smooth_noise(rng, frames, rate, 0.9, 8) * style.unsteady
    rest = smooth_noise(rng, frames, rate, 1.8, 8) * (1.0 - 0.7 * pelvis.effort)[:, None]
    tremble = smooth_noise(rng, frames, rate, 0.045, 8) * (style.tremble * _DEGREE)
    period = 3.6 - 1.2 * pelvis.effort.mean()
    breath = np.sin(2.0 * np.pi * time / period + 0.6 * smooth_noise(rng, frames, rate, 2.5)[:, 0]) * style.breath
    spine, chest = _trunk(path, pelvis, style, crouch, noise, rest, tremble, breath)
    result = dict(zip(("Spine", "Spine1", "Spine2"), spine, strict=True))
    result |= _head(path, pelvis, style, chest, noise, rest, tremble)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        result |= _arm(side, sign, path, pelvis, style, crouch, run, flights, noise, rest, tremble, breath)
    return result


def _trunk(
    path: BodyPath,
    pelvis: Pelvis,
    style: Style,
    crouch: Array,
    noise: Array,
    rest: Array,
    tremble: Array,
    breath: Array,
) -> tuple[list[Array], Array]:
    """Local rotations of the spine, and the chest's rotation in the world."""
    frames = path.frame_count
    into_turn = smooth(np.clip(0.05 * path.turning, -0.15, 0.15), 0.12, path.rate)
    chest_yaw = style.twist * (0.17 + 0.02 * noise[:, 0]) * pelvis.separation + into_turn
    chest_yaw = chest_yaw + 1.6 * _DEGREE * rest[:, 0] + 0.5 * tremble[:, 0]
    turn = chest_yaw - pelvis.yaw
    bank = style.side * _DEGREE - pelvis.lean[:, 0] - pelvis.bank * 0.85
    bank = bank + 0.9 * _DEGREE * rest[:, 1] + 0.25 * _DEGREE * noise[:, 1] * pelvis.effort
    # Thorax leans a little over the standing foot; an injured side makes it lurch.
    bank = bank - (1.2 + 7.0 * style.limp * (pelvis.shift > 0.0)) * _DEGREE * smooth(pelvis.shift, 0.06, path.rate)
    pitch = pelvis.lean[:, 1] * 0.65 + 8.0 * _DEGREE * crouch
    pitch = (
        pitch + (0.8 * rest[:, 2] + 0.35 * noise[:, 2] * pelvis.effort - 0.5 * breath) * _DEGREE + 0.5 * tremble[:, 1]
    )
    locals_ = []
    chest = pelvis.rotation
    for share, curl in zip(_SHARES, _HUNCH_SHARES, strict=True):
        part = rotation(share * pitch + curl * style.hunch * _DEGREE, share * turn, share * bank, frames)
        locals_.append(part)
        chest = quaternions.multiply(chest, part)
    return locals_, chest


def _head(
    path: BodyPath, pelvis: Pelvis, style: Style, chest: Array, noise: Array, rest: Array, tremble: Array
) -> dict[str, Array]:
    """Neck and head share the way from the chest to where the head looks."""
    frames = path.frame_count
    # Heads lead turns by a few tenths of a second (T. Imai et al., Exp. Brain Res. 136, 2001).
    ahead = np.minimum(np.arange(frames) + round(0.22 * path.rate), frames - 1)
    lead = np.clip(smooth(path.facing[ahead] - path.facing, 0.06, path.rate), -0.6, 0.6)
    yaw = path.facing + lead + (5.0 * rest[:, 3] + 1.2 * noise[:, 3]) * _DEGREE
    pitch = style.head * _DEGREE + 0.30 * np.maximum(pelvis.lean[:, 1], 0.0) + 3.0 * _DEGREE
    pitch = pitch + (1.5 * rest[:, 4] + 0.6 * noise[:, 4]) * _DEGREE + tremble[:, 2]
    bank = -style.tilt * _DEGREE - 0.35 * pelvis.lean[:, 0] + 0.8 * _DEGREE * rest[:, 5] + tremble[:, 3]
    target = rotation(pitch, yaw, bank, frames)
    relative = quaternions.to_scaled_angle_axis(quaternions.inverse_multiply(chest, target))
    half = quaternions.from_scaled_angle_axis(0.5 * relative)
    return {"Neck": half, "Head": half.copy()}


def _arm(
    side: str,
    sign: float,
    path: BodyPath,
    pelvis: Pelvis,
    style: Style,
    crouch: Array,
    run: Array,
    flights: tuple[Flight, ...],
    noise: Array,
    rest: Array,
    tremble: Array,
    breath: Array,
) -> dict[str, Array]:
    frames, rate = path.frame_count, path.rate
    index = 0 if sign > 0 else 1
    own, still = noise[:, 5 + index], rest[:, 6 + index] if index == 0 else rest[:, 5]
    shake = tremble[:, 4 + index]
    gain = style.swing[index] * (0.64 + 0.58 * run) * (1.0 + 0.09 * own)
    delayed = _delay(pelvis.separation, 0.035, rate)
    swing = 0.75 * np.tanh(-sign * gain * delayed / 0.75)
    jumping = _jump_arms(flights, frames, rate)
    flex = style.flex[index] * _DEGREE * (1.0 - 0.5 * run) - (4.0 + 3.0 * run) * _DEGREE + swing + 1.3 * jumping
    flex = flex + (1.5 * still + 0.9 * own * pelvis.effort) * _DEGREE + 0.8 * shake
    # The upper arm hangs from a trunk that leans: gravity takes part of the lean back out.
    flex = flex + 0.55 * np.maximum(pelvis.lean[:, 1], 0.0) + 0.35 * style.hunch * _DEGREE
    spread = (style.spread + 4.0 * run + 8.0 * crouch + 1.0 * still + 0.6 * own) * _DEGREE
    spread = spread + np.clip(0.04 * np.abs(path.turning), 0.0, 0.15) + 0.10 * np.abs(jumping)
    spread = smooth(spread, 0.04, rate)
    inward = (style.inward + 6.0 * run) * _DEGREE + 0.25 * swing
    elbow = style.elbow[index] * (1.0 - run) + np.maximum(style.elbow[index], 84.0) * run + 22.0 * crouch
    forward = np.maximum(swing, -0.2)
    bend = elbow * _DEGREE + (0.55 + 0.15 * run) * forward + (1.5 * still + 1.2 * own) * _DEGREE + shake
    bend = smooth(np.clip(bend + 0.5 * jumping, 4.0 * _DEGREE, 2.5), 0.03, rate)

    down = 0.5 * np.pi - spread
    lower = rotation(0.0, 0.0, -sign * down, frames)
    twist = rotation(inward, 0.0, 0.0, frames)
    arm = quaternions.multiply(rotation(-flex, 0.0, 0.0, frames), quaternions.multiply(lower, twist))
    raised = (style.shoulders + 1.2 * breath + 3.0 * run) * _DEGREE + 0.05 * np.maximum(flex, 0.0)
    collar = rotation(0.0, -sign * 0.14 * swing - sign * 0.06 * np.maximum(flex, 0.0), sign * raised, frames)
    fore = rotation(0.0, -sign * bend, 0.0, frames)
    relaxed = 6.0 * _DEGREE + 0.10 * swing + 0.3 * shake
    hand = rotation(0.15, -sign * relaxed, -sign * 4.0 * _DEGREE, frames)
    curl = (24.0 + 22.0 * run + 1.5 * own) * _DEGREE
    fingers = rotation(0.0, 0.0, -sign * curl, frames)
    return {
        f"{side}Shoulder": collar,
        f"{side}Arm": arm,
        f"{side}ForeArm": fore,
        f"{side}Hand": hand,
        f"{side}HandMiddle1": fingers,
    }


def _delay(values: Array, seconds: float, rate: float) -> Array:
    at = np.arange(len(values)) - seconds * rate
    return np.asarray(np.interp(at, np.arange(len(values)), values))


def _jump_arms(flights: tuple[Flight, ...], frames: int, rate: float) -> Array:
    """Flexion of both shoulders in a jump: back, up, and down again, radians."""
    time = np.arange(frames) / rate
    result = np.zeros(frames)
    for flight in flights:
        size = 1.0 if flight.standing else 0.45
        back = soft_step((time - flight.start + 0.62) / 0.34) * (1.0 - soft_step((time - flight.start + 0.24) / 0.26))
        up = soft_step((time - flight.start + 0.22) / 0.30) * (1.0 - soft_step((time - flight.stop + 0.22) / 0.60))
        result += size * (1.15 * up - 0.75 * back * flight.standing)
    return result


def knee_heading(path: BodyPath, pelvis: Pelvis, foot_yaw: Array) -> Array:
    """Where a knee points ``[T]``: between the pelvis and the foot."""
    hips = path.facing + pelvis.yaw
    return hips + 0.6 * np.clip(foot_yaw - hips, -1.3, 1.3)
