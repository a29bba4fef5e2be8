"""Several processes that train one model: what ``torchrun`` (or Ray Train) has set up, or one process alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Processes:
    """This process among those that train one model.

    Attributes:
        rank: 0 is the one that writes files and speaks.
        count: how many there are.
        local_rank: among those of this machine; the CUDA device of that number is its own.
    """

    rank: int = 0
    count: int = 1
    local_rank: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and speaks."""
        return self.rank == 0

    def shared(self, values: list[Any]) -> list[Any]:
        """The first process's values, in every process: decisions that all must take alike."""
        if self.count > 1:
            from torch import distributed

            distributed.broadcast_object_list(values, src=0)
        return values

    def wait(self) -> None:
        """Wait for the others."""
        if self.count > 1:
            from torch import distributed

            distributed.barrier()


@contextmanager
def join_processes(device: torch.device) -> Iterator[Processes]:
    """Join the group that the environment names (RANK, WORLD_SIZE, ... as ``torchrun`` sets them), NCCL on CUDA and
    gloo elsewhere; a group that is there already (a launcher made it) is used and left alone."""
    from torch import distributed

    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if distributed.is_available() and distributed.is_initialized():
        yield Processes(distributed.get_rank(), distributed.get_world_size(), local_rank)
        return
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or "RANK" not in os.environ:
        yield Processes()
        return
    cuda = device.type == "cuda"
    if cuda:  # what NCCL sends, it sends from the process's present device
        import torch

        torch.cuda.set_device(local_rank if device == torch.device("cuda") else device)
    distributed.init_process_group("nccl" if cuda else "gloo")
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size(), local_rank)
    finally:
        distributed.destroy_process_group()


def in_group() -> bool:
    """Whether a launcher started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ


def speaks() -> bool:
    """Whether this process is the one that speaks: the only one, or the first of several."""
    return not in_group() or os.environ["RANK"] == "0"
