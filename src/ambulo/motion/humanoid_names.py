"""What a joint's name says: its side, and which humanoid roles it may play.

One table covers the spellings of CMU's three conversions (MotionBuilder, 3ds Max, Daz), Acclaim, LAFAN1 and PFNN,
100STYLE, Bandai-Namco, Mixamo, Rokoko, Xsens, Biped, Unreal's mannequin, VRM, Character Creator, SMPL. The same word
means different joints in different files (``LeftShoulder`` is a clavicle in one and an upper arm in the other,
``Chest`` the lowest or the highest of the spine), so a name only ever *proposes* roles; :mod:`ambulo.motion.humanoid`
decides with geometry.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

CENTRE_WORDS: dict[str, tuple[str, ...]] = {
    "hips": ("hips", "hip", "pelvis", "lowertorso"),
    "spine": ("spine", "abdomen", "lowerback", "back", "waist", "torso", "belly", "chest", "spinelower", "lspine"),
    "chest": ("chest", "upperchest", "thorax", "upperback", "uppertorso", "ribcage", "spineupper", "spine", "torso"),
    "neck": ("neck", "necklower", "lowerneck", "upperneck"),
    "head": ("head", "skull"),
}

SIDE_WORDS: dict[str, tuple[str, ...]] = {
    "shoulder": ("shoulder", "collar", "clavicle", "clav", "scapula", "collarbone", "shoulderblade"),
    "upper_arm": ("arm", "upperarm", "uparm", "shldr", "humerus", "shoulder", "armupper", "bicep"),
    "forearm": ("forearm", "lowerarm", "lowarm", "elbow", "radius", "armlower"),
    "hand": ("hand", "wrist"),
    "upper_leg": ("upleg", "upperleg", "thigh", "hip", "femur", "legupper"),
    "lower_leg": ("leg", "lowerleg", "lowleg", "shin", "calf", "knee", "tibia", "leglower", "foreleg"),
    "foot": ("foot", "ankle"),
    "toe": ("toe", "toebase", "toes", "ball", "toe0"),
}

_SIDES = {"left": "left", "l": "left", "lft": "left", "right": "right", "r": "right", "rgt": "right"}
_WORDS = frozenset(word for words in (*SIDE_WORDS.values(), *CENTRE_WORDS.values()) for word in words) | {
    "hipjoint",
    "buttock",
    "thumb",
    "fingers",
    "eye",
}
# Words in front of a name that belong to the rig, not to the joint.
_PREFIX_WORDS = """
    mixamorig bip biped valve joint jnt j cc base def org rig skel skeleton character char actor bone b sk
"""
_PREFIXES = frozenset(_PREFIX_WORDS.split())
# A joint so called is a helper, an end or a control, never the joint that plays a role.
_HELPER_WORDS = """
    end nub site tip twist roll ik pole target helper ctrl control effector dummy aim footsteps sec adj
"""
_HELPERS = frozenset(_HELPER_WORDS.split())
_TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")


class NameParts(NamedTuple):
    """A joint's name taken apart.

    Attributes:
        side: ``"left"``, ``"right"`` or None.
        word: the rest in lower case without separators, prefixes and digits, e.g. ``"upleg"``.
        number: the digits in it, or None.
        helper: an end, twist or control joint.
        key: equal for a joint and its twin on the other side, different for any two other joints.
    """

    side: str | None
    word: str
    number: int | None
    helper: bool
    key: str


@lru_cache(maxsize=4096)
def name_parts(name: str) -> NameParts:
    """Take a joint's name apart."""
    bare = re.split(r"[:|]", name)[-1]
    tokens = [token.lower() for token in _TOKEN.findall(bare)]
    side: str | None = None
    kept: list[str] = []
    for token in tokens:
        if side is None and token in _SIDES:
            side = _SIDES[token]
            kept.append("*")
        elif side is None and token[0] in "lr" and token[1:] in _WORDS:
            # "lfemur", "rhand": Acclaim writes the side without a break.
            side = _SIDES[token[0]]
            kept.extend(("*", token[1:]))
        elif side is None and (found := re.fullmatch(r"(left|right)(\w+)", token)):
            side = found[1]
            kept.extend(("*", found[2]))
        else:
            kept.append(token)
    words = [token for token in kept if token != "*"]
    while len(words) > 1 and (words[0] in _PREFIXES or words[0].isdecimal() or words[0] == "c"):
        words = words[1:]
    digits = [token for token in words if token.isdecimal()]
    letters = [token for token in words if not token.isdecimal()]
    return NameParts(
        side=side,
        word="".join(letters),
        number=int(digits[-1][-18:]) if digits else None,
        helper=any(token in _HELPERS for token in letters),
        key=" ".join(kept),
    )


def propose_roles(names: Sequence[str]) -> dict[str, list[int]]:
    """Joints that may play each role by their names alone, likeliest first. Returns role -> joint indices."""
    found: dict[str, list[tuple[int, int]]] = {}
    for joint, name in enumerate(names):
        parts = name_parts(name)
        if parts.helper:
            continue
        table = SIDE_WORDS if parts.side else CENTRE_WORDS
        for role, words in table.items():
            if parts.word in words:
                full = f"{parts.side}_{role}" if parts.side else role
                found.setdefault(full, []).append((words.index(parts.word), joint))
    # Of several vertebrae the last may be the chest, the first the spine.
    last_first = {
        role: sorted(joints, key=lambda j: (j[0], -j[1])) for role, joints in found.items() if role == "chest"
    }
    return {role: [joint for _, joint in last_first.get(role, sorted(joints))] for role, joints in found.items()}
