"""Read the poses of the SMPL family of bodies from ``.npz``, as AMASS and its relatives keep them.

What is decided here:

- Layouts by width of ``poses``: 66 (body), 72 (SMPL), 156 (SMPL-H), 165 (SMPL-X, whose jaw and eyes are left out); or
  by parts: ``root_orient``, ``pose_body``, ``pose_hand``. Numbers are rotation vectors in radians.
- ``smpl_poses`` and ``smpl_trans``, as AIST++ calls them; there a way is in units of its own, and ``smpl_scaling`` of
  them are a metre of the body.
- The rate under any of its names; a file without one is refused unless ``rate`` is given.
- The body's own frame is +Y up and faces +Z, the world around it is +Z up as a rule. So only the root is turned. Where
  the root holds the body upright along +Y the world is taken as +Y up (as in BEAT2), and the note says so.
- Without the body model, which is licensed, the default body of :mod:`ambulo.formats.smpl_skeleton` is used. With one
  (``skeleton=``), the joints are the model's, shaped by ``betas``, and the root lies at ``trans + J[0]``.
- No pickles are ever opened.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError, NoMotionError
from ambulo.formats import axes, units
from ambulo.formats.format import ReadOptions
from ambulo.formats.npz import NpzFile, first_key
from ambulo.formats.smpl_skeleton import (
    BODY_COUNT,
    HANDS_COUNT,
    SMPL_COUNT,
    Double,
    default_ends,
    default_joints,
    family_skeleton,
    model_joints,
)
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion, Note, Source

LAYOUTS = {3 * BODY_COUNT: BODY_COUNT, 3 * SMPL_COUNT: SMPL_COUNT, 156: HANDS_COUNT, 165: HANDS_COUNT}
"""Width of ``poses`` -> joints read from it."""

RATE_KEYS = ("mocap_framerate", "mocap_frame_rate", "fps", "frame_rate", "framerate", "mocap_fps")
_WHOLE_KEYS = ("poses", "smpl_poses")
_TRANS_KEYS = ("trans", "transl", "root_trans", "smpl_trans")
_SCALING_KEY = "smpl_scaling"
_ROOT_KEYS = ("root_orient", "global_orient")
_BODY_KEYS = ("pose_body", "body_pose")
_HAND_KEYS = ("pose_hand", "hand_pose")
_POSE_KEYS = (*_WHOLE_KEYS, *_ROOT_KEYS, *_BODY_KEYS, *_HAND_KEYS)
_FAMILY_KEYS = frozenset((*_POSE_KEYS, *RATE_KEYS, *_TRANS_KEYS, "betas", "dmpls"))
_LARGEST = 1e8
_UPRIGHT = 0.7
_DEFAULT_NOTE = (
    "the body model is licensed and not here: joints lie where those of an average adult do "
    f"(stature {1.7:g} m); give skeleton= a model file of yours for the subject's own"
)


def sniff(head: bytes) -> bool:
    """Whether a file's first bytes look like an archive of arrays."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def meant(path: Path) -> bool:
    """Whether an ``.npz`` found in a folder has any array of the family; one that cannot be opened is meant."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.removesuffix(".npy") in _FAMILY_KEYS for name in archive.namelist())
    except Exception:  # whatever zipfile meets in a damaged file
        return True


def read(path: Path, options: ReadOptions | None = None) -> list[Motion]:
    """Read one file.

    Args:
        path: the ``.npz``.
        options: what the caller knows better; ``skeleton`` is a body model.

    Returns:
        One motion, metres and +Y up: 22 joints, 24 (SMPL) or 52 (with fingers).

    Raises:
        NoMotionError: a shape file, or an archive without poses.
        FormatError: arrays that do not fit together, or hold no usable numbers.
    """
    options = options or ReadOptions()
    archive = NpzFile(path)
    if first_key(archive, _POSE_KEYS) is None:
        what = "only the shape of a body" if "betas" in archive else f"only {', '.join(archive.names[:6]) or 'nothing'}"
        raise NoMotionError(f"no poses in this file: it holds {what}", path=path, remedy="leave it out")
    notes: list[Note] = []
    vectors = _rotation_vectors(archive)
    trans = _translation(archive, len(vectors), notes) / _scaling(archive, notes)
    vectors, trans = _checked(vectors, trans, path, options, notes)
    rate = _rate(archive, options, notes)
    if options.skeleton is None and "J" in archive and archive.numbers("J").shape == (BODY_COUNT, 3):
        # Our own writer: a body without fingers, in a layout that has columns for them.
        vectors = vectors if vectors[:, BODY_COUNT:].any() else vectors[:, :BODY_COUNT]
    count = vectors.shape[1]
    joints, ends = _rest_joints(archive, path, options, count, notes)
    rotations: Double = quaternions.from_scaled_angle_axis(vectors).astype(np.float64)
    up = axes.parse_up(options.up) if options.up is not None else _guess_up(rotations[:, 0], notes)
    unit, metres = units.parse_unit(options.unit if options.unit is not None else "metre")
    # The rows of the converted unit vectors are the columns of the turn from the file's world to ours.
    world = quaternions.from_matrix(axes.convert_vectors(np.eye(3), up).astype(np.float64).T)
    rotations[:, 0] = quaternions.multiply(world, rotations[:, 0])
    skeleton = family_skeleton(joints, ends)
    positions = np.tile(skeleton.offsets, (len(vectors), 1, 1))
    positions[:, 0] = quaternions.rotate(world, trans * metres + joints[0])
    if len(vectors) < 2:
        notes.append(Note("one_frame", f"{len(vectors)} frames: a pose, it cannot enter a database", warning=True))
    if options.strict and any(note.warning for note in notes):
        listed = "; ".join(note.message for note in notes if note.warning)
        raise FormatError(listed, path=path, remedy="refused because strict was asked for")
    return [
        Motion(
            skeleton,
            positions,
            quaternions.unroll(rotations).astype(np.float32),
            rate,
            path.stem,
            Source(
                path=path,
                format="amass",
                unit=unit,
                metres_per_unit=metres,
                up=up,
                up_guessed=options.up is None,
                notes=tuple(notes),
            ),
        )
    ]


def _rotation_vectors(archive: NpzFile) -> Double:
    """Rotation vectors ``[T, joints, 3]``, of 22, 24 or 52 joints."""
    path = archive.path
    whole = first_key(archive, _WHOLE_KEYS)
    if whole is not None:
        poses = _not_empty(archive.numbers(whole), whole, path)
        if poses.ndim == 3 and poses.shape[2] == 3:
            poses = poses.reshape(len(poses), -1)
        width = poses.shape[1] if poses.ndim == 2 else 0
        if width not in LAYOUTS:
            raise FormatError(
                f"{whole} of shape {poses.shape} are none of the known layouts",
                path=path,
                key=whole,
                remedy="known widths: 66 (body), 72 (SMPL), 156 (SMPL-H), 165 (SMPL-X)",
            )
        if width == 165:
            poses = np.concatenate([poses[:, : 3 * BODY_COUNT], poses[:, 75:]], axis=1)
        return poses.reshape(len(poses), -1, 3)
    parts: list[Double] = []
    for keys, widths in ((_ROOT_KEYS, (3,)), (_BODY_KEYS, (63, 69)), (_HAND_KEYS, (90,))):
        key = first_key(archive, keys)
        if key is None:
            if keys is _HAND_KEYS:
                continue
            raise FormatError(
                f"there are poses by parts, but no {keys[0]!r}", path=path, key=keys[0], remedy="export the whole pose"
            )
        part = _not_empty(archive.numbers(key), key, path)
        part = part.reshape(len(part), -1) if part.ndim > 1 else part
        if part.ndim != 2 or part.shape[1] not in widths or (parts and len(part) != len(parts[0])):
            raise FormatError(
                f"{key} of shape {part.shape} should be [{len(parts[0]) if parts else 'frames'}, "
                f"{' or '.join(map(str, widths))}]",
                path=path,
                key=key,
            )
        parts.append(part)
    if len(parts) == 3:
        parts[1] = parts[1][:, :63]  # 69 end in the two hand joints of SMPL, which the fingers replace
    return np.concatenate(parts, axis=1).reshape(len(parts[0]), -1, 3)


def _not_empty(values: Double, key: str, path: Path) -> Double:
    if values.size == 0:
        raise FormatError(f"{key} of shape {values.shape} holds no frame", path=path, key=key, remedy="leave it out")
    return values


def _translation(archive: NpzFile, frames: int, notes: list[Note]) -> Double:
    key = first_key(archive, _TRANS_KEYS)
    if key is None:
        notes.append(Note("no_translation", "there is no 'trans': the body turns in one place", warning=True))
        return np.zeros((frames, 3))
    trans = archive.numbers(key)
    if trans.shape != (frames, 3):
        raise FormatError(
            f"{key} of shape {trans.shape} does not fit to {frames} frames of poses; it should be [{frames}, 3]",
            path=archive.path,
            key=key,
            remedy="export both from the same take",
        )
    return trans


def _scaling(archive: NpzFile, notes: list[Note]) -> float:
    """Units of the translation in a metre of the body: AIST++ fits a body to its dancers, in centimetres."""
    if _SCALING_KEY not in archive:
        return 1.0
    values = archive.numbers(_SCALING_KEY)
    scaling = float(values.reshape(-1)[0]) if values.size == 1 else math.nan
    if not (math.isfinite(scaling) and 1e-6 < scaling < 1e6):
        raise FormatError(
            f"{_SCALING_KEY} is {str(values)[:40]}, which is no scale",
            path=archive.path,
            key=_SCALING_KEY,
            remedy="leave the array out where the way is in metres",
        )
    notes.append(Note("scaling", f"the way is divided by {_SCALING_KEY} = {scaling:g}"))
    return scaling


def _checked(
    vectors: Double, trans: Double, path: Path, options: ReadOptions, notes: list[Note]
) -> tuple[Double, Double]:
    """Refuse what is no usable number; or, if lenient, repeat the frame before."""
    usable: NDArray[np.bool_] = np.all(np.abs(vectors) < _LARGEST, axis=2)
    placed: NDArray[np.bool_] = np.all(np.abs(trans) < _LARGEST, axis=1)
    good = np.logical_and(usable.all(axis=1), placed)
    if good.all():
        return vectors, trans
    frame = int(np.argmin(good))
    key = "trans" if usable[frame].all() else "poses"
    joint = (
        None
        if key == "trans"
        else family_skeleton(default_joints(vectors.shape[1])).names[int(np.argmin(usable[frame]))]
    )
    if not options.lenient or not good.any():
        raise FormatError(
            f"{key} is not finite, or too large, in {int((~good).sum())} frames, first in frame {frame}",
            path=path,
            joint=joint,
            frame=frame,
            key=key,
            remedy="mend the file, or read it with lenient=True, which repeats the frame before",
        )
    notes.append(
        Note(
            "damaged_frame",
            f"{int((~good).sum())} frames are not finite, the first is {frame}; the frame before is repeated",
            warning=True,
            joint=joint,
        )
    )
    source = np.maximum.accumulate(np.where(good, np.arange(len(good)), 0))
    source[: int(np.argmax(good))] = int(np.argmax(good))
    return vectors[source], trans[source]


def _rate(archive: NpzFile, options: ReadOptions, notes: list[Note]) -> float:
    if options.rate is not None:
        return float(options.rate)
    key = first_key(archive, RATE_KEYS)
    if key is None:
        raise FormatError(
            "the file does not say its frames a second",
            path=archive.path,
            key=RATE_KEYS[0],
            remedy="give rate=, e.g. rate=120; releases of the same takes differ, so look at the motion",
        )
    value = archive.read(key)
    try:
        rate = float(value.reshape(-1)[0]) if value.size == 1 else math.nan
    except (TypeError, ValueError):
        rate = math.nan
    if not (math.isfinite(rate) and 0.0 < rate <= 100_000.0):
        raise FormatError(
            f"{key} is {str(value)[:40]!r}, which is no rate", path=archive.path, key=key, remedy="give rate="
        )
    if rate < 1.0:
        notes.append(Note("slow", f"{rate:g} frames a second are implausible; give rate=", warning=True))
    return rate


def _rest_joints(
    archive: NpzFile, path: Path, options: ReadOptions, count: int, notes: list[Note]
) -> tuple[Double, Double | None]:
    """Rest joints ``[count, 3]`` and bone tips, of the model where there is one, else of the default body."""
    shape = archive.numbers("betas").reshape(-1) if "betas" in archive else np.zeros(0)
    betas = shape[:16] if np.isfinite(shape).all() else np.zeros(0)
    gender = archive.text("gender") if "gender" in archive else ""
    shaped = ", ".join(f"{value:.2f}" for value in betas[:3])
    notes.append(Note("subject", f"gender {gender or 'not said'}, shape {shaped or 'not said'}"))
    if options.skeleton is not None:
        return model_joints(options.skeleton, betas, count), None
    if "J" in archive:  # our own writer leaves the body's joints with the poses
        return model_joints(path, betas, count), None
    notes.append(Note("default_body", _DEFAULT_NOTE))
    return default_joints(count), default_ends(count)


def _guess_up(root: Double, notes: list[Note]) -> str:
    """The world's up axis: where the root holds the body's own +Y on average."""
    if not len(root):
        return "+Z"
    mean = quaternions.rotate(root[:: max(1, len(root) // 256)], np.array([0.0, 1.0, 0.0])).mean(axis=0)
    up = "+Y" if mean[1] > _UPRIGHT and mean[2] < _UPRIGHT else "+Z"
    reason = (
        "the body stands along +Y"
        if up == "+Y"
        else "the custom of AMASS"
        if mean[2] < _UPRIGHT
        else "the body stands along +Z"
    )
    notes.append(Note("up_guess", f"up axis {up} (a guess): {reason}; up= settles it"))
    return up
