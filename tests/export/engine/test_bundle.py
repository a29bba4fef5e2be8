"""Exported controllers: they do what ours do, say what they are, and are refused where something is not as said."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.control.intent import Intent
from ambulo.errors import AmbuloError, ControlError
from ambulo.export.engine import step_matching, verify
from ambulo.export.engine.axes import AXES, axes_of
from ambulo.export.engine.bundle import export_controller, open_stack
from ambulo.export.engine.controller_graph import controller_model, start_model
from ambulo.export.engine.networks import network_model
from ambulo.export.engine.running import session_of
from ambulo.learning.weights import Layers


@pytest.mark.parametrize("which", ["matching", "learned"])
def test_the_graph_does_what_the_controller_does(which: str, request: pytest.FixtureRequest) -> None:
    exported = request.getfixturevalue(which)
    unit = 100.0 if which == "matching" else 1.0
    result = verify.verify(Path(exported.folder))
    assert result["differences"]["local_positions"] < 1e-4 * unit
    assert result["differences"]["local_rotations"] < 1e-4
    assert result["differences"]["contacts"] == result["differences"]["transitioned"] == 0.0
    with np.load(Path(exported.folder) / "golden.npz") as golden:
        assert len(golden["out_root_position"]) == 300
        assert golden["out_transitioned"].sum() >= 5  # something happened
        assert np.abs(golden["out_root_position"][-1] - golden["out_root_position"][0]).max() > 0.5 * unit


def test_verify_stands_alone(matching: Any) -> None:
    script = Path(matching.folder) / "verify.py"
    done = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "NON-COMMERCIAL" in done.stdout
    source = script.read_text()
    assert "ambulo." not in source.replace("ambulo controller", "")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda m: m.__setitem__("opset", 17), "opset"),
        (lambda m: m["inputs"][1].__setitem__("shape", [2, 4]), "inputs.velocity"),
        (lambda m: m["outputs"].pop(2), "outputs.root_rotation"),
        (lambda m: m["state"][3].__setitem__("columns", [9, 12]), "state."),
        (lambda m: m.pop("rate"), "rate"),
        (lambda m: m.__setitem__("version", 2), "version"),
        (lambda m: m["files"].__setitem__("start.onnx", "0" * 64), "files.start.onnx"),
        (lambda m: m["files"].pop("golden.npz"), "files.golden.npz"),
        (lambda m: m["operators"].remove("Gather"), "operators"),
        (lambda m: m["fields"].pop("skeleton"), "skeleton"),
    ],
)
def test_a_changed_manifest_is_refused_by_field(matching: Any, tmp_path: Path, change: Any, field: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(verify.Mismatch) as caught:
        verify.verify(folder)
    assert caught.value.field.startswith(field)


def spoilt(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [spoilt(value[0]), *value[1:]] if value else ["x"]
    first = next(iter(value))
    return value | {first: spoilt(value[first])}


def test_every_field_of_a_manifest_is_guarded(matching: Any, tmp_path: Path) -> None:
    """Whatever is changed, however small, is refused by the name of the field it is in."""
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    whole = json.loads((folder / "manifest.json").read_text())
    assert len(whole) > 20 and not verify.verify(folder)["differences"]["transitioned"]
    for name in whole:
        for change in ("spoilt", "missing"):
            changed = {key: value for key, value in whole.items() if key != name}
            if change == "spoilt":
                changed[name] = spoilt(whole[name])
            (folder / "manifest.json").write_text(json.dumps(changed))
            with pytest.raises(verify.Mismatch) as caught:
                verify.verify(folder)
            field = caught.value.field
            assert caught.value.file == "manifest.json"
            # Of the table of hashes itself that field is named whose hash it was.
            assert field.split(".")[0] == name or (name == "fields" and field in whole), (name, change, field)


def test_changed_files_are_refused(matching: Any, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    data = bytearray((folder / "controller.onnx").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "controller.onnx").write_bytes(data)
    with pytest.raises(verify.Mismatch, match=r"files\.controller\.onnx"):
        verify.verify(folder)
    (folder / "controller.onnx").unlink()
    with pytest.raises(verify.Mismatch, match=r"files\.controller\.onnx"):
        verify.verify(folder)


def test_another_recording_is_refused(matching: Any, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    with np.load(folder / "golden.npz") as stored:
        arrays = {name: stored[name].copy() for name in stored.files}
    arrays["out_local_positions"][200, 0, 5, 1] += 1.0  # a centimetre
    np.savez(folder / "golden.npz", **arrays)
    rewritten(folder, "golden.npz", (folder / "golden.npz").read_bytes())
    with pytest.raises(verify.Mismatch, match=r"golden\.bin: out_local_positions: is not as in golden\.npz"):
        verify.verify(folder)
    rewritten(folder, "golden.bin", b"".join(array.astype("<f4").tobytes() for array in arrays.values()))
    with pytest.raises(verify.Mismatch, match=r"out_local_positions.*frame 200"):
        verify.verify(folder)


def rewritten(folder: Path, name: str, data: bytes) -> None:
    """Change a file of a bundle and its hash with it."""
    (folder / name).write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = hashlib.sha256(data).hexdigest()
    manifest["fields"]["files"] = verify.digest_of(manifest["files"])
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("which", ["matching", "learned"])
def test_every_file_must_be_listed(which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Also where the hash of the list is made anew."""
    exported = request.getfixturevalue(which)
    folder = tmp_path / "copy"
    shutil.copytree(exported.folder, folder)
    whole = json.loads((folder / "manifest.json").read_text())
    assert set(whole["files"]) >= {"start.onnx", "golden.bin", "verify.py"}
    assert ("stepper.onnx" in whole["files"]) == (which == "learned")
    for name in set(whole["files"]) - {"index.html"}:
        for again in (False, True):
            changed = json.loads(json.dumps(whole))
            del changed["files"][name]
            if again:
                changed["fields"]["files"] = verify.digest_of(changed["files"])
            (folder / "manifest.json").write_text(json.dumps(changed))
            with pytest.raises(verify.Mismatch) as caught:
                verify.verify(folder)
            assert caught.value.field == f"files.{name}"


