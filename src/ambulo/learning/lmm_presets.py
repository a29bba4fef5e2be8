"""How large the networks of learned motion matching are and how long they are trained: presets, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ambulo.errors import LearningError, nearest_names
from ambulo.learning.config import TrainConfig


@dataclass(frozen=True)
class DecompressorSizes:
    """Widths of decompressor and compressor.

    Attributes:
        latent: numbers beside the features.
        hidden: hidden layers of the decompressor.
        compressor: hidden layers of the compressor beside its linear part; none leaves it linear.
        activation: of the decompressor. Joints tremble where a rectifier bends: ``elu`` has a third less error, and a
            third less jerk.
    """

    latent: int = 32
    hidden: tuple[int, ...] = (512, 512)
    compressor: tuple[int, ...] = (256,)
    activation: str = "elu"


@dataclass(frozen=True)
class StepperSizes:
    """Widths and windows of the stepper.

    Attributes:
        hidden: hidden layers.
        window: frames that are rolled out at the end of the training.
        short_window: the same at its beginning.
        activation: between layers.
        noise: standard deviations by which the first frame of half of the windows is moved at most: what a projection
            or the stepper itself puts a little off the data is then led back to it.
    """

    hidden: tuple[int, ...] = (512, 512)
    window: int = 30
    short_window: int = 4
    noise: float = 0.2
    activation: str = "elu"


@dataclass(frozen=True)
class ProjectorSizes:
    """Widths of the projector and weights of its loss.

    Attributes:
        hidden: hidden layers.
        activation: between layers.
        latents: how much the latents' error counts beside the features'.
        distance: how much an error in the distance to the query counts.
        queries: how many are answered by exact search before training begins.
    """

    hidden: tuple[int, ...] = (512, 512, 512, 512)
    activation: str = "relu"
    latents: float = 1.0
    distance: float = 0.3
    queries: int = 500_000


@dataclass(frozen=True)
class LmmPreset:
    """Sizes and training of the three networks."""

    decompressor: DecompressorSizes
    decompressor_training: TrainConfig
    stepper: StepperSizes
    stepper_training: TrainConfig
    projector: ProjectorSizes
    projector_training: TrainConfig

    def trained(self, stage: str) -> TrainConfig:
        """How the network of that name is trained."""
        config: TrainConfig = getattr(self, f"{stage}_training")
        return config

    def changed(self, part: float = 1.0, rate: float = 1.0, **settings: object) -> LmmPreset:
        """The same with a part of the steps, a part of the learning rates, and other settings of all trainings."""
        trainings = {}
        for stage in ("decompressor", "stepper", "projector"):
            config = self.trained(stage)
            steps = None if config.steps is None else max(round(config.steps * part), 1)
            new = replace(config, steps=steps, learning_rate=config.learning_rate * rate)
            trainings[f"{stage}_training"] = replace(new, **settings)  # type: ignore[arg-type]
        return replace(self, **trainings)  # type: ignore[arg-type]


_BASE = LmmPreset(
    DecompressorSizes(),
    # Rates stay high for long: a sixth less error than one cycle in a short training. The stepper's is the same, but it
    # goes on better with clips that are added.
    TrainConfig(steps=4000, batch=256, learning_rate=1e-3, schedule="wsd", validate_every=1000),
    StepperSizes(),
    TrainConfig(
        steps=6000, batch=64, learning_rate=2e-3, schedule="wsd", decay=0.1, precision="bfloat16", validate_every=1000
    ),
    ProjectorSizes(queries=600_000),
    TrainConfig(steps=16_000, batch=512, learning_rate=2.5e-3, precision="bfloat16", validate_every=5000),
)

_REFERENCE = TrainConfig(
    steps=500_000, batch=32, learning_rate=1e-3, weight_decay=1e-3, amsgrad=True, schedule="exponential",
    final_rate=0.99**500, betas=(0.9, 0.999), validate_every=10_000, log_every=1000,
)  # fmt: skip

PRESETS: Mapping[str, LmmPreset] = MappingProxyType(
    {
        "quick": _BASE.changed(0.1),
        "base": _BASE,
        # Sizes and schedule of D. Holden's public code; 15 to 27 hours of a processor for half an hour of capture.
        "paper": LmmPreset(
            DecompressorSizes(hidden=(512,), compressor=(512, 512, 512), activation="relu"),
            _REFERENCE,
            StepperSizes(window=20, short_window=20, noise=0.0, activation="relu"),
            _REFERENCE,
            ProjectorSizes(queries=4_000_000),
            _REFERENCE,
        ),
    }
)
"""By name: ``quick`` to try it, ``base`` to keep it, ``paper`` to compare with the published recipe."""


def find_preset(name: str) -> LmmPreset:
    """The preset of that name.

    Raises:
        LearningError: there is none; lists the nearest.
    """
    if name not in PRESETS:
        raise LearningError(f"no preset {name!r}; {nearest_names(name, PRESETS)}", key="preset")
    return PRESETS[name]
