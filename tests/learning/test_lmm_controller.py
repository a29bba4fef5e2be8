"""The learned controller: pure, the same alone and in a crowd, blind to axes, never astray, and open about itself."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control.controller import Controller, join, take
from ambulo.control.intent import Intent
from ambulo.control.missing import MissingWarning
from ambulo.control.pose import Pose
from ambulo.control.project_settings import project_controller
from ambulo.control.scripts import create_script
from ambulo.control.simulation import simulate
from ambulo.errors import ControlError, LearningError, QueryError
from ambulo.learning.create import (
    controller_names,
    create_controller,
    exportable_controllers,
    models_folder,
    open_stack,
)
from ambulo.learning.lmm_controller import LearnedMotionMatching
from ambulo.learning.lmm_state import LmmSettings
from ambulo.maths import quaternions
from ambulo.motion import kinematics


@pytest.fixture(scope="module")
def bare(model: Any, data: Any) -> LearnedMotionMatching:
    return LearnedMotionMatching(model, database=data.database, index=data.index)


@pytest.fixture(scope="module")
def stack(trained: Any, project: Path, data: Any) -> Controller:
    return create_controller("lmm", data.database, data.index, models=models_folder(project))


@pytest.fixture(scope="module")
def wishes() -> list[Intent]:
    random = np.random.default_rng(5)
    intents = []
    for step in range(90):
        if step % 24 == 0:
            velocity, facing = np.zeros((5, 3), np.float32), np.zeros((5, 3), np.float32)
            velocity[:, [0, 2]] = random.uniform(-2.0, 2.0, (5, 2))
            velocity[step % 5] = 0.0
            facing[1, [0, 2]] = random.normal(size=2)
        intents.append(Intent(velocity, facing))
    return intents


def drive(controller: Controller, state: Any, intents: list[Intent]) -> tuple[Any, list[Pose]]:
    poses = []
    for intent in intents:
        state, pose = controller.step(state, intent, 1 / 60)
        poses.append(pose)
    return state, poses


def arrays_of(state: Any) -> list[Any]:
    found = []
    for field in dataclasses.fields(state):
        value = getattr(state, field.name)
        found += [value] if isinstance(value, np.ndarray) else arrays_of(value)
    return found


def test_it_is_a_controller(bare: Any, stack: Any) -> None:
    assert isinstance(bare, Controller) and isinstance(stack, Controller)


@pytest.mark.parametrize("name", ["bare", "stack"])
def test_a_crowd_does_what_its_characters_do_alone(name: str, request: Any, wishes: list[Intent]) -> None:
    controller = request.getfixturevalue(name)
    start = controller.start(5, seed=7, position=np.arange(15).reshape(5, 3) * [1, 0, 1])
    end, crowd = drive(controller, start, wishes)
    ends = []
    for n in range(5):
        last, alone = drive(controller, take(start, n), [Intent(i.velocity[[n]], i.facing[[n]]) for i in wishes])
        ends.append(last)
        for together, single in zip(crowd, alone, strict=True):
            for field in dataclasses.fields(Pose):
                assert_array_equal(getattr(single, field.name), getattr(together, field.name)[[n]], err_msg=field.name)
    for a, b in zip(arrays_of(join(ends)), arrays_of(end), strict=True):
        assert_array_equal(a, b)


def test_many_do_what_few_do_up_to_rounding(bare: Any, wishes: list[Intent]) -> None:
    many = bare.start(40, position=np.zeros((40, 3)))
    intents = [Intent(np.tile(i.velocity, (8, 1)), np.tile(i.facing, (8, 1))) for i in wishes[:10]]
    _, crowd = drive(bare, many, intents)
    _, few = drive(bare, take(many, np.arange(5)), wishes[:10])
    for a, b in zip(crowd, few, strict=True):
        assert_allclose(a.global_positions[:5], b.global_positions, atol=1e-4)


def test_steps_do_not_change_the_state_and_repeat_exactly(stack: Any, wishes: list[Intent]) -> None:
    state, _ = drive(stack, stack.start(5), wishes[:40])
    before = [array.copy() for array in arrays_of(state)]
    _, first = drive(stack, state, wishes[40:])
    for array, kept in zip(arrays_of(state), before, strict=True):
        assert_array_equal(array, kept)
    _, second = drive(stack, state, wishes[40:])
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a.positions, b.positions)


def test_a_turned_world_gives_a_turned_result(bare: Any, wishes: list[Intent]) -> None:
    angle = 1.1
    turn = np.array([0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)])
    facing = quaternions.rotate(turn, np.array([0.0, 0.0, 1.0]))
    _, plain = drive(bare, bare.start(5), wishes)
    turned_wishes = [Intent(quaternions.rotate(turn, i.velocity), quaternions.rotate(turn, i.facing)) for i in wishes]
    _, turned = drive(bare, bare.start(5, facing=facing), turned_wishes)
    for a, b in zip(plain, turned, strict=True):
        assert_allclose(quaternions.rotate(turn, a.global_positions), b.global_positions, atol=5e-3)


def test_poses_hold_together(bare: Any, wishes: list[Intent], data: Any) -> None:
    _, poses = drive(bare, bare.start(5), wishes)
    parents = data.database.skeleton.parents
    for pose in poses[::10]:
        assert_allclose(np.linalg.norm(pose.rotations, axis=-1), 1.0, atol=1e-5)
        world = kinematics.forward(pose.positions, pose.rotations, parents)
        assert_allclose(world.positions, pose.global_positions, atol=1e-4)
        assert set(np.unique(pose.contacts)) <= {0, 1}
        # Bones have the lengths of the capture's.
        lengths = np.linalg.norm(pose.positions[:, 2:], axis=-1)
        true = np.linalg.norm(data.frames.layout.offsets[2:], axis=-1)
        fixed = ~np.isin(np.arange(2, len(parents)), data.frames.layout.moving)
        assert_allclose(lengths[:, fixed], np.tile(true[fixed], (5, 1)), atol=1e-4)


def test_it_goes_where_it_is_asked(stack: Any) -> None:
    recording = simulate(stack, create_script("forward"), 4.0)
    assert recording.root_positions[-1, 0, 2] > 1.5
    assert abs(recording.root_positions[-1, 0, 0]) < 0.5


@pytest.mark.parametrize("kind", ["random", "flips", "spins", "jitter"])
def test_it_never_goes_astray(bare: Any, kind: str) -> None:
    """Whatever the stick does, values stay within what was seen, and so do the joints."""
    random = np.random.default_rng(1)
    state = bare.start(4)
    reach = 2.5 * float(np.abs(bare.model.layout.offsets).sum(axis=0).max())
    for step in range(400):
        velocity, facing = np.zeros((4, 3), np.float32), np.zeros((4, 3), np.float32)
        if kind == "random":
            velocity[:, [0, 2]] = random.normal(size=(4, 2)) * 3.0
        elif kind == "flips":
            velocity[:, 2] = 6.0 if step // 7 % 2 else -6.0
            facing[:, 0] = 1.0 if step // 5 % 2 else -1.0
        elif kind == "spins":
            velocity[:, 0], velocity[:, 2] = 4.0 * np.sin(step), 4.0 * np.cos(step)
            facing[:, 0], facing[:, 2] = np.cos(0.7 * step), np.sin(0.7 * step)
        else:
            velocity[:, 2] = 1e5 if step % 2 else 0.0
        state, pose = bare.step(state, Intent(velocity, facing), 1 / 60)
        assert (state.values >= bare.model.lowest).all() and (state.values <= bare.model.highest).all()
        assert np.isfinite(pose.global_positions).all()
        assert np.abs(pose.global_positions - pose.root_position[:, None]).max() < reach


def test_a_state_that_is_no_number_is_held(model: Any) -> None:
    from ambulo.learning import lmm_kernels

    values = np.repeat(model.start[None], 3, axis=0)
    rates = np.zeros_like(values)
    rates[0, 3], rates[1, 4], rates[2, 5] = np.nan, np.inf, -np.inf
    out = np.empty_like(values)
    lmm_kernels.step_on(values, rates, model.lowest, model.highest, 1 / 60, out)
    assert out[0, 3] == model.lowest[3] and out[1, 4] == model.highest[4] and out[2, 5] == model.lowest[5]


def test_it_says_why(bare: Any, wishes: list[Intent], data: Any) -> None:
    state, _ = drive(bare, bare.start(5), wishes)
    for n in range(5):
        why = bare.explain(state, n)
        names = [group.name for group in bare.schema.groups]
        for candidate in (why.winner, why.runner_up, why.continuing):
            assert list(candidate.costs) == names
            assert sum(candidate.costs.values()) == pytest.approx(candidate.cost, rel=1e-4)
        # Nothing in the database fits better than what exact search finds.
        assert why.runner_up.clip in {clip.name for clip in data.database.clips}
    with pytest.raises(ControlError, match="character 5 of 5"):
        bare.explain(state, 5)


def test_it_needs_no_database(model: Any, wishes: list[Intent], bare: Any) -> None:
    alone = LearnedMotionMatching(model)
    state, poses = drive(alone, alone.start(5), wishes)
    _, named = drive(bare, bare.start(5), wishes)
    assert (poses[-1].frames == -1).all() and (named[-1].frames >= 0).all()
    assert_array_equal(poses[-1].positions, named[-1].positions)
    assert alone.explain(state).runner_up is None


def test_frames_are_named_after_frames_that_may_be_shown(bare: Any, wishes: list[Intent], data: Any) -> None:
    _, poses = drive(bare, bare.start(5), wishes)
    frames = np.stack([pose.frames for pose in poses])
    assert data.frame_set.allowed[frames].all()


def test_it_projects_again_after_a_while(model: Any) -> None:
    still = Intent(np.zeros((1, 3), np.float32))
    restless = LearnedMotionMatching(model, own=LmmSettings(refresh=0.3))
    state, jumps = restless.start(), 0
    for _ in range(120):
        state, pose = restless.step(state, still, 1 / 60)
        jumps += int(pose.transitioned[0])
    assert jumps >= 4


def test_joints_move_at_a_jump_as_from_where_it_landed(bare: Any, wishes: list[Intent]) -> None:
    state, jumps, told = bare.start(5, seed=7), 0, []
    for intent in wishes:
        before = state
        state, pose = bare.step(before, intent, 1 / 60)
        for n in np.flatnonzero(pose.transitioned):
            jumps += 1
            # Playing on without another look at the data moves joints as the jump says they came.
            found = bare._projector(np.ascontiguousarray(state.query[n][None]))
            rows = bare._decompressor(found)
            row = rows[0]
            bones = [bare.model.layout.columns["rotations"].start + 6 * (j - 1) for j in range(1, len(bare._parents))]
            turned = np.array([bare._kernels.quat_from_axes(row, start) for start in bones])
            whole = np.concatenate([[[0.0, 0.0, 0.0, 1.0]], turned])
            above = whole[np.maximum(bare._parents[1:], 0)]
            local = quaternions.multiply(quaternions.inverse(above), turned)
            came = quaternions.multiply(
                quaternions.from_scaled_angle_axis(pose.angular_velocities[n, 1:].astype(np.float64) / 60.0), local
            )
            apart = np.abs((came * pose.rotations[n, 1:]).sum(axis=1))
            assert_allclose(apart, 1.0, atol=1e-6)
            told.append(np.abs(pose.angular_velocities[n, 1:]).max())
    assert jumps >= 5 and max(told) > 0.1


def test_a_dragged_toe_is_added_up_while_it_stands() -> None:
    from ambulo.learning import lmm_kernels

    joints = np.array([1, 2])
    toes, dragged = np.zeros((2, 2, 3)), np.zeros(2)
    ways = [(0.0, 1, False), (0.3, 1, False), (0.7, 1, False), (1.5, 0, False), (1.9, 1, False), (2.2, 1, True)]
    seen = []
    for x, stands, jumps in ways:
        positions = np.zeros((2, 3, 3), np.float32)
        positions[0, 1] = x, 5.0, 0.5 * x  # height is no matter
        positions[0, 2, 0] = 9.0 * x  # in the air
        contacts = np.array([[stands, 0], [1, 1]], np.uint8)
        new_toes, new_dragged = np.empty_like(toes), np.empty_like(dragged)
        jumped = np.array([jumps, False])
        lmm_kernels.follow_toes(joints, positions, contacts, jumped, toes, dragged, new_toes, new_dragged)
        toes, dragged = new_toes, new_dragged
        seen.append(dragged.copy())
    long = np.hypot(1.0, 0.5)
    assert_allclose(np.array(seen)[:, 0], np.array([0.0, 0.3, 0.7, 0.7, 0.7, 0.0]) * long, atol=1e-6)
    assert_array_equal(np.array(seen)[:, 1], 0.0)


def test_who_drags_a_foot_is_put_back_on_the_data_at_once(model: Any) -> None:
    walk = Intent(np.array([[0.0, 0.0, 1.2]], np.float32))

    def jumps(own: LmmSettings) -> int:
        controller = LearnedMotionMatching(model, own=own)
        state, count, most = controller.start(), 0, 0.0
        for _ in range(120):
            before = state.dragged
            state, pose = controller.step(state, walk, 1 / 60)
            count += int(pose.transitioned[0])
            most = max(most, float(before[0]))
            assert not pose.transitioned[0] or state.dragged[0] == 0.0
        assert most > 0.01  # it does drag its feet
        return count

    assert jumps(LmmSettings(refresh=100.0, drag=0.01)) > jumps(LmmSettings(refresh=100.0, drag=100.0))


def test_what_it_cannot_do_is_refused(bare: Any, model: Any) -> None:
    state = bare.start()
    with pytest.raises(ControlError, match="not trained to show 'walk' alone"):
        bare.step(state, Intent(np.zeros((1, 3), np.float32), required_tags=("walk",)), 1 / 60)
    own = {group.name: group.weight for group in bare.schema.groups}
    assert bare.with_weights(own) is bare
    with pytest.raises(ControlError, match="cannot be 9 now"):
        bare.with_weights({"hips velocity": 9.0})
    with pytest.raises(QueryError, match="no feature group"):
        bare.with_weights({"hip velocity": 1.0})
    with pytest.raises(ControlError, match="another controller"):
        bare.step(object(), Intent(np.zeros((1, 3), np.float32)), 1 / 60)
    with pytest.raises(ControlError, match="not finite"):
        bare.step(state, Intent(np.full((1, 3), np.nan, np.float32)), 1 / 60)
    for key in ("refresh", "drag"):
        with pytest.raises(ControlError, match=key):
            LmmSettings(**{key: 0.0})


def test_controllers_by_name(trained: Any, project: Path, data: Any, tmp_path: Path) -> None:
    models = models_folder(project)
    assert {"motion_matching", "blocks", "lmm"} <= set(controller_names(models))
    assert models_folder(project / "database") == models_folder(project / "ambulo.toml") == models
    assert create_controller("motion_matching", data.database, data.index, models=models).skeleton is not None
    with pytest.raises(ControlError, match="did you mean 'lmm'"):
        create_controller("lm", data.database, data.index, models=models)
    with pytest.raises(LearningError, match=r"no model 'lmm' was trained yet.*ambulo train lmm"):
        create_controller("lmm", data.database, data.index, models=tmp_path)


def test_running_needs_no_torch(trained: Any) -> None:
    code = (
        "import sys, numpy as np; from pathlib import Path\n"
        "from ambulo.learning.lmm_model import load_model\n"
        "from ambulo.learning.lmm_controller import LearnedMotionMatching\n"
        "from ambulo.control.intent import Intent\n"
        f"controller = LearnedMotionMatching(load_model(Path({trained.folder!r})))\n"
        "controller.step(controller.start(), Intent(np.zeros((1, 3), np.float32)), 1 / 60)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_game_goes_on_without_what_it_was_not_trained_for(bare: Any, model: Any) -> None:
    walk = np.array([[0.0, 0.0, 1.2]], np.float32)
    state = bare.start()
    for refused in ({"event": ("kick", 0.5)}, {"numbers": {"fatigue": 0.8}}, {"required_tags": ("injured",)}):
        with pytest.raises(ControlError):
            bare.step(state, Intent(walk, **refused), 1 / 60)  # type: ignore[arg-type]
    asked = Intent(walk, required_tags=("injured",), event=("kick", 0.5), on_missing="report")
    with pytest.warns(MissingWarning) as told:
        _, pose = bare.step(state, asked, 1 / 60)
    assert "'injured'" in str(told[0].message) and "event" in str(told[1].message)
    _, plain = bare.step(state, Intent(walk), 1 / 60)
    assert_array_equal(pose.positions, plain.positions)


def test_motion_matching_has_a_short_name_everywhere(project: Path, data: Any, tmp_path: Path) -> None:
    plain = create_controller("motion_matching", data.database, data.index)
    short = create_controller("mm", data.database, data.index)
    assert type(short) is type(plain) and type(short).__name__ == "FootLock"
    assert open_stack(project, "mm").name == "motion_matching"
    own = Path(shutil.copytree(project, tmp_path / "walker", ignore=shutil.ignore_patterns("models")))
    file = own / "ambulo.toml"
    file.write_text(file.read_text().replace('["motion_matching"]', '["mm"]'))
    assert '["mm"]' in file.read_text()
    assert open_stack(own).name == project_controller(own) == "motion_matching"
    # What lies in a folder of that name is never played, so it is not offered.
    for name, form in (("mm", "ambulo lmm"), ("walk", "ambulo lmm"), ("poser", "ambulo poser")):
        (own / "models" / name).mkdir(parents=True)
        (own / "models" / name / "manifest.json").write_text(f'{{"format": "{form}"}}')
    assert "mm" not in controller_names(own / "models") and "walk" in controller_names(own / "models")
    assert exportable_controllers(own / "models") == ["mm", "walk"]
    with pytest.raises(ControlError, match="did you mean 'mm'"):
        create_controller("nmm", data.database, data.index, models=tmp_path)
