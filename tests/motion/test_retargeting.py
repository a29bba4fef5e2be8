"""Retargeting: laws that hold whatever the skeletons are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.errors import MotionError, SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.joint_mapping import map_joints, mapping_text, read_mapping
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.mirroring import mirror
from ambulo.motion.motion import Motion
from ambulo.motion.reference_pose import reference_pose
from ambulo.motion.retargeting import RetargetSettings, retarget, retarget_target
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.standing import standing_toes
from ambulo.synthesis.body import default_skeleton
from ambulo.synthesis.performance import synthesize

from .rigs import RIGS, build
from .test_quadruped import dog


@pytest.fixture(scope="module")
def walk() -> Motion:
    """A few seconds of the synthetic actor."""
    motion = synthesize(minutes=0.2)[0].motion
    return motion.slice(0, min(motion.frame_count, 240))


def scaled(motion: Motion, factor: float) -> Motion:
    body = motion.skeleton
    skeleton = replace(body, offsets=body.offsets * factor, end_offsets=body.end_offsets * factor)
    return replace(motion, skeleton=skeleton, positions=motion.positions * np.float32(factor))


def a_pose(body: Skeleton, degrees: float = 45.0) -> Skeleton:
    """The same body with its arms lowered at rest: local frames stay along the world's axes."""
    offsets, ends = body.offsets.copy(), body.end_offsets.copy()
    for side, sign in (("left", -1.0), ("right", 1.0)):
        turn = quaternions.from_angle_axis(np.radians(degrees) * sign, np.array([0.0, 0.0, 1.0]))
        for joint in body.descendants(body.role(f"{side}_upper_arm")):
            if joint != body.role(f"{side}_upper_arm"):
                offsets[joint] = quaternions.rotate(turn, offsets[joint])
            ends[joint] = quaternions.rotate(turn, ends[joint])
    return replace(body, offsets=offsets, end_offsets=ends)


def turned_frames(motion: Motion, seed: int = 0) -> Motion:
    """The same movement on a skeleton whose local axes all point elsewhere: its rest rotations are no identity."""
    body = motion.skeleton
    rng = np.random.default_rng(seed)
    turns = quaternions.normalize(rng.normal(size=(body.joint_count, 4)))
    above = np.where((body.parents >= 0)[:, None], turns[np.maximum(body.parents, 0)], quaternions.IDENTITY)
    offsets = quaternions.inverse_rotate(above, body.offsets.astype(np.float64))
    positions = quaternions.inverse_rotate(above, motion.positions.astype(np.float64))
    rest = quaternions.inverse_multiply(above, turns)
    local = quaternions.multiply(quaternions.inverse_multiply(above, motion.rotations.astype(np.float64)), turns)
    ends = quaternions.inverse_rotate(turns, body.end_offsets.astype(np.float64))
    names = tuple(f"j_{name}" for name in body.names)
    skeleton = Skeleton(names, body.parents, offsets, ends, body.roles, rest)
    return Motion(skeleton, positions, local, motion.rate, motion.name)


def places(motion: Motion) -> np.ndarray:
    return forward_motion(motion).positions


def test_onto_itself_nothing_changes(walk: Motion) -> None:
    for target in (walk.skeleton, walk, retarget_target(walk)):
        done = retarget(walk, target)
        lift = places(done.motion)[..., 1].mean() - places(walk)[..., 1].mean()
        moved = places(done.motion) - [0.0, lift, 0.0]
        assert np.abs(moved - places(walk)).max() < 1e-4
        assert np.abs(done.motion.rotations - walk.rotations).max() < 1e-4
        assert abs(lift) < 0.02  # the floor is put at y = 0


def test_there_and_back_is_where_it_was(walk: Motion) -> None:
    other = scaled(walk, 1.3)
    back = retarget(retarget(walk, other).motion, walk).motion
    lift = places(back)[..., 1].mean() - places(walk)[..., 1].mean()
    assert np.abs(places(back) - [0.0, lift, 0.0] - places(walk)).max() < 2e-3


@pytest.mark.parametrize("factor", [0.5, 1.4])
def test_a_scaled_copy_gives_scaled_motion(walk: Motion, factor: float) -> None:
    done = retarget(walk, scaled(walk, factor).skeleton)
    assert done.report.scale == pytest.approx(factor, rel=1e-5)
    there, here = places(walk) * factor, places(done.motion)
    there[..., 1] += here[..., 1].mean() - there[..., 1].mean()
    assert np.abs(here - there).max() < 1e-3 * factor


def test_rest_poses_do_not_matter(walk: Motion) -> None:
    body = a_pose(walk.skeleton)
    done = retarget(walk, body)
    assert np.abs(places(done.motion) - places(retarget(walk, walk.skeleton).motion)).max() < 1e-3
    back = retarget(done.motion, walk.skeleton)
    assert np.abs(places(back.motion) - places(done.motion)).max() < 2e-3


