"""Twins: by names, by the shape of the tree, and joints that have none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ambulo.motion.skeleton import Skeleton
from ambulo.motion.symmetry import mirror_pairs


def by_name(skeleton: Skeleton) -> dict[str, str]:
    return {skeleton.names[joint]: skeleton.names[twin] for joint, twin in enumerate(mirror_pairs(skeleton))}


def renamed(skeleton: Skeleton, seed: int = 0) -> Skeleton:
    numbers = np.random.default_rng(seed).permutation(skeleton.joint_count)
    return replace(skeleton, names=tuple(f"node{n}" for n in numbers))


def test_names_that_say_a_side_are_paired(body):
    twins = by_name(body)
    for name, twin in twins.items():
        if name.startswith(("Left", "Right")):
            assert twin == name.replace("Left", "?").replace("Right", "Left").replace("?", "Right")
        else:
            assert twin == name


def test_without_names_the_shape_gives_the_same_pairs(body):
    assert np.array_equal(mirror_pairs(renamed(body)), mirror_pairs(body))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("LeftArm", "RightArm"),
        ("lShldr", "rShldr"),
        ("Shoulder_L", "Shoulder_R"),
        ("thigh_l", "thigh_r"),
        ("Bip01 L Thigh", "Bip01 R Thigh"),
        ("J_Bip_L_UpperLeg", "J_Bip_R_UpperLeg"),
        ("mixamorig:LeftUpLeg", "mixamorig:RightUpLeg"),
        ("lfemur", "rfemur"),
        ("LThumb", "RThumb"),
        ("leftEye", "rightEye"),
        ("LHipJoint", "RHipJoint"),
    ],
)
def test_spellings_of_sides(left, right):
    offsets = np.array([[0, 0, 0], [0.2, 0, 0], [-0.5, 0, 0], [0.1, 0, 0]])
    skeleton = Skeleton(("Root", left, right, "Other"), np.array([-1, 0, 0, 0]), offsets)
    assert mirror_pairs(skeleton).tolist() == [0, 2, 1, 3]


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pairs_are_an_involution_that_keeps_the_tree(make_tree, seed):
    skeleton = make_tree(seed)
    pairs = mirror_pairs(skeleton)
    assert np.array_equal(pairs[pairs], np.arange(skeleton.joint_count))
    for joint, twin in enumerate(pairs):
        if twin != joint:
            parent, other = skeleton.parents[joint], skeleton.parents[twin]
            assert (parent < 0 and other < 0) or pairs[parent] == other


def test_a_sword_in_one_hand_has_no_twin(body):
    hand = body.index("RightHand")
    armed = Skeleton(
        (*body.names, "Sword", "SwordTip"),
        np.concatenate([body.parents, [hand, body.joint_count]]),
        np.concatenate([body.offsets, [[-0.1, 0.0, 0.0], [0.0, 0.9, 0.0]]]),
    )
    twins = by_name(armed)
    assert twins["Sword"] == "Sword"
    assert twins["SwordTip"] == "SwordTip"
    assert twins["RightHand"] == "LeftHand"
    assert mirror_pairs(renamed(armed)).tolist() == mirror_pairs(armed).tolist()


def test_slightly_unlike_bones_still_pair_and_very_unlike_ones_do_not(body):
    offsets = body.offsets.copy()
    offsets[body.index("RightForeArm")] *= 1.05
    like = renamed(replace(body, offsets=offsets))
    assert mirror_pairs(like)[body.index("LeftArm")] == body.index("RightArm")
    offsets[body.index("RightForeArm")] *= 2.0
    unlike = renamed(replace(body, offsets=offsets))
    assert mirror_pairs(unlike)[body.index("LeftArm")] == body.index("LeftArm")
