"""Four-legged bodies, told by their rest pose."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.motion.facing import hips_forward_axis
from ambulo.motion.humanoid import ROLES, detect_roles
from ambulo.motion.kinematics import forward
from ambulo.motion.quadruped import FRONT_FEET, is_quadruped
from ambulo.motion.skeleton import Skeleton
from ambulo.synthesis.body import default_skeleton

from .rigs import RIGS, build


def dog(words: bool = True) -> Skeleton:
    """A dog at rest: trunk level, four legs of several bones, a tail."""
    rows: list[tuple[str, str, tuple[float, float, float]]] = [
        ("hips", "", (0.0, 0.6, -0.3)),
        ("spine", "hips", (0.0, 0.6, -0.1)),
        ("chest", "spine", (0.0, 0.6, 0.15)),
        ("neck", "chest", (0.0, 0.7, 0.3)),
        ("head", "neck", (0.0, 0.85, 0.42)),
        ("tail1", "hips", (0.0, 0.6, -0.4)),
        ("tail2", "tail1", (0.0, 0.5, -0.55)),
    ]
    for side, sign in (("l", 1.0), ("r", -1.0)):
        for name, parent, x, y, z in (
            ("hind_hip", "hips", 0.08, 0.55, -0.3),
            ("hind_knee", f"hind_hip_{side}", 0.09, 0.35, -0.2),
            ("hind_hock", f"hind_knee_{side}", 0.09, 0.2, -0.38),
            ("hind_paw", f"hind_hock_{side}", 0.09, 0.02, -0.34),
            ("hind_tip", f"hind_paw_{side}", 0.09, 0.01, -0.28),
            ("fore_shoulder", "chest", 0.08, 0.5, 0.22),
            ("fore_elbow", f"fore_shoulder_{side}", 0.08, 0.35, 0.14),
            ("fore_wrist", f"fore_elbow_{side}", 0.08, 0.15, 0.2),
            ("fore_paw", f"fore_wrist_{side}", 0.08, 0.02, 0.22),
            ("fore_tip", f"fore_paw_{side}", 0.08, 0.01, 0.28),
        ):
            rows.append((f"{name}_{side}", parent, (sign * x, y, z)))
    names = [name for name, _, _ in rows]
    places = {name: np.array(place) for name, _, place in rows}
    parents = [names.index(parent) if parent else -1 for _, parent, _ in rows]
    offsets = [places[name] - (places[parent] if parent else 0.0) for name, parent, _ in rows]
    shown = (
        names
        if words
        else [f"{name[-2:]}_{j}" if name[-2:] in ("_l", "_r") else f"j{j}" for j, name in enumerate(names)]
    )
    return Skeleton(tuple(shown), np.array(parents), np.array(offsets))


@pytest.mark.parametrize("words", [True, False])
def test_a_dog_has_four_feet(words: bool) -> None:
    named, skeleton = dog(), dog(words)
    roles = detect_roles(skeleton).roles
    for side, s in (("left", "l"), ("right", "r")):
        for role, joint in (
            ("upper_leg", "hind_hip"),
            ("lower_leg", "hind_knee"),
            ("foot", "hind_hock"),
            ("toe", "hind_paw"),
            ("front_foot", "fore_paw"),
        ):
            assert roles[f"{side}_{role}"] == named.index(f"{joint}_{s}"), role
    assert roles["hips"] == 0
    assert is_quadruped(skeleton.with_roles(roles))


def test_a_dog_faces_where_its_chest_is() -> None:
    skeleton = dog()
    skeleton = skeleton.with_roles(detect_roles(skeleton).roles)
    pose = forward(
        skeleton.offsets[None], np.tile([0.0, 0.0, 0.0, 1.0], (1, skeleton.joint_count, 1)), skeleton.parents
    )
    axis = hips_forward_axis(pose.positions, pose.rotations, skeleton)
    assert axis[2] > 0.99


@pytest.mark.parametrize("name", sorted(RIGS))
def test_two_legged_bodies_are_none(name: str) -> None:
    skeleton, _ = build(RIGS[name])
    assert not set(FRONT_FEET) & set(detect_roles(skeleton).roles)


def test_a_front_foot_can_be_named_by_hand() -> None:
    skeleton = dog()
    roles = detect_roles(skeleton, None, {"left_front_foot": "fore_tip_l"}).roles
    assert roles["left_front_foot"] == skeleton.index("fore_tip_l")
    assert not set(FRONT_FEET) & set(ROLES)
    assert not is_quadruped(default_skeleton())
