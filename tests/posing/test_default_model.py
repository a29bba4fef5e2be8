"""The packaged model: there, small, and better than its Gaussians on takes that it did not learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.posing.observations import observe_points
from ambulo.posing.points import POINTS, SCHEMES, point_indices
from ambulo.posing.pose_set import take_points
from ambulo.posing.poser import DEFAULT, MODELS, Poser
from ambulo.synthesis.performance import synthesize


def unknown_error(poser: Poser, poses: np.ndarray, scheme: int) -> float:
    chosen = point_indices(SCHEMES[scheme])
    unknown = np.setdiff1d(np.arange(len(POINTS)), chosen)
    out = poser.complete(observe_points(chosen, poses[:, chosen]))
    return float(np.linalg.norm(out - poses, axis=-1)[:, unknown].mean())


def test_it_is_packaged_and_a_few_megabytes() -> None:
    files = [path for path in (MODELS / DEFAULT).iterdir() if path.is_file()]
    assert {path.name for path in files} == {"manifest.json", "model.safetensors"}
    assert 0.3e6 < sum(path.stat().st_size for path in files) < 3e6
    manifest = Poser.default().manifest
    assert manifest.licences == ("Apache-2.0",) and manifest.precision == "float16"
    assert manifest.errors["sixteen_cm"] < manifest.errors["six_cm"]
    assert Poser.default() is Poser.default()


def test_its_network_is_better_than_the_gaussians_alone() -> None:
    # Another seed's performance is another take of the same actor.
    poses = np.concatenate([take_points(take.motion, rate=3.0)[0] for take in synthesize(seed=77, minutes=2.0)])
    poser = Poser.default()
    plain = replace(poser, completion=replace(poser.completion, network=None, passes=1))
    for scheme in (6, 16):
        assert unknown_error(poser, poses, scheme) < 0.9 * unknown_error(plain, poses, scheme)
    assert unknown_error(poser, poses, 16) < 0.5 * unknown_error(poser, poses, 6)


def test_three_points_make_an_upright_body_that_reaches() -> None:
    wishes = observe_points(
        ["hips", "left_wrist", "right_wrist"], [[0.0, 0.95, 0.0], [0.35, 1.45, 0.25], [-0.3, 1.0, 0.2]]
    )
    points = Poser.default().complete(wishes)[0]
    head, ankles = points[POINTS.index("head")], points[point_indices(["left_ankle", "right_ankle"])]
    assert 1.3 < head[1] < 1.8 and np.abs(head[[0, 2]]).max() < 0.3
    assert (ankles[:, 1] > -0.1).all() and (ankles[:, 1] < 0.35).all()


@pytest.mark.parametrize("wrist", [(0.68, 1.42, 0.0), (0.2, 1.9, 0.1), (0.25, 1.3, 0.6)], ids=["aside", "up", "ahead"])
def test_reaching_hands_leave_the_body_upright(wrist: tuple[float, float, float]) -> None:
    # The takes never raise a hand; a model of them alone leans the trunk back by half a metre instead.
    right = (-wrist[0], wrist[1], wrist[2])
    names = ["hips", "left_wrist", "right_wrist", "left_ankle", "right_ankle"]
    at = [(0.0, 0.95, 0.0), wrist, right, (0.12, 0.09, 0.0), (-0.12, 0.09, 0.0)]
    points = Poser.default().complete(observe_points(names, np.array(at)))[0]
    head = points[POINTS.index("head")]
    assert 1.4 < head[1] < 1.7 and np.abs(head[[0, 2]]).max() < 0.25
