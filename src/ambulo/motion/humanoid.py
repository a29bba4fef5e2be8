"""Which joint plays which humanoid role, on any skeleton: names propose, geometry decides and fills the gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ambulo.errors import SkeletonError, nearest_names
from ambulo.motion.humanoid_geometry import Body, Shape, read_body, read_shape
from ambulo.motion.humanoid_names import name_parts, propose_roles
from ambulo.motion.motion import Motion
from ambulo.motion.quadruped import FRONT_FEET, quadruped_roles
from ambulo.motion.skeleton import Skeleton

_SIDED = ("shoulder", "upper_arm", "forearm", "hand", "upper_leg", "lower_leg", "foot", "toe")

ROLES: tuple[str, ...] = (
    "hips",
    "spine",
    "chest",
    "neck",
    "head",
    *(f"left_{role}" for role in _SIDED),
    *(f"right_{role}" for role in _SIDED),
)
"""All humanoid role names. ``foot`` is the ankle joint, ``toe`` the joint at the base of the toes; ``chest`` is the
joint that the shoulders and the neck hang from, ``spine`` the first joint above the hips, ``shoulder`` the clavicle's
joint."""

ALL_ROLES: tuple[str, ...] = (*ROLES, *FRONT_FEET)
"""The humanoid roles and those that only quadrupeds have (:mod:`ambulo.motion.quadruped`)."""


@dataclass(frozen=True)
class RoleReport:
    """Outcome of :func:`detect_roles`.

    Attributes:
        roles: role -> joint index.
        evidence: role -> one phrase that says why that joint, or why none.
        missing: the roles for which no joint was found, in the order of :data:`ROLES`.
    """

    roles: dict[str, int]
    evidence: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def detect_roles(
    skeleton: Skeleton, motion: Motion | None = None, overrides: Mapping[str, str] | None = None
) -> RoleReport:
    """Find the joint of each humanoid role.

    Geometry looks for two pairs of like chains (legs end lowest, arms hang from the chest), the column between and
    above them, and tells left from right by where toes point and knees bend. Names (see
    :mod:`ambulo.motion.humanoid_names`) propose joints. Where both agree, fine; where geometry finds nothing or a
    proposed joint fits as well, the name wins; a named joint at the same place as the joint above it (``LHipJoint``,
    ``LowerBack``) is a helper and is passed over.

    Args:
        skeleton: any skeleton.
        motion: poses on it. Without, the rest pose is used, which says nothing on rigs whose rest is no standing pose.
        overrides: role -> joint name, as in the ``[roles]`` table of a project; they win.

    Raises:
        SkeletonError: an override names no role or no joint.
    """
    body = read_body(skeleton, motion)
    shape = read_shape(body)
    proposals = propose_roles(skeleton.names)
    _distrust(shape)
    _settle_sides(skeleton, shape)
    roles: dict[str, int] = {}
    evidence: dict[str, str] = {}
    for role in ROLES:
        joint, why = _choose(body, shape, role, proposals.get(role, []))
        evidence[role] = why
        if joint is not None:
            roles[role] = joint
    _explain_missing(skeleton, roles, evidence)
    four_legged = quadruped_roles(skeleton, roles)
    if four_legged is not None:
        roles = four_legged[0]
        evidence.update(four_legged[1])
    for role, name in (overrides or {}).items():
        if role not in ALL_ROLES:
            raise SkeletonError(f"no role {role!r}; {nearest_names(role, ALL_ROLES)}", key=role)
        if name not in skeleton.names:
            raise SkeletonError(
                f"no joint {name!r} for the role {role!r}; {nearest_names(name, skeleton.names)}",
                key=role,
                remedy="edit [roles] in ambulo.toml",
            )
        roles[role] = skeleton.index(name)
        evidence[role] = f"set to {name!r} by hand"
    ordered = {role: roles[role] for role in ALL_ROLES if role in roles}
    return RoleReport(ordered, evidence, tuple(role for role in ROLES if role not in roles))


def with_detected_roles(motion: Motion, overrides: Mapping[str, str] | None = None) -> Motion:
    """The same motion with the roles of its skeleton filled in."""
    return motion.with_roles(detect_roles(motion.skeleton, motion, overrides).roles)


def _distrust(shape: Shape) -> None:
    """Drop what geometry found where one joint would be of two limbs: fingers of a rig whose feet hang from its
    scene's root were then taken for legs. Names alone speak."""
    limbs = [joint for role, joint in shape.roles.items() if role.startswith(("left_", "right_"))]
    if len(set(limbs)) == len(limbs):
        return
    shape.roles, shape.sides_known = {}, False
    shape.evidence = dict.fromkeys(shape.evidence, "its limbs do not hang together as a person's do")


