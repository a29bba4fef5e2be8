"""Motion matching that shows the mean of several places: which ones, in step with one another, and without pops."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control.authored import play_clip
from ambulo.control.blended_matching import BlendedMatching
from ambulo.control.controller import join, take
from ambulo.control.create import create_controller
from ambulo.control.intent import Intent
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.pose import Pose
from ambulo.control.scripts import circle
from ambulo.control.settings import BlendSettings, ControlSettings, SearchSettings
from ambulo.control.simulation import simulate
from ambulo.database.database import Database
from ambulo.database.pointer import blend_pointers
from ambulo.errors import ControlError, QueryError
from ambulo.matching.features import compute_features
from ambulo.matching.index import SearchIndex
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import synthesize

DT = 1.0 / 60.0
GO = Intent(np.array([[0.0, 0.0, 1.4]], np.float32))
Wishes = list[tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope="module")
def blended(database: Database, index: SearchIndex) -> BlendedMatching:
    return BlendedMatching(database, index)


def drive(controller: Any, state: Any, wishes: Wishes) -> tuple[list[Any], list[Pose]]:
    states, poses = [], []
    for velocity, facing in wishes:
        state, pose = controller.step(state, Intent(velocity, facing), DT)
        states.append(state)
        poses.append(pose)
    return states, poses


@pytest.fixture(scope="module")
def walked(blended: BlendedMatching, wishes: Wishes) -> tuple[list[Any], list[Pose]]:
    return drive(blended, blended.start(5, seed=3), wishes)


def test_one_place_is_motion_matching(database: Database, index: SearchIndex, wishes: Wishes) -> None:
    alone = BlendedMatching(database, index, ControlSettings(blend=BlendSettings(count=1)))
    plain = MotionMatching(database, index)
    _, ours = drive(alone, alone.start(5, seed=3), wishes)
    _, theirs = drive(plain, plain.start(5, seed=3), wishes)
    for a, b in zip(ours, theirs, strict=True):
        assert_array_equal(a.frames, b.frames)
        assert_allclose(a.global_positions, b.global_positions, atol=1e-5)
        assert_allclose(a.velocities, b.velocities, atol=1e-4)


def test_weights_sum_to_one_and_the_own_place_is_the_heaviest(
    blended: BlendedMatching, walked: tuple[list[Any], list[Pose]]
) -> None:
    several = 0
    for state, pose in zip(*walked, strict=True):
        for n in range(5):
            shown = blended.blended(state, n)
            assert shown.weights.sum() == pytest.approx(1.0)
            assert (np.diff(shown.weights) <= 0.0).all()
            assert shown.pointers[0].resolve(blended.database) == pose.frames[n]
            several += len(shown.pointers) > 1 and shown.weights[0] < 0.8
    assert several > 100  # they do count


def test_the_pose_is_the_weighted_mean(blended: BlendedMatching, walked: tuple[list[Any], list[Pose]]) -> None:
    """Against the exact mean of the same places (Markley et al. 2007), which is worked out in another way."""
    compared = 0
    for state, pose in list(zip(*walked, strict=True))[::7]:
        for n in range(5):
            shown = blended.blended(state, n)
            if len(shown.pointers) < 2:
                continue
            exact = blend_pointers(blended.database, shown.pointers, shown.weights)
            assert_allclose(pose.positions[n, 1:], exact.positions[1:], atol=1e-5)
            dots = np.abs((pose.rotations[n, 1:] * exact.rotations[1:]).sum(-1))
            assert dots.min() > 1.0 - 1e-4  # within 1.6 degrees
            compared += 1
    assert compared > 20


def test_places_with_other_feet_on_the_ground_are_not_blended(
    blended: BlendedMatching, walked: tuple[list[Any], list[Pose]]
) -> None:
    contacts = np.asarray(blended.database.contacts)
    slack = round(blended.settings.blend.slack * 60.0)
    weight = foreign = 0.0
    for state, pose in zip(*walked, strict=True):
        for n in range(5):
            assert_array_equal(pose.contacts[n], contacts[pose.frames[n]])
            shown = blended.blended(state, n)
            for pointer, part in zip(shown.pointers[1:], shown.weights[1:], strict=True):
                frame = pointer.resolve(blended.database)
                near = contacts[max(frame - slack, 0) : frame + slack + 1]
                weight += part
                foreign += part * (not (near == pose.contacts[n]).all(axis=1).any())
    assert weight > 20.0
    assert foreign < 0.02 * weight, foreign / weight


def test_equal_poses_blend_to_that_pose(index: SearchIndex) -> None:
    """A database in which every place exists three times (S0.8)."""
    clips = [prepare_take(p.motion) for p in synthesize(0, 6.0) if p.motion.name.startswith("walk")][:2]
    once, thrice = Database.from_clips(clips), Database.from_clips([*clips, *clips, *clips])
    found = SearchIndex.build(
        compute_features(thrice, index.feature_set.schema), thrice.clip_starts, thrice.clip_stops, thrice.valid
    )
    settings = ControlSettings(search=SearchSettings(bias=0.0), blend=BlendSettings(softness=0.01))
    own = BlendedMatching(thrice, found, settings)
    state, equal = own.start(), 0
    for _ in range(120):
        state, pose = own.step(state, GO, DT)
        shown = own.blended(state)
        places = {pointer.resolve(thrice) % once.frame_count for pointer in shown.pointers}
        if len(places) > 1 or shown.weights[0] > 0.6:
            continue
        equal += 1
        assert_allclose(pose.positions[0, 1:], thrice.positions[pose.frames[0], 1:], atol=1e-5)
        assert_allclose(pose.rotations[0, 1:], thrice.rotations[pose.frames[0], 1:], atol=1e-5)
    assert equal > 20


def test_the_sign_of_a_quaternion_does_not_matter(
    database: Database, index: SearchIndex, walked: tuple[list[Any], list[Pose]], wishes: Wishes
) -> None:
    turned = copy.copy(database)
    signs = np.random.default_rng(0).choice(np.array([-1.0, 1.0], np.float32), (database.frame_count, 1, 1))
    turned.rotations = np.asarray(database.rotations) * signs
    own = BlendedMatching(turned, index)
    _, poses = drive(own, own.start(5, seed=3), wishes[:60])
    for pose, expected in zip(poses, walked[1], strict=False):
        assert_allclose(pose.global_positions, expected.global_positions, atol=1e-4)


def test_velocities_are_those_of_the_blend_and_nothing_pops(
    blended: BlendedMatching, walked: tuple[list[Any], list[Pose]]
) -> None:
    """Shares change while places are blended; what they change the pose by is in the velocities."""
    poses = walked[1]
    gaps = []
    for last, pose in pairwise(poses):
        calm = ~pose.transitioned
        moved = (pose.positions - last.positions)[calm, 1:] / DT
        gaps.append(np.abs(moved - 0.5 * (pose.velocities + last.velocities)[calm, 1:]).max(initial=0.0))
    assert np.quantile(gaps, 0.9) < 0.05
    assert max(gaps) < 0.5


def test_a_crowd_is_every_one_alone(
    blended: BlendedMatching, walked: tuple[list[Any], list[Pose]], wishes: Wishes
) -> None:
    state = take(blended.start(5, seed=3), 2)
    _, alone = drive(blended, state, [(v[2:3], f[2:3]) for v, f in wishes])
    for one, many in zip(alone, walked[1], strict=True):
        assert_allclose(one.global_positions[0], many.global_positions[2], atol=1e-6)


def test_a_step_changes_nothing_and_states_join(blended: BlendedMatching) -> None:
    state = blended.start(2)
    for _ in range(20):
        state, _ = blended.step(state, Intent(np.repeat(GO.velocity, 2, 0)), DT)
    before = copy.deepcopy(state)
    _, first = blended.step(state, Intent(np.repeat(GO.velocity, 2, 0)), DT)
    for name, value in before.__dict__.items():
        if isinstance(value, np.ndarray):
            assert_array_equal(getattr(state, name), value)
    _, again = blended.step(join([take(state, 0), take(state, 1)]), Intent(np.repeat(GO.velocity, 2, 0)), DT)
    assert_array_equal(first.positions, again.positions)


def test_tags_hold_for_all_places(blended: BlendedMatching) -> None:
    state = blended.start()
    mask = blended.database.mask(("run",))
    for step in range(120):
        state, _ = blended.step(state, Intent(2.0 * GO.velocity, required_tags=("run",)), DT)
        for pointer, weight in zip(*blended.blended(state), strict=True):
            assert mask[pointer.resolve(blended.database)] or weight < 1e-3, step


def test_an_authored_clip_is_played_alone(blended: BlendedMatching) -> None:
    state = blended.start()
    for _ in range(40):
        state, _ = blended.step(state, GO, DT)
    clip = blended.database.clips[0]
    state = play_clip(blended, state, clip.name, clip.start_time + 1.0, clip.start_time + 2.0)
    for step in range(59):
        state, pose = blended.step(state, GO, DT)
        assert len(blended.blended(state).pointers) == 1
        assert pose.frames[0] == clip.start + 61 + step
    for _ in range(60):
        state, _ = blended.step(state, GO, DT)
    assert len(blended.blended(state).pointers) > 1


def test_the_stack_keeps_to_its_path_as_well(database: Database, index: SearchIndex) -> None:
    from ambulo.evaluation.measures import measure

    values = {}
    for name in ("motion_matching", "blended_matching"):
        script = circle()
        recording = simulate(create_controller(name, database, index), script, 10.0)
        values[name] = measure(recording, database, path=script.desired_path())
    ours, theirs = values["blended_matching"], values["motion_matching"]
    assert ours["path_error"].value <= 1.5 * theirs["path_error"].value
    assert ours["contact_slide"].value < 0.5


def test_nearest_places_are_those_of_brute_force(blended: BlendedMatching) -> None:
    rng = np.random.default_rng(1)
    features = blended.index.feature_set.raw
    frame_set = blended.frame_sets.of(("walk",), ("run",))
    own = rng.choice(np.flatnonzero(frame_set.allowed), 20)
    queries = features[own] + rng.normal(0.0, 0.1, (20, features.shape[1])).astype(np.float32)
    found, costs, own_costs = blended.frame_search.nearest(frame_set, queries, own, False, (), 3, 30)
    weights = blended.frame_search.weights_for(False, ())
    for n in range(20):
        rivals = blended.index.top(
            queries[n], 3, current=int(own[n]), mask=frame_set.mask, weights=weights, surround_frames=30,
            separation_frames=30,
        )  # fmt: skip
        assert_array_equal(found[n], [rival.frame for rival in rivals])
        assert_allclose(costs[n], [rival.cost for rival in rivals], rtol=1e-4, atol=1e-4)
        bonus = frame_set.mask.bonus(int(own[n]))
        expected = sum(blended.index.explain(queries[n], int(own[n]), weights).values()) - bonus
        assert own_costs[n] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_what_cannot_be_is_refused(blended: BlendedMatching, database: Database, index: SearchIndex) -> None:
    with pytest.raises(ControlError, match="softness"):
        BlendSettings(softness=0.0)
    with pytest.raises(ControlError, match="count"):
        BlendSettings(count=0)
    with pytest.raises(ControlError, match="count"):
        BlendSettings(count=2.5)  # type: ignore[arg-type]
    with pytest.raises(ControlError, match="character 3"):
        blended.blended(blended.start(2), 3)
    with pytest.raises(ControlError, match="state"):
        blended.step(MotionMatching(database, index).start(), GO, DT)  # type: ignore[arg-type]
    other = BlendedMatching(database, index, ControlSettings(blend=BlendSettings(count=2)))
    with pytest.raises(ControlError, match="state"):
        blended.step(other.start(), GO, DT)
    with pytest.raises(QueryError, match="crawl"):
        blended.step(blended.start(), replace(GO, required_tags=("crawl",)), DT)


def test_it_is_not_exported(database: Database, index: SearchIndex) -> None:
    pytest.importorskip("onnx", reason="the extra `learn` is not installed")
    from ambulo.export.engine.controller_graph import Stack

    with pytest.raises(ControlError, match="cannot be a graph") as caught:
        Stack.of(create_controller("blended_matching", database, index))
    assert "BlendedMatching" in caught.value.message and "`mm`" in str(caught.value.remedy)
