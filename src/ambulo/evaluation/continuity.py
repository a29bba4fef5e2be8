"""Whether motion stays smooth where the playhead jumps: pose jumps, jerk, joint rotation, transitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.evaluation.footage import Footage
from ambulo.evaluation.measure import Measure
from ambulo.maths import quaternions

PERCENTILE = 99.9


def pose_changes(footage: Footage) -> NDArray[np.float64]:
    """How far the joints move from the frame before to each frame, mean over joints, float64 ``[F]``, metres.

    NaN in the first frame of a stretch. In the world, the root (joint 0) left out.
    """
    result = np.full(footage.frame_count, np.nan)
    step = np.diff(footage.global_positions[:, 1:], axis=0)
    change = np.sqrt(np.sum(step * step, axis=-1, dtype=np.float64)).mean(axis=-1)
    result[1:] = np.where(footage.unbroken(1)[:-1], change, np.nan)
    return result


def velocity_changes(footage: Footage) -> NDArray[np.float64]:
    """How much the joints' velocity changes at each frame, mean over joints, float64 ``[F]``, m/s.

    The second difference of positions around the frame times the rate; NaN at the ends of a stretch. A pop shows here
    even where it is small beside the motion itself.
    """
    result = np.full(footage.frame_count, np.nan)
    p = footage.global_positions[:, 1:]
    bend = p[2:] - 2.0 * p[1:-1] + p[:-2]
    change = np.sqrt(np.sum(bend * bend, axis=-1, dtype=np.float64)).mean(axis=-1) * footage.rate
    result[1:-1] = np.where(footage.unbroken(2)[:-2], change, np.nan)
    return result


def jerks(footage: Footage) -> NDArray[np.float64]:
    """Length of the third derivative of the joints' world positions, mean over joints, float64 ``[F]``, m/s^3.

    Third difference of four frames from each frame on, times rate^3; NaN where they are not in one stretch.
    """
    result = np.full(footage.frame_count, np.nan)
    if footage.frame_count > 3:
        p = footage.global_positions[:, 1:].astype(np.float64)
        third = p[3:] - 3.0 * p[2:-1] + 3.0 * p[1:-2] - p[:-3]
        jerk = np.sqrt(np.sum(third * third, axis=-1)).mean(axis=-1) * footage.rate**3
        result[:-3] = np.where(footage.unbroken(3)[:-3], jerk, np.nan)
    return result


def joint_rotation(footage: Footage) -> float:
    """Mean angle by which joints turn in their parents' frames, rad/s; the root left out."""
    if footage.frame_count < 2:
        return float("nan")
    angles = quaternions.angle_between(footage.rotations[:-1, 1:], footage.rotations[1:, 1:]).mean(axis=-1)
    return footage.mean(np.append(angles * footage.rate, 0.0), footage.unbroken(1))


def worst_at(values: NDArray[np.float64], transitioned: NDArray[np.bool_]) -> float:
    """The largest of values in the frames of transitions and the ones after; NaN where there is no transition."""
    near = transitioned.copy()
    near[1:] |= transitioned[:-1]
    chosen = values[near & np.isfinite(values)]
    return float(chosen.max()) if len(chosen) else float("nan")


def _percentile(values: NDArray[np.float64]) -> float:
    # Over every frame of the clips drawn on, shown or not: a bar for single events needs the whole spread.
    finite = values[np.isfinite(values)]
    return float(np.percentile(finite, PERCENTILE)) if len(finite) else float("nan")


def measure_continuity(made: Footage, raw: Footage, transitioned: ArrayLike) -> dict[str, Measure]:
    """All measures of continuity.

    Args:
        made: the recorded motion.
        raw: the capture.
        transitioned: bool ``[F]``, frames of ``made`` in which the playhead jumped.
    """
    jumped = np.asarray(transitioned, bool)
    made_jerks, raw_jerks = jerks(made), jerks(raw)
    jerk = (
        made.mean(made_jerks, np.isfinite(made_jerks)),
        raw.mean(raw_jerks, np.isfinite(raw_jerks)),
    )
    text = "in the frame of a transition or the next, the worst of all; raw: 99.9th percentile over the capture."
    comparable = jerk[1] > 0.0
    return {
        "pose_jump": Measure(
            worst_at(pose_changes(made), jumped) * 100.0,
            _percentile(pose_changes(raw)) * 100.0,
            "cm",
            False,
            f"World distance that joints move from one frame to the next, mean over joints, {text}",
        ),
        "velocity_jump": Measure(
            worst_at(velocity_changes(made), jumped),
            _percentile(velocity_changes(raw)),
            "m/s",
            False,
            f"Change of the joints' world velocity from one frame to the next, mean over joints, {text}",
        ),
        "jerk": Measure(
            jerk[0],
            jerk[1],
            "m/s3",
            False,
            "Third difference of joints' world positions times rate cubed, mean over joints and frames.",
        ),
        "jerk_ratio": Measure(
            jerk[0] / jerk[1] if comparable else float("nan"),
            1.0 if comparable else None,
            "",
            False,
            "Jerk over the capture's jerk.",
        ),
        "joint_rotation": Measure(
            np.degrees(joint_rotation(made)),
            np.degrees(joint_rotation(raw)),
            "deg/s",
            None,
            "Mean angle by which joints turn in their parents; less than the capture's means smoothed out.",
        ),
        "transitions_per_second": Measure(
            float(jumped.mean()) * made.rate if len(jumped) else float("nan"),
            None,
            "1/s",
            None,
            "Jumps of the playhead a second and character.",
        ),
    }
