"""Read USD files: every skeleton (UsdSkel) with every animation of it.

What is decided here:

- Metres by ``metersPerUnit``, +Y up by ``upAxis``, seconds by ``timeCodesPerSecond``; ``unit``, ``up`` and ``rate``
  given by the caller overrule them.
- A skeleton's animation is the one bound to it (on itself or above); animations bound to none count for every skeleton
  that has all their joints. A skeleton without one is a pose of one frame: its rest pose.
- Frames are the animation's own time samples where they are evenly spaced and not far apart; else samples at
  the stage's rate.
- What the animation leaves out (joints, translations, rotations) is as in the rest pose.
- The transforms above a skeleton and scales of joints are folded in: joint positions in the world are exact.
- A joint is called by the last part of its path, or as ``jointNames`` says; by the whole path where that is not unique.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError, NoMotionError
from ambulo.formats import axes, units
from ambulo.formats.format import ReadOptions
from ambulo.formats.usd_worker import read_stage
from ambulo.maths import quaternions
from ambulo.motion.kinematics import to_local
from ambulo.motion.motion import Motion, Note, Source
from ambulo.motion.skeleton import Skeleton

Double = NDArray[np.float64]

_LARGEST = 1e9
_BLOCK = 256


def sniff_text(head: bytes) -> bool:
    """Whether a file's first bytes look like USD text or a crate."""
    return head.startswith((b"#usda", b"#usd ", b"PXR-USDC"))


def sniff_package(head: bytes) -> bool:
    """Whether a file's first bytes look like a USD package, a zip archive that begins with a stage."""
    return head.startswith(b"PK\x03\x04") and b".usd" in head[:400]


def read(path: Path, options: ReadOptions | None = None) -> list[Motion]:
    """Read one file.

    Args:
        path: ``.usda``, ``.usdc``, ``.usd`` or ``.usdz``.
        options: what the caller knows better.

    Returns:
        One motion for each skeleton and animation, metres and +Y up.

    Raises:
        NoMotionError: there is no skeleton in it.
        FormatError: it cannot be read, or says what cannot be.
    """
    options = options or ReadOptions()
    stage = read_stage(path)
    if not stage["takes"]:
        more = f", only {stage['animations']} animations without one" if stage["animations"] else ""
        raise NoMotionError(
            f"there is no skeleton (UsdSkel) in this file{more}", path=path, remedy="export the rig with its skeleton"
        )
    unit, metres = _unit(stage, path, options)
    up = _up(stage, path, options)
    codes = stage["codes_per_second"]
    if not (math.isfinite(codes) and codes > 0.0):
        raise FormatError(f"the stage has {codes:g} time codes a second", path=path, key="timeCodesPerSecond")
    motions = []
    names = _take_names(stage["takes"], path.stem)
    for take, name in zip(stage["takes"], names, strict=True):
        motions.append(_motion(take, name, metres, unit, up, codes, path, options))
    if options.strict:
        warnings = list(dict.fromkeys(note.message for motion in motions for note in motion.source.warnings))
        if warnings:
            raise FormatError("; ".join(warnings), path=path, remedy="refused because strict was asked for")
    return motions


def _unit(stage: dict[str, Any], path: Path, options: ReadOptions) -> tuple[str, float]:
    if options.unit is not None:
        return units.parse_unit(options.unit)
    try:
        return units.parse_unit(float(stage["metres"]))
    except FormatError:
        raise FormatError(
            f"a unit of {stage['metres']} metres is not possible", path=path, key="metersPerUnit", remedy="give unit="
        ) from None


def _up(stage: dict[str, Any], path: Path, options: ReadOptions) -> str:
    if options.up is not None:
        return axes.parse_up(options.up)
    if stage["up"] not in ("X", "Y", "Z"):
        raise FormatError(
            f"USD knows no up axis {stage['up'][:40]!r}", path=path, key="upAxis", remedy="it is Y or Z; give up="
        )
    return axes.parse_up(stage["up"])


