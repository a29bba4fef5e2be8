"""Laws that every synthetic take obeys, and its ground truth."""

import numpy as np
import pytest

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.synthesis import body
from ambulo.synthesis.performance import synthesize
from ambulo.synthesis.programme import round_of_takes

RATE = 60.0
SIDES = ("Left", "Right")
TERRAINS = {take.name: take.terrain for take in round_of_takes()}


@pytest.fixture(scope="module")
def poses(performances):
    return [forward_motion(performance.motion) for performance in performances]


def _heel(pose, skeleton, side):
    foot = skeleton.index(f"{side}Foot")
    return pose.positions[:, foot] + quaternions.rotate(pose.rotations[:, foot], body.HEEL_SOLE)


def _sole(pose, skeleton, side):
    """Heel, ball and tip as they would touch the ground ``[3, T, 3]``."""
    toe = skeleton.index(f"{side}ToeBase")
    ball = pose.positions[:, toe]
    tip = ball + quaternions.rotate(pose.rotations[:, toe], np.array([0.0, -body.BALL_HEIGHT, body.TOE_LENGTH]))
    return np.stack([_heel(pose, skeleton, side), ball - [0.0, body.BALL_HEIGHT, 0.0], tip])


def test_twenty_minutes_of_at_least_eight_styles(performances):
    assert sum(performance.motion.duration for performance in performances) >= 20.0 * 60.0
    assert len({performance.folder for performance in performances} - {"crouch", "jump", "terrain"}) >= 9
    neutral = [p.motion.duration for p in performances if p.folder == "neutral"]
    assert sum(neutral) >= 12.0 * 60.0
    assert max(neutral) <= 90.0
    names = [f"{performance.folder}/{performance.motion.name}" for performance in performances]
    assert len(set(names)) == len(names)


def test_every_motion_is_finite_unit_and_unrolled(performances):
    for performance in performances:
        rotations = performance.motion.rotations
        assert np.isfinite(performance.motion.positions).all()
        assert np.allclose(np.linalg.norm(rotations, axis=-1), 1.0, atol=1e-5)
        assert (np.sum(rotations[1:] * rotations[:-1], axis=-1) > 0.0).all()


def test_bones_keep_their_length(performances):
    for performance in performances:
        offsets = performance.motion.positions[:, 1:]
        assert np.abs(offsets - performance.motion.skeleton.offsets[1:]).max() == 0.0


@pytest.mark.parametrize("foot", [0, 1])
def test_nothing_slides_in_contact(performances, poses, foot):
    """Heel and toe joint stay within a millimetre over every contact."""
    for performance, pose in zip(performances, poses, strict=True):
        skeleton, truth = performance.motion.skeleton, performance.truth
        toe = pose.positions[:, skeleton.index(f"{SIDES[foot]}ToeBase")]
        heel = _heel(pose, skeleton, SIDES[foot])
        for place, contact in ((toe, truth.contacts[:, foot]), (heel, truth.heel_contacts[:, foot])):
            edges = np.flatnonzero(np.diff(np.concatenate([[False], contact, [False]]).astype(int)))
            assert len(edges) >= 4
            for start, stop in zip(edges[::2], edges[1::2], strict=True):
                spread = np.ptp(place[start:stop], axis=0)
                assert spread.max() < 1e-3, (performance.motion.name, start / RATE)


@pytest.mark.parametrize("side", SIDES)
def test_nothing_penetrates_the_ground(performances, poses, side):
    for performance, pose in zip(performances, poses, strict=True):
        terrain = TERRAINS[performance.motion.name[:-3]]
        sole = _sole(pose, performance.motion.skeleton, side)
        # A rigid sole bridges a kink of the ground, and may brush a stair's nose: its edge counts 4 cm further back.
        ground = np.min([terrain.height(sole[..., 2] + d) for d in (-0.04, 0.0, 0.04)], axis=0)
        clearance = sole[..., 1] - ground
        limit = -0.002 if terrain.flat else -0.03
        assert clearance.min() > limit, (performance.motion.name, clearance.min())


def test_contacts_are_on_the_ground(performances, poses):
    for performance, pose in zip(performances, poses, strict=True):
        terrain = TERRAINS[performance.motion.name[:-3]]
        for foot, side in enumerate(SIDES):
            toe = pose.positions[:, performance.motion.skeleton.index(f"{side}ToeBase")]
            height = toe[:, 1] - terrain.height(toe[:, 2])
            down = performance.truth.contacts[:, foot]
            assert np.abs(height[down] - body.BALL_HEIGHT).max() < (1e-3 if terrain.flat else 0.02)


