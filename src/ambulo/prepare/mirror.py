"""The mirrored copy of a prepared clip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.motion.mirroring import mirror
from ambulo.motion.motion import Motion
from ambulo.prepare.clip import PreparedClip
from ambulo.prepare.velocities import angular, linear


def mirror_clip(clip: PreparedClip) -> PreparedClip:
    """The clip as seen in a mirror: what the left side did, the right side does. The world's X axis is turned over.

    Velocities are taken from the mirrored poses, so that they fit them as exactly as the original's fit its own.
    """
    motion = mirror(Motion(clip.skeleton, clip.positions, clip.rotations, clip.rate, clip.name, clip.source))
    dt = 1.0 / clip.rate
    return replace(
        clip,
        positions=motion.positions,
        rotations=motion.rotations,
        velocities=linear(motion.positions, dt),
        angular_velocities=angular(motion.rotations, dt),
        contacts=np.ascontiguousarray(clip.contacts[:, ::-1]),
    )