def _take_names(takes: list[dict[str, Any]], stem: str) -> list[str]:
    """Names for the motions: the file's where it holds one, else the animations', with the skeleton's where needed."""
    if len(takes) == 1:
        return [stem]
    plain = [take["name"] for take in takes]
    named = [
        name if plain.count(name) == 1 else f"{take['skeleton']}_{name}"
        for name, take in zip(plain, takes, strict=True)
    ]
    return [name if named.index(name) == i else f"{name}#{named[: i + 1].count(name)}" for i, name in enumerate(named)]


def _array(packed: dict[str, Any]) -> NDArray[Any]:
    return np.frombuffer(packed["data"], packed["dtype"]).reshape(packed["shape"])


def _motion(
    take: dict[str, Any],
    name: str,
    metres: float,
    unit: str,
    up: str,
    codes: float,
    path: Path,
    options: ReadOptions,
) -> Motion:
    names, parents = tuple(take["names"]), np.array(take["parents"], np.int32)
    notes = [Note(code, message, warning) for code, message, warning in take["notes"]]
    rest, world = _array(take["rest"]), _array(take["world"])
    rest_positions, rest_rotations, rest_scales = _decompose(rest)
    given = {key: _array(take[key]) for key in ("translations", "rotations", "scales") if key in take}
    count = max([len(values) for values in given.values()] or [1])
    targets: list[int] = take["targets"]
    translations = _filled(given.get("translations"), targets, rest_positions, count)
    rotations = _filled(given.get("rotations"), targets, rest_rotations, count)
    scales = _filled(given.get("scales"), targets, rest_scales, count)
    for kind, values in (("translation", translations), ("rotation", rotations), ("scale", scales)):
        good = np.all(np.abs(values) < _LARGEST, axis=2)
        if not good.all():
            frame, joint = (int(index) for index in np.argwhere(~good)[0])
            raise FormatError(
                f"a {kind} is not finite, or too large", path=path, joint=names[joint], frame=frame, key=kind
            )
    rotations = quaternions.normalize(rotations).astype(np.float64)
    scaled = bool(np.abs(scales - 1.0).max(initial=0.0) > 1e-5)
    local_p, local_q = _folded(translations, rotations, scales if scaled else None, world, parents, notes)
    offsets, turns = _folded(
        rest_positions[None], rest_rotations[None], rest_scales[None] if scaled else None, world[:1], parents, []
    )
    # Not by the greatest: of a NaN and a number it may be either.
    if not all((np.abs(values) * metres < _LARGEST).all() for values in (local_p, offsets, turns)):
        raise FormatError("the skeleton is too large to be one", path=path, joint=names[0])
    convert_p = axes.convert_vectors(local_p * metres, up)
    convert_q = axes.convert_rotations(local_q, up)
    if not take["animated"]:
        notes.append(Note("one_frame", "the skeleton has no animation: its rest pose is read", warning=True))
    elif count < 2:
        notes.append(Note("one_frame", "there is one frame only; it cannot enter a database", warning=True))
    if take["start"] and take["animated"]:
        notes.append(Note("start", f"the animation begins at time code {take['start']:g}, which is 0 s here"))
    rate = options.rate if options.rate is not None else codes / take["spacing"]
    if not (math.isfinite(rate) and 0.0 < rate <= 1e6):
        raise FormatError(f"{rate:g} frames a second are not possible", path=path, remedy="give rate=")
    return Motion(
        Skeleton(
            names,
            parents,
            axes.convert_vectors(offsets[0] * metres, up),
            rest_rotations=quaternions.normalize(axes.convert_rotations(turns[0], up)).astype(np.float32),
        ),
        convert_p,
        quaternions.unroll(convert_q),
        float(rate),
        name,
        Source(path=path, format="usd", unit=unit, metres_per_unit=metres, up=up, notes=tuple(notes)),
    )


