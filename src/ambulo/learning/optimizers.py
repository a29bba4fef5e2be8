"""Optimisers by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ambulo.learning.config import TrainConfig

if TYPE_CHECKING:
    import torch


def make_optimizer(model: torch.nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """The optimiser of a run over a model's parameters."""
    import torch

    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if config.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=config.learning_rate, momentum=config.betas[0])
    kind: Any = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    decay = {"weight_decay": config.weight_decay} if config.optimizer == "adamw" else {}
    made: torch.optim.Optimizer = kind(
        parameters, lr=config.learning_rate, betas=config.betas, amsgrad=config.amsgrad, fused=True, **decay
    )
    return made


def name_moments(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The moments in a checkpoint's arrays, named ``PARAMETER.NAME`` after the parameters that were learned: a later
    training may learn fewer of them."""
    names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    found = {}
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            _, number, name = key.split(".", 2)
            found[f"{names[int(number)]}.{name}"] = tensor
    return found


def take_moments(optimizer: torch.optim.Optimizer, model: torch.nn.Module, moments: Mapping[str, torch.Tensor]) -> None:
    """Begin with the moments of another training, of :func:`name_moments`; parameters that it has none of, or of
    another shape, begin without."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    learned = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    for number, (name, parameter) in enumerate(learned):
        mine = {
            key.rpartition(".")[2]: value.clone() for key, value in moments.items() if key.rpartition(".")[0] == name
        }
        if mine and all(value.ndim == 0 or value.shape == parameter.shape for value in mine.values()):
            state[number] = mine
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
