"""Rows of benchmarks/lmm.py on fine-tuning: takes are added to the project of a trained model.

Twice: takes of a kind that it has never seen, and, as happens more often, one in ten of all takes. The model of the
whole project is at hand as "trained anew"; another one is trained without the takes and goes on with them. Both errors
are those of the takes' own frames, and of all others.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from harness import Row
from lmm_models import say, without

MEASURES = (
    ("decompressor", "centimetres", "cm"),
    ("stepper", "of_standing_still", "x"),
    ("projector", "cost_ratio", "x"),
)

CASES: Mapping[str, str] = MappingProxyType({"before": "a movement never seen", "before_tenth": "every tenth take"})
"""Folder of the project before takes were added -> which ones: walking and running sideways, which no other take has;
or one take in ten."""


@dataclass(frozen=True)
class Addition:
    """A built project before takes were added to it, what they are, and their names."""

    before: Path
    what: str
    takes: tuple[str, ...]


def before_adding(whole: Path) -> list[Addition]:
    """A built project before takes were added to it, in each case."""
    files = sorted((whole / "takes").rglob("*.bvh"))
    chosen = ([path for path in files if "strafe" in path.stem], files[4::10])
    found = []
    for (folder, what), paths in zip(CASES.items(), chosen, strict=True):
        takes = [path.relative_to(whole).as_posix() for path in paths]
        found.append(Addition(without(whole, whole.with_name(folder), takes), what, tuple(takes)))
    return found


def finetune_rows(whole: Path, addition: Addition, preset: str) -> list[Row]:
    """Go on from the model without the takes, beside the model that saw all of them from the beginning.

    Args:
        whole: a built project with a trained model.
        addition: of :func:`before_adding`.
        preset: of both models.
    """
    from ambulo.learning.lmm_data import open_data
    from ambulo.learning.lmm_judge import model_errors
    from ambulo.learning.lmm_model import load_model
    from ambulo.learning.lmm_training import model_folder, train_lmm

    data = open_data(whole)
    fresh = np.zeros(data.database.frame_count, bool)
    for clip in data.database.clips:
        fresh[clip.start : clip.stop] = clip.source in addition.takes
    mine = fresh[data.frames.frames]
    new, old = np.flatnonzero(mine)[::5], np.flatnonzero(~mine)[::5]
    grown = model_folder(whole, "grown")
    shutil.rmtree(grown, ignore_errors=True)
    shutil.copytree(model_folder(addition.before), grown)
    say(f"{addition.what}: judging the model that does not know the added takes")
    new_before, old_before = model_errors(grown, data, new), model_errors(grown, data, old)
    say("fine-tuning")
    report = train_lmm(whole, preset=preset, name="grown", finetune=True)
    say("judging the fine-tuned model, and the one that was trained anew")
    new_after, old_after = model_errors(grown, data, new), model_errors(grown, data, old)
    anew = model_errors(model_folder(whole), data, new)
    took = sum(report.cpu_seconds.values())
    whole_took = load_model(model_folder(whole)).manifest.cpu_seconds
    what = f"{addition.what} added ({100.0 * mine.mean():.0f} % of the frames)"
    rows = [
        Row(f"{what}: fine-tuning, processor seconds", int(mine.sum()), took, "s"),
        Row(f"{what}: processor time over training anew", int(mine.sum()), took / whole_took, "x", 0.1),
    ]
    for network, measure, unit in MEASURES:
        was, now, full = (found[network][measure] for found in (new_before, new_after, anew))
        old_was, old_now = (found[network][measure] for found in (old_before, old_after))
        rows += [
            Row(f"{what}, {network}: their error before", len(new), was, unit),
            Row(f"{what}, {network}: their error after fine-tuning", len(new), now, unit),
            Row(f"{what}, {network}: their error after training anew", len(new), full, unit),
            Row(f"{what}, {network}: fine-tuned over trained anew", len(new), now / full, "x", 1.1),
            Row(f"{what}, {network}: old takes' error after over before", len(old), old_now / old_was, "x", 1.05),
        ]
    return rows
