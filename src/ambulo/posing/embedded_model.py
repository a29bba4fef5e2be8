"""Trains the posing model that comes with ambulo, on the embedded takes: ``python -m ambulo.posing.embedded_model``.

The takes are synthesized from seed 0, so anybody can train the same model again; of 20 minutes, every tenth take is
held out to measure on. They only walk, run, jump and crouch, so each pose is learned once more with limbs that are
moved at random (:mod:`~ambulo.posing.limbering`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ambulo.posing.limbering import limber_poses
from ambulo.posing.pose_set import PoseSet, take_points
from ambulo.posing.poser import DEFAULT, MODELS, PoserManifest
from ambulo.posing.poser_training import PoserPreset, PoserReport, split_takes, train_on

MINUTES = 20.0
PRESET = PoserPreset(steps=4_500, width=384, batch=256)


def embedded_poses(minutes: float = MINUTES) -> PoseSet:
    """Poses of the embedded takes, 15 a second."""
    from ambulo.synthesis.performance import synthesize

    takes = synthesize(0, minutes)
    found = [take_points(take.motion) for take in takes]
    counts = [len(points) for points, _ in found]
    return PoseSet(
        np.concatenate([points for points, _ in found]),
        np.repeat(np.array([scale for _, scale in found], np.float32), counts),
        np.repeat(np.arange(len(takes), dtype=np.int32), counts),
        tuple(take.motion.name for take in takes),
        {},
    )


def with_limber(poses: PoseSet) -> PoseSet:
    """The poses, and each once more with limbs moved at random."""
    moved = limber_poses(poses.points, np.random.default_rng(0))
    return PoseSet(
        np.concatenate([poses.points, moved]),
        np.concatenate([poses.scales, poses.scales]),
        np.concatenate([poses.takes, poses.takes]),
        poses.names,
        poses.skipped,
    )


def train_embedded(out: Path = MODELS / DEFAULT, preset: PoserPreset = PRESET, minutes: float = MINUTES) -> PoserReport:
    """Train it, into the package by default. The training's own files are removed."""
    import shutil

    from ambulo.posing.poser_training import TRAINING

    poses = embedded_poses(minutes)
    learned = split_takes(poses.names)
    manifest = PoserManifest(
        data=f"{minutes:g} minutes of ambulo's embedded takes (seed 0): walks in many styles, runs, turns, jumps,"
        " crouches, slopes and stairs, by one synthetic body; and the same with limbs moved at random",
        licences=("Apache-2.0",),
    )
    report, _ = train_on(
        with_limber(poses.of_takes(learned)),
        poses.of_takes(~learned),
        out,
        name=DEFAULT,
        preset=preset,
        manifest=manifest,
    )
    shutil.rmtree(out / TRAINING)
    return report


if __name__ == "__main__":
    done = train_embedded()
    print(done, file=sys.stderr)
