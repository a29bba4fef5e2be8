"""Mirror a motion across the plane X = 0, on any skeleton, rest frames of left and right alike or not.

Reflecting the world takes a rotation Q to ``R(Q) = M Q M`` with ``M = diag(-1, 1, 1)``, in quaternions
``(x, -y, -z, w)``. What the left arm did the right arm now does; but its frame need not be the left one's mirror image:
in Bandai-Namco's files the hips' lateral axis is local Y and the chest's is local Z. So each joint j with twin p
carries a fixed correction ``C``: the mirrored global rotation is ``R(Q_p) C_j``. In local terms::

    rotation'_j = C_parent(j)^-1 R(rotation_p) C_j          position'_j = C_parent(j)^-1 M position_p

which needs no forward kinematics and loses no precision far from the origin. ``R(C_p) C_j = 1`` makes twice the
identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.symmetry import mirror_pairs

__all__ = ["MirrorMap", "mirror", "mirror_map", "mirror_pairs", "mirror_pose_arrays", "mirror_vectors"]

Float = NDArray[np.float32]
Double = NDArray[np.float64]

_REFLECT = np.array([-1.0, 1.0, 1.0])
_REFLECT_ROTATION = np.array([1.0, -1.0, -1.0, 1.0])
_REFLECT_SPIN = np.array([1.0, -1.0, -1.0])
_SAMPLES = 32
_SNAP = np.cos(np.radians(30.0))
_LIKE_ABOVE = float(np.cos(np.radians(55.0)))
_LIKE_ABOVE_LEAF = float(np.cos(np.radians(70.0)))
_DOUBT = np.cos(np.radians(75.0))
_UNUSUAL = 1.4  # Radians by which poses must speak for a turn that is neither none nor the one of the joint above.


@dataclass(frozen=True)
class MirrorMap:
    """How a skeleton is mirrored; the same for all its motions.

    Attributes:
        pairs: int32 ``[J]``, the twin of each joint, itself where it has none.
        corrections: float64 ``[J, 4]``, the C of the module's text.
        kept: bool ``[J]``, joints on one side alone and all below them: they keep their local pose.
        parents: int32 ``[J]``.
    """

    pairs: NDArray[np.int32]
    corrections: Double
    kept: NDArray[np.bool_]
    parents: NDArray[np.int32]


def mirror(motion: Motion, mapping: MirrorMap | None = None) -> Motion:
    """The motion as seen in a mirror at X = 0.

    Global joint positions are the reflected ones of the twins. Twice gives the motion back. Joints on one side alone
    (a sword in the right hand) stay where they are in their parent.

    Args:
        motion: any skeleton; roles are kept.
        mapping: from :func:`mirror_map`; made from this motion where it is None.
    """
    mapping = mapping or mirror_map(motion.skeleton, motion)
    positions, rotations = mirror_pose_arrays(motion.positions, motion.rotations, mapping)
    return replace(motion, positions=positions, rotations=rotations)


def mirror_pose_arrays(positions: ArrayLike, rotations: ArrayLike, mapping: MirrorMap) -> tuple[Float, Float]:
    """Mirror local positions ``[T, J, 3]`` and rotations ``[T, J, 4]``; unrolled rotations stay unrolled."""
    q = np.asarray(rotations)
    if q.ndim != 3 or q.shape[1] != len(mapping.pairs):
        raise MotionError(f"this mirror map is of {len(mapping.pairs)} joints, the rotations are {q.shape}")
    above = _above(mapping)
    mirrored = q[:, mapping.pairs].astype(np.float64) * _REFLECT_ROTATION
    mirrored = quaternions.multiply(quaternions.inverse_multiply(above, mirrored), mapping.corrections)
    mirrored = np.where(mapping.kept[:, None], q, quaternions.normalize(mirrored))
    return mirror_vectors(positions, mapping), np.ascontiguousarray(mirrored, np.float32)


def mirror_vectors(vectors: ArrayLike, mapping: MirrorMap, *, spin: bool = False) -> Float:
    """Mirror vectors ``[T, J, 3]`` given in the frames of the joints' parents.

    Args:
        vectors: positions or linear velocities; angular velocities with ``spin``.
        mapping: of the skeleton.
        spin: the vectors are angular velocities, whose sign under a reflection is the opposite.
    """
    v = np.asarray(vectors)
    turned = v[:, mapping.pairs].astype(np.float64) * (_REFLECT_SPIN if spin else _REFLECT)
    turned = quaternions.inverse_rotate(_above(mapping), turned)
    return np.ascontiguousarray(np.where(mapping.kept[:, None], v, turned), np.float32)


def _above(mapping: MirrorMap) -> Double:
    above = mapping.corrections[np.maximum(mapping.parents, 0)].copy()
    above[mapping.parents < 0] = (0.0, 0.0, 0.0, 1.0)
    return above


def mirror_map(skeleton: Skeleton, motion: Motion | Sequence[Motion] | None = None) -> MirrorMap:
    """Find the twins and the frame corrections of a skeleton.

    A middle joint's correction follows from its lateral axis: the line between the pairs nearest to it, as its frame
    sees it. A pair's correction is the identity where offsets and poses allow it, else one of the 24 turns of a cube,
    else the turn that fits best. Axes within 30 degrees of a coordinate axis are taken to be that axis, so that all
    takes of a skeleton get the same map.

    Args:
        skeleton: any.
        motion: poses on it, one motion or several (several make sure that one odd take, all kicks with the left leg,
            does not decide); without, the rest pose is used, which suffices where rest is a symmetric pose (T, A).
    """
    pairs = mirror_pairs(skeleton)
    parents = skeleton.parents
    joints = range(skeleton.joint_count)
    alone = (
        (pairs == np.arange(skeleton.joint_count))
        & (parents >= 0)
        & (pairs[np.maximum(parents, 0)] != np.maximum(parents, 0))
    )
    kept = alone.copy()
    for joint in joints:
        kept[joint] |= parents[joint] >= 0 and kept[parents[joint]]
    offsets, rotations, positions, global_rotations = _sample(skeleton, motion)
    corrections = np.tile([0.0, 0.0, 0.0, 1.0], (skeleton.joint_count, 1))
    girdles = _girdles(parents, pairs, positions)
    if girdles:
        above_body = _above_all(parents, girdles)
        axes: dict[int, Double] = {}
        for joint in joints:
            twin = int(pairs[joint])
            if twin == joint and not kept[joint] and joint not in above_body:
                usual = axes.get(int(parents[joint]))
                axes[joint] = _lateral_axis(
                    joint, skeleton, pairs, offsets, positions, global_rotations, girdles, usual
                )
                corrections[joint] = _middle_correction(axes[joint])
            elif twin > joint:
                above = corrections[parents[joint]] if parents[joint] >= 0 else np.array([0.0, 0.0, 0.0, 1.0])
                reflected = rotations[:, twin] * _REFLECT_ROTATION
                likely = quaternions.inverse_multiply(reflected, quaternions.multiply(above, rotations[:, joint]))
                usual = above if parents[joint] >= 0 and pairs[parents[joint]] != parents[joint] else None
                corrections[joint] = _pair_correction(
                    joint, skeleton, pairs, offsets, rotations, cast(Double, likely), usual
                )
                corrections[twin] = quaternions.inverse(corrections[joint] * _REFLECT_ROTATION)
    return MirrorMap(pairs, corrections, kept, parents)


def _sample(skeleton: Skeleton, motion: Motion | Sequence[Motion] | None) -> tuple[Double, Double, Double, Double]:
    """Mean local offsets ``[J, 3]``, sampled local rotations ``[S, J, 4]``, global positions and rotations."""
    motions = [motion] if isinstance(motion, Motion) else list(motion or ())
    motions = [each for each in motions if each.frame_count]
    if motions:
        each_count = max(4, _SAMPLES // len(motions))
        parts = []
        for each in motions:
            frames = np.unique(np.linspace(0, each.frame_count - 1, min(each_count, each.frame_count)).astype(int))
            parts.append((each.positions[frames], each.rotations[frames]))
        local, local_q = np.concatenate([p for p, _ in parts]), np.concatenate([q for _, q in parts])
    else:
        local, local_q = skeleton.offsets[None], skeleton.rest_rotations[None]
    pose = forward(local, local_q, skeleton.parents)
    return (
        local.astype(np.float64).mean(axis=0),
        np.asarray(local_q, np.float64),
        pose.positions.astype(np.float64),
        pose.rotations.astype(np.float64),
    )


def _girdles(parents: NDArray[np.int32], pairs: NDArray[np.int32], positions: Double) -> list[tuple[int, int]]:
    """The topmost pairs of each limb that are apart (hip joints, shoulders), in the order of the skeleton."""
    found: list[tuple[int, int]] = []
    scale = float(np.ptp(positions, axis=1).max())
    covered: set[int] = set()
    for joint, twin in enumerate(pairs):
        if int(parents[joint]) in covered:
            covered.add(joint)
        elif twin > joint and np.linalg.norm(positions[:, joint] - positions[:, twin], axis=-1).mean() > 0.02 * scale:
            found.append((joint, int(twin)))
            covered |= {joint, int(twin)}
    return found


def _above_all(parents: NDArray[np.int32], girdles: list[tuple[int, int]]) -> set[int]:
    """Joints above the one from which all limbs part (a scene root): their frame is the world's, not the body's."""
    common: list[int] | None = None
    for first, _ in girdles:
        above = []
        at = int(parents[first])
        while at >= 0:
            above.append(at)
            at = int(parents[at])
        common = above if common is None else [joint for joint in common if joint in above]
    return set((common or [])[1:])


def _lateral_axis(
    joint: int,
    skeleton: Skeleton,
    pairs: NDArray[np.int32],
    offsets: Double,
    positions: Double,
    rotations: Double,
    girdles: list[tuple[int, int]],
    usual: Double | None,
) -> Double:
    """The axis of a middle joint's frame that goes across the body; its sign does not matter."""
    children = skeleton.children(joint)
    spread = [offsets[c] - offsets[pairs[c]] for c in children if pairs[c] > c]
    if spread and max(np.linalg.norm(v) for v in spread) > 1e-4:
        seen = max(spread, key=lambda v: float(np.linalg.norm(v)))[None]
    else:
        # The girdles as the joint sees them over time.
        lines = [positions[:, a] - positions[:, b] for a, b in girdles]
        seen = np.concatenate([quaternions.inverse_rotate(rotations[:, joint], line) for line in lines])
    seen = seen / np.maximum(np.linalg.norm(seen, axis=-1, keepdims=True), 1e-9)
    bones = [offsets[c] / np.linalg.norm(offsets[c]) for c in children if pairs[c] == c and _long(offsets[c])]
    # The best quarter of the frames decides: a body passes through symmetry now and then, however it twists otherwise.
    nearness = np.sort(np.abs(seen), axis=0)[(3 * len(seen)) // 4]
    for bone in bones:
        nearness = np.where(np.abs(bone) > 0.7, 0.0, nearness)  # The plane of the body holds the bones that lie in it.
    largest = int(np.argmax(nearness))
    if usual is not None:
        # The joint above shares its axis more often than not; a head, which people turn aside for long, almost always.
        least = max(_LIKE_ABOVE, 0.8 * float(nearness[largest])) if bones else _LIKE_ABOVE_LEAF
        if float(nearness @ np.abs(usual)) > least:
            return usual
    if nearness[largest] > _SNAP:
        return cast(Double, np.eye(3)[largest])
    axis = np.linalg.eigh(seen.T @ seen)[1][:, -1]
    for bone in bones[:1]:
        square = axis - (axis @ bone) * bone
        axis = square if np.linalg.norm(square) > 0.3 else axis
    # Where the poses leave doubt (a head turned aside all the time) the axis of the joint above stands in.
    if usual is not None and abs(axis @ usual) > _DOUBT * np.linalg.norm(axis):
        return usual
    return cast(Double, axis / np.linalg.norm(axis))


def _long(offset: Double) -> bool:
    return float(np.linalg.norm(offset)) > 1e-4


def _middle_correction(axis: Double) -> Double:
    """``M`` after the reflection along ``axis``: a half turn at most, about X x axis."""
    # As a product of the two reflections it is the rotation by twice the angle from axis to X.
    x = np.array([1.0, 0.0, 0.0])
    cosine = float(axis @ x)
    cross = np.cross(axis, x)
    return cast(Double, quaternions.normalize(np.array([*cross, cosine])))


def _pair_correction(
    joint: int,
    skeleton: Skeleton,
    pairs: NDArray[np.int32],
    offsets: Double,
    rotations: Double,
    likely: Double,
    usual: Double | None,
) -> Double:
    """The turn that takes this joint's bones to the reflected ones of its twin and suits the poses best.

    ``likely`` is what would make the twins' poses mirror images, ``[S, 4]``; as above, the best quarter of the frames
    decides. Knees and elbows bend one way only, which tells how a thigh is turned about itself even if one leg kicks
    all the time. And a limb's joints mostly share one turn, so the ``usual`` one of the joint above is preferred.
    """
    bones = []
    bends = []
    for child in skeleton.children(joint):
        own, wanted = offsets[child], offsets[pairs[child]] * _REFLECT
        if pairs[child] != child and _long(own) and _long(wanted):
            bones.append((own / np.linalg.norm(own), wanted / np.linalg.norm(wanted)))
            bend = _bend(child, skeleton, pairs, offsets, rotations)
            other = _bend(int(pairs[child]), skeleton, pairs, offsets, rotations)
            if bend is not None and other is not None:
                bends.append((bend, other * _REFLECT))
    turns = _cube_turns()
    apart = 2.0 * np.arccos(np.minimum(np.abs(turns @ likely.T), 1.0))
    costs = np.sort(apart, axis=1)[:, apart.shape[1] // 4]
    costs[1:] += 1e-3
    if usual is not None:
        costs += np.where(np.abs(turns @ usual) < 0.999, _UNUSUAL, 0.0)
    for a, b in bones:
        costs += 4.0 * np.arccos(np.clip(quaternions.rotate(turns, a) @ b, -1.0, 1.0)) / len(bones)
    for a, b in bends:
        costs += 2.0 * np.arccos(np.clip(quaternions.rotate(turns, a) @ b, -1.0, 1.0)) / len(bends)
    best = turns[int(np.argmin(costs))]
    if any(quaternions.rotate(best, a) @ b < _SNAP for a, b in bones):
        # No turn of a cube: the mean of the likely ones, bent so that the first bone is exact.
        a, b = bones[0]
        mean = np.linalg.eigh(likely.T @ likely)[1][:, -1]
        best = quaternions.multiply(quaternions.between(quaternions.rotate(mean, a), b), mean)
    return cast(Double, quaternions.absolute(quaternions.normalize(best)))


def _bend(
    joint: int, skeleton: Skeleton, pairs: NDArray[np.int32], offsets: Double, rotations: Double
) -> Double | None:
    """The way in which a knee or elbow bends the bone below it, as the joint above sees it.

    None for other joints (only these have two long bones) and where the bend is not always much the same.
    """
    below = [child for child in skeleton.children(joint) if _long(offsets[child])]
    long_bone = 0.5 * float(np.linalg.norm(offsets[pairs != np.arange(len(pairs))], axis=-1).max())
    if len(below) != 1 or min(np.linalg.norm(offsets[joint]), np.linalg.norm(offsets[below[0]])) < long_bone:
        return None
    bone = offsets[joint] / np.linalg.norm(offsets[joint])
    seen = quaternions.rotate(rotations[:, joint], offsets[below[0]])
    seen = seen - (seen @ bone)[:, None] * bone
    mean = seen.mean(axis=0)
    size = float(np.linalg.norm(mean))
    if size < 0.1 * np.linalg.norm(offsets[below[0]]) or size < 0.8 * np.linalg.norm(seen, axis=-1).mean():
        return None
    return cast(Double, mean / size)


@lru_cache(maxsize=1)
def _cube_turns() -> Double:
    """The 24 rotations that take the coordinate axes to themselves, the identity first."""
    half = np.sqrt(0.5)
    turns: list[Double] = []
    for w in (1.0, half, 0.5, 0.0):
        for x in (0.0, half, -half, 0.5, -0.5, 1.0):
            for y in (0.0, half, -half, 0.5, -0.5, 1.0):
                for z in (0.0, half, -half, 0.5, -0.5, 1.0):
                    q = np.array([x, y, z, w])
                    if abs(q @ q - 1.0) < 1e-9 and all(abs(abs(q @ t) - 1.0) > 1e-6 for t in turns):
                        turns.append(q)
    return np.array(turns)
