"""Checkpoints: all that a training needs to go on as if it had never stopped, never as a pickle.

A checkpoint is two files: ``checkpoint-STEP.safetensors`` with every array, and ``checkpoint.json`` that says which
step it is of and names that file with its hash. The JSON is replaced last, so that the file that it names is whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ambulo.errors import LearningError
from ambulo.formats.paths import write_whole

if TYPE_CHECKING:
    import torch

CHECKPOINT = "checkpoint.json"
FORMAT = "ambulo checkpoint"
VERSION = 1
_AGAIN = "train again without resuming"


class CheckpointRecord(msgspec.Struct, frozen=True):
    """The content of ``checkpoint.json``.

    Attributes:
        task: what is trained, and of what data; a resumed training must have the same.
        step: optimiser steps done.
        seconds: wall-clock time that they took.
        cpu_seconds: processor time of this process.
        loss: of the last step.
        config: settings of the run.
        best: validation error of the best weights so far; None before the first validation.
        best_step: the step that they are of.
        waited: validations since then.
        optimizer: the optimiser's numbers that are no arrays, by parameter.
        file: the arrays, beside this file.
        sha256: of that file.
        torch: version that wrote it; another one may round otherwise.
    """

    task: str
    step: int
    seconds: float
    cpu_seconds: float
    loss: float
    config: dict[str, Any]
    best: float | None
    best_step: int
    waited: int
    optimizer: dict[str, dict[str, Any]]
    file: str
    sha256: str
    torch: str
    format: str = FORMAT
    version: int = VERSION


def write_checkpoint(folder: Path, record: CheckpointRecord, tensors: Mapping[str, torch.Tensor]) -> CheckpointRecord:
    """Write a checkpoint and remove the one before it. Returns the record with its file's name and hash."""
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    name = f"checkpoint-{record.step}.safetensors"
    record = msgspec.structs.replace(record, file=name, sha256=hashlib.sha256(data).hexdigest())
    write_whole(folder / name, data)
    write_whole(folder / CHECKPOINT, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    for other in folder.glob("checkpoint-*.safetensors"):
        if other.name != name:
            other.unlink(missing_ok=True)
    return record


def read_checkpoint(folder: Path) -> tuple[CheckpointRecord, dict[str, torch.Tensor]]:
    """The checkpoint of a folder.

    Raises:
        LearningError: there is none, or it is damaged or of another version.
    """
    from safetensors.torch import load

    path = folder / CHECKPOINT
    try:
        raw: Any = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise LearningError("there is no checkpoint to resume from", path=folder, remedy=_AGAIN) from None
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise LearningError(f"is damaged: {error}", path=path, remedy=_AGAIN) from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT or raw.get("version") != VERSION:
        raise LearningError(f"is no {FORMAT} of version {VERSION}", path=path, key="version", remedy=_AGAIN)
    try:
        record = msgspec.convert(raw, CheckpointRecord)
        if Path(record.file).name != record.file:
            raise ValueError(f"a file {record.file!r} outside of its folder")
        data = (folder / record.file).read_bytes()
    except (msgspec.ValidationError, OSError, ValueError) as error:
        raise LearningError(f"is damaged: {error}", path=path, remedy=_AGAIN) from None
    if hashlib.sha256(data).hexdigest() != record.sha256:
        raise LearningError("is damaged: its hash is another", path=folder / record.file, key="sha256", remedy=_AGAIN)
    return record, load(data)


def last_checkpoint(folder: Path) -> Path | None:
    """The arrays of a folder's checkpoint, unread; None where there is no checkpoint that can be resumed from."""
    try:
        path = folder / str(msgspec.json.decode((folder / CHECKPOINT).read_bytes())["file"])
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return None
    return path if path.is_file() else None


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> tuple[dict[str, torch.Tensor], dict[str, dict[str, Any]]]:
    """An optimiser's state: arrays named ``optimizer.PARAMETER.NAME``, and what is no array by parameter."""
    import torch

    tensors: dict[str, torch.Tensor] = {}
    rest: dict[str, dict[str, Any]] = {}
    for parameter, values in optimizer.state_dict()["state"].items():
        for name, value in values.items():
            if isinstance(value, torch.Tensor):
                tensors[f"optimizer.{parameter}.{name}"] = value
            else:
                rest.setdefault(str(parameter), {})[name] = value
    return tensors, rest


def restore_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor], rest: Mapping[str, Mapping[str, Any]]
) -> None:
    """Inverse of :func:`optimizer_tensors`."""
    state: dict[int, dict[str, Any]] = {int(parameter): dict(values) for parameter, values in rest.items()}
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            _, parameter, name = key.split(".", 2)
            state.setdefault(int(parameter), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