def _filled(values: NDArray[Any] | None, targets: list[int], rest: Double, count: int) -> Double:
    """Values of all joints in every frame ``[T, J, n]``; those that the animation leaves out are as at rest."""
    table = np.tile(rest, (count, 1, 1))
    if values is not None:
        table[:, targets] = values
    return table


def _decompose(matrices: Double) -> tuple[Double, Double, Double]:
    """Translation ``[..., 3]``, rotation ``[..., 4]`` and scale ``[..., 3]`` of row-vector matrices."""
    axes3 = matrices[..., :3, :3]
    scale = np.linalg.norm(axes3, axis=-1)
    mirrored = np.linalg.det(axes3) < 0.0
    scale = scale * np.where(mirrored, -1.0, 1.0)[..., None]
    turned = axes3 / np.where(np.abs(scale) < 1e-12, 1.0, scale)[..., None]
    rotation = quaternions.from_matrix(np.swapaxes(turned, -1, -2))
    return matrices[..., 3, :3].copy(), rotation.astype(np.float64), scale


def _folded(
    translations: Double,
    rotations: NDArray[np.floating[Any]],
    scales: Double | None,
    world: Double,
    parents: NDArray[np.int32],
    notes: list[Note],
) -> tuple[Double, NDArray[np.floating[Any]]]:
    """Local positions and rotations, with the transforms above the skeleton and the scales of joints folded in."""
    linear = world[:, :3, :3]
    factors = np.cbrt(np.abs(np.linalg.det(linear)))
    uniform = np.linalg.norm(linear, axis=2)
    simple = scales is None and bool(
        (np.abs(uniform - factors[:, None]) <= 1e-6 * np.maximum(factors, 1e-12)[:, None]).all()
    )
    mirrored = bool((np.linalg.det(linear) < 0.0).any())
    if mirrored:
        notes.append(Note("mirrored", "the skeleton stands under a mirroring transform; its poses are mirrored", True))
    if simple and not mirrored and bool((factors > 0.0).all()):
        factor = factors[:, None, None]
        turn = quaternions.from_matrix(np.swapaxes(linear / factors[:, None, None], 1, 2))
        positions = translations * factor
        turned = np.array(rotations)
        for root in np.nonzero(parents < 0)[0]:
            at = np.concatenate([translations[:, root], np.ones((len(translations), 1))], axis=1)
            positions[:, root] = np.einsum("ti,tij->tj", at, np.broadcast_to(world, (len(at), 4, 4)))[:, :3]
            turned[:, root] = quaternions.multiply(np.broadcast_to(turn, (len(at), 4)), turned[:, root])
        return positions, turned
    if scales is not None:
        notes.append(Note("scales", "joints are scaled; the scales are folded into the positions of their children"))
    return _folded_exactly(translations, rotations, scales, world, parents)


def _folded_exactly(
    translations: Double,
    rotations: NDArray[np.floating[Any]],
    scales: Double | None,
    world: Double,
    parents: NDArray[np.int32],
) -> tuple[Double, NDArray[np.floating[Any]]]:
    """By whole matrices, in blocks of frames so that they stay small."""
    positions = np.empty_like(translations)
    turned = np.empty_like(rotations)
    for start in range(0, len(translations), _BLOCK):
        part = slice(start, start + _BLOCK)
        matrices = np.zeros((*translations[part].shape[:2], 4, 4))
        matrices[..., :3, :3] = np.swapaxes(quaternions.to_matrix(rotations[part]), -1, -2)
        if scales is not None:
            matrices[..., :3, :3] *= scales[part][..., None]
        matrices[..., 3, :3] = translations[part]
        matrices[..., 3, 3] = 1.0
        above = world[part] if len(world) > 1 else world
        for joint, parent in enumerate(parents):
            matrices[:, joint] = matrices[:, joint] @ (above if parent < 0 else matrices[:, parent])
        frames_p, frames_q, _ = _decompose(matrices)
        local_p, local_q = to_local(frames_p, frames_q, parents)
        positions[part], turned[part] = local_p, local_q
    return positions, turned
