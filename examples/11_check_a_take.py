"""Spoil a take, find every fault in its frames, mend it into a new file, and see what is left."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import ambulo
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.prepare.repair.repair import repair_motion
from ambulo.synthesis.performance import synthesize

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")


def spoiled(motion: Motion) -> Motion:
    """The take 12 cm too low, on a ground that drifts, with its head turned over in frame 200."""
    positions, rotations = motion.positions.copy(), motion.rotations.copy()
    positions[:, 0, 1] -= 0.12
    positions[:, 0, 0] += 0.09 * np.arange(motion.frame_count) / motion.rate
    head = motion.skeleton.role("head")
    turn = quaternions.from_angle_axis(np.radians(110.0), np.array([1.0, 0.0, 0.0]))
    rotations[200, head] = quaternions.multiply(rotations[200, head], turn)
    return replace(motion, positions=positions, rotations=quaternions.unroll(rotations))


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    motion = max((performance.motion for performance in synthesize(seed=3, minutes=1.0)), key=lambda m: m.frame_count)
    ambulo.save(spoiled(motion.slice(0, 1200)), OUT / "spoiled.bvh")

    report = ambulo.check(OUT / "spoiled.bvh")  # a folder or a project does as well
    for take, finding in report.findings:
        print(
            f"{take.file} frames {finding.start_frame} to {finding.stop_frame - 1}, {finding.code}: {finding.message}"
        )

    made, done = repair_motion(ambulo.load(OUT / "spoiled.bvh"))
    ambulo.save(made, OUT / "mended.bvh")
    for step in done.steps:
        print(f"{step.operation}: {step.message} ({step.changed_frames} of {done.frame_count} frames changed)")
    print(f"clean now: {ambulo.check(OUT / 'mended.bvh').clean}")


if __name__ == "__main__":
    main()
