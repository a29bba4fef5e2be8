"""One human body in the spellings of many rigs, for the tests of role detection.

Each rig is a list of ``(role or note, name, parent name, position)``; positions are those of one body in T-pose, so
that only names, helpers and topology differ. A role of ``""`` marks a joint that plays none.
"""

from __future__ import annotations

import numpy as np

from ambulo.motion.skeleton import Skeleton

PLACES: dict[str, tuple[float, float, float]] = {
    "hips": (0.0, 0.95, 0.0),
    "spine": (0.0, 1.05, -0.01),
    "spine_mid": (0.0, 1.16, -0.01),
    "chest": (0.0, 1.28, -0.02),
    "neck": (0.0, 1.48, -0.02),
    "head": (0.0, 1.57, 0.0),
    "top": (0.0, 1.75, 0.0),
    "left_shoulder": (0.03, 1.43, 0.0),
    "left_upper_arm": (0.18, 1.43, -0.02),
    "left_forearm": (0.47, 1.43, -0.02),
    "left_hand": (0.72, 1.43, -0.02),
    "left_finger": (0.80, 1.43, -0.02),
    "left_tip": (0.88, 1.43, -0.02),
    "left_thumb": (0.75, 1.42, 0.03),
    "left_upper_leg": (0.09, 0.91, 0.0),
    "left_lower_leg": (0.09, 0.50, 0.01),
    "left_foot": (0.09, 0.09, -0.02),
    "left_toe": (0.09, 0.02, 0.12),
    "left_toe_end": (0.09, 0.02, 0.19),
}
PLACES |= {name.replace("left", "right"): (-x, y, z) for name, (x, y, z) in PLACES.items() if name.startswith("left")}

Row = tuple[str, str, str, str]  # role, name, parent's name, place


def limbs(left: list[Row], swap) -> list[Row]:
    """A left side's rows and the right ones; ``swap`` turns a left name into a right one."""

    def right(row: Row) -> Row:
        role, name, parent, place = row
        return role.replace("left", "right"), swap(name), swap(parent), place.replace("left", "right")

    return left + [right(row) for row in left]


def chain(pairs: list[tuple[str, str]], parent: str) -> list[Row]:
    """Rows of joints below one another: ``(role, name)``; the place is the role's."""
    rows = []
    for role, name in pairs:
        rows.append((role, name, parent, role))
        parent = name
    return rows


def word(left: str, right: str):
    return lambda name: name.replace(left, right)


def standard(trunk, leg, arm, swap, hips, chest) -> list[Row]:
    return chain(trunk, "") + limbs(chain(leg, hips) + chain(arm, chest), swap)


LEG = ["left_upper_leg", "left_lower_leg", "left_foot", "left_toe"]
ARM = ["left_shoulder", "left_upper_arm", "left_forearm", "left_hand"]
TRUNK = ["hips", "spine", "chest", "neck", "head"]


def simple(trunk: str, leg: str, arm: str, left: str, right: str) -> list[Row]:
    names = trunk.split()
    return standard(
        list(zip(TRUNK, names, strict=True)),
        list(zip(LEG, leg.split(), strict=True)),
        list(zip(ARM, arm.split(), strict=True)),
        word(left, right),
        names[0],
        names[2],
    )


def mixamo() -> list[Row]:
    p = "mixamorig:"
    rows = simple(
        f"{p}Hips {p}Spine {p}Spine2 {p}Neck {p}Head",
        f"{p}LeftUpLeg {p}LeftLeg {p}LeftFoot {p}LeftToeBase",
        f"{p}LeftShoulder {p}LeftArm {p}LeftForeArm {p}LeftHand",
        "Left",
        "Right",
    )
    ends = [("", f"{p}LeftToe_End", f"{p}LeftToeBase", "left_toe_end")]
    ends += [
        ("", f"{p}LeftHandIndex1", f"{p}LeftHand", "left_finger"),
        ("", f"{p}LeftHandIndex2", f"{p}LeftHandIndex1", "left_tip"),
    ]
    ends += [("", f"{p}LeftHandThumb1", f"{p}LeftHand", "left_thumb")]
    return [*rows, *limbs(ends, word("Left", "Right")), ("", f"{p}HeadTop_End", f"{p}Head", "top")]


