"""Retargeting between skeletons that people really use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.control.above_ground import ground_feet
from ambulo.control.create import create_controller
from ambulo.control.scripts import square
from ambulo.control.simulation import simulate
from ambulo.database.database import Database
from ambulo.errors import SkeletonError
from ambulo.formats.registry import load, load_all
from ambulo.matching.features import compute_features
from ambulo.matching.index import SearchIndex
from ambulo.matching.schema import FeatureSchema
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.quadruped import is_quadruped
from ambulo.motion.reference_pose import reference_pose
from ambulo.motion.retargeting import retarget
from ambulo.prepare.pipeline import prepare_take
from ambulo.prepare.travel import feet_travel
from ambulo.synthesis.body import default_skeleton

TAKES = {
    "cmu": ("free/cmu_loco", "train_walking_02.bvh", 1),
    "salsa": ("free/cmu_salsa_pairs", "60_02.bvh", 6),
    "bandai": ("noncommercial/bandai1", "*_walk_active_001.bvh", 0),
    "cmu_131": ("free/cmu_131", "131_01.bvh", 1),
}


def take(real_data: Path, name: str) -> Motion:
    folder, pattern, skip = TAKES[name]
    file = next((real_data / folder).rglob(pattern))
    motion = load(file)
    return with_detected_roles(motion.slice(skip, min(motion.frame_count, 1200)))


def bend(motion: Motion, side: str) -> np.ndarray:
    """How much a knee bends, radians; negative where it bends backwards."""
    p = forward_motion(motion).positions.astype(np.float64)
    role = motion.skeleton.role
    hip, knee, foot = (p[:, role(f"{side}_{part}")] for part in ("upper_leg", "lower_leg", "foot"))
    left = p[:, role("left_upper_leg")] - p[:, role("right_upper_leg")]
    axis = np.cross(knee - hip, foot - knee)
    size = np.linalg.norm(knee - hip, axis=-1) * np.linalg.norm(foot - knee, axis=-1)
    return np.arcsin(np.clip(np.sign((axis * left).sum(axis=-1)) * np.linalg.norm(axis, axis=-1) / size, -1, 1))


def directions(motion: Motion) -> np.ndarray:
    """Unit directions of the limbs' bones, ``[T, B, 3]``."""
    p = forward_motion(motion).positions.astype(np.float64)
    role = motion.skeleton.role
    bones = []
    for side in ("left", "right"):
        for a, b in (("upper_arm", "forearm"), ("forearm", "hand"), ("upper_leg", "lower_leg"), ("lower_leg", "foot")):
            bone = p[:, role(f"{side}_{b}")] - p[:, role(f"{side}_{a}")]
            bones.append(bone / np.linalg.norm(bone, axis=-1, keepdims=True))
    return np.stack(bones, axis=1)


@pytest.mark.parametrize(
    ("source", "target"),
    [("bandai", "cmu"), ("cmu", "bandai"), ("salsa", "embedded"), ("salsa", "bandai"), ("cmu_131", "salsa")],
)
def test_pose_feet_and_joints_come_over(real_data: Path, source: str, target: str) -> None:
    motion = take(real_data, source)
    body = default_skeleton() if target == "embedded" else take(real_data, target)
    done = retarget(motion, body)
    report = done.report
    assert report.contact_f1 > 0.98
    assert report.after.slide == pytest.approx(report.scale * report.before.slide, rel=0.05, abs=0.002)
    assert report.after.penetration < 1.1 * report.scale * report.before.penetration + 0.0005
    assert report.after.jumps <= 1.2 * report.before.jumps + 5.0
    assert report.reach < 1e-3
    angle = np.arccos(np.clip((directions(motion) * directions(done.motion)).sum(axis=-1), -1, 1))
    arms, legs = angle[:, [0, 1, 4, 5]], angle[:, [2, 3, 6, 7]]
    assert np.degrees(np.percentile(arms, 99)) < 1.0  # bones of the arms lie in the source's directions
    assert np.degrees(np.median(legs)) < 8.0
    for side in ("left", "right"):
        assert np.degrees(bend(done.motion, side).min()) > -3.0
    lengths = np.linalg.norm(done.motion.positions, axis=-1)
    hips = done.motion.skeleton.role("hips")
    assert np.ptp(np.delete(lengths, hips, axis=1), axis=0).max() < 1e-6


