"""ambulo: a folder of motion capture in, a character that you can direct out.

The public names below are loaded when they are first used, so that ``import ambulo`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AmbuloError": "ambulo.errors",
    "FormatError": "ambulo.errors",
    "Skeleton": "ambulo.motion.skeleton",
    "Motion": "ambulo.motion.motion",
    "Markers": "ambulo.motion.markers",
    "load": "ambulo.formats.registry",
    "load_all": "ambulo.formats.registry",
    "save": "ambulo.formats.registry",
    "check": "ambulo.database.checking",
    "Database": "ambulo.database.database",
    "Intent": "ambulo.control.intent",
    "Pose": "ambulo.control.pose",
    "Controller": "ambulo.control.controller",
    "pose_from_points": "ambulo.posing.pose_from_points",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from ambulo.control.controller import Controller as Controller
    from ambulo.control.intent import Intent as Intent
    from ambulo.control.pose import Pose as Pose
    from ambulo.database.checking import check as check
    from ambulo.database.database import Database as Database
    from ambulo.errors import AmbuloError as AmbuloError
    from ambulo.errors import FormatError as FormatError
    from ambulo.formats.registry import load as load
    from ambulo.formats.registry import load_all as load_all
    from ambulo.formats.registry import save as save
    from ambulo.motion.markers import Markers as Markers
    from ambulo.motion.motion import Motion as Motion
    from ambulo.motion.skeleton import Skeleton as Skeleton
    from ambulo.posing.pose_from_points import pose_from_points as pose_from_points


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ambulo' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
