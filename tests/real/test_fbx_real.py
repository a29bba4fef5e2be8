"""Real capture through FBX: written by the tests' own writer, read back, the same to a tenth of a millimetre."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion

_spec = importlib.util.spec_from_file_location("fbx_files", Path(__file__).parents[1] / "formats" / "fbx_files.py")
assert _spec is not None and _spec.loader is not None
fbx_files = importlib.util.module_from_spec(_spec)
sys.modules.setdefault("fbx_files", fbx_files)
_spec.loader.exec_module(fbx_files)


def scene(motion: Motion) -> object:
    """A motion as every tool bakes it: keys of Euler angles at every frame, in centimetres, Z up."""
    up = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])  # from +Y up to +Z up
    times = np.arange(motion.frame_count) / motion.rate
    bones, layer = [], {}
    for joint, name in enumerate(motion.skeleton.names):
        parent = int(motion.skeleton.parents[joint])
        positions = motion.positions[:, joint].astype(np.float64) * 100.0
        rotations = motion.rotations[:, joint].astype(np.float64)
        if parent < 0:
            positions, rotations = quaternions.rotate(up, positions), quaternions.multiply(up, rotations)
        angles = np.degrees(np.unwrap(quaternions.to_euler(rotations, "ZYX"), axis=0))[:, ::-1]
        place = tuple(float(v) for v in positions[0])
        bones.append(
            fbx_files.Bone(name, motion.skeleton.names[parent] if parent >= 0 else None, {"Lcl Translation": place})
        )
        for column, axis in enumerate("XYZ"):
            keys = zip(times, angles[:, column], strict=True)
            layer[name, "Lcl Rotation", axis] = [fbx_files.Key(float(t), float(v)) for t, v in keys]
            if parent < 0:
                keys = zip(times, positions[:, column], strict=True)
                layer[name, "Lcl Translation", axis] = [fbx_files.Key(float(t), float(v)) for t, v in keys]
    settings = {"UpAxis": 2, "FrontAxis": 1, "FrontAxisSign": -1, "TimeMode": 1}
    return fbx_files.Scene(bones, [fbx_files.Stack("take", [layer], (0.0, float(times[-1])))], settings)


@pytest.mark.parametrize("kind", ["7400", "ascii"])
def test_a_walk_survives_fbx(real_data: Path, tmp_path: Path, kind: str) -> None:
    motion = ambulo.load(real_data / "free" / "cmu_131" / "131_03.bvh", unit="cmu", up="y").slice(0, 240)
    path = tmp_path / "walk.fbx"
    path.write_bytes(fbx_files.to_bytes(scene(motion), kind))
    read = ambulo.load(path)
    assert (read.frame_count, read.rate, read.skeleton.names) == (240, 120.0, motion.skeleton.names)
    assert (read.source.up, read.source.unit) == ("+Z", "centimetre")
    assert not [note for note in read.source.warnings if note.code != "duplicate_name"]
    np.testing.assert_allclose(forward_motion(read).positions, forward_motion(motion).positions, atol=1e-4)
