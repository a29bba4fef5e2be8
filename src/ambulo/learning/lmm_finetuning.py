"""How going on with clips that were added differs from a training: a tenth of the time, in small batches.

What was measured (benchmarks/lmm_finetune.py): a quarter of a batch teaches nearly as much as the whole in few steps;
the optimiser's moments are worth as much again, so they are kept with the weights; the share of new frames falls to
what it is in the data while the rate falls to nothing, so that the model settles on what a full training would see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ambulo.learning.lmm_presets import LmmPreset

MOMENTS = "moments"
"""What the names of optimisers' moments begin with, among the weights that a training goes on from."""


@dataclass(frozen=True)
class FineTuning:
    """How one network goes on.

    Attributes:
        part: of the samples that a full training draws.
        batch: samples a step at most; there are the more steps.
        rate: the first learning rate, as a part of a full training's highest.
    """

    part: float
    batch: int
    rate: float


FINE_TUNING: Mapping[str, FineTuning] = MappingProxyType(
    {
        "decompressor": FineTuning(0.09, 64, 1.8),
        "stepper": FineTuning(0.104, 64, 1.5),
        "projector": FineTuning(0.051, 256, 0.9),
    }
)
"""By network. Decompressor and stepper have the most to learn of a new movement; the projector costs the most."""

WINDOW = 12
"""Frames that the stepper is rolled out: it knows how to go on for long, and shorter windows teach more a second."""

_WARMUP = 0.05


def finetuned(preset: LmmPreset, moments: bool) -> LmmPreset:
    """A preset to go on with.

    Args:
        preset: that the model was trained with.
        moments: whether the optimisers' moments were kept; without them the rate rises first.
    """
    window = min(preset.stepper.window, WINDOW)
    trainings: dict[str, Any] = {}
    for stage, how in FINE_TUNING.items():
        config = preset.trained(stage)
        batch = min(config.batch, how.batch)
        part = how.part * config.batch / batch
        if stage == "stepper":
            part *= preset.stepper.window / window
        trainings[f"{stage}_training"] = replace(
            config,
            steps=None if config.steps is None else max(round(part * config.steps), 1),
            minutes=None if config.minutes is None else how.part * config.minutes,
            batch=batch,
            learning_rate=how.rate * config.learning_rate,
            schedule="wsd",
            warmup=0.0 if moments else _WARMUP,
            decay=1.0,
            final_rate=0.001,
            validate_every=0,
        )
    queries = max(round(FINE_TUNING["projector"].part * preset.projector.queries), 1)
    return replace(
        preset,
        stepper=replace(preset.stepper, window=window, short_window=window),
        projector=replace(preset.projector, queries=queries),
        **trainings,
    )
