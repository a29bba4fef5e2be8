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
    bones = Subtrees(skeleton)
    sided = any(name_parts(name).side for name in skeleton.names)
    _pair_within(roots, pairs, bones, sided)
    return pairs


class Subtrees:
    """How like two subtrees of a skeleton are.

    Args:
        skeleton: J joints.
        lengths: ``[J]``, metres from each joint to its parent; of the offsets where None.
    """

    def __init__(self, skeleton: Skeleton, lengths: NDArray[np.float64] | None = None) -> None:
        self.names = skeleton.names
        self.children: list[list[int]] = [[] for _ in skeleton.names]
        for joint, parent in enumerate(skeleton.parents):
            if parent >= 0:
                self.children[parent].append(joint)
        offsets = np.linalg.norm(skeleton.offsets.astype(np.float64), axis=-1)
        self.lengths = offsets if lengths is None else lengths
        self.tips = np.linalg.norm(np.nan_to_num(skeleton.end_offsets.astype(np.float64)), axis=-1)
        self.counts = np.ones(skeleton.joint_count, int)
        for joint in range(skeleton.joint_count - 1, 0, -1):
            if skeleton.parents[joint] >= 0:
                self.counts[skeleton.parents[joint]] += self.counts[joint]

    def total(self, joint: int) -> float:
        """Summed length of all bones of a subtree."""
        below = sum(self.total(child) for child in self.children[joint])
        return float(self.lengths[joint] + self.tips[joint]) + below

    def difference(self, a: int, b: int, share: float = 0.6) -> float:
        """0 for equal subtrees, infinite where less than a share of their joints match.

        What hangs from one side alone (a sword) is left out.
        """
        apart, total, matched = self._compare(a, b)
        if matched < share * max(self.counts[a], self.counts[b]):
            return float(np.inf)
        return apart / total if total > 0.0 else 0.0

    def shared(self, a: int, b: int) -> int:
        """How many joints of two subtrees match."""
        return self._compare(a, b)[2]

    def _compare(self, a: int, b: int) -> tuple[float, float, int]:
        """Summed difference of bone lengths, summed length, and number of joints of what matches."""
        apart = abs(self.lengths[a] - self.lengths[b])
        total, matched = max(self.lengths[a], self.lengths[b]), 1
        if not self.children[a] and not self.children[b]:
            apart += abs(self.tips[a] - self.tips[b])
            total += max(self.tips[a], self.tips[b])
        options = sorted((self._compare(x, y), x, y) for x, y in itertools.product(self.children[a], self.children[b]))
        # Many joints first, then the likest: a long limb must not be matched with a stub of the same first bone.
        options.sort(key=lambda option: (-option[0][2], option[0][0]))
        used: set[int] = set()
        for (child_apart, child_total, child_matched), x, y in options:
            if x not in used and y not in used:
                used |= {x, y}
                apart, total, matched = apart + child_apart, total + child_total, matched + child_matched
        return apart, total, matched


def _pair_within(joints: list[int], pairs: NDArray[np.int32], bones: Subtrees, sided: bool) -> None:
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
            if difference <= ALIKE and a in free and b in free and bones.total(a) > 0.0:
                couples.append((a, b))
                free = [joint for joint in free if joint not in (a, b)]
    for a, b in couples:
        _pair_across(a, b, pairs, bones)
    for joint in free:
        _pair_within(bones.children[joint], pairs, bones, sided)


def _pair_across(a: int, b: int, pairs: NDArray[np.int32], bones: Subtrees) -> None:
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
    # Those that share most come first: a zero-length stub is as like a finger as it is like its own twin.
    alike = sorted((-bones.shared(x, y), bones.difference(x, y, 0.0), x, y) for x in left for y in right)
    for _, difference, x, y in alike:
        if difference <= ALIKE and x in left and y in right:
            left.remove(x)
            right.remove(y)
            _pair_across(x, y, pairs, bones)
