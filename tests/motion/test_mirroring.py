"""Mirroring: the reflected body, twice the identity, on skeletons whose rest frames differ from side to side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward, forward_motion, forward_velocities
from ambulo.motion.mirroring import mirror, mirror_map, mirror_pose_arrays, mirror_vectors
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.velocities import angular, linear

ACROSS = np.array([-1.0, 1.0, 1.0])
SLOW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def bones_along_x(motion: Motion) -> Motion:
    """The same global joints on rest frames like Bandai-Namco's: left bones along local +X, right ones along -X."""
    skeleton = motion.skeleton
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (skeleton.joint_count, 1))
    for joint, name in enumerate(skeleton.names):
        children = skeleton.children(joint)
        if joint == 0 or not children:
            turns[joint] = turns[skeleton.parents[joint]] if joint else turns[0]
            continue
        side = -1.0 if name.startswith("Right") else 1.0
        turns[joint] = quaternions.between(np.array([side, 0.0, 0.0]), skeleton.offsets[children[0]])
    turns[0] = quaternions.from_angle_axis(np.array(np.pi / 2), np.array([0.0, 0.0, 1.0]))
    pose = forward_motion(motion)
    rotations = quaternions.multiply(pose.rotations, turns)
    above = np.maximum(skeleton.parents, 0)
    local = quaternions.inverse_multiply(rotations[:, above], rotations)
    local[:, 0] = rotations[:, 0]
    positions = quaternions.inverse_rotate(rotations[:, above], pose.positions - pose.positions[:, above])
    positions[:, 0] = pose.positions[:, 0]
    other = Skeleton(skeleton.names, skeleton.parents, positions.mean(axis=0), skeleton.end_offsets)
    return Motion(other, positions, quaternions.unroll(local), motion.rate)


@given(st.integers(0, 10_000), st.booleans())
@SLOW
def test_the_mirrored_body_is_the_reflected_one_and_twice_is_the_identity(body, make_motion, seed, along_x):
    motion = make_motion(body, seed)
    motion = bones_along_x(motion) if along_x else motion
    mapping = mirror_map(motion.skeleton, motion)
    mirrored = mirror(motion, mapping)
    before, after = forward_motion(motion).positions, forward_motion(mirrored).positions
    assert np.allclose(after, before[:, mapping.pairs] * ACROSS, atol=3e-6)
    back = mirror(mirrored, mapping)
    assert np.abs(back.positions - motion.positions).max() < 1e-6
    assert np.abs(back.rotations - motion.rotations).max() < 1e-6


@given(st.integers(0, 10_000))
@SLOW
def test_any_tree_is_reflected(make_tree, make_motion, seed):
    motion = make_motion(make_tree(seed), seed, frames=20)
    mapping = mirror_map(motion.skeleton, motion)
    mirrored = mirror(motion, mapping)
    free = ~mapping.kept
    before, after = forward_motion(motion).positions, forward_motion(mirrored).positions
    assert np.allclose(after[:, free], (before[:, mapping.pairs] * ACROSS)[:, free], atol=1e-5)
    assert np.abs(mirror(mirrored, mapping).rotations - motion.rotations).max() < 1e-6


def test_a_symmetric_pose_is_its_own_mirror_image(body):
    rest = Motion(body, body.offsets[None], quaternions.identity((1, body.joint_count)), 60.0)
    for motion in (rest, bones_along_x(rest)):
        mirrored = mirror(motion)
        assert np.allclose(forward_motion(mirrored).positions, forward_motion(motion).positions, atol=1e-5)
        # Axes are taken to be coordinate axes, which those of these slanted bones are to 11 degrees.
        assert np.degrees(quaternions.angle_between(mirrored.rotations, motion.rotations)).max() < 23.0
    assert np.allclose(mirror(rest).rotations, rest.rotations, atol=1e-7)


def test_frames_of_a_take_stay_like_those_of_its_mirror_image(body, make_motion):
    # Were the corrections wrong about a bone's axis, limbs would twist by 90 or 180 degrees between a clip and its
    # twin.
    motion = bones_along_x(make_motion(body, 4, frames=200, swing=0.3))
    mirrored = mirror(motion)
    apart = quaternions.angle_between(
        quaternions.normalize(mirrored.rotations[:, 1:].mean(axis=0)),
        quaternions.normalize(motion.rotations[:, 1:].mean(axis=0)),
    )
    assert np.degrees(apart).max() < 45.0


def test_the_map_does_not_depend_on_the_take(body, make_motion):
    takes = [bones_along_x(make_motion(body, seed, swing=0.3)) for seed in range(6)]
    maps = [mirror_map(take.skeleton, take) for take in takes]
    for other in maps[1:]:
        assert np.array_equal(other.pairs, maps[0].pairs)
        assert np.allclose(np.abs(np.sum(other.corrections * maps[0].corrections, axis=-1)), 1.0, atol=1e-3)
    together = mirror_map(takes[0].skeleton, takes)
    assert np.allclose(np.abs(np.sum(together.corrections * maps[0].corrections, axis=-1)), 1.0, atol=1e-3)


