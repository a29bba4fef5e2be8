"""Which joint is the twin of which: by names where they tell sides, by the shape of the tree where they do not."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from ambulo.motion.humanoid_names import name_parts
from ambulo.motion.skeleton import Skeleton

ALIKE = 0.15
"""Two subtrees are twins by geometry if their bones differ by at most this part of their whole length."""


def mirror_pairs(skeleton: Skeleton) -> NDArray[np.int32]:
    """The twin of every joint on the other side of the body; itself where it has none.

    Walks down from the roots. Below a joint of the middle, children pair with each other; below a pair, the children of
    one pair with the children of the other. Names decide first (``LeftArm`` with ``RightArm``); where names tell no
    side, subtrees of the same form and nearly the same bone lengths are twins. So a twin's parent is always the twin of
    the parent, and a joint on one side alone (a sword) is its own twin.

    Returns:
        int32 ``[J]``, an involution: ``pairs[pairs] == arange(J)``.
    """
    pairs = np.arange(skeleton.joint_count, dtype=np.int32)
    roots = [int(joint) for joint in np.flatnonzero(skeleton.parents < 0)]
    bones = _Bones(skeleton)
    sided = any(name_parts(name).side for name in skeleton.names)
    _pair_within(roots, pairs, bones, sided)
    return pairs


class _Bones:
    """A skeleton's children and the lengths and forms of its subtrees."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.names = skeleton.names
        self.children: list[list[int]] = [[] for _ in skeleton.names]
        for joint, parent in enumerate(skeleton.parents):
            if parent >= 0:
                self.children[parent].append(joint)
        self.lengths = np.linalg.norm(skeleton.offsets.astype(np.float64), axis=-1)
        tips = np.linalg.norm(np.nan_to_num(skeleton.end_offsets.astype(np.float64)), axis=-1)
        # Of each subtree: its form as nested brackets, and its bone lengths in the order of that form.
        self.forms = [""] * skeleton.joint_count
        self.bones: list[list[float]] = [[] for _ in skeleton.names]
        for joint in range(skeleton.joint_count - 1, -1, -1):
            below = sorted(self.children[joint], key=lambda c: (self.forms[c], self.bones[c]))
            self.forms[joint] = f"({''.join(self.forms[c] for c in below)})"
            self.bones[joint] = [float(self.lengths[joint]), float(tips[joint])]
            for child in below:
                self.bones[joint] += self.bones[child]

    def difference(self, a: int, b: int) -> float:
        """0 for equal subtrees, infinite for subtrees of different form."""
        if self.forms[a] != self.forms[b]:
            return np.inf
        x, y = np.array(self.bones[a]), np.array(self.bones[b])
        return float(np.abs(x - y).sum() / max(x.sum(), y.sum(), 1e-9))


def _pair_within(joints: list[int], pairs: NDArray[np.int32], bones: _Bones, sided: bool) -> None:
    """Pair joints that hang from the middle with one another."""
    free = list(joints)
    couples = []
    for a, b in itertools.combinations(joints, 2):
        x, y = name_parts(bones.names[a]), name_parts(bones.names[b])
        if a in free and b in free and x.key == y.key and {x.side, y.side} == {"left", "right"}:
            couples.append((a, b))
            free = [joint for joint in free if joint not in (a, b)]
    if not sided:
        alike = sorted((bones.difference(a, b), a, b) for a, b in itertools.combinations(free, 2))
        for difference, a, b in alike:
            if difference <= ALIKE and a in free and b in free and max(bones.bones[a]) > 0:
                couples.append((a, b))
                free = [joint for joint in free if joint not in (a, b)]
    for a, b in couples:
        _pair_across(a, b, pairs, bones)
    for joint in free:
        _pair_within(bones.children[joint], pairs, bones, sided)


def _pair_across(a: int, b: int, pairs: NDArray[np.int32], bones: _Bones) -> None:
    """Make two joints twins, and pair the children of one with those of the other."""
    pairs[a], pairs[b] = b, a
    left, right = list(bones.children[a]), list(bones.children[b])
    for child in list(left):
        key = name_parts(bones.names[child])
        twin = next(
            (c for c in right if (other := name_parts(bones.names[c])).key == key.key and other.side != key.side), None
        )
        if twin is not None:
            left.remove(child)
            right.remove(twin)
            _pair_across(child, twin, pairs, bones)
    alike = sorted((bones.difference(x, y), x, y) for x in left for y in right)
    for difference, x, y in alike:
        if difference <= ALIKE and x in left and y in right:
            left.remove(x)
            right.remove(y)
            _pair_across(x, y, pairs, bones)
