"""Projection onto skeletons: time a pose, how well pins hold, bone lengths, and the error before and after.

Takes are those that ``benchmarks/posing.py`` holds out, each on its own skeleton. The model is the one that it trained
on the other takes, where it is in the cache; else the two Gaussians of the same takes, which the rows then say. Without
the real capture: the packaged model on embedded takes.

Errors are means over the points that are not set, in cm. Captures stretch bones (bandai1 by up to 6 cm), so not all of
their points can be reached: how well pins hold is measured on points of poses that keep the bones' lengths.

    python benchmarks/posing_projection.py [--quick] [--json]
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402
import posing_data  # noqa: E402

from ambulo.formats.registry import load  # noqa: E402
from ambulo.motion.humanoid import with_detected_roles  # noqa: E402
from ambulo.motion.kinematics import forward, forward_motion  # noqa: E402
from ambulo.motion.motion import Motion  # noqa: E402
from ambulo.motion.reference_pose import reference_pose  # noqa: E402
from ambulo.posing.body_points import BodyPoints, body_points  # noqa: E402
from ambulo.posing.completion import Completion, facing_yaws, standing_places, to_facing  # noqa: E402
from ambulo.posing.gaussian import fit_facing, fit_turned  # noqa: E402
from ambulo.posing.observations import observe_points  # noqa: E402
from ambulo.posing.points import POINT_COUNT, SCHEMES, mirror_points, point_indices  # noqa: E402
from ambulo.posing.pose_from_points import pose_from_points  # noqa: E402
from ambulo.posing.poser import Poser, PoserManifest  # noqa: E402
from ambulo.posing.projection import Projector  # noqa: E402
from ambulo.prepare.floor import floor_height  # noqa: E402
from ambulo.prepare.trim import usable_range  # noqa: E402
from ambulo.synthesis.performance import synthesize  # noqa: E402

PROJECTION_BAR = 2000.0
WHOLE_BAR = 5000.0
PIN_BAR = 1.0
BONE_BAR = 0.1
SHARED = Path(os.environ.get("AMBULO_SHARED", harness.ROOT.parent / "shared"))
TAKES = {
    "karate": ("free/cmu_karate", ("135_08.bvh",)),
    "bollywood": ("free/cmu_bollywood", ("94_08.bvh",)),
    "salsa": ("free/cmu_salsa_pairs", ("60_03.bvh", "61_03.bvh")),
    "bandai1": ("noncommercial/bandai1", ("*kick*.bvh", "*punch*.bvh", "*slash*.bvh", "*dance*.bvh")),
}


def real_data() -> Path | None:
    script = SHARED / "data" / "unpack"
    if not script.is_file():
        return None
    return Path(subprocess.run(["sh", str(script)], check=True, capture_output=True, text=True).stdout.strip())


def held_out(data: Path | None, quick: bool) -> dict[str, list[Motion]]:
    if data is None:
        return {"embedded": [performance.motion for performance in synthesize(seed=9, minutes=1.0 if quick else 3.0)]}
    found = {}
    for name, (folder, patterns) in TAKES.items():
        paths = [path for pattern in patterns for path in sorted((data / folder).rglob(pattern))]
        found[name] = [load(path) for path in (paths[:: max(1, len(paths) // 3)] if quick else paths)]
    held = posing_data.by_clips(posing_data.combat_poses(data)).held_out
    loco = [held.names[take].partition("/")[2] for take in np.unique(held.takes)]
    walks = [path for path in sorted((data / posing_data.SETS["loco"]).rglob("*.bvh")) if path.name in loco]
    found["loco"] = [load(path) for path in (walks[::4] if quick else walks)]
    return found


def model(data: Path | None) -> Poser:
    if data is None:
        return Poser.default()
    folder = posing_data.cache() / "clips" / "poser"
    if (folder / "manifest.json").is_file():
        return Poser.load(folder)
    points = posing_data.by_clips(posing_data.combat_poses(data)).training.points.astype(np.float64)
    poses = np.concatenate([points, mirror_points(points)])
    places = standing_places(poses)
    turned, facing = fit_turned(poses - places[:, None]), fit_facing(to_facing(poses, facing_yaws(poses), places))
    return Poser(Completion(turned, facing), PoserManifest(name="the two Gaussians"))


def poses_of(motion: Motion) -> tuple[BodyPoints, np.ndarray]:
    motion = with_detected_roles(motion)
    trim = usable_range(motion)
    motion = motion.slice(trim.start_frame, trim.stop_frame)
    pose = forward_motion(motion)
    body = body_points(reference_pose(motion.skeleton, motion, pose))
    step = max(1, round(motion.rate / 15.0))
    points = body.of_pose(pose.positions[::step], pose.rotations[::step]).astype(np.float64)
    points[..., 1] += floor_height(motion, pose=pose).offset  # as the model's own poses are
    return body, points


def bone_error(body: BodyPoints, positions: np.ndarray, rotations: np.ndarray) -> float:
    """Largest relative error of a bone's length, percent."""
    skeleton = body.reference.skeleton
    pose = forward(positions, rotations, skeleton.parents)
    inner = np.flatnonzero((skeleton.parents >= 0) & (np.linalg.norm(body.reference.offsets, axis=1) > 0.02))
    inner = inner[inner != skeleton.role("hips")]
    long = np.linalg.norm(pose.positions[:, inner] - pose.positions[:, skeleton.parents[inner]], axis=-1)
    true = np.linalg.norm(body.reference.offsets[inner], axis=-1)
    return 100.0 * float(np.abs(long / true - 1.0).max())


