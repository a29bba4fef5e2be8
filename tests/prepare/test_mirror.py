"""Mirrored clips: what preparing the mirrored take gives, and twice the same clip."""

from __future__ import annotations

import numpy as np

from ambulo.maths import quaternions
from ambulo.motion.mirroring import mirror
from ambulo.prepare.mirror import mirror_clip
from ambulo.prepare.pipeline import prepare_take


def test_mirroring_a_clip_is_preparing_the_mirrored_take(walk):
    motion = walk()
    mirrored, prepared = mirror_clip(prepare_take(motion)), prepare_take(mirror(motion))
    assert np.allclose(mirrored.positions, prepared.positions, atol=1e-4)
    assert quaternions.angle_between(mirrored.rotations, prepared.rotations).max() < 2e-3
    assert np.allclose(mirrored.velocities, prepared.velocities, atol=5e-3)
    assert np.allclose(mirrored.angular_velocities, prepared.angular_velocities, atol=2e-2)
    assert np.array_equal(mirrored.contacts, prepared.contacts)


def test_twice_is_the_clip(walk):
    clip = prepare_take(walk())
    back = mirror_clip(mirror_clip(clip))
    assert np.abs(back.positions - clip.positions).max() < 1e-6
    assert np.abs(back.rotations - clip.rotations).max() < 1e-6
    assert np.abs(back.velocities - clip.velocities).max() < 1e-4
    assert np.array_equal(back.contacts, clip.contacts)
    assert (back.name, back.skeleton, back.notes) == (clip.name, clip.skeleton, clip.notes)


def test_the_root_turns_the_other_way(walk):
    clip = prepare_take(walk(turn=0.4))
    mirrored = mirror_clip(clip)
    assert np.allclose(mirrored.positions[:, 0], clip.positions[:, 0] * [-1.0, 1.0, 1.0], atol=1e-6)
    assert np.allclose(
        quaternions.to_yaw(mirrored.rotations[:, 0]), -quaternions.to_yaw(clip.rotations[:, 0]), atol=1e-3
    )
    assert np.allclose(mirrored.angular_velocities[:, 0, 1], -clip.angular_velocities[:, 0, 1], atol=1e-5)
