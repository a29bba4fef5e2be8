"""What the web player is given: a recording, or any motions, as JSON with packed arrays.

The format (``"ambulo-player"``, version 1) is read by ``web/src/player``; arrays are base64 of little-endian numbers in
C order, 16-bit where that is exact enough: a millimetre at 30 m, a hundredth of a degree.
"""

from __future__ import annotations

import base64
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.control.recording import Recording
    from ambulo.database.database import Database

FORMAT, VERSION = "ambulo-player", 1
# Metres up to which 16-bit positions are used: steps of a millimetre.
_SHORT_RANGE = 32.767


def pack(values: ArrayLike, *, exact: bool = False) -> dict[str, Any]:
    """An array for the player.

    Args:
        values: any shape; uint8 and bool stay bytes, all else is stored as numbers.
        exact: float32 instead of scaled 16-bit integers.
    """
    array = np.asarray(values)
    if array.dtype in (np.uint8, np.bool_):
        return _packed("uint8", np.ascontiguousarray(array, np.uint8), None)
    largest = float(np.abs(array).max(initial=0.0))
    if exact or largest > _SHORT_RANGE:
        return _packed("float32", np.ascontiguousarray(array, "<f4"), None)
    scale = max(largest, 1e-9) / 32767.0
    return _packed("int16", np.round(array / scale).astype("<i2"), scale)


def _packed(dtype: str, array: NDArray[Any], scale: float | None) -> dict[str, Any]:
    packed: dict[str, Any] = {
        "dtype": dtype,
        "shape": list(array.shape),
        "data": base64.b64encode(array.tobytes()).decode("ascii"),
    }
    if scale is not None:
        packed["scale"] = scale
    return packed


def unpack(packed: Mapping[str, Any]) -> NDArray[Any]:
    """The array that :func:`pack` packed: uint8, or float32 for numbers."""
    stored = np.frombuffer(
        base64.b64decode(packed["data"]), {"int16": "<i2", "float32": "<f4", "uint8": "u1"}[packed["dtype"]]
    )
    stored = stored.reshape(packed["shape"])
    if packed["dtype"] == "uint8":
        return stored.copy()
    values: NDArray[Any] = (stored.astype(np.float64) * packed.get("scale", 1.0)).astype(np.float32)
    return values


def skeleton_data(skeleton: Skeleton) -> dict[str, Any]:
    """A skeleton for the player."""
    return {
        "names": list(skeleton.names),
        "parents": skeleton.parents.tolist(),
        "roles": {role: int(joint) for role, joint in skeleton.roles.items()},
        "offsets": [[round(float(v), 6) for v in offset] for offset in skeleton.offsets],
        "end_offsets": [
            [round(float(v), 6) for v in end] if np.isfinite(end).all() else None for end in skeleton.end_offsets
        ],
    }


def motion_player_data(
    motions: Sequence[Motion], *, contacts: Sequence[ArrayLike | None] = (), title: str = "", subtitle: str = ""
) -> dict[str, Any]:
    """Motions of one skeleton and rate, side by side in one world.

    Args:
        motions: at least one.
        contacts: ``[T, 2]`` a motion, left and right, or None.
        title: shown in the corner.
        subtitle: below it.
    """
    characters = []
    for index, motion in enumerate(motions):
        pose = forward_motion(motion)
        character = _character(motion.name or f"motion {index + 1}", pose.positions, pose.rotations)
        if index < len(contacts) and contacts[index] is not None:
            character["contacts"] = pack(np.asarray(contacts[index], np.uint8))
        characters.append(character)
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "subtitle": subtitle,
        "rate": motions[0].rate,
        "skeleton": skeleton_data(motions[0].skeleton),
        "characters": characters,
    }


