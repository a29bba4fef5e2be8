"""Styles are told apart by simple statistics, and no two cycles of one are the same."""

import numpy as np
import pytest

from ambulo.errors import QueryError
from ambulo.motion.kinematics import forward_motion
from ambulo.synthesis.styles import STYLES, style_named

RATE = 60.0


def _statistics(performance):
    """Posture and movement of steady walking, each scaled to about one."""
    motion = performance.motion
    pose = forward_motion(motion)
    part = slice(240, 640)
    at = {name: pose.positions[part, motion.skeleton.index(name)] for name in motion.skeleton.names}
    trunk = at["Neck"] - at["Hips"]
    toes = at["LeftToeBase"][:, 1], at["RightToeBase"][:, 1]
    down = performance.truth.contacts[part] | performance.truth.heel_contacts[part]
    landings = np.flatnonzero(down[1:, 0] & ~down[:-1, 0])
    return np.array(
        [
            np.mean(np.diff(landings)) / RATE / 0.15,
            at["Hips"][:, 1].mean() / 0.03,
            np.ptp(at["Hips"][:, 1]) / 0.02,
            np.arctan2(trunk[:, 2], trunk[:, 1]).mean() / 0.08,
            np.arctan2(trunk[:, 0], trunk[:, 1]).mean() / 0.05,
            (at["Head"][:, 2] - at["Neck"][:, 2]).mean() / 0.02,
            (at["LeftHand"][:, 2] - at["LeftArm"][:, 2]).mean() / 0.10,
            (at["LeftHand"][:, 1] - at["LeftArm"][:, 1]).mean() / 0.10,
            np.ptp(at["LeftHand"][:, 2] - at["LeftArm"][:, 2]) / 0.15,
            (at["LeftHand"][:, 0] - at["LeftArm"][:, 0]).mean() / 0.06,
            toes[0].max() / 0.04,
            (toes[0].max() - toes[1].max()) / 0.03,
            down.mean() / 0.04,
            np.ptp(at["Spine2"][:, 0]) / 0.04,
        ]
    )


@pytest.fixture(scope="module")
def statistics(straight):
    return {name: _statistics(straight(style.pace, name, seed=2)) for name, style in STYLES.items()}


def test_there_are_at_least_eight_styles():
    assert len(STYLES) >= 8
    assert {"neutral", "injured", "tired", "old", "zombie", "proud", "sneaky", "cold"} <= set(STYLES)


def test_styles_are_told_apart(statistics, straight):
    names = list(statistics)
    within = np.linalg.norm(statistics["neutral"] - _statistics(straight(STYLES["neutral"].pace, seed=5)))
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            between = np.linalg.norm(statistics[first] - statistics[second])
            assert between > max(1.8, 2.0 * within), (first, second, between, within)


@pytest.mark.parametrize("name", sorted(STYLES))
def test_cycles_vary_but_not_wildly(straight, name):
    performance = straight(STYLES[name].pace, name)
    motion = performance.motion
    down = performance.truth.contacts[:, 0] | performance.truth.heel_contacts[:, 0]
    landings = np.flatnonzero(down[1:] & ~down[:-1]) + 1
    landings = landings[(landings > 180) & (landings < 640)]
    hand = motion.rotations[:, motion.skeleton.index("LeftArm")]
    poses = hand[landings]
    differences = np.linalg.norm(poses[1:] - poses[:-1], axis=-1)
    assert differences.min() > 1e-5
    assert differences.max() < 0.35
    strides = np.diff(landings)
    assert strides.std() / strides.mean() < 0.2


def test_another_seed_is_another_take(straight):
    first, second = straight(1.4, seed=1), straight(1.4, seed=2)
    assert not np.allclose(first.motion.rotations, second.motion.rotations, atol=1e-3)


def test_an_injured_walk_limps(straight):
    """The left leg bears weight for less long than the right one."""
    down = straight(STYLES["injured"].pace, "injured").truth
    stance = (down.contacts | down.heel_contacts)[240:640].mean(axis=0)
    assert stance[0] < stance[1] - 0.04


def test_unknown_style_lists_the_nearest():
    with pytest.raises(QueryError, match="'zombie'"):
        style_named("zombi")
