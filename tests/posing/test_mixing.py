"""Mixed poses: parts carried over whole, nothing torn."""

from __future__ import annotations

import numpy as np

from ambulo.posing.mixing import mix_poses
from ambulo.posing.points import POINTS, mirror_points
from ambulo.posing.pose_set import PoseSet


def lengths(points: np.ndarray, pairs: list[tuple[str, str]]) -> np.ndarray:
    a, b = zip(*((POINTS.index(first), POINTS.index(second)) for first, second in pairs), strict=True)
    return np.linalg.norm(points[:, list(a)] - points[:, list(b)], axis=-1)


BONES = [
    (f"{side}_{first}", f"{side}_{second}")
    for side in ("left", "right")
    for first, second in (("upper_arm", "elbow"), ("elbow", "wrist"), ("wrist", "hand_tip"), ("hip", "knee"),
                          ("knee", "ankle"), ("ankle", "toe"))
] + [("head", "head_top"), ("neck", "head"), ("hips", "spine"), ("spine", "chest")]  # fmt: skip


def test_bones_keep_their_lengths(poses: PoseSet) -> None:
    random = np.random.default_rng(0)
    mixed = mix_poses(poses.points[:300], poses.points[300:600], random, share=1.0)
    # All are one synthetic actor's, so bones of all poses are the same but for what its capture leaves.
    own = lengths(poses.points, BONES)
    found = lengths(mixed, BONES)
    assert (found > own.min(axis=0) - 1e-4).all() and (found < own.max(axis=0) + 1e-4).all()
    assert np.ptp(own, axis=0).max() < 0.001


def test_parts_are_exchanged_and_legs_stay(poses: PoseSet) -> None:
    first, others = poses.points[:300], poses.points[300:600]
    mixed = mix_poses(first, others, np.random.default_rng(0), share=1.0)
    leg = [POINTS.index("left_ankle"), POINTS.index("right_ankle"), POINTS.index("hips")]
    plain = np.abs(mixed[:, leg] - first[:, leg]).max(axis=(1, 2)) < 1e-6
    mirrored = np.abs(mixed[:, leg] - mirror_points(first)[:, leg]).max(axis=(1, 2)) < 1e-6
    assert (plain | mirrored).all() and 0.3 < mirrored.mean() < 0.7
    wrist = POINTS.index("left_wrist")
    assert np.mean(np.abs(mixed[plain, wrist] - first[plain, wrist]).max(axis=-1) > 0.01) > 0.4


def test_no_share_only_mirrors(poses: PoseSet) -> None:
    first = poses.points[:100]
    mixed = mix_poses(first, first[::-1], np.random.default_rng(0), share=0.0)
    same = (mixed == first).all(axis=(1, 2))
    assert np.array_equal(mixed[~same], mirror_points(first[~same]))
