"""A skeleton as the solver sees it: the joints that move, all in the axes of the reference pose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.posing.body_points import BodyPoints
from ambulo.posing.points import POINTS

Double = NDArray[np.float64]
Index = NDArray[np.int64]

_FEET = ("heel", "toe", "toe_tip", "foot_outer")


@dataclass(frozen=True)
class CanonicalBody:
    """The moving joints of a skeleton. A *canonical* rotation is what turned a joint away from the reference pose, in
    the world's axes; in the reference pose all are the identity, whatever the rig.

    Attributes:
        body: the 43 points on the skeleton.
        joints: int64 ``[M]``, the skeleton's joints that move, the hips first.
        roles: ``[M]``, what each plays; empty for joints within the spine that play nothing.
        parents: int64 ``[M]``, the moving joint above, -1 for the hips.
        offsets: float64 ``[M, 3]``, metres, each in the frame of the one above.
        owners: int64 ``[43]``, the moving joint that carries each point.
        sites: float64 ``[43, 3]``, metres, the point in its frame.
        firsts: int64 ``[M + 1]``, ranges of ``members``.
        members: int64, points of each rigid body: its own, and the joints that hang from it.
        member_offsets: float64, metres, these in its frame.
        carriers: int64 ``[J]``, the moving joint that carries each joint; -1 above the hips.
        clearances: float64 ``[43]``, metres, how high each point of the feet lies when the foot is flat; 0 elsewhere.
    """

    body: BodyPoints
    joints: Index
    roles: tuple[str, ...]
    parents: Index
    offsets: Double
    owners: Index
    sites: Double
    firsts: Index
    members: Index
    member_offsets: Double
    carriers: Index
    clearances: Double

    def index(self, role: str) -> int:
        """The moving joint that plays a role, -1 if none does."""
        return self.roles.index(role) if role in self.roles else -1

    @cached_property
    def longest_ways(self) -> Double:
        """float64 ``[43, 43]``, metres along the bones from each point to each: no two are ever farther apart."""
        count = len(self.joints)
        lengths = np.linalg.norm(self.offsets, axis=1)
        ways = np.full((count, count), np.inf)
        for m in range(count):
            ways[m, m] = 0.0
            up = int(self.parents[m])
            if up >= 0:
                ways[m, :m] = ways[up, :m] + lengths[m]
                ways[:m, m] = ways[m, :m]
        arms = np.linalg.norm(self.sites, axis=1)
        far = ways[np.ix_(self.owners, self.owners)] + arms[:, None] + arms[None]
        same = self.owners[:, None] == self.owners[None]
        apart = np.linalg.norm(self.sites[:, None] - self.sites[None], axis=-1)
        return np.asarray(np.where(same, apart, far), np.float64)

    def canonical(self, global_rotations: NDArray[np.floating]) -> Double:
        """From global rotations ``[..., J, 4]`` to canonical ones of the moving joints ``[..., M, 4]``."""
        q = np.asarray(global_rotations, np.float64)[..., self.joints, :]
        return np.asarray(quaternions.multiply(q, quaternions.inverse(self.body.reference.rotations[self.joints])))

    def local_pose(self, rotations: Double, hips: Double) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Local positions ``[N, J, 3]`` and rotations ``[N, J, 4]`` of the skeleton.

        Args:
            rotations: ``[N, M, 4]``, canonical.
            hips: ``[N, 3]``, metres, where the hips are.
        """
        reference = self.body.reference
        skeleton = reference.skeleton
        moved = self.carriers >= 0
        turns = np.where(moved[:, None], rotations[:, np.maximum(self.carriers, 0)], quaternions.IDENTITY)
        globals_ = np.asarray(quaternions.multiply(turns, reference.rotations), np.float64)
        above = np.maximum(skeleton.parents, 0)
        local = np.asarray(quaternions.inverse_multiply(globals_[:, above], globals_), np.float64)
        roots = skeleton.parents < 0
        local[:, roots] = globals_[:, roots]
        local = np.where((self.carriers == self.carriers[above])[:, None] & ~roots[:, None],
                         reference.local_rotations, local)  # fmt: skip
        positions = np.tile(reference.offsets, (len(hips), 1, 1))
        joint = int(self.joints[0])
        parent = int(skeleton.parents[joint])
        place = hips
        if parent >= 0:
            # What is above the hips stays where the reference pose has it.
            base = np.zeros(3)
            chain = []
            while parent >= 0:
                chain.append(parent)
                parent = int(skeleton.parents[parent])
            turn = np.asarray(quaternions.IDENTITY, np.float64)
            for j in reversed(chain):
                base = base + quaternions.rotate(turn, reference.offsets[j])
                turn = np.asarray(quaternions.multiply(turn, reference.local_rotations[j]), np.float64)
            place = np.asarray(quaternions.inverse_rotate(turn, hips - base), np.float64)
        positions[:, joint] = place
        return positions.astype(np.float32), np.asarray(quaternions.normalize(local), np.float32)


def canonical_body(body: BodyPoints) -> CanonicalBody:
    """Make a skeleton ready for the solver."""
    reference = body.reference
    skeleton = reference.skeleton
    parents = skeleton.parents
    moving = {skeleton.role("hips")} | {int(j) for j in body.joints}
    for role in ("chest", "neck", "head"):
        # All of the spine bends, also joints that play no role.
        joint = skeleton.roles.get(role, -1)
        while joint >= 0 and joint != skeleton.role("hips"):
            moving.add(joint)
            joint = int(parents[joint])
    hips = skeleton.role("hips")
    below = set(skeleton.descendants(hips))
    joints = np.array(sorted(moving & below), np.int64)
    local = {int(j): m for m, j in enumerate(joints)}
    carriers = np.full(skeleton.joint_count, -1, np.int64)
    for j in range(skeleton.joint_count):
        if j in local:
            carriers[j] = local[j]
        elif parents[j] >= 0:
            carriers[j] = carriers[parents[j]]
    above = np.array([-1 if j == hips else carriers[parents[j]] for j in joints], np.int64)
    at = reference.positions[joints]
    offsets = np.where((above >= 0)[:, None], at - at[np.maximum(above, 0)], 0.0)
    owners = np.array([local[int(j)] for j in body.joints], np.int64)
    sites = np.asarray(quaternions.rotate(reference.rotations[body.joints], body.offsets), np.float64)
    played = {joint: role for role, joint in skeleton.roles.items()}
    firsts, members, member_offsets = [0], [], []
    at_joint = np.linalg.norm(sites, axis=1) < 1e-9
    for m in range(len(joints)):
        for point, owner in enumerate(owners):
            if owner == m:
                members.append(point)
                member_offsets.append(sites[point])
            elif at_joint[point] and above[owner] == m:
                members.append(point)
                member_offsets.append(offsets[owner])
        firsts.append(len(members))
    ground = -reference.hips_over_toes - reference.toe_height
    heights = at[owners][:, 1] + sites[:, 1] - ground
    feet = np.array([name.split("_", 1)[-1] in _FEET for name in POINTS])
    return CanonicalBody(
        body,
        joints,
        tuple(played.get(int(j), "") for j in joints),
        above,
        offsets,
        owners,
        sites,
        np.array(firsts, np.int64),
        np.array(members, np.int64),
        np.array(member_offsets, np.float64).reshape(-1, 3),
        carriers,
        np.where(feet, np.maximum(heights, 0.0), 0.0),
    )
