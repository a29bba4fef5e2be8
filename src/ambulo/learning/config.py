"""How a model is trained: one dataclass of numbers, the same for every model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ambulo.errors import LearningError, nearest_names

OPTIMIZERS = ("adamw", "adam", "sgd")
SCHEDULES = ("one_cycle", "wsd", "cosine", "exponential", "constant")
PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class TrainConfig:
    """Numbers of a training run. Give ``steps``, ``minutes``, or both (what comes first ends it).

    Attributes:
        steps: optimiser steps.
        minutes: of wall-clock time; the schedule then follows the clock, and two runs are not the same to the bit.
        batch: samples a step, of all processes together.
        optimizer: ``adamw``, ``adam`` or ``sgd``.
        learning_rate: the schedule's highest.
        weight_decay: of ``adamw`` (decoupled).
        betas: of Adam.
        amsgrad: of Adam; the maximum of past second moments.
        schedule: ``one_cycle`` (linear rise over ``warmup``, then a cosine down to ``final_rate``), ``wsd`` (the same
            rise, then constant, and a line down to ``final_rate`` over ``decay``), ``cosine`` (``one_cycle`` without a
            rise), ``exponential`` (down to ``final_rate`` by equal factors) or ``constant``.
        warmup: part of the run in which the rate rises, for ``one_cycle`` and ``wsd``.
        decay: part of the run in which it falls, for ``wsd``.
        final_rate: the last rate as a part of ``learning_rate``.
        clip_norm: gradients are scaled down to this norm; 0 leaves them.
        precision: ``bfloat16`` computes products in it (weights stay float32).
        seed: everything random in step s of process r comes from (seed, s, r) alone.
        device: ``auto`` (CUDA where there is one), ``cpu``, ``cuda``, ``cuda:1``, ...
        threads: processor threads of this process; 0 leaves torch's choice. Networks this small gain more from one
            process a network than from two threads in one.
        log_every: steps between two rows of the curve.
        validate_every: steps between two validations; 0 validates at the end only.
        patience: validations without improvement after which training stops and the best weights are taken; 0 never
            stops early and keeps the last weights.
        checkpoint_seconds: seconds between two checkpoints; one is also written at the end and on an interruption.
    """

    steps: int | None = None
    minutes: float | None = None
    batch: int = 256
    optimizer: str = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.99)
    amsgrad: bool = False
    schedule: str = "one_cycle"
    warmup: float = 0.05
    decay: float = 0.2
    final_rate: float = 0.001
    clip_norm: float = 0.0
    precision: str = "float32"
    seed: int = 0
    device: str = "auto"
    threads: int = 1
    log_every: int = 100
    validate_every: int = 0
    patience: int = 0
    checkpoint_seconds: float = 60.0

    def __post_init__(self) -> None:
        if self.steps is None and self.minutes is None:
            raise LearningError("a training needs a number of steps or of minutes", key="steps")
        for key, names in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES), ("precision", PRECISIONS)):
            value = getattr(self, key)
            if value not in names:
                raise LearningError(f"no {key} {value!r}; {nearest_names(str(value), names)}", key=key)
        for key in ("steps", "batch", "log_every"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise LearningError(f"{key} must be at least 1, not {value}", key=key)
        for key in ("threads", "validate_every", "patience", "seed"):
            if getattr(self, key) < 0:
                raise LearningError(f"{key} must not be negative, it is {getattr(self, key)}", key=key)
        for key in ("minutes", "learning_rate", "final_rate", "checkpoint_seconds"):
            value = getattr(self, key)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise LearningError(f"{key} must be a positive number, not {value}", key=key)
        for key in ("weight_decay", "clip_norm", "warmup", "decay"):
            value = getattr(self, key)
            if not (math.isfinite(value) and value >= 0):
                raise LearningError(f"{key} must be zero or more, not {value}", key=key)
        if self.patience and not self.validate_every:
            raise LearningError("patience counts validations, and there are none", key="validate_every")

    def rate(self, progress: float) -> float:
        """The learning rate when a part ``progress`` of the run, 0 to 1, is done."""
        if self.schedule == "constant":
            return self.learning_rate
        if self.schedule == "exponential":
            return self.learning_rate * math.pow(self.final_rate, progress)
        rise = self.warmup if self.schedule in ("one_cycle", "wsd") else 0.0
        if progress < rise:
            return self.learning_rate * (0.04 + 0.96 * progress / rise)
        if self.schedule == "wsd":
            fall = min((1.0 - progress) / max(self.decay, 1e-9), 1.0)
            return self.learning_rate * (self.final_rate + (1.0 - self.final_rate) * fall)
        fall = 0.5 * (1.0 + math.cos(math.pi * (progress - rise) / max(1.0 - rise, 1e-9)))
        return self.learning_rate * (self.final_rate + (1.0 - self.final_rate) * fall)