def unreal() -> list[Row]:
    rows: list[Row] = [("", "root", "", "ground"), ("hips", "pelvis", "root", "hips")]
    rows += chain(
        [
            ("spine", "spine_01"),
            ("spine_mid", "spine_02"),
            ("chest", "spine_03"),
            ("neck", "neck_01"),
            ("head", "head"),
        ],
        "pelvis",
    )
    rows = [(role if role != "spine_mid" else "", name, parent, place) for role, name, parent, place in rows]
    left = chain(list(zip(LEG, ["thigh_l", "calf_l", "foot_l", "ball_l"], strict=True)), "pelvis")
    left += chain(list(zip(ARM, ["clavicle_l", "upperarm_l", "lowerarm_l", "hand_l"], strict=True)), "spine_03")
    left += [
        ("", "upperarm_twist_01_l", "upperarm_l", "left_upper_arm"),
        ("", "thigh_twist_01_l", "thigh_l", "left_upper_leg"),
    ]
    left += [("", "ik_foot_l", "root", "left_foot"), ("", "ik_hand_l", "root", "left_hand")]
    return rows + limbs(left, lambda name: name[:-2] + "_r" if name.endswith("_l") else name)


def biped() -> list[Row]:
    """3ds Max's Biped, whose thighs may hang from the first spine joint at the pelvis' own place."""
    rows: list[Row] = [("hips", "Bip01 Pelvis", "", "hips"), ("", "Bip01 Spine", "Bip01 Pelvis", "hips")]
    rows += chain(
        [("spine", "Bip01 Spine1"), ("chest", "Bip01 Spine2"), ("neck", "Bip01 Neck"), ("head", "Bip01 Head")],
        "Bip01 Spine",
    )
    left = chain(
        list(zip(LEG, ["Bip01 L Thigh", "Bip01 L Calf", "Bip01 L Foot", "Bip01 L Toe0"], strict=True)), "Bip01 Spine"
    )
    left += chain(
        list(zip(ARM, ["Bip01 L Clavicle", "Bip01 L UpperArm", "Bip01 L Forearm", "Bip01 L Hand"], strict=True)),
        "Bip01 Spine2",
    )
    return rows + limbs(left, word(" L ", " R "))


def style100() -> list[Row]:
    rows: list[Row] = [("hips", "Hips", "", "hips")]
    rows += [
        ("spine", "Chest", "Hips", "spine"),
        ("", "Chest2", "Chest", "spine_mid"),
        ("chest", "Chest4", "Chest2", "chest"),
    ]
    rows += [("neck", "Neck", "Chest4", "neck"), ("head", "Head", "Neck", "head")]
    left = chain(list(zip(ARM, ["LeftCollar", "LeftShoulder", "LeftElbow", "LeftWrist"], strict=True)), "Chest4")
    left += chain(list(zip(LEG, ["LeftHip", "LeftKnee", "LeftAnkle", "LeftToe"], strict=True)), "Hips")
    return rows + limbs(left, word("Left", "Right"))


def cmu() -> list[Row]:
    """CMU in MotionBuilder's names, with zero-length helpers at the hips, the chest and the hands."""
    rows: list[Row] = [("hips", "Hips", "", "hips"), ("", "LowerBack", "Hips", "hips")]
    rows += [("spine", "Spine", "LowerBack", "spine"), ("chest", "Spine1", "Spine", "chest")]
    rows += [("", "Neck", "Spine1", "chest"), ("neck", "Neck1", "Neck", "neck"), ("head", "Head", "Neck1", "head")]
    left: list[Row] = [("", "LHipJoint", "Hips", "hips")]
    left += chain(list(zip(LEG, ["LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase"], strict=True)), "LHipJoint")
    left += [
        ("left_shoulder", "LeftShoulder", "Spine1", "chest"),
        ("left_upper_arm", "LeftArm", "LeftShoulder", "left_upper_arm"),
    ]
    left += chain([("left_forearm", "LeftForeArm"), ("left_hand", "LeftHand")], "LeftArm")
    left += [("", "LeftFingerBase", "LeftHand", "left_hand"), ("", "LeftHandIndex1", "LeftFingerBase", "left_finger")]
    left += [("", "LThumb", "LeftHand", "left_hand")]

    def swap(name: str) -> str:
        return {"LHipJoint": "RHipJoint", "LThumb": "RThumb"}.get(name, name.replace("Left", "Right"))

    return rows + limbs(left, swap)


