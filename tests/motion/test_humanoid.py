"""Role detection on the spellings of many rigs, on nameless skeletons, on odd topologies, and by hand."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ambulo.errors import SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.humanoid import ROLES, detect_roles, with_detected_roles
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

_spec = importlib.util.spec_from_file_location("ambulo_test_rigs", Path(__file__).with_name("rigs.py"))
assert _spec is not None and _spec.loader is not None
rigs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(rigs)


def found_names(skeleton: Skeleton, **options) -> dict[str, str]:
    return {role: skeleton.names[joint] for role, joint in detect_roles(skeleton, **options).roles.items()}


def nameless(skeleton: Skeleton, seed: int = 0) -> Skeleton:
    numbers = np.random.default_rng(seed).permutation(skeleton.joint_count)
    return replace(skeleton, names=tuple(f"node{n}" for n in numbers))


@pytest.mark.parametrize("name", rigs.RIGS)
def test_every_role_is_found_in_every_spelling(name):
    skeleton, expected = rigs.build(rigs.RIGS[name])
    report = detect_roles(skeleton)
    assert {role: skeleton.names[joint] for role, joint in report.roles.items()} == expected
    assert report.missing == ()
    assert list(report.evidence) == list(ROLES)


@pytest.mark.parametrize("name", [name for name in rigs.RIGS if name != "mixamo"])
def test_geometry_alone_finds_the_same(name):
    skeleton, expected = rigs.build(rigs.RIGS[name])
    bare = nameless(skeleton)
    roles = detect_roles(bare).roles
    if name == "biped":
        # Without names nothing tells the pelvis from the spine joint at its place.
        expected["hips"] = "Bip01 Spine"
    assert {role: skeleton.names[joint] for role, joint in roles.items()} == expected


@pytest.mark.parametrize("turn", [0.0, 1.0, 2.5, -2.0])
@pytest.mark.parametrize("facing_names", [True, False])
def test_sides_are_told_from_poses_whichever_way_the_body_faces(body, make_motion, turn, facing_names):
    motion = make_motion(body, 1, swing=0.2)
    rotations = motion.rotations.copy()
    rotations[:, 0] = quaternions.multiply(quaternions.from_yaw(np.array(turn)), rotations[:, 0])
    skeleton = body if facing_names else nameless(body)
    motion = Motion(skeleton, motion.positions, quaternions.unroll(rotations), 60.0)
    roles = with_detected_roles(motion).skeleton.roles
    assert body.names[roles["left_upper_leg"]] == "LeftUpLeg"
    assert body.names[roles["right_hand"]] == "RightHand"
    assert body.names[roles["left_toe"]] == "LeftToeBase"


def test_a_body_in_a_rest_pose_that_tells_nothing_needs_names_or_a_motion(body):
    # All bones along X, as in Bandai-Namco's files.
    offsets = np.zeros_like(body.offsets)
    offsets[:, 0] = np.linalg.norm(body.offsets, axis=-1)
    offsets[[body.names.index(n) for n in ("LeftUpLeg", "LeftShoulder")], 2] = 0.05
    flat = replace(body, offsets=offsets, end_offsets=np.full_like(offsets, np.nan))
    assert "left_foot" in detect_roles(flat).roles
    report = detect_roles(nameless(flat))
    assert "left_foot" in report.missing
    assert "give a motion" in report.evidence["left_foot"]
    assert report.roles["hips"] == body.index("Hips")


def test_the_names_side_wins_over_a_pose_that_says_otherwise(body):
    # Someone swapped the names of left and right: what the file calls left stays left.
    swapped = tuple(n.replace("Left", "?").replace("Right", "Left").replace("?", "Right") for n in body.names)
    skeleton = replace(body, names=swapped)
    assert found_names(skeleton)["left_hand"] == "LeftHand"
    assert skeleton.index("LeftHand") == body.index("RightHand")


def test_a_foot_without_a_toe_joint_says_so(body):
    keep = [j for j, n in enumerate(body.names) if "Toe" not in n]
    lookup = {old: new for new, old in enumerate(keep)}
    parents = [lookup.get(int(body.parents[j]), -1) for j in keep]
    ends = body.end_offsets[keep].copy()
    for name in ("LeftFoot", "RightFoot"):
        ends[lookup[body.index(name)]] = [0.0, -0.05, 0.13]
    skeleton = Skeleton(tuple(body.names[j] for j in keep), np.array(parents), body.offsets[keep], ends)
    for case in (skeleton, nameless(skeleton)):
        report = detect_roles(case)
        assert report.missing == ("left_toe", "right_toe")
        assert report.roles["left_foot"] == skeleton.index("LeftFoot")
        assert "no joint below it" in report.evidence["left_toe"]


def test_legs_without_arms_are_still_legs(body):
    keep = [j for j, n in enumerate(body.names) if not any(w in n for w in ("Shoulder", "Arm", "Hand"))]
    lookup = {old: new for new, old in enumerate(keep)}
    parents = [lookup.get(int(body.parents[j]), -1) for j in keep]
    skeleton = Skeleton(
        tuple(body.names[j] for j in keep), np.array(parents), body.offsets[keep], body.end_offsets[keep]
    )
    roles = found_names(nameless(skeleton))
    assert set(roles) >= {"hips", "left_upper_leg", "left_lower_leg", "left_foot", "left_toe", "right_foot"}
    assert {"left_hand", "right_forearm"}.isdisjoint(roles)
    assert found_names(skeleton)["head"] == "Head"


def test_twist_joints_inside_a_limb_are_passed_over(body):
    # Put a roll joint half-way down each thigh and upper arm.
    names, parents, offsets, ends = list(body.names), list(body.parents), list(body.offsets), list(body.end_offsets)
    for side in ("Left", "Right"):
        for upper, lower in (("UpLeg", "Leg"), ("Arm", "ForeArm")):
            joint = names.index(side + lower)
            half = 0.5 * offsets[joint]
            above = parents[joint]
            names.insert(joint, f"{side}{upper}Roll")
            offsets.insert(joint, half)
            ends.insert(joint, np.full(3, np.nan))
            parents = [p + 1 if p >= joint else p for p in parents]
            parents.insert(joint, above)
            parents[joint + 1] = joint
            offsets[joint + 1] = half
    skeleton = Skeleton(tuple(names), np.array(parents), np.array(offsets), np.array(ends))
    roles = found_names(skeleton)
    assert roles["left_upper_leg"] == "LeftUpLeg"
    assert roles["left_lower_leg"] == "LeftLeg"
    assert roles["right_upper_arm"] == "RightArm"
    assert roles["right_forearm"] == "RightForeArm"
    assert roles["left_foot"] == "LeftFoot"


def test_a_tail_and_a_prop_do_not_disturb(body):
    hips, hand = body.index("Hips"), body.index("LeftHand")
    count = body.joint_count
    skeleton = Skeleton(
        (*body.names, "tail1", "tail2", "rifle"),
        np.concatenate([body.parents, [hips, count, hand]]),
        np.concatenate([body.offsets, [[0, 0, -0.2], [0, -0.2, -0.3], [0.1, 0, 0.6]]]),
    )
    expected = found_names(body)
    assert found_names(skeleton) == expected


def test_overrides_win_and_wrong_ones_name_the_nearest(body):
    report = detect_roles(body, overrides={"chest": "Spine1"})
    assert body.names[report.roles["chest"]] == "Spine1"
    assert "by hand" in report.evidence["chest"]
    with pytest.raises(SkeletonError, match="did you mean 'Spine"):
        detect_roles(body, overrides={"chest": "Spin"})
    with pytest.raises(SkeletonError, match="did you mean 'left_foot'"):
        detect_roles(body, overrides={"leftfoot": "LeftFoot"})


def test_a_single_joint_and_an_empty_skeleton_find_nothing():
    one = Skeleton(("thing",), np.array([-1]), np.zeros((1, 3)))
    none = Skeleton((), np.zeros(0, np.int32), np.zeros((0, 3)))
    assert detect_roles(one).roles == {}
    assert detect_roles(none).missing == ROLES


def test_the_rest_s_roles_equal_the_synthetic_actor_s_own():
    from ambulo.synthesis.body import default_skeleton

    skeleton = default_skeleton()
    assert detect_roles(skeleton).roles == dict(skeleton.roles)


def lying(body, make_motion):
    """The body on its back, hands and feet at one height."""
    motion = make_motion(body, 2, swing=0.1)
    rotations = motion.rotations.copy()
    back = quaternions.from_angle_axis(np.array(-np.pi / 2), np.array([1.0, 0.0, 0.0]))
    rotations[:, 0] = quaternions.multiply(back, rotations[:, 0])
    return Motion(body, motion.positions, quaternions.unroll(rotations), 60.0)


def test_a_lying_body_keeps_its_legs(body, make_motion):
    motion = lying(body, make_motion)
    assert found_names(body, motion=motion) == found_names(body)
    roles = detect_roles(nameless(body), replace(motion, skeleton=nameless(body))).roles
    assert roles["hips"] == body.index("Hips")
    assert roles["chest"] == body.index("Spine2")


def test_a_root_at_the_chest_does_not_make_arms_of_legs(body):
    # The same joints, hung from the chest: the tree says nothing, the standing pose does.
    chest, hips = body.index("Spine2"), body.index("Hips")
    spine = [body.index(name) for name in ("Spine1", "Spine")]
    order = [chest, *spine, hips, *(j for j in range(body.joint_count) if j not in (chest, *spine, hips))]
    above = {chest: -1, spine[0]: chest, spine[1]: spine[0], hips: spine[1]}
    parents = [above.get(j, int(body.parents[j])) for j in order]
    places = body.rest_positions()
    offsets = [places[j] - (places[p] if p >= 0 else 0.0) for j, p in zip(order, parents, strict=True)]
    lookup = {old: new for new, old in enumerate(order)}
    turned = Skeleton(
        tuple(body.names[j] for j in order),
        np.array([lookup.get(p, -1) for p in parents]),
        np.array(offsets),
        body.end_offsets[order],
    )
    for skeleton in (turned, nameless(turned)):
        roles = detect_roles(skeleton).roles
        assert order[roles["left_foot"]] == body.index("LeftFoot")
        assert order[roles["right_hand"]] == body.index("RightHand")
