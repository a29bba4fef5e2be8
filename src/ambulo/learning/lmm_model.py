"""A trained learned-motion-matching model: three networks and what a runtime must know of them; no torch needed.

In a project it lies in ``models/NAME/``: ``manifest.json`` and ``networks.safetensors``. What training alone needs (the
compressor, checkpoints, curves) lies below, in ``training/``, and need not be shipped.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo.database.manifest import SkeletonRecord
from ambulo.database.storage import map_tensors, write_tensors
from ambulo.errors import DatabaseError, LearningError, QueryError, SkeletonError, nearest_names
from ambulo.formats.paths import write_whole
from ambulo.learning.pose_layout import PoseLayout
from ambulo.learning.weights import PRECISIONS, Layers, pack_layers, unpack_layers
from ambulo.matching.schema import FeatureSchema
from ambulo.motion.skeleton import Skeleton

Float = NDArray[np.float32]

FORMAT = "ambulo lmm"
VERSION = 1
MANIFEST = "manifest.json"
NETWORKS = "networks.safetensors"
TRAINING = "training"
NAMES = ("decompressor", "stepper", "projector")
_AGAIN = "train it again with `ambulo train lmm PROJECT`"


class NetworkRecord(msgspec.Struct, frozen=True):
    """One network: its widths from input to output, and the activation between its layers."""

    sizes: list[int]
    activation: str


class ClipRecord(msgspec.Struct, frozen=True):
    """A clip that the model was trained on: its name, how many frames, its source's licence and attribution."""

    name: str
    frames: int
    licence: str = ""
    attribution: str = ""


class LmmManifest(msgspec.Struct, frozen=True):
    """The content of ``manifest.json``.

    Attributes:
        name: of the model.
        database: the database's name.
        database_digest: of the database that it was trained on.
        rate: frames a second of the stepper's own step.
        skeleton: of the poses.
        schema: of the features, see :meth:`ambulo.matching.schema.FeatureSchema.to_dict`.
        weights: of the feature groups, as the networks compare features.
        tags: what was asked for to choose the frames; they carry all of these.
        latent_count: numbers beside the features, L.
        moving: joints with positions of their own.
        networks: by name.
        precision: of the stored weights.
        clips: what it was trained on.
        preset: of the training.
        errors: on held-out data, by network and measure.
        seconds: wall-clock time of the training.
        cpu_seconds: processor time of it, all processes.
        files: name -> SHA-256.
        ambulo: version that wrote it.
    """

    name: str
    database: str
    database_digest: str
    rate: float
    skeleton: SkeletonRecord
    schema: dict[str, Any]
    weights: list[float]
    tags: list[str]
    latent_count: int
    moving: list[int]
    networks: dict[str, NetworkRecord]
    precision: str
    clips: list[ClipRecord]
    preset: str
    errors: dict[str, dict[str, float]]
    seconds: float
    cpu_seconds: float
    files: dict[str, str]
    ambulo: str
    format: str = FORMAT
    version: int = VERSION


@dataclass(frozen=True)
class LmmModel:
    """A model, ready to run.

    Attributes:
        manifest: see :class:`LmmManifest`.
        skeleton: J joints.
        schema: D dimensions.
        layout: of the decompressor's output.
        decompressor: ``[D + L] -> [P]``.
        stepper: ``[D + L] -> [D + L]``, change a second.
        projector: ``[D] -> [D + L]``.
        feature_mean, feature_coefficients: float32 ``[D]``: ``(raw - mean) * coefficients`` is what networks see.
        start: float32 ``[D + L]``, features and latents of a standing pose.
        lowest, highest: float32 ``[D + L]``, between which all training data lies; what leaves it is held there.
        folder: where it lies; None in memory.
    """

    manifest: LmmManifest
    skeleton: Skeleton
    schema: FeatureSchema
    layout: PoseLayout
    decompressor: Layers
    stepper: Layers
    projector: Layers
    feature_mean: Float
    feature_coefficients: Float
    start: Float
    lowest: Float
    highest: Float
    folder: Path | None = None

    @property
    def megabytes(self) -> float:
        """Size of the weights as they are stored."""
        size = {"float32": 4, "float16": 2, "int8": 1}[self.manifest.precision]
        return float(sum(getattr(self, name).parameter_count for name in NAMES) * size / 1e6)


