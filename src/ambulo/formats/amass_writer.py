"""Write poses of the SMPL family as ``.npz``, in the layout of AMASS's SMPL-H or SMPL-X releases."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ambulo.errors import FormatError, nearest_names
from ambulo.formats import axes
from ambulo.formats.smpl_skeleton import BODY_COUNT, HANDS_COUNT, SMPL_COUNT, joint_names, joint_parents
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion

_STILL = 1e-5
_OPTIONS = ("model", "up", "gender")


def write(motions: Sequence[Motion], options: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of an ``.npz``.

    Args:
        motions: one motion whose joints are those of the family: 22, 24 (the hand joints of SMPL are dropped if they do
            not turn) or 52. Bones keep their lengths: the layout holds rotations only.
        options: ``model`` (``"smplh"``, 156 columns, by default; ``"smplx"``, 165), ``up`` of the file (``"+Z"``),
            ``gender`` (``"neutral"``).

    The joints' rest positions are left in the array ``J``, which other readers ignore and ours takes up.

    Raises:
        FormatError: another skeleton, bones that stretch, several motions, or an unknown option.
    """
    given = dict(options or {})
    model = str(given.pop("model", "smplh")).lower()
    up = axes.parse_up(str(given.pop("up", "+Z")))
    gender = str(given.pop("gender", "neutral"))
    if given:
        wrong = next(iter(given))
        raise FormatError(f"this format has no option {wrong!r}; {nearest_names(wrong, _OPTIONS)}", key=wrong)
    if model not in ("smplh", "smplx"):
        raise FormatError(f"no body model is called {model!r}", key="model", remedy="use 'smplh' or 'smplx'")
    if len(motions) != 1:
        raise FormatError(f"one file holds one motion, these are {len(motions)}", remedy="write a file a motion")
    motion = motions[0]
    count = _check(motion)
    rest = motion.skeleton.rest_positions().astype(np.float64)
    # A root's offset is where the model's pelvis lies in its own frame; trans is counted from there.
    world = quaternions.from_matrix(axes.convert_vectors(np.eye(3), axes.inverse_up(up)).astype(np.float64).T)
    rotations = motion.rotations.astype(np.float64)
    rotations[:, 0] = quaternions.multiply(world, rotations[:, 0])
    trans = quaternions.rotate(world, motion.positions[:, 0].astype(np.float64)) - rest[0]
    vectors = quaternions.to_scaled_angle_axis(rotations).reshape(motion.frame_count, -1)
    body = vectors[:, : 3 * BODY_COUNT]
    hands = vectors[:, 3 * BODY_COUNT :] if count == HANDS_COUNT else np.zeros((motion.frame_count, 90))
    face = np.zeros((motion.frame_count, 9 if model == "smplx" else 0))
    file = io.BytesIO()
    rate_key = "mocap_frame_rate" if model == "smplx" else "mocap_framerate"
    arrays: dict[str, Any] = {
        "poses": np.concatenate([body, face, hands], axis=1),
        "trans": trans,
        "betas": np.zeros(16),
        "gender": np.array(gender),
        rate_key: np.array(motion.rate),
        "J": rest[:BODY_COUNT] if count == SMPL_COUNT else rest,
    }
    if model == "smplx":
        arrays["surface_model_type"] = np.array("smplx")
    np.savez(file, **arrays)
    return file.getvalue()


def _check(motion: Motion) -> int:
    """How many joints of the family the motion has."""
    skeleton = motion.skeleton
    count = skeleton.joint_count
    if (
        count not in (BODY_COUNT, SMPL_COUNT, HANDS_COUNT)
        or skeleton.names != joint_names(count)
        or not np.array_equal(skeleton.parents, joint_parents(count))
    ):
        missing = next((name for name in joint_names(BODY_COUNT) if name not in skeleton.names), None)
        why = f"it has no joint {missing!r}" if missing else "its joints are in another order or under other parents"
        raise FormatError(
            f"poses of the SMPL family need the family's skeleton of 22, 24 or 52 joints; {why}",
            joint=missing,
            remedy="write .bvh or .glb, or retarget the motion onto that skeleton first",
        )
    if (quaternions.angle_between(skeleton.rest_rotations, quaternions.IDENTITY) > 1e-4).any():
        raise FormatError(
            "the joints of this skeleton are turned at rest, those of the family are not",
            remedy="retarget the motion onto the family's own skeleton first",
        )
    if not (np.isfinite(motion.positions).all() and np.isfinite(motion.rotations).all()):
        raise FormatError("the motion is not finite", remedy="mend it first")
    stretch = np.abs(motion.positions[:, 1:] - skeleton.offsets[1:]).max(axis=(0, 2), initial=0.0)
    if (stretch > _STILL).any():
        joint = skeleton.names[1 + int(np.argmax(stretch))]
        raise FormatError(
            f"the bone to {joint} changes by {stretch.max():.2g} m; the layout holds rotations only",
            joint=joint,
            remedy="write .bvh or .glb",
        )
    if count == SMPL_COUNT:
        turn = quaternions.angle_between(motion.rotations[:, BODY_COUNT:], quaternions.IDENTITY)
        if (turn > 1e-4).any():
            raise FormatError(
                "the hands turn in the one joint that SMPL gives them, which these layouts have no place for",
                joint=skeleton.names[BODY_COUNT + int(np.argmax(turn.max(axis=0)))],
                remedy="write .bvh or .glb",
            )
    return count
