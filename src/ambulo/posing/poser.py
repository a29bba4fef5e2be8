"""The trained posing model on disk and in use: wishes and a body in, all 43 points out. No torch needed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo import __version__
from ambulo.errors import AmbuloError, PosingError
from ambulo.formats.paths import write_whole
from ambulo.learning.weights import PRECISIONS, Layers, pack_layers, unpack_layers
from ambulo.posing.body_points import BodyPoints
from ambulo.posing.completion import INPUT_COUNT, OUTPUT_COUNT, Completion
from ambulo.posing.gaussian import PoseGaussian
from ambulo.posing.observations import Observations
from ambulo.posing.points import POINTS

Double = NDArray[np.float64]

FORMAT = "ambulo poser"
VERSION = 1
MANIFEST = "manifest.json"
WEIGHTS = "model.safetensors"
MODELS = Path(__file__).parent / "models"
DEFAULT = "embedded"
_AGAIN = "train it again with `ambulo train poser`"


class PoserManifest(msgspec.Struct, frozen=True):
    """The content of ``manifest.json``.

    Attributes:
        name: of the model.
        data: what it learned from, in words.
        points: the 43 points, in order.
        sizes: widths of the network's layers; empty where it has none.
        activation: between them.
        passes: see :class:`~ambulo.posing.completion.Completion`.
        precision: of the stored weights.
        poses: how many it learned from.
        takes: how many takes they are from.
        licences: of these takes.
        errors: on held-out takes, by measure, in cm.
        seconds: of training, by the clock.
        cpu_seconds: of training, of the processor.
        seed: of the training.
        sha256: of the weights' file.
        ambulo: version that wrote it.
    """

    name: str = "poser"
    data: str = ""
    points: tuple[str, ...] = POINTS
    sizes: tuple[int, ...] = ()
    activation: str = "relu"
    passes: int = 2
    precision: str = "float32"
    poses: int = 0
    takes: int = 0
    licences: tuple[str, ...] = ()
    errors: dict[str, float] = {}
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    seed: int = 0
    sha256: str = ""
    ambulo: str = __version__
    format: str = FORMAT
    version: int = VERSION


@dataclass(frozen=True)
class Poser:
    """A posing model, ready to use.

    Attributes:
        completion: the model, for bodies of the standard size.
        manifest: where it comes from.
    """

    completion: Completion
    manifest: PoserManifest = field(default_factory=PoserManifest)

    @classmethod
    def default(cls) -> Poser:
        """The model that comes with ambulo: trained on its embedded takes (walks, runs, jumps, crouches).

        Raises:
            PosingError: it is missing from the installation.
        """
        return _open(MODELS / DEFAULT)

    @classmethod
    def load(cls, folder: str | Path) -> Poser:
        """Open a model.

        Raises:
            PosingError: there is none, or it is damaged or of another version.
        """
        return _read(Path(folder))

    def save(self, folder: str | Path, precision: str | None = None) -> Poser:
        """Write the model's two files, each whole; the manifest last. Returns the model as it will be opened.

        Args:
            folder: made if it is not there.
            precision: of the network's weights: ``float32`` or ``float16``; as it was if left out.

        Raises:
            PosingError: an unknown precision.
        """
        from safetensors.numpy import save

        place, completion = Path(folder), self.completion
        precision = precision or self.manifest.precision
        if precision not in PRECISIONS:
            raise PosingError(f"no precision {precision!r}; one of {', '.join(PRECISIONS)}", key="precision")
        arrays: dict[str, NDArray[Any]] = {}
        for name, gaussian in (("turned", completion.turned), ("facing", completion.facing)):
            arrays |= {f"{name}.{key}": array for key, array in gaussian.pack().items()}
        network = completion.network
        if network is not None:
            arrays |= pack_layers("network", network, precision)
        data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
        manifest = msgspec.structs.replace(
            self.manifest,
            points=POINTS,
            sizes=() if network is None else network.sizes,
            activation="relu" if network is None else network.activation,
            passes=completion.passes,
            precision=precision,
            sha256=hashlib.sha256(data).hexdigest(),
        )
        place.mkdir(parents=True, exist_ok=True)
        write_whole(place / WEIGHTS, data)
        write_whole(place / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
        return _read(place)

    def complete(self, wishes: Observations | Sequence[Observations], body: BodyPoints | float = 1.0) -> Double:
        """All 43 points of believable poses that do what is wished.

        Points that are wished with no tolerance are where they were asked for; bones have about their length, not
        exactly: see :mod:`ambulo.posing.projection`.

        Args:
            wishes: of N poses, metres; several are joined.
            body: whose points they are, or how much larger than the standard body it is.

        Returns:
            float64 ``[N, 43, 3]``, metres.

        Raises:
            PosingError: no wish, or wishes that do not go together.
        """
        from ambulo.posing.observations import join_observations

        joined = wishes if isinstance(wishes, Observations) else join_observations(list(wishes))
        scale = body.scale if isinstance(body, BodyPoints) else float(body)
        if not (np.isfinite(scale) and scale > 0.0):
            raise PosingError(f"a body {scale} times the standard one is not possible", key="scale")
        return self.completion.complete(joined.scaled(1.0 / scale)) * scale


@cache
def _open(folder: Path) -> Poser:
    return _read(folder)


def _read(folder: Path) -> Poser:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = folder / MANIFEST
    try:
        raw: Any = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise PosingError("there is no posing model here", path=folder, remedy=_AGAIN) from None
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise PosingError(f"is damaged: {error}", path=path, remedy=_AGAIN) from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT or raw.get("version") != VERSION:
        raise PosingError(f"is no {FORMAT} of version {VERSION}", path=path, key="version", remedy=_AGAIN)
    try:
        manifest = msgspec.convert(raw, PoserManifest)
        data = (folder / WEIGHTS).read_bytes()
        if hashlib.sha256(data).hexdigest() != manifest.sha256:
            raise PosingError("its hash is not that of the manifest", key="sha256")
        if manifest.points != POINTS:
            raise PosingError("it was trained for other points", key="points")
        arrays = load(data)
        gaussians = [
            PoseGaussian.unpack(arrays[f"{name}.mean"], arrays[f"{name}.covariance"]) for name in ("turned", "facing")
        ]
        network = _network(manifest, arrays)
        if not 1 <= manifest.passes <= 8:
            raise PosingError(f"{manifest.passes} passes are not possible", key="passes")
    except AmbuloError as error:
        raise PosingError(error.message, path=folder / WEIGHTS, key=error.key, remedy=_AGAIN) from None
    except (msgspec.ValidationError, SafetensorError, OSError, KeyError, ValueError) as error:
        raise PosingError(f"is damaged: {error}", path=path, remedy=_AGAIN) from None
    return Poser(Completion(gaussians[0], gaussians[1], network, manifest.passes), manifest)


def _network(manifest: PoserManifest, arrays: dict[str, NDArray[Any]]) -> Layers | None:
    if not manifest.sizes:
        return None
    if len(manifest.sizes) < 2 or (manifest.sizes[0], manifest.sizes[-1]) != (INPUT_COUNT, OUTPUT_COUNT):
        raise PosingError(f"a network of widths {manifest.sizes} does not fit the points", key="sizes")
    return unpack_layers("network", arrays, manifest.sizes, manifest.activation)


def without_network(poser: Poser) -> Poser:
    """The Gaussians alone, to compare with."""
    return replace(poser, completion=replace(poser.completion, network=None))
