"""The published networks: their shape, and how outputs of several are combined."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.errors import PosingError
from ambulo.posing.points import POINTS, SCHEMES, point_indices
from ambulo.posing.pose_set import PoseSet
from ambulo.posing.scheme_networks import HIDDEN, LIMBS, SchemeStack, SchemeTask

torch = pytest.importorskip("torch", reason="the extra `learn` is not installed")

SIX = point_indices(SCHEMES[6])
LEFT_ELBOW, RIGHT_ELBOW = POINTS.index("left_elbow"), POINTS.index("right_elbow")


@pytest.fixture(scope="module")
def stack(poses: PoseSet) -> SchemeStack:
    from ambulo.learning.config import TrainConfig
    from ambulo.learning.training import train

    networks = {}
    for scheme in (6, 16, 28):
        task = SchemeTask(poses, None, scheme)
        train(task, TrainConfig(steps=30, batch=64))
        networks[scheme] = task.network()
    return SchemeStack(networks)


def test_sizes_and_first_weights_are_the_published_ones(poses: PoseSet) -> None:
    task = SchemeTask(poses, None, 6)
    network = task.network().layers
    assert network.sizes == (18, *HIDDEN, 111) and network.activation == "selu"
    assert network.parameter_count == pytest.approx(0.33e6, rel=0.05)
    for weight in network.weights:
        assert weight.std() == pytest.approx(weight.shape[1] ** -0.5, rel=0.05)
    assert not any(bias.any() for bias in network.biases)


def test_samples_are_turned_and_mirrored(poses: PoseSet) -> None:
    task = SchemeTask(poses, None, 6)
    inputs, targets = (part.numpy() for part in task.batch(np.random.default_rng(0), 500))
    known = inputs.reshape(500, 6, 3)
    assert np.abs(known[..., [0, 2]].mean(axis=1)).max() < 1e-5
    left, right = (POINTS.index(f"{side}_hip") for side in ("left", "right"))
    unknown = targets.reshape(500, 37, 3)
    order = list(task.unknown)
    across = unknown[:, order.index(left)] - unknown[:, order.index(right)]
    yaws = np.arctan2(-across[:, 2], across[:, 0])
    assert all(np.histogram(yaws, bins=8, range=(-np.pi, np.pi))[0] > 20)


def test_an_elbow_that_is_set_brings_its_own_arm_from_the_finer_network(stack: SchemeStack, poses: PoseSet) -> None:
    # S1.20: the left elbow is moved, the right one is not: the right arm comes from the six's network, the left
    # shoulder from that of 16 points.
    asked = poses.points[:5].astype(np.float64)
    chosen = np.append(SIX, LEFT_ELBOW)
    positions = asked[:, chosen].copy()
    positions[:, -1] += [0.0, 0.15, 0.1]
    six = stack.networks[6].complete(asked[:, SIX])
    inputs = six.astype(np.float64)
    inputs[:, LEFT_ELBOW] = positions[:, -1]
    sixteen = stack.networks[16].complete(inputs[:, stack.networks[16].known])
    out = stack.complete(chosen, positions)
    right = np.setdiff1d(LIMBS["right_arm"], chosen)
    left = np.setdiff1d(LIMBS["left_arm"], chosen)
    assert POINTS.index("right_shoulder") in right and RIGHT_ELBOW in right and POINTS.index("left_shoulder") in left
    assert np.abs(out[:, right] - six[:, right]).max() < 1e-6
    assert np.abs(out[:, left] - sixteen[:, left]).max() < 1e-5
    assert np.abs(sixteen[:, left] - six[:, left]).max() > 1e-3
    assert np.array_equal(out[:, chosen], positions)


def test_setting_a_point_where_it_is_moves_nothing(stack: SchemeStack, poses: PoseSet) -> None:
    asked = poses.points[:5, SIX].astype(np.float64)
    before = stack.complete(SIX, asked)
    chosen = np.append(SIX, LEFT_ELBOW)
    moves = []
    for step in (0.0, 1e-4, 1e-3):
        elbow = before[:, [LEFT_ELBOW]] + [0.0, step, 0.0]
        moves.append(np.abs(stack.complete(chosen, np.concatenate([asked, elbow], axis=1)) - before).max())
    assert moves[0] < 1e-12 and moves[0] < moves[1] < moves[2] < 0.1


def test_all_of_a_scheme_is_that_schemes_network(stack: SchemeStack, poses: PoseSet) -> None:
    chosen = point_indices(SCHEMES[28])
    asked = poses.points[:5, chosen].astype(np.float64)
    asked += np.random.default_rng(0).normal(0.0, 0.1, asked.shape)
    out = stack.complete(chosen, asked)
    alone = stack.networks[28].complete(stack_order(chosen, stack, asked))
    arm = np.setdiff1d(LIMBS["left_arm"], chosen)
    assert np.abs(out[:, arm] - alone[:, arm]).max() < 1e-5


def stack_order(chosen: np.ndarray, stack: SchemeStack, asked: np.ndarray) -> np.ndarray:
    return asked[:, [list(chosen).index(point) for point in stack.networks[28].known]]


def test_the_six_are_needed_or_a_pose(stack: SchemeStack, poses: PoseSet) -> None:
    some = SIX[1:]
    with pytest.raises(PosingError, match=r"left_wrist.*not set"):
        stack.complete(some, poses.points[:2, some])
    pose = poses.points[:2]
    out = stack.complete(some, pose[:, some], pose)
    assert np.abs(out - stack.complete(SIX, pose[:, SIX])).max() < 1e-6
