"""Read a BVH file, see what was guessed about it, resample and mirror it, and write it back."""

from __future__ import annotations

import sys
from pathlib import Path

import ambulo
from ambulo.motion.humanoid import detect_roles
from ambulo.motion.mirroring import mirror
from ambulo.motion.resampling import resample
from ambulo.synthesis.takes import write_takes

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")


def main() -> None:
    takes = write_takes(OUT / "some-takes", seed=1, minutes=1.0)  # any folder of BVH does as well
    motion = ambulo.load(takes[0])
    print(f"{motion.name}: {motion.frame_count} frames at {motion.rate:g} a second, {motion.duration:.2f} s")
    for note in motion.source.notes:
        print(f"  {'warning' if note.warning else 'note'}: {note.message}")

    roles = detect_roles(motion.skeleton, motion)
    for role in ("hips", "chest", "left_foot", "right_toe"):
        print(f"  {role} is {motion.skeleton.names[roles.roles[role]]} ({roles.evidence[role]})")

    half = resample(mirror(motion.with_roles(roles.roles)), rate=30.0)
    ambulo.save(half, OUT / "mirrored_30.bvh")
    again = ambulo.load(OUT / "mirrored_30.bvh")
    print(f"mirrored, at 30 a second: {again.frame_count} frames, {again.duration:.2f} s")


if __name__ == "__main__":
    main()
