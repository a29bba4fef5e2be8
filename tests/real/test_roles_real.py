"""Humanoid roles and twins on every skeleton of the real capture, with and without its names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ambulo
from ambulo.maths import quaternions
from ambulo.motion.facing import facing, hips_forward_axis
from ambulo.motion.humanoid import ROLES, detect_roles
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.mirroring import mirror, mirror_map
from ambulo.motion.motion import Motion
from ambulo.motion.symmetry import mirror_pairs

CMU = {
    "hips": "Hips", "spine": "Spine", "chest": "Spine1", "neck": "Neck1", "head": "Head",
    "left_shoulder": "LeftShoulder", "left_upper_arm": "LeftArm", "left_forearm": "LeftForeArm",
    "left_hand": "LeftHand",
    "left_upper_leg": "LeftUpLeg", "left_lower_leg": "LeftLeg", "left_foot": "LeftFoot", "left_toe": "LeftToeBase",
}  # fmt: skip
MAX = {
    "hips": "Hips", "spine": "Chest", "chest": "Chest2", "neck": "Neck", "head": "Head",
    "left_shoulder": "LeftCollar", "left_upper_arm": "LeftShoulder", "left_forearm": "LeftElbow",
    "left_hand": "LeftWrist",
    "left_upper_leg": "LeftHip", "left_lower_leg": "LeftKnee", "left_foot": "LeftAnkle", "left_toe": "LeftToe",
}  # fmt: skip
DAZ = {
    "hips": "hip", "spine": "abdomen", "chest": "chest", "neck": "neck", "head": "head",
    "left_shoulder": "lCollar", "left_upper_arm": "lShldr", "left_forearm": "lForeArm", "left_hand": "lHand",
    "left_upper_leg": "lThigh", "left_lower_leg": "lShin", "left_foot": "lFoot",
}  # fmt: skip
BANDAI = {
    "hips": "Hips", "spine": "Spine", "chest": "Chest", "neck": "Neck", "head": "Head",
    "left_shoulder": "Shoulder_L", "left_upper_arm": "UpperArm_L", "left_forearm": "LowerArm_L", "left_hand": "Hand_L",
    "left_upper_leg": "UpperLeg_L", "left_lower_leg": "LowerLeg_L", "left_foot": "Foot_L", "left_toe": "Toes_L",
}  # fmt: skip

SETS = {
    "free/cmu_loco": (CMU, 9),
    "free/cmu_handshake_pair": (CMU, 1),
    "noncommercial/pfnn": (CMU, 1),
    "free/cmu_131": (MAX, 1),
    "free/cmu_salsa_pairs": (DAZ, 7),
    "free/cmu_karate": (DAZ, 3),
    "free/cmu_bollywood": (DAZ, 2),
    "noncommercial/bandai1": (BANDAI, 40),
    "noncommercial/bandai2_loco": (BANDAI, 110),
}


def right(name: str) -> str:
    if name.startswith("l") and name != "left":
        return "r" + name[1:]
    return name.replace("Left", "Right").removesuffix("_L") + ("_R" if name.endswith("_L") else "")


def expected(left: dict[str, str]) -> dict[str, str]:
    both = {role.replace("left_", "right_"): right(name) for role, name in left.items() if role.startswith("left_")}
    return left | both


def takes(real_data, folder: str) -> list[Motion]:
    files = sorted((real_data / folder).glob("*.bvh"))[:: SETS[folder][1]]
    assert files
    return [ambulo.load(path) for path in files]


@pytest.fixture(params=SETS)
def sample(request, real_data):
    return request.param, takes(real_data, request.param)


def test_every_role_is_found_by_names_and_by_geometry_alone(sample):
    folder, motions = sample
    wanted = expected(SETS[folder][0])
    for motion in motions:
        names = motion.skeleton.names
        report = detect_roles(motion.skeleton, motion)
        assert {role: names[joint] for role, joint in report.roles.items()} == wanted, motion.name
        assert set(report.missing) == set(ROLES) - set(wanted)
        numbers = np.random.default_rng(0).permutation(len(names))
        bare = replace(motion.skeleton, names=tuple(f"node{n}" for n in numbers))
        assert detect_roles(bare, replace(motion, skeleton=bare)).roles == report.roles, motion.name


def test_the_hips_forward_axis_is_where_bodies_face(sample):
    _, motions = sample
    for motion in motions:
        motion = motion.with_roles(detect_roles(motion.skeleton, motion).roles)
        pose = forward_motion(motion.slice(10, motion.frame_count))
        axis = hips_forward_axis(*pose, motion.skeleton)
        ahead = quaternions.rotate(pose.rotations[:, motion.skeleton.role("hips")], axis)[:, [0, 2]]
        ahead /= np.linalg.norm(ahead, axis=-1, keepdims=True)
        whole = facing(pose.positions, motion.skeleton)[:, [0, 2]]
        turned = np.degrees(
            np.arctan2(ahead[:, 0] * whole[:, 1] - ahead[:, 1] * whole[:, 0], np.sum(ahead * whole, axis=-1))
        )
        assert abs(np.median(turned)) < 20.0, motion.name


def test_twins_are_the_same_with_and_without_names(sample):
    _, motions = sample
    skeleton = motions[0].skeleton
    pairs = mirror_pairs(skeleton)
    for joint, twin in enumerate(pairs):
        name = skeleton.names[joint]
        sided = name.startswith(("Left", "Right", "left", "right", "LHip", "RHip", "LThumb", "RThumb")) or "_" in name
        assert not (sided and name != "joint_Root" and twin == joint), name
    bare = replace(skeleton, names=tuple(f"node{n}" for n in range(skeleton.joint_count)))
    assert np.array_equal(mirror_pairs(bare), pairs)


def test_mirrored_takes_are_reflected_and_twice_the_same(sample):
    _, motions = sample
    reference = mirror_map(motions[0].skeleton, motions)
    for motion in motions:
        mirrored = mirror(motion, reference)
        before, after = forward_motion(motion).positions, forward_motion(mirrored).positions
        assert np.allclose(after, before[:, reference.pairs] * [-1.0, 1.0, 1.0], atol=1e-5)
        back = mirror(mirrored, reference)
        assert np.abs(back.rotations - motion.rotations).max() < 1e-6
        assert np.abs(back.positions - motion.positions).max() < 1e-6


def test_mirrored_joints_turn_like_the_others(sample):
    # Were a bone's axis wrong, a clip and its mirror image would differ by a quarter or half turn in every frame.
    _, motions = sample
    reference = mirror_map(motions[0].skeleton, motions)
    fingers = ("Thumb", "Finger", "Index", "Mid", "Ring", "Pinky", "hand", "Eye")
    watched = [j for j, n in enumerate(motions[0].skeleton.names) if j > 1 and not any(f in n for f in fingers)]

    def mean(rotations):
        flat = rotations.reshape(-1, *rotations.shape[1:])[:, watched].astype(np.float64)
        return np.stack([np.linalg.eigh(flat[:, j].T @ flat[:, j])[1][:, -1] for j in range(len(watched))])

    own = mean(np.concatenate([m.rotations for m in motions]))
    twins = mean(np.concatenate([mirror(m, reference).rotations for m in motions]))
    apart = np.degrees(quaternions.angle_between(own, twins))
    assert apart.max() < 65.0, motions[0].skeleton.names[watched[int(np.argmax(apart))]]
