"""One motion of a file for the verbs that work on one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.errors import FormatError, nearest_names

if TYPE_CHECKING:
    from ambulo.motion.motion import Motion


def load_take(
    path: Path,
    clip: str | None,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rate: float | None = None,
    key: str = "clip",
) -> Motion:
    """The motion called ``clip`` of a file, or its only one.

    Raises:
        FormatError: the file cannot be read, holds several motions and no name was given, or none of that name.
    """
    from ambulo.formats.registry import load_all
    from ambulo.motion.markers import SOLVE_FIRST, Markers

    if path.is_dir():
        raise FormatError("this is a folder, not a file", path=path, remedy="give one of its files")
    motions = load_all(path, unit=unit, up=up, rate=rate)
    names = [motion.name for motion in motions]
    option = f"--{key.replace('_', '-')}"
    if clip is None and len(motions) > 1:
        listed = ", ".join(repr(name) for name in names[:10]) + (", ..." if names[10:] else "")
        raise FormatError(
            f"the file holds {len(motions)} motions ({listed})", path=path, key=key, remedy=f"name one with {option}"
        )
    if clip is not None and clip not in names:
        raise FormatError(f"no motion {clip!r}; {nearest_names(clip, names)}", path=path, key=key)
    motion = motions[0 if clip is None else names.index(clip)]
    if isinstance(motion, Markers):
        raise FormatError(
            f"these are {motion.skeleton.joint_count} markers, not a skeleton",
            path=path,
            remedy=SOLVE_FIRST,
        )
    return motion
