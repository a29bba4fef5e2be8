"""Where this user keeps what can be made again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """The folder of this user for what can be made again: ``$AMBULO_CACHE``, else the system's usual place."""
    chosen = os.environ.get("AMBULO_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "ambulo" if base else Path.home() / "AppData" / "Local" / "ambulo"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ambulo"
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "ambulo" if base else Path.home() / ".cache" / "ambulo"
