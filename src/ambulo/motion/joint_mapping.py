"""Which joint of one humanoid follows which joint of another: by roles, names and structure, or from a file."""

from __future__ import annotations

import difflib
import itertools
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ambulo.errors import FormatError, SkeletonError, nearest_names
from ambulo.motion.humanoid import ROLES, detect_roles
from ambulo.motion.humanoid_names import CENTRE_WORDS, SIDE_WORDS, name_parts
from ambulo.motion.motion import Motion
from ambulo.motion.quadruped import is_quadruped
from ambulo.motion.reference_pose import NEEDED
from ambulo.motion.skeleton import Skeleton

_FINGERS = {"thumb": "thumb", "index": "index", "mid": "middle", "middle": "middle", "ring": "ring"}
_FINGERS |= {"pinky": "little", "little": "little", "pinkie": "little"}


@dataclass(frozen=True)
class JointMapping:
    """What every joint of a target follows.

    Attributes:
        source: with roles.
        target: with roles.
        follows: target joint -> (source joint, source joint, share of the second). Joints that are missing keep the
            reference pose against their parents.
        reasons: target joint -> one phrase that says why.
    """

    source: Skeleton
    target: Skeleton
    follows: Mapping[int, tuple[int, int, float]]
    reasons: Mapping[int, str]

    @property
    def pairs(self) -> dict[str, str]:
        """Target joint's name -> source joint's name, of the joints that follow one joint alone."""
        names = self.source.names
        return {self.target.names[j]: names[a] for j, (a, b, w) in sorted(self.follows.items()) if a == b or w == 0.0}


def map_joints(
    source: Skeleton | Motion,
    target: Skeleton | Motion,
    joints: Mapping[str, str] | None = None,
    *,
    source_roles: Mapping[str, str] | None = None,
    target_roles: Mapping[str, str] | None = None,
) -> JointMapping:
    """Map the joints of a target to those of a source.

    The same skeleton follows itself joint by joint. Otherwise joints that play the same role follow each other; those
    between hips and chest, and between chest and head, follow what the source's spine does at the same part of the way;
    fingers follow fingers, and joints of the same name below the same limb each other. The rest stays at rest.

    Args:
        source, target: skeletons, better motions: poses tell roles where names do not. Roles that are set are kept.
        joints: target joint's name -> source joint's name or a role; ``""`` leaves a joint at rest. A pair of main
            joints also settles who plays that role.
        source_roles: role -> joint name, as in the ``[roles]`` table of a project; they win.
        target_roles: the same for the target.

    Raises:
        SkeletonError: an unknown name, or roles that no joint plays: with the nearest guesses and how to correct them.
    """
    from_body, to_body = _with_roles(source, source_roles), _with_roles(target, target_roles)
    wishes = dict(joints or {})
    from_body, to_body = _settled(from_body, to_body, wishes)
    for body, whose in ((from_body, "source"), (to_body, "target")):
        lacking = [role for role in NEEDED if role not in body.roles]
        if lacking:
            raise _unmapped(body, lacking, whose)
    follows: dict[int, tuple[int, int, float]] = {}
    reasons: dict[int, str] = {}
    if same_tree(from_body, to_body):
        for joint in range(to_body.joint_count):
            follows[joint], reasons[joint] = (joint, joint, 0.0), "the same joint"
    else:
        for role, joint in to_body.roles.items():
            if role in from_body.roles and role != "spine":
                follows[joint], reasons[joint] = (from_body.roles[role], from_body.roles[role], 0.0), f"both are {role}"
        _follow_column(from_body, to_body, "hips", "chest", follows, reasons)
        _follow_column(from_body, to_body, "chest", "head", follows, reasons)
        _follow_extras(from_body, to_body, follows, reasons)
    for name, wanted in wishes.items():
        joint = to_body.index(name)
        if wanted == "":
            follows.pop(joint, None)
            reasons[joint] = "left at rest by hand"
            continue
        other = from_body.roles[wanted] if _is_role(wanted, from_body) else from_body.index(wanted)
        follows[joint], reasons[joint] = (other, other, 0.0), "set by hand"
    return JointMapping(from_body, to_body, follows, reasons)


def same_tree(a: Skeleton, b: Skeleton) -> bool:
    """Whether two skeletons have the same joints hanging together in the same way; lengths may differ."""
    return a.names == b.names and np.array_equal(a.parents, b.parents)


def _with_roles(body: Skeleton | Motion, overrides: Mapping[str, str] | None) -> Skeleton:
    skeleton = body.skeleton if isinstance(body, Motion) else body
    if not skeleton.roles:
        motion = body if isinstance(body, Motion) else None
        return skeleton.with_roles(detect_roles(skeleton, motion, overrides).roles)
    roles = dict(skeleton.roles)
    for role, name in (overrides or {}).items():
        if role not in ROLES:
            raise SkeletonError(f"no humanoid role {role!r}; {nearest_names(role, ROLES)}", key=role)
        roles[role] = skeleton.index(name)
    return skeleton.with_roles(roles)


def _is_role(name: str, skeleton: Skeleton) -> bool:
    return name in skeleton.roles and name not in skeleton.names


