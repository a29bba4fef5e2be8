"""Every skeleton of the real capture gets a body that stands where its joints are."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.export.camera import view_camera
from ambulo.export.mannequin import build_flesh, figure_forward
from ambulo.export.pictures import frame
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion

SIZE = (300, 400)


@pytest.mark.parametrize("name", ["cmu_loco", "cmu_131", "cmu_salsa_pairs", "bandai1", "bandai2_loco", "pfnn"])
def test_limbs_are_drawn_where_they_are(real_data: Path, name: str) -> None:
    take = next(iter(sorted(real_data.glob(f"*/{name}/*.bvh"))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = with_detected_roles(ambulo.load(take))
    pose = forward_motion(motion)
    index = motion.frame_count // 2
    body = build_flesh(motion.skeleton)
    assert 1.2 < body.height < 2.2
    here = pose.positions[index]
    hips = here[motion.skeleton.role("hips")]
    camera = view_camera(hips, figure_forward(motion.skeleton, here), "three_quarter", height=2.6, aspect=0.75)
    seen = frame(motion.skeleton, here, camera=camera, size=SIZE, global_rotations=pose.rotations[index])
    empty = frame(motion.skeleton, here + np.float32([0, 0, 900]), camera=camera, size=SIZE)
    changed = np.abs(seen.astype(int) - empty).max(axis=2) > 25
    for role in ("head", "chest", "left_lower_leg", "right_lower_leg", "left_forearm", "left_foot", "right_foot"):
        x, y, _ = camera.project(here[motion.skeleton.role(role)], SIZE).round().astype(int)
        assert changed[y, x], role
    assert 0.02 < changed.mean() < 0.35
