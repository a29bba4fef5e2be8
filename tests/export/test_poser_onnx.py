"""A posing model as ONNX: onnxruntime computes what ambulo computes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ambulo.errors import PosingError
from ambulo.export.poser_onnx import Golden, export_poser
from ambulo.learning.weights import Layers
from ambulo.posing.completion import INPUT_COUNT, OUTPUT_COUNT, Completion, facing_yaws, standing_places, to_facing
from ambulo.posing.gaussian import fit_facing, fit_turned
from ambulo.posing.observations import observe_points
from ambulo.posing.points import SCHEMES, point_indices
from ambulo.posing.pose_set import take_points
from ambulo.posing.poser import Poser
from ambulo.synthesis.performance import synthesize

pytest.importorskip("onnx", reason="the extra `learn` is not installed")
runtime = pytest.importorskip("onnxruntime", reason="the extra `learn` is not installed")


@pytest.fixture(scope="module")
def poses() -> np.ndarray:
    return np.concatenate([take_points(take.motion, rate=5.0)[0] for take in synthesize(seed=3, minutes=1.0)])


@pytest.fixture(scope="module")
def poser(poses: np.ndarray) -> Poser:
    """Gaussians of real poses, and a network of random weights that moves points by centimetres."""
    places, random = standing_places(poses), np.random.default_rng(0)
    facing = to_facing(poses, facing_yaws(poses), places)
    sizes = (INPUT_COUNT, 48, 32, OUTPUT_COUNT)

    def normal(*shape: int) -> np.ndarray:
        return random.normal(0.0, shape[-1] ** -0.5, shape).astype(np.float32)

    layers = Layers(
        tuple(normal(out, width) for width, out in itertools.pairwise(sizes)),
        tuple(normal(out) for out in sizes[1:]),
        "relu",
        normal(INPUT_COUNT),
        np.full(INPUT_COUNT, 0.2, np.float32),
        np.zeros(OUTPUT_COUNT, np.float32),
        np.ones(OUTPUT_COUNT, np.float32),
    )
    return Poser(Completion(fit_turned(poses - places[:, None]), fit_facing(facing), layers))


@pytest.mark.parametrize("tolerance", [0.0, 0.03])
@pytest.mark.parametrize("names", [SCHEMES[6], SCHEMES[16], ("head", "left_wrist", "right_wrist")], ids=len)
def test_onnxruntime_agrees_on_any_poses(
    poser: Poser, poses: np.ndarray, tmp_path: Path, names: tuple[str, ...], tolerance: float
) -> None:
    path = tmp_path / "poser.onnx"
    export_poser(poser, names, path, tolerances=tolerance)
    asked = poses[:50, point_indices(names)] + np.array([3.0, 0.0, -4.0], np.float32)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (out,) = session.run(None, {"positions": asked.astype(np.float32)})
    expected = poser.complete(observe_points(names, asked, tolerance))
    moved = replace(poser, completion=replace(poser.completion, network=None)).complete(
        observe_points(names, asked, tolerance)
    )
    assert np.abs(expected - moved).max() > 0.005  # the network matters
    assert np.abs(out - expected).max() < 1e-5


def test_golden_vectors_hold_what_the_graph_gives(poser: Poser, tmp_path: Path) -> None:
    path = tmp_path / "six.onnx"
    export_poser(poser, SCHEMES[6], path)
    golden = msgspec.json.decode(path.with_suffix(".golden.json").read_bytes(), type=Golden)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (out,) = session.run(None, {"positions": np.array(golden.positions, np.float32)})
    assert golden.points == list(SCHEMES[6]) and len(golden.outputs) == out.shape[1] == 43
    assert np.abs(out - np.array(golden.completed)).max() < golden.tolerance


def test_one_point_faces_ahead_in_the_graph_too(poser: Poser, tmp_path: Path) -> None:
    export_poser(poser, ["hips"], tmp_path / "one.onnx")
    session = runtime.InferenceSession(str(tmp_path / "one.onnx"), providers=["CPUExecutionProvider"])
    asked = np.array([[[1.0, 0.9, 2.0]]], np.float32)
    (out,) = session.run(None, {"positions": asked})
    assert np.abs(out - poser.complete(observe_points(["hips"], asked))).max() < 1e-5


def test_unknown_points_are_refused(poser: Poser, tmp_path: Path) -> None:
    with pytest.raises(PosingError, match="no point"):
        export_poser(poser, ["hip"], tmp_path / "x.onnx")
    assert not list(tmp_path.iterdir())