def _settled(source: Skeleton, target: Skeleton, wishes: Mapping[str, str]) -> tuple[Skeleton, Skeleton]:
    """Roles as pairs that were given by hand settle them."""
    from_roles, to_roles = dict(source.roles), dict(target.roles)
    for name, wanted in wishes.items():
        if name not in target.names:
            raise SkeletonError(
                f"the target has no joint {name!r}; {nearest_names(name, target.names)}",
                joint=name,
                remedy="correct the left side in the mapping file's [joints] table",
            )
        joint = target.index(name)
        if wanted in ROLES and wanted not in source.names:
            for role in [role for role, j in to_roles.items() if j == joint]:
                del to_roles[role]
            to_roles[wanted] = joint
            continue
        if wanted and wanted not in source.names:
            raise SkeletonError(
                f"the source has no joint {wanted!r} for {name!r}, and it is no role; "
                f"{nearest_names(wanted, [*source.names, *ROLES])}",
                joint=wanted,
                remedy="correct the right side in the mapping file's [joints] table",
            )
        if not wanted:
            continue
        other = source.index(wanted)
        here = next((role for role, j in target.roles.items() if j == joint), None)
        there = next((role for role, j in source.roles.items() if j == other), None)
        if here is not None and here != there:
            for role in [role for role, j in from_roles.items() if j == other]:
                del from_roles[role]
            from_roles[here] = other
        elif here is None and there is not None and there not in to_roles:
            to_roles[there] = joint
    return source.with_roles(from_roles), target.with_roles(to_roles)


def _column(skeleton: Skeleton, low: str, high: str) -> list[tuple[int, float]]:
    """Joints from one role up to another, both included, with the part of the way at which they lie."""
    if low not in skeleton.roles or high not in skeleton.roles:
        return []
    joints = [skeleton.roles[high]]
    while joints[-1] != skeleton.roles[low]:
        joints.append(int(skeleton.parents[joints[-1]]))
        if joints[-1] < 0:
            return []
    joints.reverse()
    way = np.cumsum([0.0, *(float(np.linalg.norm(skeleton.offsets[j])) for j in joints[1:])])
    total = max(float(way[-1]), 1e-9)
    return [(joint, float(at) / total) for joint, at in zip(joints, way, strict=True)]


def _follow_column(
    source: Skeleton,
    target: Skeleton,
    low: str,
    high: str,
    follows: dict[int, tuple[int, int, float]],
    reasons: dict[int, str],
) -> None:
    """Joints of the target's spine between two roles follow the source's at the same part of the way."""
    there, here = _column(source, low, high), _column(target, low, high)
    if not there:
        return
    # Of several joints at one place the last one turns the bone that begins there.
    samples: list[tuple[int, float]] = []
    for joint, at in there:
        if samples and at - samples[-1][1] < 1e-4:
            samples[-1] = (joint, samples[-1][1])
        else:
            samples.append((joint, at))
    for joint, at in here[1:-1]:
        if joint in follows:
            continue
        above = next((k for k, (_, way) in enumerate(samples) if way >= at - 1e-4), len(samples) - 1)
        below = max(above - 1, 0)
        gap = samples[above][1] - samples[below][1]
        share = 1.0 if gap < 1e-6 else min(max((at - samples[below][1]) / gap, 0.0), 1.0)
        a, b = samples[below][0], samples[above][0]
        if at < 1e-4:
            a = b = samples[0][0]
        if share < 1e-3 or share > 0.999:
            a = b = a if share < 1e-3 else b
            share = 0.0
        follows[joint] = (a, b, share)
        reasons[joint] = f"at {100 * at:.0f} % of the way from {low} to {high}"


def _follow_extras(
    source: Skeleton, target: Skeleton, follows: dict[int, tuple[int, int, float]], reasons: dict[int, str]
) -> None:
    """Fingers, and joints of the same name on the same limb."""
    there, here = _extras(source), _extras(target)
    for key, joint in here.items():
        if key in there and joint not in follows:
            follows[joint] = (there[key], there[key], 0.0)
            reasons[joint] = "the same finger" if key[1] in _FINGERS.values() else "the same name"


def _extras(skeleton: Skeleton) -> dict[tuple[str, str, int], int]:
    """Joints without a role: (role above, what it is, which of its row) -> joint."""
    by_joint = {joint: role for role, joint in skeleton.roles.items()}
    columns = {j for low, high in (("hips", "chest"), ("chest", "head")) for j, _ in _column(skeleton, low, high)}
    above: list[str] = []
    found: dict[tuple[str, str, int], int] = {}
    for joint, parent in enumerate(skeleton.parents):
        role = by_joint.get(joint, above[parent] if parent >= 0 else "")
        above.append(role)
        if joint in by_joint or joint in columns or not role or any(d in by_joint for d in skeleton.descendants(joint)):
            continue
        word = name_parts(skeleton.names[joint]).word.removeprefix("hand")
        finger = next((_FINGERS[f] for f in _FINGERS if f in word), None) if role.endswith("hand") else None
        what = finger or word
        place = 0
        while (role, what, place) in found:
            place += 1
        found[role, what, place] = joint
    return found


