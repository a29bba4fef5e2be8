"""Graphs of whole steps: what can be asked of them, what keeps feet above ground, and how few operators they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from ambulo.control.above_ground import AboveGround, GroundFeet, ground_feet
from ambulo.control.intent import Intent
from ambulo.errors import ControlError, QueryError
from ambulo.export.engine import verify
from ambulo.export.engine.axes import axes_of
from ambulo.export.engine.bundle import export_controller, open_stack
from ambulo.export.engine.controller_graph import Stack, controller_model
from ambulo.export.engine.graph import Graph
from ambulo.export.engine.running import session_of


def test_preferred_tags_and_several_characters(project: Path, tmp_path: Path) -> None:
    """Each character goes through all tag sets in the recording; a preferred tag makes frames cost less."""
    sets = [(), ("idle",), ("+idle",)]
    folder = Path(export_controller(project, tmp_path / "out", controller="mm", characters=2, tag_sets=sets).folder)
    found = verify.verify(folder)["differences"]
    assert found["local_positions"] < 1e-4 and found["transitioned"] == 0.0
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["tag_sets"] == [[], ["idle"], ["+idle"]] and len(manifest["left_out"]) >= 4
    with np.load(folder / "golden.npz") as golden:
        asked, poses = golden["in_tag_set"], golden["out_local_positions"]
        assert asked.shape == (300, 2) and set(asked[:, 0]) == {0.0, 1.0, 2.0}
        assert (asked[:, 1] != asked[:, 0]).all()
    # Preferring changes what is shown: another recording of the same sticks, with nothing preferred, is another one.
    plain = Path(export_controller(project, tmp_path / "plain", controller="mm", characters=2).folder)
    with np.load(plain / "golden.npz") as golden:
        assert np.abs(golden["out_local_positions"][-1] - poses[-1]).max() > 1e-3


def test_unknown_preferred_tags_are_refused(project: Path, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="idle"):
        export_controller(project, tmp_path / "out", controller="mm", tag_sets=[("+idel",)])
    assert not (tmp_path / "out").exists()


def test_a_trained_model_takes_no_tags(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ControlError, match="tags inside"):
        export_controller(trained, tmp_path / "out", controller="lmm", tag_sets=[("+idle",)])


def test_feet_are_kept_above_ground(project: Path) -> None:
    """As the wrapper of bodies with four legs does, here with a floor that is too high for the feet that walk on it."""
    plain, database, _, _ = open_stack(project, "mm", ())
    feet = ground_feet(database)
    raised = GroundFeet(feet.joints, feet.heights + 0.02, feet.carriers)
    stack = Stack.of(AboveGround(plain.smooth, raised))
    assert stack.ground is not None and not stack.has_foot_lock
    step = session_of(controller_model(stack, 1, axes_of("onnx"))[0].SerializeToString())
    ours = stack.whole.start(1)
    state, lifted = stack.pack(ours), 0
    velocity = np.float32([[0.3, 0.0, 1.2]])
    for _ in range(90):
        ours, pose = stack.whole.step(ours, Intent(velocity), 1 / 60)
        feeds = {"state": state, "velocity": velocity, "facing": np.zeros((1, 3), np.float32)}
        out = step.run(None, feeds | {"dt": np.float32([1 / 60])})
        state = out[0]
        np.testing.assert_allclose(out[3], pose.positions, atol=1e-4)
        lowest = (pose.global_positions[0, raised.joints, 1] - raised.heights).min()
        assert lowest > -1e-5
        lifted += lowest < 1e-5
    assert lifted > 10


@pytest.mark.parametrize(("controller", "most"), [("mm", 1150), ("lmm", 1150)])
def test_a_step_is_not_many_operators(
    controller: str, most: int, project: Path, request: pytest.FixtureRequest
) -> None:
    """What a step costs is how many operators it is: 1,954 and 2,170 before they were written for many joints each."""
    folder = project if controller == "mm" else request.getfixturevalue("trained")
    stack, _, _, _ = open_stack(folder, controller, ())
    one, operators = controller_model(stack, 1, axes_of("onnx"))
    many, _ = controller_model(stack, 7, axes_of("onnx"))
    assert len(one.graph.node) < most and len(many.graph.node) == len(one.graph.node)
    assert {node.op_type for node in one.graph.node} == set(operators)
    used = {name for node in one.graph.node for name in node.input} | {value.name for value in one.graph.output}
    assert all(used & set(node.output) for node in one.graph.node)  # nothing is computed in vain
    assert all(tensor.name in used for tensor in one.graph.initializer)


PLAIN = {
    "Abs", "Add", "And", "ArgMax", "Atan", "Cast", "Ceil", "Clip", "Concat", "Cos", "Div", "Elu", "Equal", "Exp",
    "Floor", "Gather", "GatherElements", "Gemm", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual",
    "MatMul", "Max", "Min", "Mul", "Neg", "Not", "Or", "ReduceL2", "ReduceMax", "ReduceMin", "ReduceSum", "Relu",
    "Reshape", "Sin", "Slice", "Split", "Sqrt", "Sub", "Tanh", "TopK", "Unsqueeze", "Where",
}  # fmt: skip


@pytest.mark.parametrize("controller", ["mm", "lmm"])
def test_operators_are_plain(controller: str, project: Path, request: pytest.FixtureRequest) -> None:
    """Nothing but what every engine's own runtime documents."""
    folder = project if controller == "mm" else request.getfixturevalue("trained")
    stack, _, _, _ = open_stack(folder, controller, [(), ("+idle",)] if controller == "mm" else ())
    model, operators = controller_model(stack, 1, axes_of("unreal"))
    assert set(operators) <= PLAIN
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 15)]
    assert all(node.domain == "" for node in model.graph.node)


def test_an_unknown_licence_is_said(project: Path, tmp_path: Path) -> None:
    """Who does not know whose motion it is does not know that it may be sold."""
    from ambulo.cli.main import run

    folder = tmp_path / "unknown"
    shutil.copytree(project, folder)
    text = (folder / "ambulo.toml").read_text()
    (folder / "ambulo.toml").write_text(text.replace('licence = "CC BY-NC 4.0"', 'licence = ""'))
    assert run(["build", str(folder), "--jobs", "1", "--json"]) == 0
    exported = export_controller(folder, tmp_path / "out", controller="mm")
    assert any("UNKNOWN" in note for note in exported.notes) and not any("NON" in note for note in exported.notes)


def test_outputs_are_named_where_they_are_made() -> None:
    g = Graph("small")
    a = g.input("a", (1, 2))
    g.output("twice", a * 2.0, (1, 2))
    g.output("again", a * 2.0, (1, 2))
    g.output("same", a, (1, 2))
    a.exp()
    model = g.model()
    assert [node.op_type for node in model.graph.node] == ["Mul", "Identity", "Identity"]
    found = session_of(model.SerializeToString()).run(None, {"a": np.float32([[1, 2]])})
    np.testing.assert_array_equal(np.stack(found)[:, 0], [[2, 4], [2, 4], [1, 2]])
    assert onnx.checker.check_model(model) is None
