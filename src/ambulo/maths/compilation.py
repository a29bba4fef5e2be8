"""How kernels are compiled, and where their machine code is kept.

Numba notices that a file changed, but not that a kernel which it calls changed in another file: after an update the
old code would go on running inside its callers. So all kernels share one folder in the user's cache, named after the
content of every kernel file; any change begins a new one. It also works where ambulo is installed read-only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from ambulo.maths.user_cache import user_cache

Function = TypeVar("Function", bound=Callable[..., Any])

# Reassociation and fused multiply-adds are welcome; assuming that no NaN exists is not: NaN marks "none" in our arrays.
_FAST = {"reassoc", "contract", "arcp", "nsz"}
_KEPT_SECONDS = 30 * 86400.0


def kernel(function: Function) -> Function:
    """Compile a function at its first call and keep the machine code on disk for the next process."""
    with _kept_in_our_folder():
        return cast(Function, numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")(function))


def strict_kernel(function: Function) -> Function:
    """Like :func:`kernel`, but with every floating-point operation done as written, in that order.

    For results that must come out the same, bit for bit, wherever the function is inlined.
    """
    # Said explicitly, since a function that says nothing inherits the options of whoever calls it first.
    with _kept_in_our_folder():
        return cast(Function, numba.njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function))


@cache
def kernel_folder() -> Path:
    """Where the machine code of exactly these kernels is kept; older folders unused for a month are removed."""
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parents[1]
    for file in sorted([*package.rglob("*_kernels.py"), *package.glob("maths/*.py")]):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    folder = user_cache() / f"kernels-{digest.hexdigest()[:16]}"
    # A read-only home is no reason to stop: Numba then looks for another place by itself.
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        for other in folder.parent.glob("kernels-*"):
            if other != folder and time.time() - other.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
    return folder


@contextlib.contextmanager
def _kept_in_our_folder() -> Iterator[None]:
    # Numba reads the setting when a function is decorated; it is put back, so that nobody else is affected.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    folder = kernel_folder()
    if folder.is_dir() and os.access(folder, os.W_OK):
        settings.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        settings.CACHE_DIR = before