def scheme_rows(poser: Poser, bodies: dict[str, list[tuple[BodyPoints, np.ndarray]]], scheme: int) -> list[Row]:
    chosen = point_indices(SCHEMES[scheme])
    unknown = np.setdiff1d(np.arange(POINT_COUNT), chosen)
    rows, seconds, total, held, out_of_reach, worst_bone = [], 0.0, 0, [], 0, 0.0
    sums = np.zeros(2)
    for name, takes in bodies.items():
        errors = np.zeros(2)
        count = 0
        for body, points in takes:
            rough = poser.complete(observe_points(chosen, points[:, chosen]), body)
            projector = Projector(body)
            projector.project(rough[:1], pinned=chosen)
            start = time.process_time()
            done = projector.project(rough, pinned=chosen)
            seconds += time.process_time() - start
            total += len(points)
            # Pins that the body certainly reaches: of the nearest pose that keeps the lengths of its bones.
            reached = projector.project(points, spreads=0.004).points
            again = projector.project(poser.complete(observe_points(chosen, reached[:, chosen]), body), pinned=chosen)
            held.append(again.errors[:, chosen].max(axis=1))
            out_of_reach += len({off.frame for off in done.unreachable})
            worst_bone = max(worst_bone, bone_error(body, done.positions, done.rotations))
            for k, made in enumerate((rough, done.points)):
                errors[k] += 100.0 * np.linalg.norm(made - points, axis=-1)[:, unknown].mean(axis=1).sum()
            count += len(points)
        before, after = errors / count
        sums += errors
        rows.append(Row(f"{scheme} points, {name}: error before projection", count, before, "cm"))
        rows.append(Row(f"{scheme} points, {name}: error after projection", count, after, "cm"))
    pins = 1000.0 * np.concatenate(held)
    before, after = sums / total
    return [
        Row(f"{scheme} points, {poser.manifest.name}: error before projection", total, before, "cm"),
        Row(
            f"{scheme} points, {poser.manifest.name}: error after projection", total, after, "cm", bar=round(before, 3)
        ),
        *rows,
        Row(f"{scheme} points: projection a pose", total, 1e6 * seconds / total, "us", bar=PROJECTION_BAR),
        Row(
            f"{scheme} points that the body reaches: worst pin of a pose, 99 % of poses",
            total,
            float(np.quantile(pins, 0.99)),
            "mm",
            bar=PIN_BAR,
        ),
        Row(
            f"{scheme} points as captured: poses with a pin off by more than 1 mm",
            total,
            100.0 * out_of_reach / total,
            "%",
        ),
        Row(f"{scheme} points: worst bone length", total, worst_bone, "%", bar=BONE_BAR),
    ]


def latency_rows(poser: Poser, body: BodyPoints, points: np.ndarray, repeats: int) -> list[Row]:
    """One pose at a time, as an editor asks: network and projection."""
    chosen = point_indices(SCHEMES[6])
    projector = Projector(body)
    walls, works = [], []
    for repeat in range(repeats + 5):
        at = points[repeat % len(points)][None, chosen]
        wall, work = time.perf_counter(), time.process_time()
        projector.project(poser.complete(observe_points(chosen, at), body), pinned=chosen)
        walls.append(1e6 * (time.perf_counter() - wall))
        works.append(1e6 * (time.process_time() - work))
    rows = []
    for name, times, bar in (("processor", works[5:], WHOLE_BAR), ("clock", walls[5:], None)):
        for quantile in (50, 99):
            value = float(np.percentile(times, quantile))
            rows.append(Row(f"network and projection of one pose, p{quantile}, {name}", repeats, value, "us", bar=bar))
    names = SCHEMES[6]
    asked = {name: points[0, point_indices([name])[0]] for name in names}
    once = harness.median_seconds(lambda: pose_from_points(asked, body, poser=poser), repeats=7)
    return [*rows, Row("pose_from_points as a whole, one pose", 7, 1e6 * once, "us")]


def main() -> None:
    args = harness.arguments("Projection of points onto skeletons")
    data = real_data()
    bodies = {name: [poses_of(take) for take in takes] for name, takes in held_out(data, args.quick).items()}
    poser = model(data)
    rows = []
    for scheme in (6, 16):
        rows += scheme_rows(poser, bodies, scheme)
    body, points = next(iter(bodies.values()))[0]
    rows += latency_rows(poser, body, points, 60 if args.quick else 300)
    harness.report(rows, args)


if __name__ == "__main__":
    main()