def check_legs(source: Skeleton, target: Skeleton) -> None:
    """See that motion can go from one body to another: both walk on two legs, each of which is one chain.

    Args:
        source: with roles.
        target: with roles. Skeletons that are the same, joint by joint, always pass.

    Raises:
        SkeletonError: a leg is not one chain, or one of the bodies stands on four legs; with how to go on.
    """
    if same_tree(source, target):
        return
    for body, whose, other in ((source, "source", target), (target, "target", source)):
        if is_quadruped(body):
            legs = "four legs as well, but other ones" if is_quadruped(other) else "two"
            raise SkeletonError(
                f"the {whose} skeleton stands on four legs, the other on {legs}: motion goes from person to person, "
                "and from a quadruped only to its own skeleton",
                joint=body.names[body.roles["left_front_foot"]],
                remedy="give it a project of its own; if it is a person, correct its roles in [roles]",
            )
        for side in ("left", "right"):
            chain = [f"{side}_{part}" for part in ("upper_leg", "lower_leg", "foot")]
            for above, below in itertools.pairwise(chain):
                if body.roles[below] in body.descendants(body.roles[above])[1:]:
                    continue
                raise SkeletonError(
                    f"the {whose} skeleton cannot be mapped: its {below} {body.names[body.roles[below]]!r} does not "
                    f"hang below its {above} {body.names[body.roles[above]]!r}",
                    joint=body.names[body.roles[below]],
                    key=below,
                    remedy="name another joint for it in the mapping file or in [roles]; of a rig whose feet IK holds, "
                    "export the deforming bones with the feet below the shins",
                )


def guess_joints(role: str, skeleton: Skeleton, count: int = 3) -> list[str]:
    """The joints whose names come nearest to what joints of a role are usually called."""
    side, _, part = role.partition("_") if role.startswith(("left_", "right_")) else (None, "", role)
    words = SIDE_WORDS.get(part, CENTRE_WORDS.get(part, (part,)))
    scores = []
    for name in skeleton.names:
        parts = name_parts(name)
        likeness = max(difflib.SequenceMatcher(None, parts.word, word).ratio() for word in words)
        scores.append((likeness - (0.3 if parts.side != side else 0.0) - (0.2 if parts.helper else 0.0), name))
    scores.sort(key=lambda score: -score[0])
    return [name for score, name in scores[:count] if score > 0.4]


def _unmapped(skeleton: Skeleton, lacking: list[str], whose: str) -> SkeletonError:
    guesses = []
    for role in lacking:
        near = guess_joints(role, skeleton)
        guesses.append(f"{role} (perhaps {' or '.join(near)})" if near else f"{role} (no joint has a name like it)")
    side = "left" if whose == "target" else "right"
    example = guess_joints(lacking[0], skeleton, 1) or [skeleton.names[0]]
    pair = f"{example[0]} = {lacking[0]!r}" if whose == "target" else f"TARGET_JOINT = {example[0]!r}"
    return SkeletonError(
        f"the {whose} skeleton cannot be mapped: no joint plays {'; '.join(guesses)}",
        key=lacking[0],
        remedy=f"write a mapping file whose [joints] table names them on the {side} ({pair}), or name them in [roles]",
    )


def read_mapping(path: str | Path) -> dict[str, str]:
    """Read a mapping file: the ``[joints]`` table of a TOML file, target joint = source joint or role.

    Raises:
        FormatError: it cannot be read, is no TOML, or holds anything else.
    """
    file = Path(path)
    try:
        data = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=file) from None
    except UnicodeDecodeError:
        raise FormatError("is not UTF-8 text", path=file) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not TOML: {error}", path=file) from None
    remedy = 'write [joints] and below it lines such as "LeftFoot" = "lFoot"'
    for key in data:
        if key != "joints":
            raise FormatError(f"unknown key {key!r} in a mapping file", path=file, key=key, remedy=remedy)
    joints = data.get("joints")
    if not isinstance(joints, dict) or not all(isinstance(value, str) for value in joints.values()):
        raise FormatError("a mapping file is a table [joints] of names", path=file, key="joints", remedy=remedy)
    return dict(joints)


def mapping_text(mapping: JointMapping) -> str:
    """The text of a mapping file that gives this mapping again; blends and joints at rest are comments."""
    lines = [
        "# target joint = source joint, or a role such as left_foot; an empty name leaves the joint at rest",
        "",
        "[joints]",
    ]
    for joint, name in enumerate(mapping.target.names):
        follow = mapping.follows.get(joint)
        if follow is None:
            lines.append(f"# {_quoted(name)} stays at rest")
            continue
        a, b, share = follow
        names = mapping.source.names
        if a == b or share == 0.0:
            lines.append(f"{_quoted(name)} = {_quoted(names[a])}  # {mapping.reasons[joint]}")
        else:
            between = f"{100 * (1 - share):.0f} % {names[a]}, {100 * share:.0f} % {names[b]}"
            lines.append(f"# {_quoted(name)} follows {between}: {mapping.reasons[joint]}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
