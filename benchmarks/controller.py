"""One frame of a controller: intent, search when due, inertialization, foot lock, forward kinematics.

The embedded data, a stick that keeps changing its mind, one thread. A step is pure, so that the same run can be
repeated: each step's time is its least over several passes (other programs come between), and rows give the median,
mean and 99th percentile over steps. The peer is a plain NumPy step in the style of public Python controllers: SciPy's
``cKDTree`` for the search, NumPy arrays for springs, inertialization and kinematics, no foot lock, one character.

    python benchmarks/controller.py [--quick] [--json]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402

CROWD = 256
LN2 = float(np.log(2.0))


def embedded(minutes: float) -> tuple[Any, Any]:
    """The embedded data and its index, in memory."""
    from ambulo.database.database import Database
    from ambulo.matching.features import compute_features
    from ambulo.matching.index import SearchIndex
    from ambulo.matching.schema import FeatureSchema
    from ambulo.prepare.pipeline import prepare_take
    from ambulo.synthesis.performance import synthesize

    performances = synthesize(0, minutes)
    clips = [prepare_take(performance.motion) for performance in performances]
    tags = [[(tag.start, tag.stop, tag.tag) for tag in performance.tags] for performance in performances]
    database = Database.from_clips(clips, tags)
    features = compute_features(database, FeatureSchema.compile(skeleton=database.skeleton, rate=database.rate))
    return database, SearchIndex.build(features, database.clip_starts, database.clip_stops, database.valid)


def ours(name: str, database: Any, index: Any, count: int, steps: int, passes: int) -> np.ndarray:
    """Least seconds of each step, float64 ``[steps]``."""
    from ambulo.control.create import create_controller
    from ambulo.control.scripts import random_sticks

    controller = create_controller(name, database, index)
    script = random_sticks(1, steps / 60 + 1, count)
    still = np.zeros((count, 3), np.float32)
    intents = [script.intent(step / 60, still, still) for step in range(steps)]
    state = controller.start(count)
    for intent in intents[:30]:
        controller.step(state, intent, 1 / 60)
    least = np.full(steps, np.inf)
    for _ in range(passes):
        state = controller.start(count)
        for step, intent in enumerate(intents):
            start = time.perf_counter()
            state, _ = controller.step(state, intent, 1 / 60)
            least[step] = min(least[step], time.perf_counter() - start)
    return least


class PlainPeer:
    """Motion matching with cKDTree and NumPy, one character, frame by frame."""

    def __init__(self, database: Any, index: Any) -> None:
        from scipy.spatial import cKDTree

        features = index.feature_set
        self.features, self.mean = features.normalized(), features.mean
        self.scale = features.coefficients().astype(np.float32)
        margin = np.zeros(database.frame_count, bool)
        for clip in database.clips:
            margin[clip.start : max(clip.stop - 20, clip.start)] = True
        margin &= database.mask(("locomotion",))
        self.candidates = np.flatnonzero(margin)
        self.tree = cKDTree(self.features[self.candidates])
        self.db, self.raw = database, features.raw
        self.parents = database.skeleton.parents
        self.stops = np.repeat(database.clip_stops, database.clip_stops - database.clip_starts)
        joints = len(self.parents)
        self.frame, self.timer = int(self.candidates[0]), 0.0
        self.root, self.heading = np.zeros(3), 0.0
        self.velocity, self.acceleration, self.turning = np.zeros(3), np.zeros(3), 0.0
        self.offset, self.offset_v = np.zeros((joints, 3)), np.zeros((joints, 3))
        self.offset_q, self.offset_w = np.zeros((joints, 3)), np.zeros((joints, 3))
        self.times = np.array([20, 40, 60]) / 60

    def spring(self, v: Any, a: Any, goal: Any, half_life: float, t: Any) -> tuple[Any, Any, Any]:
        y = 2 * LN2 / half_life
        j0, e = v - goal, np.exp(-y * t)
        j1 = a + j0 * y
        way = e * (-j1 / (y * y) + (-j0 - j1 * t) / y) + j1 / (y * y) + j0 / y + goal * t
        return way, e * (j0 + j1 * t) + goal, e * (a - j1 * y * t)

    def step(self, wish: np.ndarray, dt: float) -> np.ndarray:
        goal = np.arctan2(wish[0], wish[2]) if np.hypot(wish[0], wish[2]) > 0.1 else self.heading
        difference = (self.heading - goal + np.pi) % (2 * np.pi) - np.pi
        y = 2 * LN2 / 0.27
        if self.timer <= 0 or self.frame >= self.stops[self.frame] - 2:
            t = self.times[:, None]
            way, _, _ = self.spring(self.velocity, self.acceleration, wish, 0.27, t)
            ahead = (
                goal
                + np.exp(-y * self.times) * (difference + (self.turning + difference * y) * self.times)
                - self.heading
            )
            s, c = np.sin(self.heading), np.cos(self.heading)
            local = np.stack([c * way[:, 0] - s * way[:, 2], s * way[:, 0] + c * way[:, 2]], axis=1)
            query = self.raw[self.frame].copy()
            query[15:21] = local.ravel()
            query[21:27] = np.stack([np.sin(ahead), np.cos(ahead)], axis=1).ravel()
            normal = (query - self.mean) * self.scale
            current = ((self.features[self.frame] - normal) ** 2).sum()
            distance, place = self.tree.query(normal)
            best = int(self.candidates[place])
            if distance**2 < current or self.frame >= self.stops[self.frame] - 2:
                self.transition(best)
            self.timer = 0.1
        self.timer -= dt
        self.frame += 1
        way, self.velocity, self.acceleration = self.spring(self.velocity, self.acceleration, wish, 0.27, dt)
        self.root = self.root + way
        j1 = self.turning + difference * y
        self.heading = goal + np.exp(-y * dt) * (difference + j1 * dt)
        self.turning = np.exp(-y * dt) * (self.turning - j1 * y * dt)
        return self.pose(dt)

    def transition(self, best: int) -> None:
        db = self.db
        self.offset = self.offset + db.positions[self.frame] - db.positions[best]
        self.offset_v = self.offset_v + db.velocities[self.frame] - db.velocities[best]
        a, b = db.rotations[self.frame].astype(float), db.rotations[best].astype(float)
        q = multiply(multiply(exponential(self.offset_q), a), b * [-1, -1, -1, 1])
        self.offset_q = logarithm(q)
        self.offset_w = self.offset_w + db.angular_velocities[self.frame] - db.angular_velocities[best]
        self.offset[0], self.offset_q[0] = 0.0, 0.0
        self.frame = best

    def pose(self, dt: float) -> np.ndarray:
        y = 2 * LN2 / 0.1
        e = np.exp(-y * dt)
        j = self.offset_v + self.offset * y
        self.offset, self.offset_v = e * (self.offset + j * dt), e * (self.offset_v - j * y * dt)
        j = self.offset_w + self.offset_q * y
        self.offset_q, self.offset_w = e * (self.offset_q + j * dt), e * (self.offset_w - j * y * dt)
        positions = self.db.positions[self.frame] + self.offset
        rotations = multiply(exponential(self.offset_q), self.db.rotations[self.frame].astype(float))
        positions[0] = self.root
        rotations[0] = [0, np.sin(self.heading / 2), 0, np.cos(self.heading / 2)]
        where, turned = [positions[0]], [rotations[0]]
        for joint in range(1, len(self.parents)):
            parent = self.parents[joint]
            where.append(where[parent] + rotate(turned[parent], positions[joint]))
            turned.append(multiply(turned[parent], rotations[joint]))
        return np.array(where)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    ax, ay, az, aw = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bx, by, bz, bw = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    return np.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        axis=-1,
    )


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    x, y, z, w = q
    tx, ty, tz = 2.0 * (y * v[2] - z * v[1]), 2.0 * (z * v[0] - x * v[2]), 2.0 * (x * v[1] - y * v[0])
    return v + np.array([w * tx + y * tz - z * ty, w * ty + z * tx - x * tz, w * tz + x * ty - y * tx])


def exponential(v: np.ndarray) -> np.ndarray:
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    safe = np.where(angle < 1e-8, 1.0, angle)
    return np.concatenate([np.where(angle < 1e-8, 0.5, np.sin(angle / 2) / safe) * v, np.cos(angle / 2)], axis=-1)


def logarithm(q: np.ndarray) -> np.ndarray:
    q = np.where(q[..., 3:] < 0, -q, q)
    length = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    safe = np.where(length < 1e-8, 1.0, length)
    return np.where(length < 1e-8, 2.0, 2.0 * np.arctan2(length, q[..., 3:]) / safe) * q[..., :3]


def peer(database: Any, index: Any, steps: int, passes: int) -> np.ndarray:
    """Least seconds of each step of the plain controller."""
    from ambulo.control.scripts import random_sticks

    script = random_sticks(1, steps / 60 + 1)
    still = np.zeros((1, 3), np.float32)
    wishes = [script.intent(step / 60, still, still).velocity[0].astype(float) for step in range(steps)]
    least = np.full(steps, np.inf)
    for _ in range(passes):
        plain = PlainPeer(database, index)
        for step, wish in enumerate(wishes):
            start = time.perf_counter()
            plain.step(wish, 1 / 60)
            least[step] = min(least[step], time.perf_counter() - start)
    return least


def microseconds(seconds: np.ndarray, statistic: Callable[[np.ndarray], Any], count: int = 1) -> float:
    return float(statistic(seconds)) * 1e6 / count


def p99(values: np.ndarray) -> float:
    return float(np.percentile(values, 99.0))


def main() -> None:
    args = harness.arguments(__doc__.splitlines()[0])
    steps, passes = (300, 3) if args.quick else (1200, 7)
    print("making the embedded data ...", file=sys.stderr)
    database, index = embedded(6.0 if args.quick else 20.0)
    rows = []
    medians = {}
    for name in ("motion_matching", "blocks"):
        print(f"{name} ...", file=sys.stderr)
        single = ours(name, database, index, 1, steps, passes)
        crowd = ours(name, database, index, CROWD, max(steps // 4, 120), passes)
        medians[name] = microseconds(single, np.median)
        bar = name == "motion_matching"
        rows += [
            Row(f"ambulo {name}: step, median", 1, medians[name], "us", 150.0 if bar else None),
            Row(f"ambulo {name}: step, mean", 1, microseconds(single, np.mean), "us", 150.0 if bar else None),
            Row(f"ambulo {name}: step, 99th percentile", 1, microseconds(single, p99), "us"),
            Row(
                f"ambulo {name}: step a character, mean", CROWD, microseconds(crowd, np.mean, CROWD), "us",
                10.0 if bar else None,
            ),
        ]  # fmt: skip
    print("plain NumPy peer ...", file=sys.stderr)
    plain = peer(database, index, steps, passes)
    rows += [
        Row("NumPy and cKDTree: step, median (no foot lock)", 1, microseconds(plain, np.median), "us"),
        Row("NumPy and cKDTree: step, mean (no foot lock)", 1, microseconds(plain, np.mean), "us"),
        Row("NumPy and cKDTree: step, 99th percentile", 1, microseconds(plain, p99), "us"),
        Row(
            "ambulo's advantage in the median", 1,
            microseconds(plain, np.median) / medians["motion_matching"], "x", None, True,
        ),
    ]  # fmt: skip
    harness.report(rows, args)


if __name__ == "__main__":
    main()
