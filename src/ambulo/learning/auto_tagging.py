"""Tags proposed for new takes by a classifier that was trained on the tagged ones (S0.56).

Randomised trees (Geurts et al. 2006) and a regularised linear discriminant (Fisher; Ledoit and Wolf 2004), whose
probabilities are averaged, on windows of root-space motion. What it is worth is told per frame, by clips that it has
not seen: frames of a clip are so alike that frames held out of it would tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.database.annotation_settings import MIRRORED, NO_TRANSITION
from ambulo.database.database import Database
from ambulo.errors import LearningError, install_remedy
from ambulo.learning.tag_windows import HOP, Windows, describe
from ambulo.prepare.stylise.style import STYLISED

Bool = NDArray[np.bool_]
Float = NDArray[np.float64]

NEVER = frozenset({MIRRORED, NO_TRANSITION, STYLISED, "junk"})
"""Tags that are not learned: they say something of the data, not of the motion."""
UNIVERSAL = 0.98
"""Share of the frames from which on a tag says nothing."""
SHORTEST = 0.3
"""Seconds: shorter ranges are not proposed, and shorter gaps within one are closed."""
TREES = 60
FOLDS = 5


class TaggedClip(NamedTuple):
    """A clip to learn from.

    Attributes:
        name: of the clip.
        group: clips of one group are held out together, such as pieces of one take.
        windows: of its motion.
        labels: bool ``[W, K]``, which of the tags hold.
    """

    name: str
    group: str
    windows: Windows
    labels: Bool


class ProposedRange(NamedTuple):
    """A tag on frames ``[start, stop)`` of a clip, and its mean probability there."""

    tag: str
    start: int
    stop: int
    confidence: float


class TagScore(NamedTuple):
    """How well a tag is found in clips that were held out, per frame; ``clips`` carry it."""

    tag: str
    precision: float
    recall: float
    f1: float
    clips: int


@dataclass(frozen=True)
class AutoTagger:
    """A trained classifier.

    Attributes:
        tags: what it knows.
        exclusive: groups of which a frame carries one at most.
        mean, scale: float64 ``[D]`` of the features.
        trees: fitted, of scikit-learn.
        linear: fitted, one a tag.
    """

    tags: tuple[str, ...]
    exclusive: tuple[tuple[str, ...], ...]
    mean: Float
    scale: Float
    trees: Any
    linear: tuple[Any, ...]

    def probabilities(self, windows: Windows) -> Float:
        """float64 ``[W, K]``: how probable each tag is in each window."""
        x = (windows.features - self.mean) / self.scale
        by_trees = self.trees.predict_proba(x)
        by_trees = by_trees if isinstance(by_trees, list) else [by_trees]
        columns = []
        for place, model in enumerate(self.linear):
            one, other = (
                np.asarray(found)[:, list(classes).index(True)]
                for found, classes in (
                    (by_trees[place], self.trees.classes_[place] if len(self.tags) > 1 else self.trees.classes_),
                    (model.predict_proba(x), model.classes_),
                )
            )
            columns.append(0.5 * (one + other))
        return np.stack(columns, axis=1)

    def decide(self, probabilities: Float) -> Bool:
        """bool ``[W, K]``: which tags hold; of tags that exclude each other the most probable one."""
        holds = probabilities >= 0.5
        for group in self.exclusive:
            places = [self.tags.index(tag) for tag in group if tag in self.tags]
            if len(places) > 1:
                best = probabilities[:, places].argmax(axis=1)
                for number, place in enumerate(places):
                    holds[:, place] &= best == number
        return np.asarray(holds, np.bool_)

    def propose(self, windows: Windows, rate: float, *, least: float = 0.5) -> list[ProposedRange]:
        """Ranges for a clip, in order of time.

        Args:
            windows: of the clip.
            rate: frames a second.
            least: confidence below which nothing is proposed.
        """
        probabilities = self.probabilities(windows)
        holds = self.decide(probabilities)
        width = max(round(SHORTEST / HOP), 1)
        found = []
        for place, tag in enumerate(self.tags):
            for start, stop in _spans(holds[:, place], width):
                frames = int(windows.starts[start]), int(windows.stops[stop - 1])
                confidence = float(probabilities[start:stop, place].mean())
                if frames[1] - frames[0] >= SHORTEST * rate and confidence >= least:
                    found.append(ProposedRange(tag, *frames, confidence))
        return sorted(found, key=lambda entry: (entry.start, entry.tag))


def learned_tags(database: Database, tags: Iterable[str] | None = None) -> tuple[str, ...]:
    """The tags of a database that can be learned: on two clips at least, and not on everything.

    Args:
        database: opened.
        tags: only these, where given.

    Raises:
        LearningError: none of them can.
    """
    wanted = set(database.tags if tags is None else tags)
    found = []
    for tag, ranges in database.tags.items():
        clips = [clip for clip in database.clips if tag in clip.tags and not clip.mirrored]
        share = float((ranges[:, 1] - ranges[:, 0]).sum()) / max(database.frame_count, 1)
        if tag in wanted and tag not in NEVER and len(clips) > 1 and share < UNIVERSAL:
            found.append(tag)
    if not found:
        raise LearningError(
            "no tag can be learned: one is needed that two clips carry, and others do not",
            key="tags",
            remedy="tag some takes first, see `ambulo tag`",
        )
    return tuple(sorted(found))


def nothing_to_tell_apart(database: Database, tags: Sequence[str]) -> LearningError:
    """The error for tags of which each holds in all that is left to learn from, or in nothing of it."""
    counts = {tag: sum(tag in clip.tags and not clip.mirrored for clip in database.clips) for tag in database.tags}
    single = sorted(tag for tag, count in counts.items() if count == 1 and tag not in NEVER)
    alone = f"; on one take alone, which is too few: {', '.join(single)}" if single else ""
    return LearningError(
        f"there is nothing to tell apart: {' and '.join(tags)} hold everywhere in what is learned from{alone}",
        key="tags",
        remedy=f"tag at least two takes that are not {tags[0]!r} with what they are, then build",
    )


def tagged_clips(database: Database, tags: Sequence[str], leave_out: Iterable[str] = ()) -> list[TaggedClip]:
    """The clips that carry any of the tags, with their windows; mirrored copies are not looked at.

    Args:
        database: opened.
        tags: to learn.
        leave_out: names of clips that are not used.
    """
    masks = {tag: database.mask([tag], junk=True) for tag in tags}
    without = set(leave_out)
    found = []
    for clip in database.clips:
        if clip.mirrored or clip.name in without or not set(clip.tags) & set(tags):
            continue
        windows = describe(
            database.skeleton,
            database.positions[clip.start : clip.stop],
            database.rotations[clip.start : clip.stop],
            database.rate,
        )
        middles = clip.start + (windows.starts + windows.stops) // 2
        labels = np.stack([masks[tag][np.minimum(middles, clip.stop - 1)] for tag in tags], axis=1)
        found.append(TaggedClip(clip.name, clip.name.partition("@")[0], windows, labels))
    return found


def train(
    clips: Sequence[TaggedClip], tags: Sequence[str], *, exclusive: Sequence[Sequence[str]] = (), seed: int = 0
) -> AutoTagger:
    """Train a classifier.

    Args:
        clips: to learn from.
        tags: what the columns of their labels mean.
        exclusive: groups of which a frame carries one at most.
        seed: of the trees.

    Raises:
        LearningError: scikit-learn is not installed, or a tag holds everywhere or nowhere.
    """
    try:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.ensemble import ExtraTreesClassifier
    except ModuleNotFoundError as error:
        raise LearningError("auto-tagging needs scikit-learn", key="sklearn", remedy=install_remedy("learn")) from error
    x = np.concatenate([clip.windows.features for clip in clips]).astype(np.float64)
    y = np.concatenate([clip.labels for clip in clips])
    for place, tag in enumerate(tags):
        if y[:, place].all() or not y[:, place].any():
            everywhere = "everywhere" if y[:, place].all() else "nowhere"
            raise LearningError(
                f"{tag!r} holds {everywhere} in what is learned from",
                key=tag,
                remedy="tag at least two takes that carry it and two that do not, then build",
            )
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-6)
    x = (x - mean) / scale
    trees = ExtraTreesClassifier(
        TREES, min_samples_leaf=3, max_features=0.2, class_weight="balanced", random_state=seed
    ).fit(x, y if len(tags) > 1 else y[:, 0])
    linear = tuple(
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2, priors=(0.5, 0.5)).fit(x, y[:, place])
        for place in range(len(tags))
    )
    return AutoTagger(tuple(tags), tuple(tuple(group) for group in exclusive), mean, scale, trees, linear)


def held_out(
    clips: Sequence[TaggedClip],
    tags: Sequence[str],
    *,
    exclusive: Sequence[Sequence[str]] = (),
    folds: int = FOLDS,
    seed: int = 0,
) -> list[TagScore]:
    """How well tags are found in clips that were not learned from: groups go around, each is held out once.

    A tag that only one group carries cannot be found when that is held out: its score is 0.

    Raises:
        LearningError: there are fewer than two groups.
    """
    groups = sorted({clip.group for clip in clips})
    folds = min(folds, len(groups))
    if folds < 2:
        raise LearningError("one clip cannot be held out of one", key="folds", remedy="tag more takes")
    order = np.random.default_rng(seed).permutation(len(groups))
    fold_of = {groups[place]: number % folds for number, place in enumerate(order)}
    counts = np.zeros((len(tags), 3))  # frames rightly found, wrongly found, missed
    for fold in range(folds):
        known = [clip for clip in clips if fold_of[clip.group] != fold]
        y = np.concatenate([clip.labels for clip in known])
        learnable = [place for place in range(len(tags)) if y[:, place].any() and not y[:, place].all()]
        names = [tags[place] for place in learnable]
        tagger = None
        if learnable:
            kept = [clip._replace(labels=clip.labels[:, learnable]) for clip in known]
            tagger = train(kept, names, exclusive=exclusive, seed=seed)
        for clip in clips:
            if fold_of[clip.group] != fold:
                continue
            found = np.zeros_like(clip.labels)
            if tagger is not None:
                found[:, learnable] = tagger.decide(tagger.probabilities(clip.windows))
            weight = (clip.windows.stops - clip.windows.starts)[:, None]
            for column, hit in enumerate((found & clip.labels, found & ~clip.labels, ~found & clip.labels)):
                counts[:, column] += (hit * weight).sum(axis=0)
    scores = []
    for place, tag in enumerate(tags):
        right, wrong, missed = counts[place]
        carried = sum(bool(clip.labels[:, place].any()) for clip in clips)
        scores.append(
            TagScore(
                tag,
                float(right / max(right + wrong, 1.0)),
                float(right / max(right + missed, 1.0)),
                float(2 * right / max(2 * right + wrong + missed, 1.0)),
                carried,
            )
        )
    return scores


def _spans(holds: Bool, width: int) -> list[tuple[int, int]]:
    """Runs of true windows, gaps shorter than ``width`` closed."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(np.int8)))
    spans: list[tuple[int, int]] = []
    for start, stop in edges.reshape(-1, 2):
        if spans and start - spans[-1][1] < width:
            spans[-1] = (spans[-1][0], int(stop))
        else:
            spans.append((int(start), int(stop)))
    return spans
