"""Retargeting: time a frame, and what it does to feet and joint angles, pair by pair of skeletons.

Times are of the processor, of ``retarget`` as a whole (mapping, reference poses, forward kinematics, fit and report) on
a take of 2,000 frames, the target made ready once. The peer is written here, since no library that we know fits a
humanoid to another by damped least squares on the CPU (pybvh's retargeting copies angles onto other bone lengths): the
same fit of two legs, three joints and 20 iterations of damping 2.0, in NumPy, all frames at once. It does that part
alone. Both must bring feet to the same places before anything is timed.

The pairs of real skeletons need the real capture beside the repository; without it they are left out.

    python benchmarks/retarget.py [--quick] [--json]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402

from ambulo.errors import AmbuloError  # noqa: E402
from ambulo.formats.registry import load_all  # noqa: E402
from ambulo.maths import quaternions  # noqa: E402
from ambulo.motion.damped_least_squares import solve_chain  # noqa: E402
from ambulo.motion.humanoid import with_detected_roles  # noqa: E402
from ambulo.motion.motion import Motion  # noqa: E402
from ambulo.motion.retargeting import RetargetSettings, retarget, retarget_target  # noqa: E402
from ambulo.synthesis.body import default_skeleton  # noqa: E402
from ambulo.synthesis.performance import synthesize  # noqa: E402

TIME_BAR = 50.0
F1_BAR = 0.98
SETS = {
    "cmu_loco": ("free/cmu_loco", "*train_walking_02.bvh", 1),
    "salsa": ("free/cmu_salsa_pairs", "60_02.bvh", 6),
    "bandai1": ("noncommercial/bandai1", "*walk_active*.bvh", 0),
    "bandai2": ("noncommercial/bandai2_loco", "*run_normal*.bvh", 0),
    "glb": ("free/characters", "humanoid_50clips.glb", 0),
}


def numpy_legs(points: np.ndarray, targets: np.ndarray, damping: float = 0.02, iterations: int = 20) -> np.ndarray:
    """Damped least squares of a batch of chains in NumPy: full Jacobians, one solve of 3 by 3 a chain and iteration."""
    p = points.copy()
    count = p.shape[1] - 1
    for _ in range(iterations):
        arms = p[:, -1:] - p[:, :-1]
        jacobian = np.zeros((len(p), 3, 3 * count))
        for i in range(count):
            x, y, z = arms[:, i, 0], arms[:, i, 1], arms[:, i, 2]
            zero = np.zeros_like(x)
            jacobian[:, :, 3 * i : 3 * i + 3] = np.stack(
                [np.stack([zero, z, -y], -1), np.stack([-z, zero, x], -1), np.stack([y, -x, zero], -1)], 1
            )
        system = jacobian @ jacobian.transpose(0, 2, 1) + damping**2 * np.eye(3)
        force = np.linalg.solve(system, (targets - p[:, -1])[..., None])
        turns = (jacobian.transpose(0, 2, 1) @ force)[..., 0].reshape(len(p), count, 3)
        for i in range(count - 1, -1, -1):
            q = quaternions.from_scaled_angle_axis(turns[:, i])[:, None]
            p[:, i + 1 :] = p[:, i : i + 1] + quaternions.rotate(q, p[:, i + 1 :] - p[:, i : i + 1])
    return p


def legs(frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Two legs' joints over frames and where their feet belong: what a fit is asked for."""
    rng = np.random.default_rng(0)
    count = 2 * frames
    bend = rng.uniform(0.1, 1.2, count)
    knee = np.stack([0.05 * rng.normal(size=count), np.full(count, -0.4), 0.1 * np.ones(count)], -1)
    shank = np.stack([np.zeros(count), -0.4 * np.cos(bend), -0.4 * np.sin(bend)], -1)
    points = np.stack([np.zeros((count, 3)), knee, knee + shank], axis=1)
    return points, points[:, -1] * rng.uniform(0.92, 1.0, (count, 1)) + rng.normal(size=(count, 3)) * 0.01


