"""Forward kinematics of 2,752 frames of a 31-joint CMU skeleton, against NumPy peers.

All rows do the same work: local positions and unit quaternions in, global positions and quaternions (pymotion:
matrices) of every joint in every frame out, float32. The NumPy rows are written here: joint by joint over all frames,
and level by level (all joints of one depth at once, with plain quaternion arithmetic). Results are compared before
anything is timed.

Times are of the processor, so that other work on the machine does not count. Each row is timed in runs of its own, as
memory that one method has just given back costs the next one page faults.

    python benchmarks/fk.py [--quick] [--json]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402

from ambulo.motion.kinematics import forward  # noqa: E402

PEERS = ("upc-pymotion==0.3.4",)
RATIO_BAR = 10.0
FRAMES = 2752
# The tree of the MotionBuilder-friendly CMU release: two legs, a spine with a head, two arms with a finger and a thumb.
PARENTS = np.array(
    [-1, 0, 1, 2, 3, 4, 0, 6, 7, 8, 9, 0, 11, 12, 13, 14, 15, 13, 17, 18, 19, 20, 21, 20, 13, 24, 25, 26, 27, 28, 27]
)

Arrays = tuple[np.ndarray, np.ndarray]
Method = Callable[[], Arrays]


def make(frames: int) -> Arrays:
    """Smooth random motion on that tree: local positions ``[T, J, 3]`` and rotations ``[T, J, 4]``, float32."""
    rng = np.random.default_rng(0)
    joints = len(PARENTS)
    offsets = rng.normal(size=(joints, 3)) * 0.2
    times = np.arange(frames)[:, None, None] / 60.0
    turn = rng.normal(size=(joints, 3)) * np.sin(times * rng.uniform(1.0, 5.0, (joints, 3)))
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    rotations = np.concatenate([np.sinc(angle / (2 * np.pi)) * turn / 2, np.cos(angle / 2)], axis=-1)
    positions = np.tile(offsets, (frames, 1, 1))
    positions[:, 0] += rng.normal(size=(frames, 3)).cumsum(axis=0) * 0.01
    return positions.astype(np.float32), rotations.astype(np.float32)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quaternion product, one preallocated result."""
    out = np.empty_like(a)
    ax, ay, az, aw = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bx, by, bz, bw = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    out[..., 0] = aw * bx + ax * bw + ay * bz - az * by
    out[..., 1] = aw * by - ax * bz + ay * bw + az * bx
    out[..., 2] = aw * bz + ax * by - ay * bx + az * bw
    out[..., 3] = aw * bw - ax * bx - ay * by - az * bz
    return out


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Rotation of vectors, ``v + w t + u x t`` with ``t = 2 u x v``."""
    out = np.empty_like(v)
    x, y, z, w = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    vx, vy, vz = v[..., 0], v[..., 1], v[..., 2]
    tx, ty, tz = 2 * (y * vz - z * vy), 2 * (z * vx - x * vz), 2 * (x * vy - y * vx)
    out[..., 0] = vx + w * tx + y * tz - z * ty
    out[..., 1] = vy + w * ty + z * tx - x * tz
    out[..., 2] = vz + w * tz + x * ty - y * tx
    return out


def numpy_joints(positions: np.ndarray, rotations: np.ndarray) -> Arrays:
    """One joint at a time, all frames at once."""
    p, q = positions.copy(), rotations.copy()
    for joint in range(1, len(PARENTS)):
        parent = PARENTS[joint]
        p[:, joint] = p[:, parent] + rotate(q[:, parent], positions[:, joint])
        q[:, joint] = multiply(q[:, parent], rotations[:, joint])
    return p, q


def numpy_levels(positions: np.ndarray, rotations: np.ndarray, levels: list[np.ndarray]) -> Arrays:
    """All joints of one depth at a time."""
    p, q = positions.copy(), rotations.copy()
    for level in levels:
        above = q[:, PARENTS[level]]
        p[:, level] = p[:, PARENTS[level]] + rotate(above, positions[:, level])
        q[:, level] = multiply(above, rotations[:, level])
    return p, q


def depth_levels() -> list[np.ndarray]:
    """Joints by depth, without the root."""
    depths = np.zeros(len(PARENTS), int)
    for joint in range(1, len(PARENTS)):
        depths[joint] = depths[PARENTS[joint]] + 1
    return [np.flatnonzero(depths == depth) for depth in range(1, depths.max() + 1)]


def methods(positions: np.ndarray, rotations: np.ndarray) -> dict[str, Method]:
    """Ours first, then the peers."""
    harness.install_peers("fk", PEERS)
    from pymotion.ops.skeleton import fk

    levels = depth_levels()
    scalar_first = np.ascontiguousarray(rotations[..., [3, 0, 1, 2]])
    root, offsets = positions[:, 0], positions[0].copy()
    offsets[0] = 0.0
    parents = PARENTS.copy()
    parents[0] = 0  # as pymotion has it
    return {
        "ambulo": lambda: tuple(forward(positions, rotations, PARENTS)),
        "numpy, joint by joint": lambda: numpy_joints(positions, rotations),
        "numpy, level by level": lambda: numpy_levels(positions, rotations, levels),
        "upc-pymotion": lambda: fk(scalar_first, root, offsets, parents),
    }


def measure(calls: dict[str, Method], repeats: int) -> dict[str, float]:
    """Median processor seconds of each, over three turns of ``repeats`` calls."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(3):
        for name, call in calls.items():
            call()
            for _ in range(repeats):
                start = time.process_time()
                call()
                times[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Measure and print."""
    args = harness.arguments(__doc__.splitlines()[0])
    frames = FRAMES // 4 if args.quick else FRAMES
    positions, rotations = make(frames)
    calls = methods(positions, rotations)
    ours = calls["ambulo"]()[0]
    for name, call in calls.items():
        error = float(np.abs(call()[0] - ours).max())
        if error > 1e-3:
            raise SystemExit(f"{name} disagrees by {error:g} m: nothing was timed")
    seconds = measure(calls, 7 if args.quick else 25)
    rows = [Row(name, frames, 1e3 * value, "ms") for name, value in seconds.items()]
    fastest = min(value for name, value in seconds.items() if name != "ambulo")
    ratio = fastest / seconds["ambulo"]
    rows.append(Row("ratio to the fastest peer", frames, ratio, "x", bar=RATIO_BAR, higher_is_better=True))
    harness.report(rows, args)


if __name__ == "__main__":
    main()
