"""torch where it is needed: imported late, on the device that there is, with memory that stays with the process."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ambulo.errors import LearningError, install_remedy

if TYPE_CHECKING:
    import torch

# mallopt's numbers in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEPT_BYTES = 1 << 30


def import_torch() -> Any:
    """The module ``torch``.

    Raises:
        LearningError: it is not installed; names the extra.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise LearningError(
            f"training needs the package {error.name}", key=error.name, remedy=install_remedy("learn")
        ) from error
    return torch


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; ``auto`` takes CUDA where there is one, else the processor.

    Raises:
        LearningError: there is no such device here.
    """
    import_torch()
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        reason = str(error).splitlines()[0]
        raise LearningError(f"there is no device {name!r}: {reason}", key="device", remedy="'auto' or 'cpu'") from None
    return device


def keep_memory() -> bool:
    """Tell glibc to keep freed memory with the process.

    A step frees and asks again for the same few megabytes; given back to the system in between, page faults cost up to
    a third of a step's processor time. The same as MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_, but no variable
    must be set before the start. Returns whether the allocator took it (glibc alone has it).
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all(bool(mallopt(parameter, _KEPT_BYTES)) for parameter in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))


@contextmanager
def held_threads(count: int) -> Iterator[None]:
    """torch held to some threads of this process while the context lasts; 0 leaves its choice."""
    import torch

    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
