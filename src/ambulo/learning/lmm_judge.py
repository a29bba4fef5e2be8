"""How wrong a trained model is on rows of one's choosing: what fine-tuning is judged by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.learning.lmm_data import LmmData
from ambulo.learning.lmm_decompressor import Autoencoder, DecompressorTask
from ambulo.learning.lmm_model import TRAINING, load_model
from ambulo.learning.lmm_presets import DecompressorSizes
from ambulo.learning.lmm_projector import ProjectorTask
from ambulo.learning.lmm_queries import Queries, draw_queries
from ambulo.learning.lmm_stepper import StepperTask
from ambulo.learning.lmm_training import WEIGHTS, keep_features, load_weights
from ambulo.learning.network import Network

_CPU = torch.device("cpu")


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
    return _autoencoder(folder, data).errors(rows)


def model_errors(
    folder: Path, data: LmmData, rows: NDArray[np.int64], *, queries: int = 4096, seed: int = 1
) -> dict[str, dict[str, float]]:
    """Errors of all three networks on rows of a database's frames.

    Args:
        folder: of the model, with what it was trained from.
        data: of a database with the same features and skeleton.
        rows: of ``data.frames``.
        queries: that are drawn for the projector; those count whose exact answer is one of the rows.
        seed: of the queries.

    Returns:
        By network: as :meth:`DecompressorTask.errors`, :meth:`StepperTask.validate` and :meth:`ProjectorTask.errors`.
    """
    data = keep_features(data, load_model(folder))
    frames, weights = data.frames, load_weights(folder / TRAINING / WEIGHTS)
    autoencoder = _autoencoder(folder, data)
    latents = autoencoder.latents()
    chosen = np.zeros(len(frames.frames), np.bool_)
    chosen[rows] = True
    # All rows may be looked at here, held out or not.
    open_frames = replace(frames, held_out=np.zeros(len(chosen), np.bool_), fresh=None)
    stepper = StepperTask(open_frames, latents, model=_network(folder, weights, "stepper"))
    starts = open_frames.window_starts(stepper.sizes.window + 1)
    stepper.held = starts[chosen[starts]]
    stepper.held = stepper.held[:: max(len(stepper.held) // 2048, 1)]
    stepper.place(_CPU)
    beginning = replace(frames, fresh=chosen)  # half of the queries begin at the rows
    springs = data.settings.simulation
    drawn = draw_queries(beginning, data.index, data.frame_set.mask, queries, seed, simulation=springs)
    mine = chosen[drawn.rows]
    held = Queries(drawn.queries[mine], drawn.rows[mine])
    projector = ProjectorTask(frames, latents, held, held, model=_network(folder, weights, "projector"))
    projector.place(_CPU)
    with torch.no_grad():
        return {
            "decompressor": autoencoder.errors(rows),
            "stepper": stepper.validate(),
            "projector": projector.errors(held),
        }


def _network(folder: Path, weights: dict[str, Any], name: str) -> Network:
    """A trained network, its widths and activation as in the model's manifest."""
    record = load_model(folder).manifest.networks[name]
    network = Network(record.sizes, record.activation)
    network.load_state_dict(
        {key.removeprefix(f"{name}."): value for key, value in weights.items() if key.startswith(f"{name}.")}
    )
    return network.eval()


def _autoencoder(folder: Path, data: LmmData) -> DecompressorTask:
    """The trained autoencoder, on data whose features are scaled as it knows them."""
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
    task.place(_CPU)
    return task