def test_another_start_is_refused(matching: Any, learned: Any, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    import onnx

    model = onnx.load(str(folder / "start.onnx"))
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) == 2:
            changed = onnx.numpy_helper.to_array(tensor) + np.float32(0.01)
            tensor.CopyFrom(onnx.numpy_helper.from_array(changed, tensor.name))
    rewritten(folder, "start.onnx", model.SerializeToString())
    with pytest.raises(verify.Mismatch, match=r"start\.onnx: state: differs"):
        verify.verify(folder)
    for data in ((Path(learned.folder) / "start.onnx").read_bytes(), b"rubbish"):
        rewritten(folder, "start.onnx", data)
        with pytest.raises(verify.Mismatch, match=r"start\.onnx"):
            verify.verify(folder)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-4], r"golden\.bin: .*is not as in"),
        (lambda data: data + b"\0\0\0\0", r"golden\.bin: file: has"),
        (lambda data: b"\0\0\0\0" + data[4:], r"golden\.bin: state: is not as in"),
    ],
)
def test_plain_numbers_are_those_of_the_recording(matching: Any, tmp_path: Path, change: Any, reason: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    data = (folder / "golden.bin").read_bytes()
    assert data[:4] != b"\0\0\0\0"
    rewritten(folder, "golden.bin", change(data))
    with pytest.raises(verify.Mismatch, match=reason):
        verify.verify(folder)


def test_a_manifest_that_goes_too_deep_is_refused(matching: Any, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    (folder / "manifest.json").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(verify.Mismatch, match=r"manifest\.json: file: cannot be read"):
        verify.verify(folder)


def test_what_is_wrong_is_said_so_that_it_is_seen(matching: Any, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    whole = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(json.dumps(json.loads(whole) | {"opset": "15"}))
    with pytest.raises(verify.Mismatch, match="opset: is '15', the graph's is 15"):
        verify.verify(folder)
    (folder / "manifest.json").write_text(whole)
    for rubbish in (b"\x08\x08rubbish", b"", b"\xff" * 50, bytes(range(256))):
        rewritten(folder, "controller.onnx", rubbish)
        with pytest.raises(verify.Mismatch, match=r"controller\.onnx: graph: is no ONNX model"):
            verify.verify(folder)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda told: told.__setitem__("frames", 0), "frames"),
        (lambda told: told["tolerances"].clear(), "tolerances."),
        (lambda told: told["tolerances"].pop("local_rotations"), "tolerances.local_rotations"),
        (lambda told: told["tolerances"].__setitem__("contacts", 1e9), "tolerances.contacts"),
        (lambda told: told["tolerances"].__setitem__("contacts", float("nan")), "tolerances.contacts"),
        (lambda told: told.__setitem__("tolerances", 3), "file"),
    ],
)
def test_a_recording_that_proves_nothing_is_refused(matching: Any, tmp_path: Path, change: Any, field: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    told = json.loads((folder / "golden.json").read_text())
    change(told)
    rewritten(folder, "golden.json", json.dumps(told).encode())
    with pytest.raises(verify.Mismatch) as caught:
        verify.verify(folder)
    assert caught.value.file == "golden.json" and caught.value.field.startswith(field)


@pytest.mark.parametrize("name", ["controller.onnx", "golden.npz", "golden.json"])
def test_rubbish_with_a_right_hash_is_refused(matching: Any, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    rewritten(folder, name, b"\x08\x08rubbish")
    with pytest.raises(verify.Mismatch):
        verify.verify(folder)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(
    package: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(AmbuloError, match=rf"`{package}`(.|\n)*ambulo\[learn\]"):
        export_controller(project, tmp_path / "out", controller="mm")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("which", ["matching", "learned"])
def test_the_manifest_says_whose_motion_is_inside(which: str, request: pytest.FixtureRequest) -> None:
    exported = request.getfixturevalue(which)
    manifest = json.loads((Path(exported.folder) / "manifest.json").read_text())
    assert manifest["non_commercial"] is True
    assert manifest["licences"][0]["licence"] == "CC BY-NC 4.0"
    assert any("NON-COMMERCIAL" in note for note in manifest["notes"]) and exported.notes == manifest["notes"]
    assert manifest["opset"] == 15 and set(manifest["files"]) == set(exported.files) - {"manifest.json"}
    assert manifest["foot_lock"] is True


def test_too_many_frames_are_refused(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_matching, "MOST_FRAMES", 100)
    with pytest.raises(ControlError, match="holds 100 at most"):
        export_controller(project, tmp_path / "out", controller="mm")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_exported_is_refused(project: Path, tmp_path: Path) -> None:
    for name, why in (("blocks", "cannot be exported"), ("nope", "is not there")):
        with pytest.raises(ControlError, match=f"'{name}' {why}; valid names: (lmm, )?mm") as caught:
            export_controller(project, tmp_path / "out", controller=name)
        assert "blended_matching" not in str(caught.value) and "motion_matching" not in str(caught.value)
    with pytest.raises(ControlError, match="characters"):
        export_controller(project, tmp_path / "out", controller="mm", characters=0)
    with pytest.raises(AmbuloError, match="unreal"):
        export_controller(project, tmp_path / "out", controller="mm", target="unrael")


@pytest.mark.parametrize("activation", ["relu", "elu", "selu", "tanh", "silu", "gelu"])
def test_networks_agree_with_numpy(activation: str) -> None:
    random = np.random.default_rng(1)

    def numbers(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32) * np.float32(0.3)

    layers = Layers(
        (numbers(32, 7), numbers(24, 32), numbers(5, 24)), (numbers(32), numbers(24), numbers(5)), activation,
        numbers(7), np.abs(numbers(7)) + np.float32(0.5), numbers(5), np.abs(numbers(5)) + np.float32(0.5),
    )  # fmt: skip
    inputs = random.standard_normal((3, 7)).astype(np.float32)
    found = session_of(network_model("net", layers, 3).SerializeToString()).run(None, {"input": inputs})[0]
    np.testing.assert_allclose(found, layers(inputs), atol=1e-5)


@pytest.mark.parametrize("target", ["unreal", "unity", "godot"])
def test_a_turned_world_turns_all_that_comes_out(target: str, project: Path) -> None:
    """The same wishes in a world that is turned about up give the same poses, turned; in the axes of the target."""
    stack, _, _, _ = open_stack(project, "mm", ())
    axes = axes_of(target)
    step = session_of(controller_model(stack, 1, axes)[0].SerializeToString())
    begin = session_of(start_model(stack, 1, axes).SerializeToString())
    angle = 2.1
    ours = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]], np.float32)
    turn = axes.matrix @ ours @ axes.matrix.T
    up, ahead = axes.matrix @ [0.0, 1.0, 0.0], axes.matrix @ np.float32([0.0, 0.0, 1.0])
    np.testing.assert_allclose(turn @ up, up, atol=1e-6)
    place, velocity = np.float32([[0, 0, 0]]), np.float32(axes.per_metre * 1.2 * (axes.matrix @ [0.6, 0.0, 0.8]))
    rolls = []
    for matrix in (np.eye(3, dtype=np.float32), turn.astype(np.float32)):
        state = begin.run(None, {"position": place, "facing": (matrix @ ahead)[None].astype(np.float32)})[0]
        roll = []
        for _ in range(90):
            out = step.run(
                None,
                {
                    "state": state,
                    "velocity": (matrix @ velocity)[None].astype(np.float32),
                    "facing": np.zeros((1, 3), np.float32),
                    "dt": np.float32([1 / 60]),
                },
            )
            state = out[0]
            roll.append(out[1:5])
        rolls.append(roll)
    plain, turned = rolls
    far = np.linalg.norm(plain[-1][0]) / axes.per_metre
    assert far > 0.5
    assert abs(float(plain[-1][0][0] @ up)) < 1e-3 * axes.per_metre  # the root stays on the ground
    for a, b in zip(plain, turned, strict=True):
        np.testing.assert_allclose(b[0][0], turn @ a[0][0], atol=2e-3 * axes.per_metre)
        np.testing.assert_allclose(b[2][0, 1:], a[2][0, 1:], atol=2e-3 * axes.per_metre)
        sign = np.sign((a[3][0, 1:] * b[3][0, 1:]).sum(-1, keepdims=True))
        np.testing.assert_allclose(b[3][0, 1:] * sign, a[3][0, 1:], atol=5e-3)


