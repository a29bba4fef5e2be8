"""How far joints turn: learned from takes, the same for every rig.

Of each joint the rotation vector away from the reference pose, seen from the joint above, gives a mean, a covariance,
the Mahalanobis distance that nearly all poses stay within, and the range of each axis. Both sides share one limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import PosingError
from ambulo.maths import quaternions
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.reference_pose import reference_pose
from ambulo.posing.body_points import body_points
from ambulo.posing.canonical_body import CanonicalBody, canonical_body
from ambulo.prepare.trim import usable_range

Double = NDArray[np.float64]

ABOVE: dict[str, str] = {
    "spine": "hips",
    "chest": "spine",
    "neck": "chest",
    "head": "neck",
    "shoulder": "chest",
    "upper_arm": "shoulder",
    "forearm": "upper_arm",
    "hand": "forearm",
    "upper_leg": "hips",
    "lower_leg": "upper_leg",
    "foot": "lower_leg",
    "toe": "foot",
}
"""Role (sides left out) -> the role above it."""

QUANTILE = 0.995
RANGE_QUANTILE = 0.002
_SLACK, _HINGE_SLACK = np.radians(10.0), np.radians(3.0)
_HINGES = ("forearm", "lower_leg")
"""What bends one way only: no slack there, or knees and elbows bend backwards."""
_LEAST = np.radians(4.0)
_TILTS = np.radians([0.0, 15.0, 30.0])
"""How far the hinge of the elbow may be turned about the arm in a rig's T-pose, from straight down; limits hold for all
of these (0 in most rigs, 29 degrees in CMU's)."""
_OTHER_SIDE = np.array([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class JointLimit:
    """How one joint turns against the one above; of paired joints the left one.

    Attributes:
        mean: float64 ``[3]``, radians, rotation vector in canonical axes.
        covariance: float64 ``[3, 3]``, square radians.
        distance: Mahalanobis distance within which it stays.
        lower: float64 ``[3]``, radians, least of each axis.
        upper: float64 ``[3]``, greatest.
    """

    mean: Double
    covariance: Double
    distance: float
    lower: Double
    upper: Double

    def mirrored(self) -> JointLimit:
        """Of the joint on the other side."""
        s = _OTHER_SIDE
        low, high = np.minimum(s * self.lower, s * self.upper), np.maximum(s * self.lower, s * self.upper)
        return JointLimit(s * self.mean, np.outer(s, s) * self.covariance, self.distance, low, high)

    def then(self, other: JointLimit) -> JointLimit:
        """Of two joints as one."""
        return JointLimit(
            self.mean + other.mean,
            self.covariance + other.covariance,
            max(self.distance, other.distance),
            self.lower + other.lower,
            self.upper + other.upper,
        )

    def shared(self, count: int) -> JointLimit:
        """Of each of ``count`` joints that do together what this one does."""
        return JointLimit(
            self.mean / count, self.covariance / count**2, self.distance, self.lower / count, self.upper / count
        )


@dataclass(frozen=True)
class JointLimits:
    """The limits of a humanoid.

    Attributes:
        joints: role with its side left out -> limit; against the role of :data:`ABOVE`.
    """

    joints: Mapping[str, JointLimit]

    def arrays(self) -> dict[str, Double]:
        """As arrays to be kept with a model: ``limits.ROLE`` -> ``[19]``."""
        return {
            f"limits.{role}": np.concatenate([x.mean, x.covariance.ravel(), [x.distance], x.lower, x.upper])
            for role, x in self.joints.items()
        }

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[np.floating]]) -> JointLimits:
        """The way back of :meth:`arrays`; other keys are passed over.

        Raises:
            PosingError: an array is not what it should be.
        """
        joints = {}
        for key, value in arrays.items():
            if not key.startswith("limits."):
                continue
            a = np.asarray(value, np.float64)
            if a.shape != (19,) or not np.isfinite(a).all():
                raise PosingError(f"the joint limit {key!r} is not 19 finite numbers", key=key)
            joints[key[7:]] = JointLimit(a[:3], a[3:12].reshape(3, 3), float(a[12]), a[13:16], a[16:19])
        return JointLimits(joints)

    def of(self, role: str) -> JointLimit:
        """The limit of a role on its side; wide where nothing was learned."""
        side, _, part = role.rpartition("_") if role in ABOVE else role.partition("_")
        part = role if role in ABOVE else part
        found = self.joints.get(part, _WIDE)
        return found.mirrored() if side == "right" else found

    def on(self, body: CanonicalBody) -> tuple[Double, Double, Double]:
        """Means ``[M, 3]``, precisions ``[M, 3, 3]`` and limits ``[M, 7]`` of a body's moving joints.

        Where the skeleton lacks a role, the joint below takes its share; joints of the spine that play no role divide
        the turn with the next one that does.
        """
        count = len(body.joints)
        means, precisions, limits = np.zeros((count, 3)), np.zeros((count, 3, 3)), np.zeros((count, 7))
        for m, role in enumerate(body.roles):
            if m == 0:
                precisions[m] = np.eye(3)
                limits[m] = [np.inf, *([-np.inf] * 3), *([np.inf] * 3)]
                continue
            chain = [m]
            carrier = int(body.parents[m])
            while carrier > 0 and not body.roles[carrier]:
                chain.append(carrier)
                carrier = int(body.parents[carrier])
            if not role:
                continue
            whole = self._between(body.roles[carrier], role)
            for joint in chain:
                self._put(joint, whole.shared(len(chain)), means, precisions, limits)
        for m, role in enumerate(body.roles):
            if not role and not precisions[m].any():  # the spine's last joints, with nothing named above them
                self._put(m, _WIDE.shared(3), means, precisions, limits)
        return means, precisions, limits

    def _between(self, above: str, role: str) -> JointLimit:
        """Of a role against the one that the skeleton has above it."""
        total = self.of(role)
        side = role.partition("_")[0] if role not in ABOVE else ""
        part = role.partition("_")[2] if side else role
        while part in ABOVE:
            upper = ABOVE[part]
            name = f"{side}_{upper}" if side and upper in _SIDED else upper
            if name == above:
                return total
            if name == "hips":
                break
            total = self.of(name).then(total)
            part = upper
        return self.of(role)

    @staticmethod
    def _put(joint: int, limit: JointLimit, means: Double, precisions: Double, limits: Double) -> None:
        means[joint] = limit.mean
        precisions[joint] = np.linalg.inv(limit.covariance)
        limits[joint] = [limit.distance, *limit.lower, *limit.upper]


_SIDED = frozenset(("shoulder", "upper_arm", "forearm", "hand", "upper_leg", "lower_leg", "foot", "toe"))
_WIDE = JointLimit(np.zeros(3), np.eye(3), 3.0, np.full(3, -3.0), np.full(3, 3.0))


def joint_turns(motion: Motion, rate: float = 15.0) -> dict[str, Double]:
    """Rotation vectors of a take's joints against the role above, about ``rate`` frames a second.

    Returns:
        Role with its side left out -> ``[K, 3]``, radians; right ones mirrored onto the left.

    Raises:
        AmbuloError: no humanoid, or it lacks what points sit on.
    """
    motion = with_detected_roles(motion)
    trim = usable_range(motion)
    motion = motion.slice(trim.start_frame, trim.stop_frame)
    pose = forward_motion(motion)
    body = canonical_body(body_points(reference_pose(motion.skeleton, motion, pose)))
    turns = body.canonical(pose.rotations[:: max(1, round(motion.rate / rate))])
    found: dict[str, list[Double]] = {}
    for m, role in enumerate(body.roles):
        side = role.partition("_")[0]
        part = role.partition("_")[2] if side in ("left", "right") else role
        if part not in ABOVE:
            continue
        upper = ABOVE[part]
        above = body.index(f"{side}_{upper}" if upper in _SIDED and side in ("left", "right") else upper)
        if above < 0:
            continue
        local = quaternions.inverse_multiply(turns[:, above], turns[:, m])
        v = np.asarray(quaternions.to_scaled_angle_axis(local), np.float64)
        found.setdefault(part, []).append(v * _OTHER_SIDE if side == "right" else v)
        if part in ("spine", "chest", "neck", "head"):
            found[part].append(v * _OTHER_SIDE)
    joined = {part: np.concatenate(parts) for part, parts in found.items()}
    if "forearm" in joined and "upper_arm" in joined:
        _straighten_hinges(joined)
    return joined


def _straighten_hinges(found: dict[str, Double]) -> None:
    """As if the arms' frames were turned about the arms so that elbows bend about -Y."""
    v = found["forearm"]
    size = np.linalg.norm(v, axis=1)
    tilt = float(np.arctan2((v[:, 2] * size).sum(), -(v[:, 1] * size).sum()))
    found["forearm"], found["upper_arm"] = _tilted(v, found["upper_arm"], -tilt)


def _tilted(forearm: Double, upper_arm: Double, angle: float) -> tuple[Double, Double]:
    """Rotation vectors in frames turned about the arm (X), so that the elbow's hinge tilts by an angle."""
    turn = quaternions.from_angle_axis(angle, np.array([1.0, 0.0, 0.0]))
    arms = quaternions.multiply(quaternions.from_scaled_angle_axis(upper_arm), turn)
    return (
        np.asarray(quaternions.inverse_rotate(turn, forearm), np.float64),
        np.asarray(quaternions.to_scaled_angle_axis(arms), np.float64),
    )


def _other_rigs(take: Mapping[str, Double]) -> dict[str, Double]:
    """The turns of arms as other rigs would show them: hinges tilted, and half of the hand's twist in the forearm."""
    hand = np.asarray(quaternions.from_scaled_angle_axis(take["hand"]), np.float64)
    twist = np.zeros_like(take["hand"])
    twist[:, 0] = 2.0 * np.arctan2(hand[:, 0], np.abs(hand[:, 3])) * np.where(hand[:, 3] < 0.0, -1.0, 1.0)
    half = quaternions.from_scaled_angle_axis(0.5 * twist)
    elbow = quaternions.multiply(quaternions.from_scaled_angle_axis(take["forearm"]), half)
    forearm = np.concatenate([take["forearm"], quaternions.to_scaled_angle_axis(elbow)])
    less = np.asarray(quaternions.to_scaled_angle_axis(quaternions.inverse_multiply(half, hand)), np.float64)
    upper_arm = np.concatenate([take["upper_arm"], take["upper_arm"]])
    tilted = [_tilted(forearm, upper_arm, angle) for angle in _TILTS]
    return {
        "forearm": np.concatenate([pair[0] for pair in tilted]),
        "upper_arm": np.concatenate([pair[1] for pair in tilted]),
        "hand": np.concatenate([take["hand"], less]),
    }


def learn_limits(takes: Iterable[Mapping[str, Double]]) -> JointLimits:
    """Limits from what :func:`joint_turns` gave of many takes.

    Raises:
        PosingError: no takes.
    """
    gathered: dict[str, list[Double]] = {}
    for take in takes:
        turns_of = dict(take)
        if {"forearm", "upper_arm", "hand"} <= set(take):
            turns_of |= _other_rigs(take)
        for part, turns in turns_of.items():
            gathered.setdefault(part, []).append(turns[np.isfinite(turns).all(axis=1)])
    if not gathered:
        raise PosingError("there is no take to learn joint limits from")
    joints = {}
    for part, parts in gathered.items():
        v = np.concatenate(parts)
        mean = v.mean(axis=0)
        centred = v - mean
        covariance = centred.T @ centred / max(len(v) - 1, 1) + _LEAST**2 * np.eye(3)
        slack = _HINGE_SLACK if part in _HINGES else _SLACK
        distance = np.sqrt(np.einsum("ni,ij,nj->n", centred, np.linalg.inv(covariance), centred))
        joints[part] = JointLimit(
            mean,
            covariance,
            float(np.quantile(distance, QUANTILE)) + 0.1,
            np.quantile(v, RANGE_QUANTILE, axis=0) - slack,
            np.quantile(v, 1.0 - RANGE_QUANTILE, axis=0) + slack,
        )
    return JointLimits(joints)


@cache
def default_limits() -> JointLimits:
    """The packaged limits, learned from free takes of walking, dance and karate (``benchmarks/posing_limits.py``)."""
    import msgspec

    text = resources.files("ambulo.posing").joinpath("joint_limits.json").read_bytes()
    values = msgspec.json.decode(text, type=dict[str, list[float]])
    return JointLimits.from_arrays({key: np.array(value) for key, value in values.items()})