def test_local_axes_do_not_matter(walk: Motion) -> None:
    other = turned_frames(walk)
    assert np.abs(places(other) - places(walk)).max() < 1e-4
    here = retarget(walk, other.skeleton).motion
    there = retarget(other, walk.skeleton).motion
    same = retarget(walk, walk.skeleton).motion
    assert np.abs(places(here) - places(same)).max() < 1e-3
    assert np.abs(places(there) - places(same)).max() < 1e-3


def test_a_rest_pose_that_says_nothing_is_read_from_the_take(walk: Motion) -> None:
    other = turned_frames(walk)
    blank = replace(other, skeleton=replace(other.skeleton, rest_rotations=np.zeros((0, 4), np.float32)))
    with pytest.raises(SkeletonError, match="take on this skeleton"):
        retarget(walk, blank.skeleton)
    reference = reference_pose(blank.skeleton, blank)
    assert not reference.from_rest
    done = retarget(blank, walk.skeleton)
    apart = np.linalg.norm(places(done.motion) - places(retarget(walk, walk.skeleton).motion), axis=-1)
    assert np.percentile(apart, 99) < 0.06  # a pose that is read from a walk is a little off a T-pose
    assert done.report.contact_f1 > 0.95


def test_a_mirrored_motion_stays_mirrored(walk: Motion) -> None:
    body = a_pose(scaled(walk, 1.2).skeleton)
    ours = mirror(retarget(walk, body).motion)
    theirs = retarget(mirror(walk), body).motion
    assert np.abs(places(ours) - places(theirs)).max() < 2e-3


def test_a_turned_world_gives_a_turned_result(walk: Motion) -> None:
    body = scaled(walk, 0.8).skeleton
    turn = quaternions.from_yaw(1.1)
    positions, rotations = walk.positions.copy(), walk.rotations.copy()
    positions[:, 0] = quaternions.rotate(turn, positions[:, 0])
    rotations[:, 0] = quaternions.multiply(turn, rotations[:, 0])
    turned = retarget(replace(walk, positions=positions, rotations=rotations), body).motion
    assert np.abs(places(turned) - quaternions.rotate(turn, places(retarget(walk, body).motion))).max() < 2e-3


def test_bones_keep_their_lengths_and_feet_their_places(walk: Motion) -> None:
    skeleton, _ = build(RIGS["unreal"])
    done = retarget(walk, skeleton)
    lengths = np.linalg.norm(done.motion.positions, axis=-1)
    wanted = np.linalg.norm(done.motion.skeleton.offsets, axis=-1)
    hips = done.motion.skeleton.role("hips")
    others = [j for j in range(skeleton.joint_count) if j != hips]
    assert np.abs(lengths[:, others] - wanted[others]).max() < 1e-6
    report = done.report
    assert report.contact_f1 > 0.99
    assert report.after.slide == pytest.approx(report.scale * report.before.slide, abs=0.005)
    assert report.after.penetration <= report.before.penetration + 0.001
    standing = standing_toes(done.motion.skeleton, walk.rate, forward_motion(done.motion))
    reference = reference_pose(done.motion.skeleton)
    assert standing.level == pytest.approx(reference.toe_height, abs=0.003)
    assert standing.points[..., 1].min() > reference.toe_height - 0.01


def test_each_stage_adds_what_it_says(walk: Motion) -> None:
    skeleton, _ = build(RIGS["mixamo"])
    offsets = skeleton.offsets.copy()
    feet = [skeleton.index(f"mixamorig:{side}ToeBase") for side in ("Left", "Right")]
    offsets[feet] *= np.float32([1.0, 0.4, 1.2])  # toes higher in the foot than the source's
    skeleton = replace(skeleton, offsets=offsets)
    turns = retarget(walk, skeleton, settings=RetargetSettings(fit=False, heights=False)).report
    whole = retarget(walk, skeleton).report
    assert whole.after.slide < turns.after.slide
    assert whole.after.penetration < turns.after.penetration


@pytest.mark.parametrize("name", sorted(RIGS))
def test_every_rig_can_be_mapped(walk: Motion, name: str) -> None:
    skeleton, expected = build(RIGS[name])
    done = retarget(walk.slice(0, 60), skeleton)
    pairs = done.mapping.pairs
    for role, joint in expected.items():
        if role not in ("spine",) and role in walk.skeleton.roles:
            assert pairs[joint] == walk.skeleton.names[walk.skeleton.role(role)]
    assert done.report.contact_f1 > 0.97