def test_a_rest_pose_along_x_is_read_alike_from_any_take(real_data: Path) -> None:
    """Bandai-Namco's bones lie along X at rest; a knee's hinge and a chest's front must not depend on the take."""
    files = sorted((real_data / "noncommercial/bandai1").rglob("*.bvh"))[::10]
    poses = [reference_pose(m.skeleton, m) for m in (with_detected_roles(load(file)) for file in files)]
    assert not any(pose.from_rest for pose in poses)
    for role in ("hips", "chest", "left_upper_leg", "right_lower_leg", "left_upper_arm", "right_forearm"):
        joint = poses[0].skeleton.role(role)
        turns = [np.abs(pose.rotations[joint] @ poses[0].rotations[joint]) for pose in poses]
        assert np.degrees(2 * np.arccos(np.clip(min(turns), -1, 1))) < 2.0, role


def test_a_game_character_and_capture_go_both_ways(real_data: Path) -> None:
    clips = load_all(real_data / "free/characters/humanoid_50clips.glb")
    motion = take(real_data, "cmu")
    there = retarget(motion, clips[0])
    assert there.report.contact_f1 > 0.98 and there.report.reach < 1e-3
    walk = next(clip for clip in clips if clip.name == "Walk_Loop")
    back = retarget(walk, motion)
    angle = np.arccos(np.clip((directions(with_detected_roles(walk)) * directions(back.motion)).sum(axis=-1), -1, 1))
    assert np.degrees(np.median(angle)) < 8.0


@pytest.mark.parametrize("name", ["fox_14clips", "horse_14clips"])
def test_four_legs_walk_on_their_own_skeleton(real_data: Path, name: str) -> None:
    clips = {clip.name: clip for clip in load_all(real_data / f"free/characters/{name}.glb")}
    walk = with_detected_roles(clips["Walk"])
    assert is_quadruped(walk.skeleton)
    feet = [walk.skeleton.role(role) for role in ("left_toe", "right_toe", "left_front_foot", "right_front_foot")]
    assert len(set(feet)) == 4
    assert forward_motion(walk).positions[:, feet, 1].min(axis=0).max() < 0.15
    travel = feet_travel(walk)
    assert travel.in_place and 1.0 < travel.speed < 2.0
    clip = prepare_take(walk, travel="from_feet")
    way = clip.positions[-1, 0] - clip.positions[0, 0]
    assert way[2] > 0.8 and abs(way[0]) < 0.05  # these face +Z, and walk where they face
    assert not feet_travel(with_detected_roles(clips["Idle"])).in_place


def test_a_robot_with_feet_of_their_own_has_its_roles_and_is_not_mapped(real_data: Path) -> None:
    """Its feet hang from the scene's root; its fingers are no legs."""
    robot = max(load_all(real_data / "free/characters/robot_14clips.glb"), key=lambda clip: clip.frame_count)
    named = with_detected_roles(robot).skeleton
    wanted = {"left_upper_leg": "UpperLeg.L", "right_lower_leg": "LowerLeg.R", "left_foot": "Foot.L", "chest": "Torso"}
    assert {role: named.names[named.role(role)] for role in wanted} == wanted
    for pair in ((robot, take(real_data, "cmu")), (take(real_data, "cmu"), robot)):
        with pytest.raises(SkeletonError, match=r"'Foot.L' does not hang below its left_lower_leg 'LowerLeg.L'"):
            retarget(*pair)


def test_a_played_fox_stays_above_ground_and_neither_sits_nor_dies(real_data: Path) -> None:
    kept = {"Walk", "Idle", "Sneak", "Death", "Sit", "Howl"}
    clips = [clip for clip in load_all(real_data / "free/characters/fox_14clips.glb") if clip.name in kept]
    prepared = [prepare_take(clip, travel="from_feet") for clip in clips]
    database = Database.from_clips(prepared, [[(None, None, clip.name.lower())] for clip in clips])
    features = compute_features(database, FeatureSchema.compile(skeleton=database.skeleton, rate=database.rate))
    index = SearchIndex.build(features, database.clip_starts, database.clip_stops, database.valid)
    feet = ground_feet(database)
    assert len(feet.joints) == 4 and (feet.heights < 0.06).all()
    recording = simulate(create_controller("motion_matching", database, index), square(), 8.0, 60.0)
    shown = {database.clips[clip].name for clip in database.clip_of_frame(recording.frames).ravel()}
    assert "Walk" in shown and shown <= {"Walk", "Idle"}
    assert (recording.global_positions[:, :, feet.joints, 1] > feet.heights - 1e-4).all()