def recording_player_data(
    recording: Recording,
    database: Database | None = None,
    *,
    path: ArrayLike | None = None,
    trajectory_times: ArrayLike | None = None,
    title: str = "",
    subtitle: str = "",
    max_frames: int = 10_800,
    max_characters: int = 8,
) -> dict[str, Any]:
    """A recording.

    Args:
        recording: T frames of N characters.
        database: names the clips that play and, with ``trajectory_times``, shows what the capture holds ahead.
        path: the asked path ``[M, 3]``; the recording's own where None.
        trajectory_times: seconds ``[K]`` of the recording's trajectory points.
        title: shown in the corner.
        subtitle: below it.
        max_frames: later frames are left out, so that a page stays a page.
        max_characters: the same for characters.
    """
    frames = min(recording.frame_count, max_frames)
    cut = slice(0, frames)
    characters = []
    for n in range(min(recording.count, max_characters)):
        name = f"{recording.script} {n + 1}" if recording.count > 1 else recording.script
        character = _character(name, recording.global_positions[cut, n], recording.global_rotations[cut, n])
        velocity = np.gradient(recording.root_positions[cut, n].astype(np.float64), axis=0) if frames > 1 else None
        speed = np.zeros(frames) if velocity is None else np.hypot(velocity[:, 0], velocity[:, 2]) * recording.rate
        wish = recording.desired_velocity[cut, n]
        character |= {
            "contacts": pack(recording.contacts[cut, n].astype(np.uint8)),
            "root_path": pack(recording.root_positions[cut, n]),
            "desired_trajectory": {
                "positions": pack(recording.trajectory_positions[cut, n]),
                "directions": pack(recording.trajectory_directions[cut, n]),
            },
            "desired_speed": pack(np.hypot(wish[:, 0], wish[:, 2])),
            "speed": pack(speed),
            "transitions": np.flatnonzero(recording.transitioned[cut, n]).tolist(),
        }
        if database is not None:
            character["clips"] = played_clips(recording.frames[cut, n], database)
            if trajectory_times is not None:
                ahead = matched_trajectory(recording, database, n, np.asarray(trajectory_times, np.float64), frames)
                character["matched_trajectory"] = {"positions": pack(ahead[0]), "directions": pack(ahead[1])}
        characters.append(character)
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "subtitle": subtitle,
        "rate": recording.rate,
        "skeleton": skeleton_data(recording.skeleton),
        "characters": characters,
    }
    asked = recording.desired_path if path is None else np.asarray(path, np.float32)
    if asked is not None:
        # Only the stretch that the characters came near: a wave goes on for hundreds of metres.
        reach = float(np.abs(recording.root_positions[cut, :, [0, 2]]).max(initial=0.0)) + 5.0
        near = asked[(np.abs(asked[:, 0]) <= reach) & (np.abs(asked[:, 2]) <= reach)]
        if len(near) > 1:
            data["paths"] = [{"name": "asked", "points": pack(near), "closed": False}]
    return data


def _character(name: str, positions: NDArray[Any], rotations: NDArray[Any]) -> dict[str, Any]:
    return {"name": name, "positions": pack(positions), "rotations": pack(rotations)}


def played_clips(shown: ArrayLike, database: Database) -> list[dict[str, Any]]:
    """Which clip plays when: runs of frames whose database frames go on in one clip.

    Args:
        shown: database frames ``[T]``.
        database: where they lie.

    Returns:
        ``{"start", "stop", "name", "time"}``: frames of the recording, clip name, and its second at the start.
    """
    frames = np.asarray(shown, np.int64)
    if not len(frames):
        return []
    clip = database.clip_of_frame(frames)
    step = np.diff(frames)
    breaks = np.flatnonzero((clip[1:] != clip[:-1]) | (step < 0) | (step > max(4, math.ceil(database.rate / 10)))) + 1
    edges = [0, *breaks.tolist(), len(frames)]
    runs = []
    for start, stop in itertools.pairwise(edges):
        row, seconds = database.locate(int(frames[start]))
        runs.append({"start": start, "stop": stop, "name": row.name, "time": round(seconds, 3)})
    return runs


def matched_trajectory(
    recording: Recording, database: Database, character: int, times: NDArray[np.float64], frames: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Where the capture goes from the frame shown, laid where the character stands.

    Returns:
        Positions and directions ``[T, K, 3]``, metres and unit, world.
    """
    shown = recording.frames[:frames, character]
    stop = database.clip_stops[database.clip_of_frame(shown)]
    ahead = shown[:, None] + np.round(times * database.rate).astype(np.int64)
    ahead = np.minimum(ahead, stop[:, None] - 1)
    here_p, here_q = database.positions[shown, 0], database.rotations[shown, 0]
    offset = quaternions.inverse_rotate(here_q[:, None], database.positions[ahead, 0] - here_p[:, None])
    turn = quaternions.inverse_multiply(here_q[:, None], database.rotations[ahead, 0])
    root_p = recording.root_positions[:frames, character]
    root_q = recording.root_rotations[:frames, character]
    positions = root_p[:, None] + quaternions.rotate(root_q[:, None], offset)
    facing = quaternions.rotate(quaternions.multiply(root_q[:, None], turn), np.array([0.0, 0.0, 1.0], np.float32))
    return positions.astype(np.float32), np.asarray(facing, np.float32)
