"""Optimisers by name."""

from __future__ import annotations

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
