"""Operators: 0 changes nothing, bones and contacts keep, left is right in the mirror."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.errors import MotionError
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.mirroring import mirror
from ambulo.motion.motion import Motion
from ambulo.prepare.contacts import contact_joints, contacts
from ambulo.prepare.quality.examination import runs
from ambulo.prepare.stylise.arm_swing import ArmSwing
from ambulo.prepare.stylise.lean import Lean
from ambulo.prepare.stylise.limp import Limp
from ambulo.prepare.stylise.stride import Stride
from ambulo.prepare.stylise.style import Operator, stylise, tempo_factor
from ambulo.prepare.stylise.tempo import Tempo
from ambulo.synthesis.performance import synthesize

OPERATORS = {
    "lean": Operator(lean=Lean(forward=0.25, left=0.1)),
    "stride": Operator(stride=Stride(amount=0.2)),
    "short_stride": Operator(stride=Stride(amount=-0.4)),
    "limp": Operator(limp=Limp(side="left", amount=0.8)),
    "arm_swing": Operator(arm_swing=ArmSwing(amount=0.7)),
    "tempo": Operator(tempo=Tempo(amount=0.25)),
}


@pytest.fixture(scope="module")
def walk() -> Motion:
    return synthesize(3, 0.5)[0].motion


def feet(motion: Motion) -> np.ndarray:
    return forward_motion(motion).positions[:, list(contact_joints(motion.skeleton))].astype(np.float64)


@pytest.mark.parametrize(
    "operator",
    [
        Operator(lean=Lean()),
        Operator(stride=Stride(amount=0.0)),
        Operator(limp=Limp(side="right", amount=0.0)),
        Operator(arm_swing=ArmSwing(amount=0.0)),
        Operator(tempo=Tempo(amount=0.0)),
    ],
)
def test_an_amount_of_nothing_is_the_identity(walk: Motion, operator: Operator) -> None:
    made, report = stylise(walk, [operator])
    assert np.array_equal(made.positions, walk.positions)
    assert np.array_equal(made.rotations, walk.rotations)
    assert made.rate == walk.rate
    assert report.missed == 0.0
    assert report.sunk == 0.0


@pytest.mark.parametrize("name", OPERATORS)
def test_something_changes_and_bones_keep_their_lengths(walk: Motion, name: str) -> None:
    made, _ = stylise(walk, [OPERATORS[name]])
    assert made.frame_count == walk.frame_count
    assert (made.rotations != walk.rotations).any() or made.rate != walk.rate
    assert np.array_equal(made.positions[:, 1:], walk.positions[:, 1:])
    assert np.allclose(np.linalg.norm(made.rotations, axis=-1), 1.0, atol=1e-5)
    assert (np.sum(made.rotations[1:] * made.rotations[:-1], axis=-1) > 0.0).all()


@pytest.mark.parametrize("name", OPERATORS)
def test_contacts_keep(walk: Motion, name: str) -> None:
    made, report = stylise(walk, [OPERATORS[name]])
    factor = tempo_factor([OPERATORS[name]])
    assert report.slide[1] <= 1.02 * factor * report.slide[0] + 0.002
    assert report.missed < 0.003
    assert report.contact_share[1] > 0.9 * report.contact_share[0]
    if name == "limp":  # its frames are others
        return
    down, before, after = contacts(walk, speed=0.3), feet(walk), feet(made)
    for side in (0, 1):
        for start, stop in runs(down[:, side]):
            moved = after[start:stop, side] - before[start:stop, side]
            assert np.ptp(moved, axis=0).max() < 0.003  # a foot that stands is moved as a whole or not at all
            if "stride" not in name:
                assert np.abs(moved).max() < 0.003


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Operator(limp=Limp(side="left", amount=0.7)), Operator(limp=Limp(side="right", amount=0.7))),
        (Operator(lean=Lean(forward=0.2, left=0.15)), Operator(lean=Lean(forward=0.2, left=-0.15))),
        (OPERATORS["stride"], OPERATORS["stride"]),
        (OPERATORS["arm_swing"], OPERATORS["arm_swing"]),
    ],
)
def test_in_the_mirror_left_is_right(walk: Motion, one: Operator, other: Operator) -> None:
    there = forward_motion(mirror(stylise(walk, [one])[0])).positions
    here = forward_motion(stylise(mirror(walk), [other])[0]).positions
    assert np.abs(there - here).max() < 2e-3


def test_a_tempo_scales_time_alone(walk: Motion) -> None:
    made, report = stylise(walk, [OPERATORS["tempo"]])
    assert made.duration == pytest.approx(walk.duration / 1.25)
    assert report.seconds == (walk.duration, made.duration)
    assert np.array_equal(made.rotations, walk.rotations)
    assert np.array_equal(made.positions, walk.positions)


@pytest.mark.parametrize("amount", [0.2, -0.5])
def test_a_stride_scales_the_way_and_not_its_width(walk: Motion, amount: float) -> None:
    made, _ = stylise(walk, [Operator(stride=Stride(amount=amount))])
    ways = [np.linalg.norm(np.diff(m.positions[::20, 0, [0, 2]], axis=0), axis=-1).sum() for m in (walk, made)]
    assert ways[1] / ways[0] == pytest.approx(1.0 + amount, abs=0.06)
    hips = walk.skeleton.role("hips")
    heights = [forward_motion(m).positions[:, hips, 1].mean() for m in (walk, made)]
    assert heights[1] <= heights[0] + 1e-4


def test_a_lean_leans_by_its_angle(walk: Motion) -> None:
    made, _ = stylise(walk, [Operator(lean=Lean(forward=0.3))])
    skeleton = walk.skeleton
    spine = max(skeleton.roles[name] for name in ("spine", "chest", "upper_chest") if name in skeleton.roles)
    one, other = (forward_motion(m).rotations[:, spine] for m in (walk, made))
    angles = 2.0 * np.arccos(np.clip(np.abs(np.sum(one * other, axis=-1)), 0.0, 1.0))
    assert angles == pytest.approx(0.3, abs=1e-3)


def test_a_limp_spares_the_leg_that_hurts() -> None:
    walk = next(p.motion for p in synthesize(3, 2.0) if p.motion.name.startswith("walk_curves"))
    made, report = stylise(walk, [Operator(limp=Limp(side="left", amount=1.0))])
    assert report.seconds[1] == report.seconds[0]

    def alone(motion: Motion) -> np.ndarray:
        down = contacts(motion, speed=0.3)
        return np.array([(down[:, 0] & ~down[:, 1]).sum(), (down[:, 1] & ~down[:, 0]).sum()], float)

    before, after = alone(walk), alone(made)
    assert after[0] / after[1] < 0.8 * before[0] / before[1]
    lifted = [np.quantile(feet(m)[:, 0, 1], 0.95) - np.quantile(feet(m)[:, 0, 1], 0.1) for m in (walk, made)]
    assert lifted[1] < 0.6 * lifted[0]


def test_arms_that_hang_still() -> None:
    walk = synthesize(3, 0.5)[0].motion
    made, _ = stylise(walk, [Operator(arm_swing=ArmSwing(amount=-1.0))])
    arm = walk.skeleton.role("left_upper_arm")
    turned = [np.linalg.norm(np.diff(m.rotations[:, arm], axis=0), axis=-1).sum() for m in (walk, made)]
    assert turned[1] < 0.3 * turned[0]


@pytest.mark.parametrize(
    "operator",
    [
        Operator(),
        Operator(lean=Lean(), tempo=Tempo(amount=0.1)),
        Operator(limp=Limp(side="left", amount=1.5)),
        Operator(stride=Stride(amount=3.0)),
        Operator(tempo=Tempo(amount=-1.0)),
        Operator(lean=Lean(forward=float("nan"))),
    ],
)
def test_what_makes_no_sense_is_refused(walk: Motion, operator: Operator) -> None:
    with pytest.raises(MotionError):
        stylise(walk, [operator])