def save_model(model: LmmModel, folder: Path, precision: str | None = None) -> LmmModel:
    """Write a model's two files, each whole; the manifest last. Returns the model as it will be opened.

    Raises:
        LearningError: an unknown precision.
    """
    precision = precision or model.manifest.precision
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, NDArray[Any]] = {
        "feature_mean": model.feature_mean,
        "feature_coefficients": model.feature_coefficients,
        "start": model.start,
        "lowest": model.lowest,
        "highest": model.highest,
        "offsets": model.layout.offsets,
    }
    for name in NAMES:
        arrays |= pack_layers(name, getattr(model, name), precision)
    staged = folder / f".{NETWORKS}.part"
    try:
        # Wide items first: in a file they then lie where a memory map can use them as they are.
        write_tensors(staged, dict(sorted(arrays.items(), key=lambda item: -item[1].itemsize)))
        digest = hashlib.sha256(staged.read_bytes()).hexdigest()
        staged.replace(folder / NETWORKS)
    finally:
        staged.unlink(missing_ok=True)
    manifest = msgspec.structs.replace(model.manifest, precision=precision, files={NETWORKS: digest})
    write_whole(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
    return load_model(folder)


def load_model(folder: Path) -> LmmModel:
    """Open a model.

    Raises:
        LearningError: there is none, or it is damaged or of another version; the message names the field.
    """
    path = folder / MANIFEST
    try:
        raw: Any = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise LearningError("there is no trained model here", path=folder, remedy=_AGAIN) from None
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise LearningError(f"is damaged: {error}", path=path, remedy=_AGAIN) from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise LearningError(f"is not the manifest of an {FORMAT} model", path=path, key="format", remedy=_AGAIN)
    if raw.get("version") != VERSION:
        raise LearningError(
            f"the model has layout version {raw.get('version')}, this ambulo reads {VERSION}",
            path=path,
            key="version",
            remedy=_AGAIN,
        )
    try:
        manifest = msgspec.convert(raw, LmmManifest)
        skeleton, schema = manifest.skeleton.skeleton(), FeatureSchema.from_dict(manifest.schema)
        data = (folder / NETWORKS).read_bytes()
        if hashlib.sha256(data).hexdigest() != manifest.files.get(NETWORKS):
            raise LearningError("its hash is not that of the manifest", path=folder / NETWORKS, key="files")
        arrays = map_tensors(folder / NETWORKS)
        return _assemble(manifest, skeleton, schema, arrays, folder)
    except LearningError as error:
        raise LearningError(error.message, path=error.path or folder / NETWORKS, key=error.key, remedy=_AGAIN) from None
    except (msgspec.ValidationError, OSError, KeyError, ValueError, DatabaseError, QueryError, SkeletonError) as error:
        raise LearningError(f"is damaged: {error}", path=path, remedy=_AGAIN) from None


def _check_manifest(manifest: LmmManifest, schema: FeatureSchema, path: Path) -> None:
    """Refuse fields of a manifest that say what no training writes."""
    count, groups = len(manifest.weights), len(schema.groups)
    if count != groups:
        raise LearningError(f"there are {count} weights for {groups} groups of features", path=path, key="weights")
    if not all(np.isfinite(weight) and weight >= 0.0 for weight in manifest.weights):
        raise LearningError("a weight is negative or not finite", path=path, key="weights")
    if manifest.precision not in PRECISIONS:
        words = f"no precision {manifest.precision!r}; {nearest_names(manifest.precision, PRECISIONS)}"
        raise LearningError(words, path=path, key="precision")


def _assemble(
    manifest: LmmManifest, skeleton: Skeleton, schema: FeatureSchema, arrays: dict[str, NDArray[Any]], folder: Path
) -> LmmModel:
    width = schema.dimension_count + manifest.latent_count
    _check_manifest(manifest, schema, folder / MANIFEST)
    layout = PoseLayout(
        np.asarray(skeleton.parents, np.int32),
        np.array(arrays["offsets"], np.float32).reshape(-1, 3),
        np.array(manifest.moving, np.int64),
    )
    if len(layout.offsets) != skeleton.joint_count or any(
        not 0 < joint < len(layout.offsets) for joint in layout.moving
    ):
        raise LearningError("the pose layout does not fit the skeleton", key="moving")
    networks = {}
    ends = {
        "decompressor": (width, layout.size),
        "stepper": (width, width),
        "projector": (schema.dimension_count, width),
    }
    for name in NAMES:
        record = manifest.networks[name]
        if len(record.sizes) < 2 or (record.sizes[0], record.sizes[-1]) != ends[name]:
            raise LearningError(f"the {name} has widths {record.sizes}, its ends must be {ends[name]}", key=name)
        networks[name] = unpack_layers(name, arrays, record.sizes, record.activation)
    lengths = {"start": width, "lowest": width, "highest": width}
    lengths |= dict.fromkeys(("feature_mean", "feature_coefficients"), schema.dimension_count)
    rows = {name: np.array(arrays[name], np.float32) for name in lengths}
    for name, length in lengths.items():
        if rows[name].shape != (length,):
            raise LearningError(f"{name!r} is {rows[name].shape}, not {(length,)}", key=name)
    for name, row in {**rows, "offsets": layout.offsets}.items():
        if not np.isfinite(row).all():
            raise LearningError(f"{name!r} has a number that is not finite", key=name)
    return LmmModel(
        manifest=manifest,
        skeleton=skeleton,
        schema=schema,
        layout=layout,
        decompressor=networks["decompressor"],
        stepper=networks["stepper"],
        projector=networks["projector"],
        feature_mean=rows["feature_mean"],
        feature_coefficients=rows["feature_coefficients"],
        start=rows["start"],
        lowest=rows["lowest"],
        highest=rows["highest"],
        folder=folder,
    )
