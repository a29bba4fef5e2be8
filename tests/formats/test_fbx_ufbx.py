"""FBX against ufbx, a reader that others wrote, on scenes made at random: every kind of key, order, layer and pivot.

Needs `pip install pufbx`, which compiles; skipped where it is not there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fbx_files import AUTO, BROKEN, CUBIC, LINEAR, TCB, USER, WEIGHTED, Bone, Key, Scene, Stack, to_bytes

import ambulo
from ambulo.maths import quaternions

pufbx = pytest.importorskip("pufbx", reason="pufbx is not installed (it compiles for some minutes)")

KEYS = {
    "linear": LINEAR,
    "user": CUBIC | USER | BROKEN,
    "weighted": CUBIC | USER | BROKEN | WEIGHTED,
    "auto": CUBIC | AUTO | 0x2000,
    "auto_by_time": CUBIC | AUTO,
    "auto_clamped": CUBIC | AUTO | 0x3000,
    "auto_progressive": CUBIC | AUTO | 0x6000,
    "tcb": CUBIC | TCB,
}


def keys(rng: np.random.Generator, flags: int, size: float) -> list[Key]:
    times = np.unique(np.append(0.0, np.round(np.cumsum(rng.uniform(0.05, 0.4, 8)) * 30) / 30))
    made = []
    for time in times:
        data = (0.0, 0.0, 0, 0.0)
        if flags & USER:
            packed = int(rng.integers(500, 9000)) | int(rng.integers(500, 9000)) << 16 if flags & WEIGHTED else 0
            data = (float(rng.normal() * 3 * size), float(rng.normal() * 3 * size), packed, 0.0)
        made.append(Key(float(time), float(rng.normal() * size), flags, data))
    return made


def scene(rng: np.random.Generator, flags: int, layers: list[dict[str, tuple[float, ...]]]) -> Scene:
    def vector(size: float) -> tuple[float, ...]:
        return tuple(float(v) for v in rng.normal(size=3) * size)

    bones = [
        Bone(
            f"b{i}",
            None if i == 0 else f"b{max(i - 2, 0)}",
            {
                **{"Lcl Translation": vector(10), "Lcl Rotation": vector(40), "PreRotation": vector(40)},
                **{"PostRotation": vector(30), "RotationOffset": vector(3), "RotationPivot": vector(3)},
                **{"ScalingOffset": vector(3), "ScalingPivot": vector(3), "RotationActive": (1,)},
                **{"RotationOrder": (int(rng.integers(6)),), "InheritType": (1,)},
                "Lcl Scaling": tuple(float(v) for v in rng.uniform(0.5, 2.0, 3)),
            },
        )
        for i in range(5)
    ]
    stack = Stack(
        "take",
        [
            {
                (bone.name, f"Lcl {name}", axis): keys(rng, flags, size)
                for bone in bones
                for name, size in (("Translation", 10.0), ("Rotation", 60.0))
                for axis in "XYZ"
                if rng.random() < 0.8
            }
            for _ in layers
        ],
        (0.0, 1.0),
        layers,
    )
    return Scene(bones, [stack])


def compare(path: Path, made: Scene) -> None:
    motion = ambulo.load(path, unit=1.0)
    table, times, names = pufbx.anim_to_array(str(path), anim_index=0, resample_rate=30.0)
    parents = {bone.name: bone.parent for bone in made.bones}
    frames = [(i, int(np.argmin(np.abs(times - i / 30.0)))) for i in range(motion.frame_count)]
    frames = [(i, k) for i, k in frames if abs(times[k] - i / 30.0) < 1e-6]
    assert len(frames) > 10
    ours, theirs = [i for i, _ in frames], [k for _, k in frames]
    world: dict[str, np.ndarray] = {}
    for name, rows in zip([str(name) for name in names], table[:, theirs], strict=True):
        local = np.tile(np.eye(4), (len(theirs), 1, 1))
        local[:, :3, :3] = quaternions.to_matrix(rows[:, 3:7]) * rows[:, None, 7:10]
        local[:, :3, 3] = rows[:, :3]
        parent = parents[name]
        world[name] = world[parent] @ local if parent else local
    from ambulo.motion.kinematics import forward_motion

    positions = forward_motion(motion).positions[ours]
    for joint, name in enumerate(motion.skeleton.names):
        np.testing.assert_allclose(positions[:, joint], world[name][:, :3, 3], atol=5e-4, err_msg=name)


@pytest.mark.parametrize("kind", ["7400", "7700", "ascii"])
@pytest.mark.parametrize("name", KEYS)
def test_every_kind_of_key(name: str, kind: str, tmp_path: Path) -> None:
    made = scene(np.random.default_rng(sum(name.encode())), KEYS[name], [{}])
    (tmp_path / "take.fbx").write_bytes(to_bytes(made, kind))
    compare(tmp_path / "take.fbx", made)


@pytest.mark.parametrize(
    "above",
    [
        {"BlendMode": (0,), "RotationAccumulationMode": (1,)},
        {"BlendMode": (0,), "Weight": (40.0,), "RotationAccumulationMode": (1,)},
        {"BlendMode": (1,), "Weight": (40.0,), "RotationAccumulationMode": (1,)},
        {"BlendMode": (2,), "Weight": (40.0,), "RotationAccumulationMode": (1,)},
        {"BlendMode": (0,), "Weight": (40.0,)},
    ],
)
def test_layers(above: dict[str, tuple[float, ...]], tmp_path: Path) -> None:
    made = scene(np.random.default_rng(3), LINEAR, [{}, above])
    (tmp_path / "take.fbx").write_bytes(to_bytes(made))
    compare(tmp_path / "take.fbx", made)
