"""Write the embedded data set as ordinary files: BVH in centimetres, tags beside it, ground truth beside that."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ambulo.formats.tag_file import tag_file_of, write_tag_file
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
    tags = [tag._replace(start=_rounded(tag.start), stop=_rounded(tag.stop)) for tag in performance.tags]
    write_tag_file(tag_file_of(path), tags)
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


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