RIGS: dict[str, list[Row]] = {
    "lafan1": simple(
        "Hips Spine Spine2 Neck Head",
        "LeftUpLeg LeftLeg LeftFoot LeftToe",
        "LeftShoulder LeftArm LeftForeArm LeftHand",
        *("Left", "Right"),
    ),
    "mixamo": mixamo(),
    "unreal": unreal(),
    "biped": biped(),
    "100style": style100(),
    "cmu": cmu(),
    "rokoko": simple(
        "Hips Spine Chest Neck Head",
        "LeftThigh LeftShin LeftFoot LeftToe",
        "LeftShoulder LeftUpperArm LeftLowerArm LeftHand",
        *("Left", "Right"),
    ),
    "rokoko newton": simple(
        "Newton:Hips Newton:Spine1 Newton:Spine4 Newton:Neck Newton:Head",
        "Newton:LeftThigh Newton:LeftShin Newton:LeftFoot Newton:LeftToe",
        "Newton:LeftShoulder Newton:LeftArm Newton:LeftForeArm Newton:LeftHand",
        *("Left", "Right"),
    ),
    "bandai": simple(
        "Hips Spine Chest Neck Head",
        "UpperLeg_L LowerLeg_L Foot_L Toes_L",
        "Shoulder_L UpperArm_L LowerArm_L Hand_L",
        *("_L", "_R"),
    ),
    "vrm": simple(
        "J_Bip_C_Hips J_Bip_C_Spine J_Bip_C_UpperChest J_Bip_C_Neck J_Bip_C_Head",
        "J_Bip_L_UpperLeg J_Bip_L_LowerLeg J_Bip_L_Foot J_Bip_L_ToeBase",
        "J_Bip_L_Shoulder J_Bip_L_UpperArm J_Bip_L_LowerArm J_Bip_L_Hand",
        *("_L_", "_R_"),
    ),
    "smpl": simple(
        "pelvis spine1 spine3 neck head",
        "left_hip left_knee left_ankle left_foot",
        "left_collar left_shoulder left_elbow left_wrist",
        *("left", "right"),
    ),
    "character creator": simple(
        "CC_Base_Hip CC_Base_Waist CC_Base_Spine02 CC_Base_NeckTwist01 CC_Base_Head",
        "CC_Base_L_Thigh CC_Base_L_Calf CC_Base_L_Foot CC_Base_L_ToeBase",
        "CC_Base_L_Clavicle CC_Base_L_Upperarm CC_Base_L_Forearm CC_Base_L_Hand",
        *("_L_", "_R_"),
    ),
    "xsens": simple(
        "Hips Chest Chest4 Neck Head",
        "LeftHip LeftKnee LeftAnkle LeftToe",
        "LeftCollar LeftShoulder LeftElbow LeftWrist",
        *("Left", "Right"),
    ),
    "acclaim": simple(
        "root lowerback thorax lowerneck head",
        "lfemur ltibia lfoot ltoes",
        "lclavicle lhumerus lradius lwrist",
        *("l", "l"),
    ),
    "daz": simple(
        "hip abdomen chest neck head",
        "lThigh lShin lFoot lToe",
        "lCollar lShldr lForeArm lHand",
        *("l", "l"),
    ),
}
for _name in ("acclaim", "daz"):
    # Here "l" is no word of its own: the right side's names start with "r".
    _half = len(RIGS[_name]) - (len(RIGS[_name]) - len(TRUNK)) // 2
    RIGS[_name] = RIGS[_name][:_half] + [
        (role, "r" + name[1:], parent if parent in ("root", "thorax", "hip", "chest") else "r" + parent[1:], place)
        for role, name, parent, place in RIGS[_name][_half:]
    ]


def build(rig: list[Row]) -> tuple[Skeleton, dict[str, str]]:
    """The skeleton of a rig, and role -> joint name as it should be found."""
    rows = sorted(rig, key=lambda row: _depth(row[1], rig))
    names = [name for _, name, _, _ in rows]
    places = {name: np.array(PLACES.get(place, (0.0, 0.0, 0.0))) for _, name, _, place in rows}
    parents = [names.index(parent) if parent else -1 for _, _, parent, _ in rows]
    offsets = [places[name] - (places[parent] if parent else 0.0) for _, name, parent, _ in rows]
    ends = np.full((len(names), 3), np.nan)
    for joint in set(range(len(names))) - set(parents):
        ends[joint] = [0.0, 0.0, 0.05] if "oot" in names[joint] else 0.4 * offsets[joint]
    expected = {role: name for role, name, _, _ in rows if role}
    return Skeleton(tuple(names), np.array(parents), np.array(offsets), ends), expected


def _depth(name: str, rig: list[Row]) -> int:
    parents = {joint: parent for _, joint, parent, _ in rig}
    depth = 0
    while parents[name]:
        name, depth = parents[name], depth + 1
    return depth