def test_joint_speeds_and_accelerations_are_human(performances, poses):
    for performance, pose in zip(performances, poses, strict=True):
        rotations = performance.motion.rotations
        turned = 2.0 * np.arccos(np.clip(np.abs(np.sum(rotations[1:] * rotations[:-1], axis=-1)), 0.0, 1.0)) * RATE
        joints = performance.motion.skeleton
        legs = [joints.index(f"{side}{part}") for side in SIDES for part in ("UpLeg", "Leg", "Foot", "ToeBase")]
        others = [joint for joint in range(joints.joint_count) if joint not in legs]
        assert np.degrees(turned[:, others]).max() < 1200.0, performance.motion.name
        assert np.degrees(np.percentile(turned[:, legs], 99.9)) < 1300.0, performance.motion.name
        acceleration = np.linalg.norm(np.diff(pose.positions, n=2, axis=0), axis=-1) * RATE**2
        trunk = [joints.index(name) for name in ("Hips", "Spine2", "Head")]
        assert np.percentile(acceleration[:, trunk], 99.0) < 50.0, performance.motion.name
        assert acceleration.max() < 900.0, performance.motion.name


def test_knees_never_lock_or_bend_backward(performances):
    for performance in performances:
        for side in SIDES:
            knee = performance.motion.rotations[:, performance.motion.skeleton.index(f"{side}Leg")]
            flexion = 2.0 * np.arctan2(knee[:, 0] * np.sign(knee[:, 3]), np.abs(knee[:, 3]))
            assert np.degrees(flexion).min() > 2.0
            assert np.degrees(flexion).max() < 150.0


def test_phase_never_goes_back_and_meets_the_landings(performances):
    for performance in performances:
        truth = performance.truth
        phase = np.unwrap(truth.phase.astype(np.float64))
        assert np.diff(phase).min() > -1e-4
        if performance.folder == "jump":
            continue
        down = truth.contacts | truth.heel_contacts
        for foot in (0, 1):
            landed = np.flatnonzero(down[1:, foot] & ~down[:-1, foot]) + 1
            for frame in landed:
                aim = np.pi * foot
                wrong = [abs((phase[f] - aim + np.pi) % (2 * np.pi) - np.pi) for f in (frame - 1, frame)]
                one_frame = phase[min(frame + 1, len(phase) - 1)] - phase[frame - 1]
                assert min(wrong) <= one_frame + 1e-3, (performance.motion.name, frame / RATE)


def test_the_root_is_close_to_the_chest_and_the_hips(performances, poses):
    for performance, pose in zip(performances, poses, strict=True):
        skeleton, truth = performance.motion.skeleton, performance.truth
        chest = pose.positions[:, skeleton.index("Spine2")][:, [0, 2]]
        away = np.linalg.norm(chest - truth.root_positions[:, [0, 2]], axis=-1)
        assert away.max() < (0.20 if performance.folder == "drunk" else 0.15)
        forward = quaternions.rotate(pose.rotations[:, 0], np.array([0.0, 0.0, 1.0], np.float32))
        forward[:, 1] = 0.0
        forward /= np.linalg.norm(forward, axis=-1, keepdims=True)
        assert np.sum(forward * truth.root_directions, axis=-1).min() > np.cos(np.radians(35.0))


def test_gaits_agree_with_the_speed(performances):
    for performance in performances:
        truth = performance.truth
        speed = np.linalg.norm(np.gradient(truth.root_positions[:, [0, 2]], 1.0 / RATE, axis=0), axis=-1)
        assert set(np.unique(truth.gait)) <= {"idle", "walk", "run", "jump"}
        assert np.percentile(speed[truth.gait == "idle"], 95) < 0.25
        if (truth.gait == "run").any():
            assert np.median(speed[truth.gait == "run"]) > 1.8


def test_contacts_follow_from_the_gait(performances):
    for performance in performances:
        idle = performance.truth.gait == "idle"
        assert performance.truth.contacts[idle].mean() > 0.97


def test_shorter_and_longer_data_sets():
    short = synthesize(seed=1, minutes=0.5)
    assert 30.0 <= sum(performance.motion.duration for performance in short) < 60.0
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(MotionError, match="minutes"):
            synthesize(minutes=wrong)
    with pytest.raises(MotionError, match="frames a second"):
        synthesize(minutes=1.0, rate=5.0)


def test_another_rate_is_the_same_walk():
    slow = synthesize(seed=0, minutes=0.3, rate=30.0)[0]
    assert slow.motion.rate == 30.0
    assert slow.motion.frame_count == len(slow.truth.phase)
    toe = forward_motion(slow.motion).positions[:, slow.motion.skeleton.index("LeftToeBase")]
    contact = slow.truth.contacts[:, 0]
    both = contact[1:] & contact[:-1]
    assert np.linalg.norm(np.diff(toe, axis=0), axis=-1)[both].max() < 1e-3