def _settle_sides(skeleton: Skeleton, shape: Shape) -> None:
    """Let names that say a side overrule geometry, and drop the sides where nothing tells."""
    votes = 0
    for role, joint in shape.roles.items():
        side = name_parts(skeleton.names[joint]).side
        if side is not None and role.startswith(("left_", "right_")):
            votes += 1 if role.startswith(side) else -1
    if votes < 0:
        shape.roles = {_other_side(role): joint for role, joint in shape.roles.items()}
        shape.evidence = {_other_side(role): why for role, why in shape.evidence.items()}
    if votes == 0 and not shape.sides_known:
        for role in [role for role in shape.roles if role.startswith(("left_", "right_"))]:
            shape.roles.pop(role)
            shape.evidence[role] = "the limb was found, but nothing tells left from right: give a motion"


def _other_side(role: str) -> str:
    side, _, part = role.partition("_")
    return {"left": f"right_{part}", "right": f"left_{part}"}.get(side, role)


def _choose(body: Body, shape: Shape, role: str, named: list[int]) -> tuple[int | None, str]:
    names = body.skeleton.names
    found = shape.roles.get(role)
    if found is None:
        for joint in named:
            if not shape.roles or _fits(body, shape, role, joint):
                return joint, f"named {names[joint]!r}"
        return None, shape.evidence.get(role, "no name and no geometry points to a joint")
    if found in named:
        return found, f"named {names[found]!r}; {shape.evidence[role]}"
    for joint in named:
        if _fits(body, shape, role, joint):
            return joint, f"named {names[joint]!r} (geometry alone: {names[found]!r})"
    return found, shape.evidence[role]


def _fits(body: Body, shape: Shape, role: str, joint: int) -> bool:
    """Whether a named joint can play a role beside what geometry found."""
    if joint in shape.roles.values():
        return False  # it already plays another role
    found = shape.roles.get(role)
    if role in ("spine", "neck", "head", "chest", "hips"):
        if role in ("spine", "neck") and body.lengths[joint] <= body.tolerance:
            return False
        low, high = _limits(shape, role)
        return (low is None or bool(body.path(low, joint))) and (high is None or bool(body.path(joint, high)))
    side, _, part = role.partition("_")
    arm = part in _SIDED[:4]
    chain = _SIDED[:4] if arm else _SIDED[4:]
    place = chain.index(part)
    above = next((shape.roles[r] for p in reversed(chain[:place]) if (r := f"{side}_{p}") in shape.roles), None)
    below = next((shape.roles[r] for p in chain[place + 1 :] if (r := f"{side}_{p}") in shape.roles), None)
    if above is None:
        above = shape.roles.get("chest" if arm else "hips")
    if above is not None and not body.path(above, joint):
        return False
    if below is not None and not body.path(joint, below):
        return False
    if part != "shoulder" and found is not None:
        # The bone that starts here must not be a stub, and the joint not a helper at its parent's place.
        if body.lengths[joint] <= body.tolerance:
            return False
        if below is not None and body.lengths[body.path(joint, below)].sum() < 0.3 * body.lengths[below]:
            return False
    return True


def _limits(shape: Shape, role: str) -> tuple[int | None, int | None]:
    """Joints that must lie above and below a joint of the trunk."""
    get = shape.roles.get
    if role == "hips":
        return None, get("left_upper_leg", get("chest"))
    if role == "spine":
        return get("hips"), get("chest")
    if role == "chest":
        return get("hips"), get("left_upper_arm", get("head"))
    if role == "neck":
        return get("chest"), get("head")
    return get("neck", get("chest")), None


def _explain_missing(skeleton: Skeleton, roles: Mapping[str, int], evidence: dict[str, str]) -> None:
    for side in ("left", "right"):
        foot = roles.get(f"{side}_foot")
        if foot is not None and f"{side}_toe" not in roles and not skeleton.children(foot):
            evidence[f"{side}_toe"] = f"{skeleton.names[foot]!r} has no joint below it"
        upper = roles.get(f"{side}_upper_arm")
        if upper is not None and f"{side}_shoulder" not in roles and skeleton.parents[upper] == roles.get("chest"):
            evidence[f"{side}_shoulder"] = f"{skeleton.names[upper]!r} hangs from the chest itself"
