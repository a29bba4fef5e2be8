"""Learn the packaged joint limits from free takes, and say how many poses of other takes they hold.

Arms and legs, spine and head from CMU's walks, dances and karate, and from some of the embedded takes; clavicles, which
CMU's conversions leave stiff, from the CC0 clips of a keyed character. ``--write`` writes
``src/ambulo/posing/joint_limits.json``.

    python benchmarks/posing_limits.py [--write] [--quick] [--json]
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

import harness
from harness import Row

harness.one_thread()

import msgspec  # noqa: E402
import numpy as np  # noqa: E402
import posing_data  # noqa: E402

from ambulo.errors import AmbuloError  # noqa: E402
from ambulo.formats.paths import write_whole  # noqa: E402
from ambulo.formats.registry import load_all  # noqa: E402
from ambulo.posing.joint_limits import joint_turns, learn_limits  # noqa: E402
from ambulo.synthesis.performance import synthesize  # noqa: E402

CAPTURED = ("cmu_karate", "cmu_bollywood", "cmu_salsa_pairs", "cmu_loco", "cmu_131", "cmu_handshake_pair")
KEYED = "characters/humanoid_50clips.glb"
SHARED = Path(os.environ.get("AMBULO_SHARED", harness.ROOT.parent / "shared"))


def turns_of(paths: list[Path]) -> list[dict[str, np.ndarray]]:
    found = []
    for path in paths:
        for motion in load_all(path):
            try:
                found.append(joint_turns(motion))
            except AmbuloError as error:
                print(f"left out: {path.name}: {error.message}")
    return found


def main() -> None:
    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--write", action="store_true", help="write the packaged limits")

    args = harness.arguments("Joint limits", extend)
    script = SHARED / "data" / "unpack"
    data = Path(subprocess.run(["sh", str(script)], check=True, capture_output=True, text=True).stdout.strip())
    # What posing is measured on teaches nothing here either.
    split = posing_data.by_clips(posing_data.combat_poses(data)).held_out
    held = {split.names[take].partition("/")[2] for take in np.unique(split.takes)}
    takes = []
    for name in CAPTURED:
        paths = [path for path in sorted((data / "free" / name).rglob("*.bvh")) if path.name not in held]
        takes += [
            {p: t for p, t in take.items() if p != "shoulder"} for take in turns_of(paths[:: 5 if args.quick else 1])
        ]
    takes += [{"shoulder": take["shoulder"]} for take in turns_of([data / "free" / KEYED]) if "shoulder" in take]
    takes += [joint_turns(performance.motion) for performance in synthesize(minutes=2.0 if args.quick else 4.0)]
    limits = learn_limits(takes)
    if args.write:
        values = {key: [float(f"{x:.6g}") for x in value] for key, value in limits.arrays().items()}
        place = harness.ROOT / "src" / "ambulo" / "posing" / "joint_limits.json"
        write_whole(place, msgspec.json.format(msgspec.json.encode(values), indent=1) + b"\n")
    rows = []
    others = turns_of(sorted((data / "noncommercial" / "bandai1").glob("*.bvh"))[:: 20 if args.quick else 4])
    for part in limits.joints:
        limit = limits.joints[part]
        v = np.concatenate([take[part] for take in others if part in take])
        d = v - limit.mean
        distance = np.sqrt(np.einsum("ni,ij,nj->n", d, np.linalg.inv(limit.covariance), d))
        within = (distance <= limit.distance) & ((v >= limit.lower) & (v <= limit.upper)).all(axis=1)
        rows.append(Row(f"{part}: poses of another capture within the limits", len(v), 100.0 * within.mean(), "%"))
    harness.report(rows, args)


if __name__ == "__main__":
    main()
