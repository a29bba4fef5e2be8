"""Whatever a game hands to a graph, the state stays finite, and what is within the limits is not changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.export.engine.axes import axes_of
from ambulo.export.engine.bundle import export_controller, open_stack
from ambulo.export.engine.controller_graph import controller_model, start_model
from ambulo.export.engine.graph import Graph
from ambulo.export.engine.running import session_of
from ambulo.export.engine.step_inputs import finite, held_dt, held_facing, held_tag_set, held_velocity

NAN, INF = float("nan"), float("inf")


def held(function: Any, values: Any) -> np.ndarray:
    """What the graph makes of an input."""
    given = np.asarray(values, np.float32)
    g = Graph("held", len(given))
    g.output("out", function(g.input("in", given.shape)), given.shape)
    return np.asarray(session_of(g.model().SerializeToString()).run(None, {"in": given})[0])


@pytest.mark.parametrize(
    ("dt", "seconds"),
    [(0, 1e-4), (-1 / 60, 1e-4), (NAN, 1e-4), (-INF, 1e-4), (INF, 1e-4), (99, 10), (1 / 60, 1 / 60), (0.5, 0.5)],
)
def test_dt_is_held(dt: float, seconds: float) -> None:
    np.testing.assert_array_equal(held(held_dt, [dt]), np.float32([seconds]))


def test_wishes_are_held() -> None:
    wishes = [[NAN, 0, 1.5], [INF, 0, -INF], [3e38, 0, -3e38], [0, 0, 40], [30, 0, 60], [1.7, -0.3, 19.9]]
    right = [[0, 0, 1.5], [0, 0, 0], [20, 0, -20], [0, 0, 20], [10, 0, 20], [1.7, -0.3, 19.9]]
    found = held(lambda v: held_velocity(v, 1.0), wishes)
    np.testing.assert_allclose(found, right, rtol=1e-6)
    np.testing.assert_array_equal(found[-1], np.float32(right[-1]))
    np.testing.assert_allclose(held(lambda v: held_velocity(v, 100.0), [[0, 0, 4000.0]]), [[0, 0, 2000.0]], rtol=1e-6)
    facings = held(held_facing, [[INF, 0, 1], [3e38, 0, 3e38], [1e-3, 0, 0.0]])
    np.testing.assert_allclose(facings, [[0, 0, 1], [1000, 0, 1000], [1e-3, 0, 0]], rtol=1e-6)
    np.testing.assert_array_equal(held(finite, [[NAN, 1e9, -INF]]), np.float32([[0, 1e9, 0]]))


def test_tag_sets_are_held() -> None:
    asked = [0, 1, 2, 99, NAN, 1e20, -1, 0.6, -INF, INF, 1.4]
    found = held(lambda v: held_tag_set(v, 3), np.float32(asked)[:, None])
    np.testing.assert_array_equal(found[:, 0], [0, 1, 2, 2, 0, 2, 0, 1, 0, 2, 1])


BAD = {
    "a pause": {"dt": 0.0}, "time goes back": {"dt": -1 / 60}, "dt NaN": {"dt": NAN}, "dt inf": {"dt": INF},
    "dt long": {"dt": 99.0},
    "stick NaN": {"velocity": (NAN, 0, NAN)}, "stick inf": {"velocity": (INF, 0, -INF)},
    "stick huge": {"velocity": (3e38, 0, 3e38)}, "facing inf": {"facing": (INF, 0, 0)},
    "facing huge": {"facing": (3e38, 0, 3e38)}, "facing NaN": {"facing": (NAN, NAN, NAN)},
    "tag set": {"tag_set": 99.0}, "tag set NaN": {"tag_set": NAN}, "tag set before": {"tag_set": -1.0},
}  # fmt: skip


@pytest.mark.parametrize("controller", ["mm", "lmm"])
def test_no_input_spoils_a_character(controller: str, project: Path, request: pytest.FixtureRequest) -> None:
    """Two characters, the first of which is asked for rubbish for a while: both go on, and the root stays near."""
    folder = project if controller == "mm" else request.getfixturevalue("trained")
    several = controller == "mm"
    stack, _, _, _ = open_stack(folder, controller, [(), ("idle",), ("+idle",)] if several else ())
    axes = axes_of("unity")
    session = session_of(controller_model(stack, 2, axes)[0].SerializeToString())
    begin = session_of(start_model(stack, 2, axes).SerializeToString())
    names = [tensor.name for tensor in session.get_outputs()]
    place = np.float32([[NAN, 0, INF], [3, 0, 0]])
    first = begin.run(None, {"position": place, "facing": np.float32([[INF, 0, 1], [0, 0, 1]])})[0]
    assert np.isfinite(first).all()

    def step(state: Any, **bad: Any) -> dict[str, Any]:
        feeds = {"state": state, "velocity": np.float32([[0, 0, 1.2]] * 2), "facing": np.zeros((2, 3), np.float32)}
        feeds["dt"] = np.float32([bad.get("dt", 1 / 60)])
        for name in ("velocity", "facing"):
            if name in bad:
                feeds[name][0] = bad[name]
        if several:
            feeds["tag_set"] = np.float32([bad.get("tag_set", 0), 0])
        return dict(zip(names, session.run(None, feeds), strict=True))

    state = first
    for _ in range(20):
        state = step(state)["state_next"]
    for name, bad in BAD.items():
        if "tag_set" in bad and not several:
            continue
        rounds = 1 if bad.get("dt") == 99.0 else 20
        now, before = state, step(state)["root_position"]
        for n in range(rounds + 20):
            out = step(now, **(bad if n < rounds else {}))
            now = out["state_next"]
            assert all(np.isfinite(value).all() for value in out.values()), (name, n)
        turned = np.linalg.norm(out["local_rotations"], axis=-1)
        np.testing.assert_allclose(turned, 1.0, atol=1e-3, err_msg=name)
        gone = np.abs(out["root_position"] - before).max()
        assert gone < (300.0 if bad.get("dt") == 99.0 else 20.0), (name, gone)


def test_a_paused_character_hardly_moves(project: Path) -> None:
    stack, _, _, _ = open_stack(project, "mm", ())
    session = session_of(controller_model(stack, 1, axes_of("onnx"))[0].SerializeToString())
    state, places = stack.pack(stack.whole.start(1)), []
    for n in range(100):
        feeds = {"state": state, "velocity": np.float32([[0, 0, 1.2]]), "facing": np.zeros((1, 3), np.float32)}
        out = session.run(None, feeds | {"dt": np.float32([1 / 60 if n < 40 else 0.0])})
        state = out[0]
        places.append(out[1][0])
    assert np.linalg.norm(places[39] - places[0]) > 0.1
    assert np.linalg.norm(places[-1] - places[39]) < 0.02


def test_the_manifest_says_what_is_held(project: Path, tmp_path: Path) -> None:
    export_controller(project, tmp_path / "out", controller="mm", target="unreal", tag_sets=[(), ("idle",)])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    said = {entry["name"]: entry["meaning"] for entry in manifest["inputs"]}
    assert "0.0001 and 10" in said["dt"] and "2000 along" in said["velocity"]
    assert "not finite" in said["facing"] and "rounded" in said["tag_set"]