@pytest.mark.parametrize("along_x", [False, True])
def test_mirrored_velocities_are_the_velocities_of_the_mirrored(body, make_motion, along_x):
    motion = make_motion(body, 2)
    motion = bones_along_x(motion) if along_x else motion
    mapping = mirror_map(motion.skeleton, motion)
    mirrored = mirror(motion, mapping)
    dt = 1.0 / motion.rate
    assert np.allclose(mirror_vectors(linear(motion.positions, dt), mapping), linear(mirrored.positions, dt), atol=2e-3)
    spins = mirror_vectors(angular(motion.rotations, dt), mapping, spin=True)
    assert np.allclose(spins, angular(mirrored.rotations, dt), atol=2e-3)
    # And in the world: reflected linear velocities, angular ones with the opposite sign.
    parents = motion.skeleton.parents
    v, w = linear(motion.positions, dt), angular(motion.rotations, dt)
    _, before = forward_velocities(motion.positions, motion.rotations, v, w, parents)
    _, after = forward_velocities(
        mirrored.positions,
        mirrored.rotations,
        mirror_vectors(v, mapping),
        mirror_vectors(w, mapping, spin=True),
        parents,
    )
    assert np.allclose(after.linear, before.linear[:, mapping.pairs] * ACROSS, atol=1e-4)
    assert np.allclose(after.angular, -before.angular[:, mapping.pairs] * ACROSS, atol=1e-4)


def test_a_sword_stays_in_its_hand(body, make_motion):
    hand = body.index("RightHand")
    armed = Skeleton(
        (*body.names, "Sword"),
        np.concatenate([body.parents, [hand]]),
        np.concatenate([body.offsets, [[-0.1, 0.2, 0.3]]]),
    )
    motion = make_motion(armed, 1)
    mirrored = mirror(motion)
    assert np.array_equal(mirrored.positions[:, -1], motion.positions[:, -1])
    assert np.array_equal(mirrored.rotations[:, -1], motion.rotations[:, -1])
    assert np.abs(mirror(mirrored).rotations - motion.rotations).max() < 1e-5


def test_a_scene_root_above_the_hips_keeps_the_world_s_axes(body, make_motion):
    skeleton = Skeleton(
        ("scene", *body.names),
        np.concatenate([[-1], body.parents + 1]),
        np.concatenate([np.zeros((1, 3)), body.offsets]),
    )
    motion = make_motion(body, 3)
    positions = np.concatenate([np.zeros((motion.frame_count, 1, 3)), motion.positions], axis=1)
    rotations = np.concatenate([quaternions.identity((motion.frame_count, 1)), motion.rotations], axis=1)
    mirrored = mirror(Motion(skeleton, positions, rotations, 60.0))
    assert np.array_equal(mirrored.rotations[:, 0], rotations[:, 0])
    assert np.allclose(mirrored.positions[:, 1], motion.positions[:, 0] * ACROSS, atol=1e-6)


def test_asymmetric_bones_swap_with_their_side(body, make_motion):
    offsets = body.offsets.copy()
    offsets[body.index("LeftLeg")] *= 1.1
    motion = make_motion(replace(body, offsets=offsets), 5)
    mirrored = forward_motion(mirror(motion)).positions
    right = np.linalg.norm(mirrored[:, body.index("RightLeg")] - mirrored[:, body.index("RightUpLeg")], axis=-1)
    assert np.allclose(right, np.linalg.norm(offsets[body.index("LeftLeg")]), atol=1e-5)


def test_arrays_of_another_skeleton_are_refused(body):
    mapping = mirror_map(body)
    with pytest.raises(MotionError, match="24 joints"):
        mirror_pose_arrays(np.zeros((2, 3, 3)), quaternions.identity((2, 3)), mapping)


def test_mirrored_rotations_stay_unrolled(body, make_motion):
    mirrored = mirror(bones_along_x(make_motion(body, 6, swing=2.0)))
    assert np.all(np.sum(mirrored.rotations[1:] * mirrored.rotations[:-1], axis=-1) >= 0.0)


def test_global_rotations_reflect_on_a_body_with_aligned_frames(body, make_motion):
    motion = make_motion(body, 8)
    mapping = mirror_map(body, motion)
    before = forward_motion(motion).rotations[:, mapping.pairs] * np.array([1.0, -1.0, -1.0, 1.0])
    mirrored = mirror(motion, mapping)
    after = forward(mirrored.positions, mirrored.rotations, body.parents).rotations
    assert quaternions.angle_between(before, after).max() < 1e-3