@pytest.mark.parametrize("target", sorted(AXES))
def test_rotations_are_converted_as_vectors_are(target: str) -> None:
    """Turning a vector and converting it is converting both and turning it there."""
    from ambulo.maths import quaternions

    axes, random = AXES[target], np.random.default_rng(2)
    q = random.standard_normal((20, 4)).astype(np.float32)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    v = random.standard_normal((20, 3)).astype(np.float32)
    there = quaternions.rotate(axes.quaternions(q), axes.vectors(v))
    np.testing.assert_allclose(there, axes.vectors(quaternions.rotate(q, v)), atol=1e-4 * axes.per_metre)
    np.testing.assert_allclose(axes.vectors_from(axes.vectors(v)), v, atol=1e-5)
    handed = np.linalg.det(axes.matrix)
    assert (handed > 0) == (axes.handedness == "right")


def test_tags_can_be_asked_for(project: Path) -> None:
    """A graph with two tag sets does what the controller does when the wanted tags change on the way."""
    stack, database, _, _ = open_stack(project, "mm", [(), ("idle",)])
    assert "idle" in database.tags
    axes = axes_of("onnx")
    step = session_of(controller_model(stack, 1, axes)[0].SerializeToString())
    state = stack.pack(stack.whole.start(1))
    ours = stack.whole.start(1)
    velocity = np.float32([[0.3, 0.0, 1.2]])
    for k in range(120):
        stands = 40 <= k < 90
        intent = Intent(velocity, required_tags=("idle",) if stands else ())
        ours, pose = stack.whole.step(ours, intent, 1 / 60)
        out = step.run(
            None,
            {
                "state": state, "velocity": velocity, "facing": np.zeros((1, 3), np.float32),
                "tag_set": np.float32([stands]), "dt": np.float32([1 / 60]),
            },
        )  # fmt: skip
        state = out[0]
        np.testing.assert_allclose(out[3], pose.positions, atol=1e-4)
        assert bool(out[6][0]) == bool(pose.transitioned[0])


