"""From a few points to poses of a skeleton: the model completes them, the projection puts a body on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import PosingError
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.motion import Motion
from ambulo.motion.reference_pose import reference_pose
from ambulo.motion.skeleton import Skeleton
from ambulo.posing.body_points import BodyPoints, body_points
from ambulo.posing.canonical_body import CanonicalBody
from ambulo.posing.footing import feet_are_free
from ambulo.posing.footing import stand as stand_on
from ambulo.posing.observations import Observations, observe_look, observe_orientation, observe_points
from ambulo.posing.point_track import PointTrack, point_track
from ambulo.posing.points import POINT_COUNT, POINTS
from ambulo.posing.poser import Poser
from ambulo.posing.projection import HELD, SPREAD, Projected, Projector, Unreached

Double = NDArray[np.float64]

SMOOTH = 0.05
"""Seconds below which predicted points do not tremble."""
_HEAD = POINTS.index("head")
_HELD_WEIGHT = 1e5


@dataclass(frozen=True)
class PoseOptions:
    """How points become poses.

    Attributes:
        floor: metres, the height that no point goes below; None for no floor.
        stand: see :func:`~ambulo.posing.footing.stand`.
        smooth: seconds, see :data:`SMOOTH`; 0 for every pose by itself.
    """

    floor: float | None = None
    stand: bool = False
    smooth: float = SMOOTH

    def __post_init__(self) -> None:
        if self.floor is not None and not np.isfinite(self.floor):
            raise PosingError(f"a floor at {self.floor} m is not possible", key="floor")
        if not (np.isfinite(self.smooth) and 0.0 <= self.smooth <= 10.0):
            raise PosingError(f"{self.smooth} s is no time to smooth over", key="smooth")


def posing_body(skeleton: Motion | Skeleton | None = None, height: float | None = None) -> BodyPoints:
    """The 43 points on a skeleton.

    Args:
        skeleton: a humanoid that stands at rest, or a take on one; the embedded skeleton by default.
        height: metres from the sole to the top of the head; the skeleton is scaled to it.

    Raises:
        AmbuloError: no humanoid, or it lacks hands, feet, knees or elbows.
        PosingError: a height that no body has.
    """
    from ambulo.synthesis.body import default_skeleton

    if isinstance(skeleton, Motion):
        motion = with_detected_roles(skeleton)
        body = body_points(reference_pose(motion.skeleton, motion))
    else:
        bones = default_skeleton() if skeleton is None else skeleton
        if not bones.roles:
            still = np.zeros((1, bones.joint_count, 3), np.float32) + bones.offsets
            bones = with_detected_roles(Motion(bones, still, bones.rest_rotations[None], 30.0)).skeleton
        body = body_points(reference_pose(bones))
    if height is None:
        return body
    if not (np.isfinite(height) and 0.2 <= height <= 5.0):
        raise PosingError(f"no body is {height} m tall", key="height", remedy="give metres, such as 1.75")
    reference = body.reference
    top = POINTS.index("head_top")
    from ambulo.maths import quaternions

    joint = body.joints[top]
    crown = reference.positions[joint] + quaternions.rotate(reference.rotations[joint], body.offsets[top])
    now = float(crown[1] + reference.hips_over_toes + reference.toe_height)
    factor = height / now
    old = reference.skeleton
    bones = replace(old, offsets=old.offsets * np.float32(factor), end_offsets=old.end_offsets * np.float32(factor))
    return body_points(
        replace(
            reference,
            skeleton=bones,
            offsets=reference.offsets * factor,
            toe_points=reference.toe_points * factor,
            toe_height=reference.toe_height * factor,
        )
    )


def pose_from_points(
    points: Mapping[str, ArrayLike] | PointTrack,
    skeleton: Motion | Skeleton | BodyPoints | None = None,
    *,
    tolerance: float | Mapping[str, float] = 0.0,
    turns: Mapping[str, ArrayLike] | None = None,
    look_at: ArrayLike | None = None,
    rate: float | None = None,
    floor: float | None = None,
    stand: bool = False,
    smooth: float = SMOOTH,
    poser: Poser | None = None,
) -> Projected:
    """Believable poses that do what a few points ask.

    ::

        from ambulo import pose_from_points, save

        pose = pose_from_points({"left_wrist": [0.5, 1.4, 0.3], "right_ankle": [-0.1, 0.1, 0.2]})
        save(pose.motion(), "pose.bvh")

    Args:
        points: name (:data:`~ambulo.posing.points.POINTS`) -> ``[3]``, or ``[T, 3]`` with NaN where it is not set.
        skeleton: to pose; the embedded one by default. :func:`posing_body` makes one ready for many calls.
        tolerance: metres, standard deviation of all points or by name; 0 pins a point to a millimetre.
        turns: role -> global rotation away from the reference pose, ``[4]`` or ``[T, 4]``.
        look_at: what the face looks at, metres, ``[3]`` or ``[T, 3]``.
        rate: poses a second: the poses are a sequence, and smooth.
        floor: metres, the height that no point goes below.
        stand: both feet stand on the floor (at 0 if it is not given) in poses in which no point of a knee or foot is
            set.
        smooth: seconds below which predicted points of a sequence do not tremble.
        poser: the model; the packaged one by default.

    Returns:
        The poses. ``errors`` is NaN for points that were not set, ``unreachable`` names what the body does not reach.

    Raises:
        PosingError: unknown names, no numbers, nothing set, or points too far apart for the body.
    """
    track = points
    if not isinstance(track, PointTrack):
        track = point_track(track, tolerance=tolerance, turns=turns, look_at=look_at, rate=rate)
    options = PoseOptions(0.0 if stand and floor is None else floor, stand, smooth)
    body = skeleton if isinstance(skeleton, BodyPoints) else posing_body(skeleton)
    projector = projector_of(body)
    track.check_reach(projector.body)
    for role in track.turns:
        if projector.body.index(role) < 0:
            raise PosingError(f"this skeleton has no {role!r} to turn", key=role)
    bridged = track.bridged()
    ground = options.floor if options.stand else None
    completed, known = complete_track(poser or Poser.default(), bridged, projector.body, ground)
    if track.rate is not None and track.frame_count > 2 and options.smooth > 0.0:
        completed = smooth_points(completed, _weights(track, known), track.rate, options.smooth)
    elif not known.all():
        frame = int(np.flatnonzero(~known)[0])
        raise PosingError("no point is set", frame=frame, remedy="set at least one in every pose, or give a rate")
    return _project(projector, track, bridged, completed, options)


def projector_of(body: BodyPoints) -> Projector:
    """The projector of a body with the packaged limits, made once a body."""
    kept = body.__dict__
    if "_projector" not in kept:  # an editor asks many times a second; a body never changes
        kept["_projector"] = Projector(body)
    projector: Projector = kept["_projector"]
    return projector


def complete_track(
    poser: Poser, track: PointTrack, body: CanonicalBody, ground: float | None = None
) -> tuple[Double, NDArray[np.bool_]]:
    """All points ``[T, 43, 3]`` of each pose by itself, and which poses ``[T]`` anything is known of; where nothing
    is said about the feet they stand on the ground (metres), if one is given."""
    frames = track.frame_count
    out = np.zeros((frames, POINT_COUNT, 3))
    is_set = track.is_set
    turned: dict[str, NDArray[np.bool_]] = {
        role: np.atleast_1d(np.isfinite(q).all(axis=1)) for role, q in track.turns.items()
    }
    groups: dict[bytes, list[int]] = {}
    for t in range(frames):
        key = is_set[t].tobytes() + (track.tolerances[t] * is_set[t]).tobytes()
        key += bytes(bool(mask[t]) for mask in turned.values())
        groups.setdefault(key, []).append(t)
    known = np.ones(frames, bool)
    for chosen in groups.values():
        rows = np.array(chosen, np.int64)
        k = np.flatnonzero(is_set[rows[0]])
        parts: list[Observations] = []
        if len(k):
            parts.append(observe_points(track.indices[k], track.positions[rows][:, k], track.tolerances[rows[0], k]))
        parts += [observe_orientation(role, q[rows]) for role, q in track.turns.items() if turned[role][rows[0]]]
        if not len(k):
            known[rows] = False
            continue
        out[rows] = poser.complete(parts, body.body)
        if ground is not None and feet_are_free(track.indices[k]):
            out[rows] = stand_on(poser, parts, out[rows], body, ground)
        for row, frame in enumerate(chosen):
            if np.isfinite(track.look_at[frame]).all():
                # Where the head is decides where it must turn to look: ask again.
                one = [replace(part, values=part.values[row : row + 1]) for part in parts]
                look = observe_look(track.look_at[frame], out[frame, _HEAD])
                out[frame] = poser.complete([*one, look], body.body)[0]
                if ground is not None and feet_are_free(track.indices[k]):
                    out[frame] = stand_on(poser, [*one, look], out[frame][None], body, ground)[0]
    if not known.any():
        raise PosingError("no point is set, only rotations", remedy="set at least one point as well")
    return out, known


def smooth_points(points: Double, weights: Double, rate: float, seconds: float) -> Double:
    """Points ``[T, 43, 3]`` that follow what weighs and do not tremble where nothing does.

    Least squares with second differences held small (P. Eilers, "A perfect smoother", Anal. Chem. 75, 2003), forwards
    and backwards at once; poses of weight 0 come out between their neighbours.

    Args:
        points: metres.
        weights: ``[T, 43]``.
        rate: a second.
        seconds: shorter movements are damped.
    """
    from scipy.linalg import solveh_banded

    count = len(points)
    strength = (seconds * rate) ** 4
    second = np.diff(np.eye(min(count, 5)), n=2, axis=0) if count < 5 else None
    out = np.empty_like(points)
    # The bands of D2' D2 and a breath of D1' D1, which holds the ends.
    bands = np.zeros((3, count))
    if second is not None:
        full = second.T @ second
        for d in range(min(3, count)):
            bands[2 - d, d:] = np.diag(full, d)
    else:
        bands[2] = 6.0
        bands[2, [0, -1]], bands[2, [1, -2]] = 1.0, 5.0
        bands[1, 1:] = -4.0
        bands[1, [1, -1]] = -2.0
        bands[0, 2:] = 1.0
    bands *= strength
    breath = 1e-7
    bands[2] += 2.0 * breath
    bands[2, [0, -1]] -= breath
    bands[1, 1:] -= breath
    for i in range(points.shape[1]):
        system = bands.copy()
        system[2] += weights[:, i] + 1e-12
        out[:, i] = solveh_banded(system, weights[:, i, None] * points[:, i])
    return out


def _weights(track: PointTrack, known: NDArray[np.bool_]) -> Double:
    weights = np.repeat(known.astype(np.float64)[:, None], POINT_COUNT, axis=1)
    held = 1.0 / np.square(np.maximum(track.tolerances, SPREAD / np.sqrt(_HELD_WEIGHT)) / SPREAD)
    weights[:, track.indices] = np.where(track.is_set, np.maximum(held, 1.0), weights[:, track.indices])
    return weights


def _project(
    projector: Projector, track: PointTrack, bridged: PointTrack, completed: Double, options: PoseOptions
) -> Projected:
    frames = track.frame_count
    is_set = track.is_set
    exact = is_set & (track.tolerances == 0.0)
    pinned = np.zeros((frames, POINT_COUNT), bool)
    pinned[:, track.indices] = exact
    spreads = np.full((frames, POINT_COUNT), SPREAD * projector.body.body.scale)
    loose = bridged.is_set & ~exact
    spreads[:, track.indices] = np.where(
        loose, np.minimum(spreads[:, track.indices], bridged.tolerances), spreads[:, track.indices]
    )
    goal = completed.copy()
    goal[:, track.indices] = np.where(exact[..., None], track.positions, goal[:, track.indices])
    done = projector.project(
        goal,
        pinned=pinned,
        spreads=spreads,
        turns=dict(track.turns),
        look_at=track.look_at if np.isfinite(track.look_at).any() else None,
        floor=options.floor,
    )
    errors = np.full((frames, POINT_COUNT), np.nan)
    apart = np.linalg.norm(done.points[:, track.indices] - track.positions, axis=-1)
    errors[:, track.indices] = apart
    off = np.argwhere(is_set & (np.nan_to_num(apart) > HELD + 3.0 * track.tolerances))
    late = [Unreached(int(t), POINTS[track.indices[k]], float(apart[t, k])) for t, k in off]
    return replace(done, errors=errors, unreachable=tuple(sorted(late, key=lambda u: -u.metres)))
