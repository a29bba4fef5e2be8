"""Every glTF probe file does exactly what its expectation says."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.errors import FormatError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def expected(cases: Path) -> dict[str, dict[str, Any]]:
    everything = json.loads((cases / "expected.json").read_text(encoding="utf-8"))
    return {name: case for name, case in everything.items() if name.startswith("gltf_")}


def world(motion: Motion, seconds: float, joint: str) -> np.ndarray:
    """World position of a joint at a time, which must be that of a frame."""
    frame = seconds * motion.rate
    assert abs(frame - round(frame)) < 1e-9
    return forward_motion(motion).positions[round(frame), motion.skeleton.index(joint)]


def test_every_readable_probe_gives_the_expected_positions(cases: Path, expected: dict[str, dict[str, Any]]) -> None:
    checked = 0
    for name, case in expected.items():
        if case["verdict"] != "load":
            continue
        motion = ambulo.load(cases / name)
        for seconds, joints in case["world_t"].items():
            for joint, position in joints.items():
                at = world(motion, float(seconds), joint)
                np.testing.assert_allclose(at, position, atol=TOLERANCE, err_msg=f"{name} {seconds} {joint}")
                checked += 1
        assert motion.source.format == "gltf"
        assert (motion.source.unit, motion.source.up) == ("metre", "+Y")
        assert not motion.source.unit_guessed
    assert checked == 16


def test_every_probe_to_refuse_is_refused(cases: Path, expected: dict[str, dict[str, Any]]) -> None:
    names = [name for name, case in expected.items() if case["verdict"] == "refuse"]
    assert names == ["gltf_times_not_increasing.gltf", "gltf_output_count_mismatch.gltf"]
    for name in names:
        with pytest.raises(FormatError, match="animation 'bad', sampler 0"):
            ambulo.load(cases / name)


def test_a_cubic_spline_has_one_value_a_key(cases: Path) -> None:
    motion = ambulo.load(cases / "gltf_cubicspline_translation.gltf")
    assert motion.duration == 1.0
    assert motion.skeleton.names == ("Hips", "Spine")
    data = json.loads((cases / "gltf_cubicspline_translation.gltf").read_text(encoding="utf-8"))
    numbers = np.frombuffer(base64.b64decode(data["buffers"][0]["uri"].partition(",")[2]), np.float32)
    _, a, leave, arrive, b, _ = numbers[-18:].reshape(6, 3).astype(float)
    u = np.arange(motion.frame_count)[:, None] / motion.rate
    want = (2 * u**3 - 3 * u**2 + 1) * a + (u**3 - 2 * u**2 + u) * leave
    want += (3 * u**2 - 2 * u**3) * b + (u**3 - u**2) * arrive
    np.testing.assert_allclose(motion.positions[:, 0], want, atol=1e-6)


def test_steps_hold_until_the_next_key(cases: Path) -> None:
    motion = ambulo.load(cases / "gltf_step_translation.gltf", rate=100)
    x = motion.positions[:, 0, 0]
    assert x[25] == x[49] == 0.0
    assert x[50] == x[75] == x[99] == 1.0
    assert x[100] == 2.0


def test_normalized_integers_become_unit_quaternions(cases: Path) -> None:
    motion = ambulo.load(cases / "gltf_rotation_int16_normalized.gltf")
    np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0, atol=1e-6)
    middle = motion.rotations[motion.frame_count // 2, 0]
    quarter = quaternions.from_angle_axis(np.array(np.pi / 4), np.array([0.0, 0.0, 1.0]))
    assert quaternions.angle_between(middle, quarter) < 1e-3


def test_an_armature_in_centimetres_becomes_metres(cases: Path) -> None:
    motion = ambulo.load(cases / "gltf_armature_scale_0p01.gltf")
    assert motion.skeleton.names == ("Hips", "Spine")
    np.testing.assert_allclose(motion.skeleton.rest_positions(), [[0, 1, 0], [0, 1.5, 0]], atol=1e-6)
    np.testing.assert_allclose(
        motion.rotations, np.broadcast_to(quaternions.IDENTITY, motion.rotations.shape), atol=1e-6
    )


def test_a_missing_channel_leaves_the_node_at_rest(cases: Path) -> None:
    motion = ambulo.load(cases / "gltf_constant_and_missing_channels.gltf")
    spine, head = motion.skeleton.index("Spine"), motion.skeleton.index("Head")
    half = np.sqrt(0.5)
    np.testing.assert_allclose(
        motion.rotations[:, spine], np.tile([0, 0, half, half], (len(motion.rotations), 1)), atol=1e-6
    )
    np.testing.assert_allclose(
        motion.rotations[:, head], np.tile([half, 0, 0, half], (len(motion.rotations), 1)), atol=1e-6
    )
    np.testing.assert_allclose(motion.skeleton.rest_rotations[head], [half, 0, 0, half], atol=1e-6)
    np.testing.assert_allclose(motion.skeleton.rest_rotations[spine], [0, 0, 0, 1], atol=1e-6)


def test_doubled_keys_are_named_and_dropped_on_request(cases: Path) -> None:
    path = cases / "gltf_times_not_increasing.gltf"
    with pytest.raises(FormatError, match=r"key 2 does not increase \(0\.5 after 0\.5"):
        ambulo.load(path)
    motion = ambulo.load(path, lenient=True)
    assert motion.duration == 1.0
    assert [note.code for note in motion.source.warnings] == ["doubled_key"]
    with pytest.raises(FormatError, match="3 values for 2 keys"):
        ambulo.load(cases / "gltf_output_count_mismatch.gltf", lenient=True)