@pytest.mark.parametrize(
    ("licences", "says"),
    [
        ([], "unknown"), (["MIT"], False), (["MIT", ""], "unknown"), (["", "CC BY-NC 4.0"], True), ([" "], "unknown"),
        (["CC BY-NC 4.0"], True),
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_free(licences: list[str], says: object) -> None:
    from ambulo.database.licences import LicenceUse, is_non_commercial
    from ambulo.export.engine.bundle import forbids_sale

    assert forbids_sale([LicenceUse(text, "", is_non_commercial(text), 1, 1.0) for text in licences]) is says


def test_a_model_without_clips_is_of_unknown_licence(trained: Path, tmp_path: Path) -> None:
    """As one that somebody made smaller; here the manifest in memory."""
    from dataclasses import replace

    import msgspec

    from ambulo.export.engine.bundle import forbids_sale, licences_inside, notes_of

    stack, database, _, _ = open_stack(trained, "lmm", ())
    uses = licences_inside(stack, database)
    assert uses[0].licence == "CC BY-NC 4.0" and forbids_sale(uses) is True
    manifest = msgspec.structs.replace(stack.bare.model.manifest, clips=[])
    stack.bare.model = replace(stack.bare.model, manifest=manifest)
    uses = licences_inside(stack, database)
    assert uses == [] and forbids_sale(uses) == "unknown"
    assert any("UNKNOWN" in note for note in notes_of(stack, uses))


def test_a_model_that_lacks_a_clip_says_how_to_go_on(trained: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "walker"))
    file = folder / "models" / "lmm" / "manifest.json"
    known = json.loads(file.read_text())
    away = next(clip["name"] for clip in known["clips"] if "mirror" not in clip["name"])
    clips = [clip for clip in known["clips"] if clip["name"] != away]
    file.write_text(json.dumps(known | {"clips": clips, "database_digest": "earlier"}))
    notes = export_controller(folder, tmp_path / "out").notes
    assert away in notes[0] and "`ambulo train lmm PROJECT --finetune`" in notes[0]
    file.write_text(json.dumps(known | {"database_digest": "built by another version"}))
    assert not any("train lmm" in note for note in export_controller(folder, tmp_path / "again").notes)
