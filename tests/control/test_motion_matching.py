"""Motion matching: pure, deterministic, the same alone and in a crowd, blind to where the world's axes point."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control.controller import Controller, join, take
from ambulo.control.foot_lock import FootLock, foot_geometry
from ambulo.control.intent import Intent
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.pose import Pose
from ambulo.control.settings import ControlSettings, SearchSettings
from ambulo.database.database import Database
from ambulo.errors import ControlError, QueryError
from ambulo.matching.index import SearchIndex
from ambulo.maths import quaternions

Wishes = list[tuple[np.ndarray, np.ndarray]]


def drive(controller: Controller, state: Any, wishes: Wishes, dt: float = 1 / 60) -> tuple[Any, list[Pose]]:
    poses = []
    for velocity, facing in wishes:
        state, pose = controller.step(state, Intent(velocity, facing), dt)
        poses.append(pose)
    return state, poses


def arrays_of(state: Any) -> list[np.ndarray]:
    found = []
    for field in dataclasses.fields(state):
        value = getattr(state, field.name)
        found += [value] if isinstance(value, np.ndarray) else arrays_of(value)
    return found


def assert_same(a: Pose, b: Pose, rows: Any = slice(None)) -> None:
    for field in dataclasses.fields(Pose):
        assert_array_equal(getattr(a, field.name), getattr(b, field.name)[rows], err_msg=field.name)


@pytest.mark.parametrize("name", ["stack", "blocks"])
def test_a_crowd_does_what_its_characters_do_alone(name: str, request: Any, wishes: Wishes) -> None:
    controller = request.getfixturevalue(name)
    start = controller.start(5, seed=7, position=np.arange(15).reshape(5, 3) * [1, 0, 1])
    end, crowd = drive(controller, start, wishes)
    ends = []
    for character in range(5):
        own = [(v[[character]], f[[character]]) for v, f in wishes]
        last, alone = drive(controller, take(start, character), own)
        ends.append(last)
        for together, single in zip(crowd, alone, strict=True):
            assert_same(single, together, [character])
    for a, b in zip(arrays_of(join(ends)), arrays_of(end), strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["bare", "stack", "blocks"])
def test_steps_do_not_change_the_state_and_repeat_exactly(name: str, request: Any, wishes: Wishes) -> None:
    controller = request.getfixturevalue(name)
    state, _ = drive(controller, controller.start(5), wishes[:40])
    before = [array.copy() for array in arrays_of(state)]
    _, first = drive(controller, state, wishes[40:])
    for array, kept in zip(arrays_of(state), before, strict=True):
        assert_array_equal(array, kept)
    _, second = drive(controller, state, wishes[40:])
    for a, b in zip(first, second, strict=True):
        assert_same(a, b)


@pytest.mark.parametrize("name", ["stack", "blocks"])
def test_a_turned_world_gives_a_turned_result(name: str, request: Any, wishes: Wishes) -> None:
    controller = request.getfixturevalue(name)
    angle = 1.1
    turn = np.array([0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)])
    shift = np.array([3.0, 0.0, -2.0])
    plain = [(v[:2], f[:2]) for v, f in wishes]
    turned = [(quaternions.rotate(turn, v), quaternions.rotate(turn, f)) for v, f in plain]
    _, a = drive(controller, controller.start(2), plain)
    ahead = quaternions.rotate(turn, np.array([0.0, 0.0, 1.0]))
    _, b = drive(controller, controller.start(2, position=shift, facing=ahead), turned)
    for left, right in zip(a, b, strict=True):
        assert_array_equal(left.frames, right.frames)
        expected = quaternions.rotate(turn, left.global_positions.astype(np.float64)) + shift
        assert_allclose(right.global_positions, expected, atol=2e-3)


def test_a_wish_is_answered_in_the_step_that_brings_it(bare: MotionMatching) -> None:
    still, go = np.zeros((1, 3), np.float32), np.array([[0, 0, 1.4]], np.float32)
    state, _ = drive(bare, bare.start(), [(-go, still)] * 5)
    assert 0.0 < state.timer[0] < bare.interval - 1e-6
    after, _ = bare.step(state, Intent(go), 1 / 60)
    assert after.timer[0] == bare.interval
    # The query asks for what lies ahead of the wish, not of the pose.
    ahead = bare.schema.group("trajectory_position")
    assert after.query[0, ahead.stop - 1] > 0.5


def test_searches_come_every_tenth_of_a_second(bare: MotionMatching) -> None:
    go = np.array([[0, 0, 1.4]], np.float32)
    state, _ = drive(bare, bare.start(), [(go, 0 * go)] * 60)
    searched = []
    for step in range(60):
        state, _ = bare.step(state, Intent(go), 1 / 60)
        if state.timer[0] == bare.interval:
            searched.append(step)
    assert len(searched) > 5 and max(np.diff(searched)) <= 6


def test_who_rests_is_left_alone_until_the_clip_ends(database: Database, index: SearchIndex) -> None:
    still = np.zeros((1, 3), np.float32)
    bare = MotionMatching(database, index, ControlSettings(search=SearchSettings(rest_speed=0.08)))
    state, rested = bare.start(), 0
    for _ in range(300):
        speed = np.hypot(*state.root[0, 4:6])
        state, pose = bare.step(state, Intent(still), 1 / 60)
        if speed < 0.05:
            rested += 1
            assert not pose.transitioned[0] or state.query_frame[0] < 0
    assert rested > 100
    _, poses = drive(bare, state, [(still + np.float32([0, 0, 1.4]), still)])
    assert poses[0].transitioned[0]


@pytest.mark.parametrize("dt", [1 / 30, 1 / 60, 1 / 120, 1 / 144])
def test_any_step_length_goes_the_same_way(stack: FootLock, dt: float) -> None:
    steps = round(4.0 / dt)
    velocity = np.array([[0.0, 0.0, 1.4]], np.float32)
    _, poses = drive(stack, stack.start(), [(velocity, np.zeros((1, 3), np.float32))] * steps, dt)
    way = poses[-1].root_position[0] - poses[steps // 2].root_position[0]
    assert_allclose(way, [0.0, 0.0, 2.8], atol=0.35)
    for pose in poses:
        assert np.isfinite(pose.global_positions).all()
        assert_allclose(np.linalg.norm(pose.rotations, axis=-1), 1.0, atol=1e-4)


def test_between_two_frames_the_pose_is_between_them(bare: MotionMatching, database: Database) -> None:
    still = np.zeros((1, 3), np.float32)
    state, _ = drive(bare, bare.start(), [(still, still)] * 2)
    state, pose = bare.step(state, Intent(still), 1 / 240)
    assert not pose.transitioned[0]
    frame, part = int(state.playhead[0]), state.playhead[0] % 1.0
    assert part == pytest.approx(0.25)
    expected = 0.75 * database.positions[frame, 1:] + 0.25 * database.positions[frame + 1, 1:]
    assert_allclose(pose.positions[0, 1:], expected, atol=1e-6)
    between = quaternions.slerp(database.rotations[frame, 1:], database.rotations[frame + 1, 1:], 0.25)
    assert quaternions.angle_between(pose.rotations[0, 1:], between).max() < 1e-3


def test_only_frames_of_the_tags_are_shown(stack: FootLock, database: Database, wishes: Wishes) -> None:
    allowed = database.mask(("run",))
    state = stack.start()
    for velocity, facing in wishes:
        state, pose = stack.step(state, Intent(velocity[:1], facing[:1], required_tags=("run",)), 1 / 60)
        assert allowed[pose.frames[0]]
    junk = database.mask(("junk",))
    assert junk.any()
    for velocity, facing in wishes:
        state, pose = stack.step(state, Intent(velocity[:1] * 2, facing[:1]), 1 / 60)
        assert not junk[pose.frames[0]]


def test_every_character_has_its_own_tags(stack: FootLock, database: Database, wishes: Wishes) -> None:
    walk, run = database.mask(("walk",)), database.mask(("run",))
    state = stack.start(3)
    for velocity, _ in wishes:
        state, pose = stack.step(state, Intent(velocity[:3], required_tags=(("walk",), ("run",), ("walk",))), 1 / 60)
        assert walk[pose.frames[0]] and run[pose.frames[1]] and walk[pose.frames[2]]


def test_wrong_wishes_are_refused(stack: FootLock) -> None:
    still = np.zeros((2, 3), np.float32)
    state = stack.start(2)
    with pytest.raises(QueryError, match="wlak") as caught:
        stack.step(state, Intent(still, required_tags=("wlak",)), 1 / 60)
    assert "walk" in str(caught.value)
    for wrong in (np.nan, np.inf):
        broken = still.copy()
        broken[1, 2] = wrong
        with pytest.raises(ControlError, match="character 1"):
            stack.step(state, Intent(broken), 1 / 60)
        with pytest.raises(ControlError, match="character 1"):
            stack.step(state, Intent(still, broken), 1 / 60)
    with pytest.raises(ControlError, match="state has 2"):
        stack.step(state, Intent(still[:1]), 1 / 60)
    with pytest.raises(ControlError, match="velocity"):
        Intent(np.zeros(3))
    with pytest.raises(ControlError, match="facing"):
        Intent(still, np.zeros((1, 3)))
    for dt in (0.0, -0.1, np.nan, np.inf):
        with pytest.raises(ControlError, match="positive"):
            stack.step(state, Intent(still), dt)
    for dt in (1e-9, 1e9):
        with pytest.raises(ControlError, match="several steps"):
            stack.step(state, Intent(still), dt)
    with pytest.raises(ControlError, match="positive"):
        stack.step(state, Intent(still), cast(float, np.array(1 / 60)))
    with pytest.raises(ControlError, match="faster"):
        stack.step(state, Intent(np.full((2, 3), 3e38, np.float32)), 1 / 60)
    for tags in ((1,), ({"walk"},), {"walk"}, ("walk", ("run",)), None):
        with pytest.raises(ControlError, match="required_tags"):
            Intent(still, required_tags=cast(Any, tags))
    assert Intent(still, required_tags=cast(Any, ["walk"])).required_tags == ("walk",)
    for velocity in ([["a", 0, 0]], [[1j, 0, 0]], [[1, 2], [3]]):
        with pytest.raises(ControlError, match="velocity"):
            Intent(cast(Any, velocity))
    with pytest.raises(ControlError, match="at least one"):
        stack.start(0)
    for count in (1.5, "3", None, True):
        with pytest.raises(ControlError, match="whole number"):
            stack.start(cast(int, count))
    for seed in (-1, 1.5, None):
        with pytest.raises(ControlError, match="seed"):
            stack.start(1, cast(int, seed))
    with pytest.raises(ControlError, match="facing"):
        stack.start(1, facing=(0.0, 1.0, 0.0))


def test_a_state_of_another_controller_or_database_is_refused(
    stack: FootLock, blocks: FootLock, bare: MotionMatching
) -> None:
    """Compiled code would read and write beyond its arrays."""
    intent = Intent(np.zeros((1, 3), np.float32))
    elsewhere = dataclasses.replace(bare.start(), playhead=np.array([float(bare.database.frame_count)]))
    nowhere = dataclasses.replace(bare.start(), playhead=np.array([np.nan]))
    state = stack.start()
    wrong: list[tuple[Any, Any]] = [
        (stack, blocks.start()), (blocks, stack.start()), (stack, state.inner), (bare, state), (stack, None),
        (bare, elsewhere), (bare, nowhere),
    ]  # fmt: skip
    for controller, foreign in wrong:
        with pytest.raises(ControlError, match="another controller"):
            controller.step(foreign, intent, 1 / 60)
    with pytest.raises(ControlError, match="another controller"):
        bare.explain(dataclasses.replace(bare.start(), query_frame=elsewhere.playhead.astype(np.int64)))
    with pytest.raises(ControlError, match="no characters"):
        stack.step(take(state, []), Intent(np.zeros((0, 3), np.float32)), 1 / 60)
    with pytest.raises(ControlError, match="no such character"):
        take(state, 7)
    with pytest.raises(ControlError, match="different controllers"):
        join([state, blocks.start()])


def test_clips_too_short_to_jump_into_are_said_to_be_so(database: Database, index: SearchIndex) -> None:
    nothing_left = SearchIndex.build(
        index.feature_set,
        database.clip_starts,
        database.clip_stops,
        database.valid,
        end_margin_frames=database.frame_count,
    )
    with pytest.raises(ControlError, match="clips are too short") as caught:
        MotionMatching(database, nothing_left).start()
    assert "longer clips" in str(caught.value.remedy)


def test_a_database_of_nothing_to_show_is_refused_with_the_reasons(database: Database, index: SearchIndex) -> None:
    junk, glitches = copy.copy(database), copy.copy(database)
    junk.tags = {**database.tags, "junk": np.array([[0, database.frame_count]], np.int64)}
    glitches.valid = np.zeros_like(database.valid)
    with pytest.raises(QueryError, match=f"tag junk {database.frame_count}"):
        MotionMatching(junk, index).start()
    with pytest.raises(QueryError, match=r"glitches \d+"):
        MotionMatching(glitches, index).start()
    with pytest.raises(ControlError, match="every frame"):
        foot_geometry(glitches)


def test_an_explanation_adds_up(stack: FootLock, wishes: Wishes, database: Database) -> None:
    state = stack.start(5)
    for velocity, facing in wishes[:50]:
        state, _ = stack.step(state, Intent(velocity, facing), 1 / 60)
    for character in range(5):
        told = stack.explain(state, character)
        inner = state.inner.inner
        assert told.winner.frame == inner.chosen_frame[character]
        for candidate in (told.winner, told.runner_up):
            assert candidate is not None
            assert candidate.cost == pytest.approx(sum(candidate.costs.values()))
            assert set(candidate.costs) == {group.name for group in stack.inner.inner.schema.groups}  # type: ignore[attr-defined]
        clip, time = database.locate(told.winner.frame)
        assert (told.winner.clip, told.winner.time) == (clip.name, time)
        if told.continuing is not None and told.continuing.frame != told.winner.frame:
            bias = stack.inner.inner.settings.search.bias  # type: ignore[attr-defined]
            assert told.winner.cost < told.continuing.cost - bias + 1e-3
            assert told.winner.cost <= told.runner_up.cost + 1e-5
        assert told.filtered["tag junk"] > 0
    with pytest.raises(ControlError, match="character 5"):
        stack.explain(state, 5)


def test_weights_change_the_choice_and_nothing_else(bare: MotionMatching, wishes: Wishes) -> None:
    everything_else = {group.name: 0.0 for group in bare.schema.groups if group.kind != "trajectory_direction"}
    other = bare.with_weights(everything_else)
    _, plain = drive(bare, bare.start(5), wishes[:30])
    _, changed = drive(other, other.start(5), wishes[:30])
    assert any((a.frames != b.frames).any() for a, b in zip(plain, changed, strict=True))
    _, again = drive(bare, bare.start(5), wishes[:30])
    for a, b in zip(plain, again, strict=True):
        assert_same(a, b)
    with pytest.raises(QueryError, match="left_foot position"):
        bare.with_weights({"left_foot positon": 1.0})
    with pytest.raises(QueryError, match="negative"):
        bare.with_weights({"left_foot position": -1.0})


def test_with_neutral_settings_it_is_nearest_neighbour_regression(database: Database, index: SearchIndex) -> None:
    """S0.25: what motion matching shows is what the search with the same weights returns."""
    settings = ControlSettings(search=SearchSettings(pose_emphasis=1.0, bias=0.0, default_tags=(), opt_in_tags=()))
    controller = MotionMatching(database, index, settings)
    state = controller.start()
    state, pose = controller.step(state, Intent(np.array([[1.0, 0.0, 0.5]], np.float32)), 1 / 60)
    mask = controller.frame_sets.of((), ()).mask
    normal = index.feature_set.normalized()
    query = index.feature_set.normalize_query(state.query)[0]
    allowed = np.zeros(database.frame_count, bool)
    allowed[mask.frames] = True
    start = int(state.query_frame[0])
    clip = int(database.clip_of_frame(start))
    near = np.abs(np.arange(database.frame_count) - start) < round(settings.search.surround * database.rate)
    near[: database.clip_starts[clip]] = near[database.clip_stops[clip] :] = False
    costs = np.where(allowed & ~near, ((normal - query) ** 2).sum(axis=1), np.inf)
    assert state.chosen_frame[0] == costs.argmin()
    assert pose.frames[0] == costs.argmin() + 1
