"""Trains tiny networks of learned motion matching in seconds: ``python tiny_training.py PROJECT STEPS``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from ambulo.studio.training import NETWORKS, LmmTrainer


@dataclass(frozen=True)
class TinyTrainer(LmmTrainer):
    """Runs this file as the training."""

    presets: tuple[str, ...] = ("tiny",)
    count: int = 60

    def steps(self, preset: str) -> dict[str, int]:
        return dict.fromkeys(NETWORKS, self.count)

    def command(self, project: Path, preset: str, resume: bool) -> list[str]:
        return [sys.executable, __file__, str(project), str(self.count), *(["--resume"] if resume else [])]


def main(project: Path, steps: int, resume: bool) -> None:
    import msgspec

    from ambulo.errors import AmbuloError
    from ambulo.learning.config import TrainConfig
    from ambulo.learning.lmm_presets import DecompressorSizes, LmmPreset, ProjectorSizes, StepperSizes
    from ambulo.learning.lmm_training import train_lmm

    short = TrainConfig(steps=steps, batch=64, learning_rate=2e-3, log_every=20, validate_every=30, device="cpu")
    preset = LmmPreset(
        DecompressorSizes(latent=12, hidden=(96,), compressor=(32,)),
        short,
        StepperSizes(hidden=(64, 64), window=8),
        short,
        ProjectorSizes(hidden=(64, 64), queries=4000),
        short,
    )
    try:
        print(msgspec.json.encode(train_lmm(project, preset=preset, resume=resume)).decode())
    except AmbuloError as error:
        print(msgspec.json.encode({"error": error.facts() | {"message": error.message}}).decode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), "--resume" in sys.argv)
