"""Poses with limbs moved at random: what a body can do beyond what it did in a few takes.

The embedded takes only walk and run: hands hang, feet step. A model that learned from them alone takes a raised hand
for a lean of the whole body. Limbs that swing through what shoulders, hips, elbows and knees allow teach it otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.posing.mixing import chest_frames, pelvis_frames
from ambulo.posing.points import point_indices

Float = NDArray[np.float32]
Indices = NDArray[np.int64]

_ARM_PARTS = ("hand_tip", "hand_thumb", "hand_outer")
_LEG_PARTS = ("heel", "toe", "toe_tip", "foot_outer")


def limber_poses(poses: Float, random: np.random.Generator, arms: float = 0.7, legs: float = 0.3) -> Float:
    """Move arms and legs at random; feet stay on the height of the lowest foot before.

    Args:
        poses: float32 ``[N, 43, 3]``, metres.
        random: how.
        arms: part of all arms that are moved.
        legs: part of all legs that are moved.

    Returns:
        float32 ``[N, 43, 3]``, new arrays.
    """
    out = np.array(poses, np.float32)
    feet = point_indices([f"{side}_{part}" for side in ("left", "right") for part in ("toe", "heel")])
    for side, outward in (("left", 1.0), ("right", -1.0)):
        moved = np.flatnonzero(random.random(len(out)) < arms)
        axes, _ = chest_frames(out[moved])
        upper, bend = _arm_directions(random, len(moved), outward)
        chain = point_indices([f"{side}_{part}" for part in ("upper_arm", "elbow", "wrist")])
        rest = point_indices([f"{side}_{part}" for part in _ARM_PARTS])
        back = point_indices([f"{side}_elbow_back"])
        flexion = np.radians(random.uniform(3.0, 130.0, len(moved)) * random.random(len(moved)) ** 0.5)
        _pose_limb(out, moved, chain, rest, back, _turned(axes, upper), _turned(axes, bend), flexion)
    for side, outward in (("left", 1.0), ("right", -1.0)):
        moved = np.flatnonzero(random.random(len(out)) < legs)
        axes, _ = pelvis_frames(out[moved])
        upper, bend = _leg_directions(random, len(moved), outward)
        chain = point_indices([f"{side}_{part}" for part in ("hip", "knee", "ankle")])
        rest = point_indices([f"{side}_{part}" for part in _LEG_PARTS])
        flexion = np.radians(random.uniform(3.0, 125.0, len(moved)) * random.random(len(moved)) ** 0.5)
        _pose_limb(out, moved, chain, rest, None, _turned(axes, upper), _turned(axes, bend), flexion)
    out[..., 1] += (poses[:, feet, 1].min(axis=1) - out[:, feet, 1].min(axis=1))[:, None]
    return out


def _arm_directions(random: np.random.Generator, count: int, outward: float) -> tuple[Float, Float]:
    """Directions of upper arms in the chest's axes, anywhere but far behind or across, and ways in which elbows bend:
    ahead, inward, up."""
    found = np.zeros((0, 3))
    while len(found) < count:
        tried = _unit(random.standard_normal((4 * count + 8, 3)))
        tried[:, 0] = outward * tried[:, 0]
        across = outward * tried[:, 0]
        found = np.concatenate([found, tried[(across > -0.45) & (tried[:, 2] > -0.55)]])
    bend = np.array([-0.6 * outward, 0.4, 0.9]) + 0.5 * random.standard_normal((count, 3))
    return found[:count].astype(np.float32), bend.astype(np.float32)


def _leg_directions(random: np.random.Generator, count: int, outward: float) -> tuple[Float, Float]:
    """Directions of thighs in the pelvis' axes, from behind to high ahead and out, and knees that bend backward."""
    ahead = np.radians(random.uniform(-35.0, 110.0, count))
    aside = np.radians(random.uniform(-10.0, 50.0, count))
    upper = np.stack([outward * np.sin(aside), -np.cos(aside) * np.cos(ahead), np.cos(aside) * np.sin(ahead)], axis=-1)
    # In the plane of the leg's swing, knees bend against it.
    bend = np.stack([np.zeros(count), -np.sin(ahead), -np.cos(ahead)], axis=-1)
    return upper.astype(np.float32), (bend + 0.15 * random.standard_normal((count, 3))).astype(np.float32)


def _pose_limb(
    poses: Float,
    which: Indices,
    chain: Indices,
    rest: Indices,
    back: Indices | None,
    upper: Float,
    bend: Float,
    flexion: NDArray[np.floating],
) -> None:
    """Put a limb's upper part along ``upper``, bend it by ``flexion`` towards ``bend``; what is beyond the last joint
    turns with the lower part."""
    source = poses[which]
    top, middle, end = (source[:, joint] for joint in chain)
    lengths = [np.linalg.norm(b - a, axis=-1, keepdims=True) for a, b in ((top, middle), (middle, end))]
    bend = _unit(bend - (bend * upper).sum(axis=-1, keepdims=True) * upper)
    cos, sin = np.cos(flexion)[:, None], np.sin(flexion)[:, None]
    lower, behind = cos * upper + sin * bend, sin * upper - cos * bend
    new_middle = top + lengths[0] * upper
    new_end = new_middle + lengths[1] * lower
    # The lower part's old axes: along it, and the side that a bend leaves.
    old_lower = _unit(end - middle)
    if back is None:
        away = (middle - top) - ((middle - top) * old_lower).sum(axis=-1, keepdims=True) * old_lower
        # A straight leg has its kneecap where the toes point, and they are on the other side of the bend.
        toes = source[:, rest[1]] - end
        away = away + 0.3 * (toes - (toes * old_lower).sum(axis=-1, keepdims=True) * old_lower)
    else:
        away = source[:, back[0]] - middle
    old = _frames(old_lower, away)
    new = _frames(lower, behind)
    turn = (old @ new.transpose(0, 2, 1)).astype(np.float32)
    if back is not None:
        poses[which[:, None], back] = (source[:, back] - middle[:, None]) @ turn + new_middle[:, None]
    poses[which[:, None], rest] = (source[:, rest] - end[:, None]) @ turn + new_end[:, None]
    poses[which, chain[1]], poses[which, chain[2]] = new_middle, new_end


def _frames(along: Float, aside: Float) -> Float:
    x = _unit(along)
    y = _unit(aside - (aside * x).sum(axis=-1, keepdims=True) * x)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def _turned(axes: Float, directions: Float) -> Float:
    return np.asarray(np.einsum("nij,nj->ni", axes, directions), np.float32)


def _unit(v: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.asarray(v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-9))