def test_fingers_follow_fingers() -> None:
    fingers = ("HandIndex", "HandThumb")
    rows = [("", f"{s}{f}1", f"{s}Hand", "left_finger") for s in ("Left", "Right") for f in fingers]
    one, _ = build(RIGS["lafan1"] + rows)
    two, _ = build(
        RIGS["smpl"]
        + [("", f"{s}_{f}1", f"{s}_wrist", "left_finger") for s in ("left", "right") for f in ("index", "thumb")]
    )
    mapping = map_joints(one, two)
    assert mapping.pairs["left_index1"] == "LeftHandIndex1"
    assert mapping.pairs["right_thumb1"] == "RightHandThumb1"


def test_a_mapping_file_gives_the_mapping_again(walk: Motion, tmp_path) -> None:
    skeleton, _ = build(RIGS["100style"])
    mapping = map_joints(walk, skeleton)
    file = tmp_path / "map.toml"
    file.write_text(mapping_text(mapping))
    again = map_joints(walk, skeleton, read_mapping(file))
    assert again.pairs == mapping.pairs and dict(again.follows) == dict(mapping.follows)


def test_a_pair_by_hand_settles_the_role(walk: Motion) -> None:
    skeleton, _ = build(RIGS["lafan1"])
    names = tuple(f"bone{j}" for j in range(skeleton.joint_count))
    flat = replace(skeleton, names=names)
    swapped = {
        names[skeleton.index("LeftUpLeg")]: "right_upper_leg",
        names[skeleton.index("RightUpLeg")]: "left_upper_leg",
    }
    mapping = map_joints(walk, flat, swapped)
    assert mapping.target.role("right_upper_leg") == skeleton.index("LeftUpLeg")


def test_four_legs_and_two_do_not_exchange_motion(walk: Motion) -> None:
    animal = dog()
    still = Motion(animal, animal.offsets[None].repeat(9, 0), animal.rest_rotations[None].repeat(9, 0), 60.0, "dog")
    longer = replace(animal, names=tuple(f"big_{name}" for name in animal.names), offsets=1.5 * animal.offsets)
    for motion, target, whose in (
        (still, default_skeleton(), "source skeleton stands on four legs, the other on two"),
        (walk, still, "target skeleton stands on four legs, the other on two"),
        (still, longer, "source skeleton stands on four legs, the other on four legs as well"),
    ):
        with pytest.raises(SkeletonError, match=whose):
            retarget(motion, target)
    assert np.allclose(retarget(still, still).motion.rotations, still.rotations, atol=1e-6)


def test_feet_held_by_ik_outside_of_the_legs_are_named(walk: Motion) -> None:
    skeleton, _ = build(RIGS["lafan1"])
    names, parents = list(skeleton.names), skeleton.parents.copy()
    places, offsets = skeleton.rest_positions(), skeleton.offsets.copy()
    for foot in ("LeftFoot", "RightFoot"):
        joint = names.index(foot)
        parents[joint], offsets[joint] = 0, places[joint] - places[0]
    held = Skeleton(tuple(names), parents, offsets, skeleton.end_offsets)
    with pytest.raises(SkeletonError, match="left_foot 'LeftFoot' does not hang below its left_lower_leg") as caught:
        retarget(walk, held)
    assert caught.value.key == "left_foot" and "IK" in str(caught.value.remedy)


def test_what_cannot_be_mapped_is_refused_with_guesses(walk: Motion) -> None:
    names = ("pelvis", "leg_l", "leg_r", "torso", "noggin")
    offsets = np.array([[0, 1, 0], [0.1, -0.5, 0], [-0.1, -0.5, 0], [0, 0.3, 0], [0, 0.3, 0]], np.float32)
    odd = Skeleton(names, np.array([-1, 0, 0, 0, 3]), offsets)
    with pytest.raises(SkeletonError, match="cannot be mapped") as caught:
        retarget(walk, odd)
    assert "left_foot" in str(caught.value) and "[joints]" in str(caught.value.remedy)
    assert "leg_l" in str(caught.value)
    with pytest.raises(SkeletonError, match="LeftFot"):
        map_joints(walk, default_skeleton(), {"LeftFot": "left_foot"})
    with pytest.raises(SkeletonError, match="Toez"):
        map_joints(walk, default_skeleton(), {"LeftFoot": "Toez"})


@pytest.mark.parametrize("change", [{"damping": 0.0}, {"iterations": 0}, {"reach_buffer": 2.0}])
def test_impossible_settings_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(MotionError):
        RetargetSettings(**change)


def test_no_frames_are_refused(walk: Motion) -> None:
    with pytest.raises(MotionError):
        retarget(walk.slice(0, 0), walk.skeleton)


def test_a_single_frame_is_enough(walk: Motion) -> None:
    done = retarget(with_detected_roles(walk.slice(3, 4)), a_pose(walk.skeleton))
    assert done.motion.frame_count == 1 and np.isfinite(places(done.motion)).all()