def processor_time(function: Callable[[], object], repeats: int) -> float:
    """Median processor seconds."""
    function()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def bodies() -> dict[str, Motion]:
    """A take of each set that is there."""
    found: dict[str, Motion] = {}
    root = harness.shared_folder("data")
    if root is None:
        return found
    for name, (folder, pattern, skip) in SETS.items():
        files = sorted((root / folder).rglob(pattern))
        if not files:
            continue
        motions = load_all(files[0])
        motion = next((m for m in motions if m.name == "Walk_Loop"), motions[0])
        found[name] = with_detected_roles(motion.slice(skip, motion.frame_count))
    return found


def repeated(motion: Motion, frames: int) -> Motion:
    """The take over and over until it has that many frames."""
    index = np.arange(frames) % motion.frame_count
    return Motion(motion.skeleton, motion.positions[index], motion.rotations[index], motion.rate, motion.name)


def main() -> None:
    """Measure and print."""
    args = harness.arguments(__doc__.splitlines()[0])
    frames, repeats = (500, 3) if args.quick else (2000, 9)
    synthetic = with_detected_roles(synthesize(minutes=0.5)[0].motion)
    points, targets = legs(frames)
    ours, theirs = solve_chain(points, targets).points, numpy_legs(points, targets)
    apart = max(float(np.linalg.norm(p[:, -1] - targets, axis=-1).max()) for p in (ours, theirs))
    if apart > 1e-3:
        raise SystemExit(f"a fit leaves {apart:g} m: nothing was timed")
    fit = processor_time(lambda: solve_chain(points, targets), repeats)
    peer = processor_time(lambda: numpy_legs(points, targets), repeats)
    rows = [
        Row("ambulo, the fit of two legs alone", frames, 1e6 * fit / frames, "us a frame"),
        Row("numpy, the fit of two legs alone", frames, 1e6 * peer / frames, "us a frame"),
        Row("ratio of the fits", frames, peer / fit, "x", higher_is_better=True),
    ]
    all_bodies = {"synthetic": synthetic, **bodies()}
    for source, motion in all_bodies.items():
        for target, body in {"synthetic": synthetic, **all_bodies}.items():
            if source == target:
                continue
            ready = retarget_target(default_skeleton() if target == "synthetic" else body)
            pair = f"{source} to {target}"
            try:
                report = retarget(motion, ready).report
            except AmbuloError as error:
                raise SystemExit(f"{pair}: {error}") from None
            turns = retarget(motion, ready, settings=RetargetSettings(fit=False, heights=False)).report
            long = repeated(motion, frames)
            seconds = processor_time(lambda long=long, ready=ready: retarget(long, ready), repeats)
            n = motion.frame_count
            rows += [
                Row(f"{pair}: time", frames, 1e6 * seconds / frames, "us a frame"),
                Row(f"{pair}: slide of the source, scaled", n, 100 * report.scale * report.before.slide, "cm/s"),
                Row(f"{pair}: slide, angles alone", n, 100 * turns.after.slide, "cm/s"),
                Row(f"{pair}: slide", n, 100 * report.after.slide, "cm/s"),
                Row(f"{pair}: penetration of the source", n, 100 * report.before.penetration, "cm"),
                Row(f"{pair}: penetration", n, 100 * report.after.penetration, "cm"),
                Row(f"{pair}: contact F1, angles alone", n, turns.contact_f1, "", higher_is_better=True),
                Row(f"{pair}: contact F1", n, report.contact_f1, "", higher_is_better=True),
                Row(f"{pair}: joint jumps of the source", n, report.before.jumps, "a minute"),
                Row(f"{pair}: joint jumps", n, report.after.jumps, "a minute"),
            ]
    times = [row.value for row in rows if row.name.endswith(": time")]
    kept = [row.value for row in rows if row.name.endswith(": contact F1")]
    rows[:0] = [
        Row("retargeting, the slowest pair", frames, max(times), "us a frame", bar=TIME_BAR),
        Row("retargeting, contact F1 of the worst pair", len(kept), min(kept), "", bar=F1_BAR, higher_is_better=True),
    ]
    harness.report(rows, args)


if __name__ == "__main__":
    main()
