"""Write the embedded data set as ordinary files: BVH in centimetres, tags beside it, ground truth beside that."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ambulo.synthesis.directions import TagRange
from ambulo.synthesis.performance import Performance, synthesize


def write_takes(folder: str | Path, seed: int = 0, minutes: float = 20.0) -> list[Path]:
    """Write takes to ``FOLDER/STYLE/NAME.bvh``, with ``NAME.tags.csv`` and ``NAME.truth.npz`` beside each.

    The BVH files are like any other actor's and are imported like any others; the truth files are for those who judge
    an estimate (contacts, phase, gait, root path) and are read by nobody else.

    Args:
        folder: created where it is missing.
        seed: same seed, same bytes.
        minutes: total length.

    Returns:
        The BVH files in order.
    """
    return [write_take(Path(folder), performance) for performance in synthesize(seed, minutes)]


def write_take(folder: Path, performance: Performance) -> Path:
    """Write one take; returns its BVH file."""
    from ambulo.formats import registry

    target = folder / performance.folder
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{performance.motion.name}.bvh"
    registry.save(performance.motion, path)
    path.with_suffix(".tags.csv").write_text(tags_text(performance.tags), encoding="utf-8", newline="\n")
    truth = performance.truth
    np.savez_compressed(
        path.with_suffix(".truth.npz"),
        rate=np.float64(performance.motion.rate),
        contacts=truth.contacts,
        heel_contacts=truth.heel_contacts,
        phase=truth.phase,
        gait=truth.gait,
        root_positions=truth.root_positions,
        root_directions=truth.root_directions,
        ground_heights=truth.ground_heights,
    )
    return path


def tags_text(tags: Iterable[TagRange]) -> str:
    """The text of a ``.tags.csv`` file: seconds, half-open; an empty time means the take's end on that side."""
    rows = ["start,stop,tag"]
    for tag in tags:
        start = "" if tag.start is None else f"{tag.start:.4f}"
        stop = "" if tag.stop is None else f"{tag.stop:.4f}"
        rows.append(f"{start},{stop},{tag.tag}")
    return "\n".join(rows) + "\n"
