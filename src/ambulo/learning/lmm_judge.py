"""How wrong a trained model is on rows of one's choosing: what fine-tuning is judged by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.learning.lmm_data import LmmData
from ambulo.learning.lmm_decompressor import Autoencoder, DecompressorTask
from ambulo.learning.lmm_model import TRAINING, load_model
from ambulo.learning.lmm_presets import DecompressorSizes
from ambulo.learning.lmm_training import WEIGHTS, keep_features, load_weights


def joint_errors(folder: Path, data: LmmData, rows: NDArray[np.int64]) -> dict[str, float]:
    """Mean joint errors of a trained model on rows of a database's frames, decompressed from their own latents.

    Args:
        folder: of the model, with what it was trained from.
        data: of a database with the same features and skeleton.
        rows: of ``data.frames``.

    Returns:
        ``centimetres``, ``degrees`` and ``global_degrees``, as :meth:`DecompressorTask.errors`.
    """
    data = keep_features(data, load_model(folder))
    weights = {
        key.removeprefix("autoencoder."): value
        for key, value in load_weights(folder / TRAINING / WEIGHTS).items()
        if key.startswith("autoencoder.")
    }

    def hidden(prefix: str) -> tuple[int, ...]:
        found: list[int] = []
        while f"{prefix}layers.{len(found) + 1}.weight" in weights:
            found.append(int(weights[f"{prefix}layers.{len(found)}.weight"].shape[0]))
        return tuple(found)

    sizes = DecompressorSizes(
        int(weights["compressor.linear.weight"].shape[0]),
        hidden("decompressor."),
        hidden("compressor.rest."),
        load_model(folder).decompressor.activation,
    )
    model = Autoencoder(data.frames, sizes)
    model.load_state_dict(weights)
    model.eval()
    task = DecompressorTask(data.frames, model=model)
    task.place(torch.device("cpu"))
    return task.errors(rows)
