"""What names say: side, word, number, helper; and twins share a key."""

from __future__ import annotations

import pytest

from ambulo.motion.humanoid_names import name_parts, propose_roles


@pytest.mark.parametrize(
    ("name", "side", "word"),
    [
        ("LeftUpLeg", "left", "upleg"),
        ("mixamorig:RightForeArm", "right", "forearm"),
        ("mixamorig1:LeftHand", "left", "hand"),
        ("Bip01 L Thigh", "left", "thigh"),
        ("ValveBiped.Bip01_R_Calf", "right", "calf"),
        ("thigh_l", "left", "thigh"),
        ("UpperLeg_R", "right", "upperleg"),
        ("J_Bip_L_UpperLeg", "left", "upperleg"),
        ("J_Bip_C_Hips", None, "hips"),
        ("CC_Base_L_Thigh", "left", "thigh"),
        ("lShldr", "left", "shldr"),
        ("rCollar", "right", "collar"),
        ("lfemur", "left", "femur"),
        ("rhand", "right", "hand"),
        ("joint_Root", None, "root"),
        ("lowerback", None, "lowerback"),
        ("Spine1", None, "spine"),
        ("left_hip", "left", "hip"),
        ("LEFT_FOOT", "left", "foot"),
        ("root", None, "root"),
        ("ribcage", None, "ribcage"),
        ("links", None, "links"),
        ("レフト", None, "レフト"),
        ("", None, ""),
    ],
)
def test_side_and_word(name, side, word):
    parts = name_parts(name)
    assert (parts.side, parts.word) == (side, word)


@pytest.mark.parametrize(
    "name", ["LeftToe_End", "HeadTop_End", "upperarm_twist_01_l", "ik_foot_l", "LeftUpLegRoll", "Bip01 HeadNub"]
)
def test_helpers_are_no_candidates(name):
    assert name_parts(name).helper
    assert propose_roles([name]) == {}


def test_numbers_are_kept_apart():
    assert name_parts("Spine2").number == 2
    assert name_parts("Spine").number is None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("LeftHandIndex1", "RightHandIndex1"),
        ("lPinky2", "rPinky2"),
        ("Bip01 L Toe0", "Bip01 R Toe0"),
        ("ltibia", "rtibia"),
    ],
)
def test_twins_share_a_key_and_others_do_not(left, right):
    assert name_parts(left).key == name_parts(right).key
    assert name_parts(left).key != name_parts(
        right.replace("1", "2").replace("Toe", "Foot").replace("tibia", "femur")
    ).key or ("Pinky" in left)


def test_a_name_proposes_every_role_it_may_mean_likeliest_first():
    proposals = propose_roles(["LeftShoulder", "LeftArm", "Chest", "LHipJoint"])
    assert proposals["left_shoulder"] == [0]
    assert proposals["left_upper_arm"] == [1, 0]
    assert proposals["chest"] == [2]
    assert proposals["spine"] == [2]
    assert "left_upper_leg" not in proposals


@pytest.mark.parametrize("name", ["Spine" + "9" * 5000, "Spine\u00b2", "Spine\u0663"])
def test_numbers_of_all_kinds_are_read(name: str) -> None:
    assert name_parts(name).word.startswith("spine")
