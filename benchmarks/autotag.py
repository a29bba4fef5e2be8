"""What auto-tagging is worth: content and style of Bandai Namco's first data set, per frame, in clips held out.

Tags come from the files' names. Each content in each style is one take, so styles are held out whole when content is
judged, and contents whole when style is: what is found was never seen in that combination. Macro F1 over all tags, and
over those that more than one take carries (six contents were captured once: held out, nobody can know them). Beside it,
on the same windows, always the most frequent tag, and the tag of the nearest window.

    python benchmarks/autotag.py [--quick] [--json]
"""

from __future__ import annotations

from pathlib import Path

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402

SET = "noncommercial/bandai1"


def load_clips(folder: Path, quick: bool) -> tuple[list, list[str], list[str]]:
    """Windows of every take, and its content and style."""
    from ambulo.formats.registry import load
    from ambulo.learning.tag_windows import describe
    from ambulo.prepare.pipeline import prepare_take

    windows, contents, styles = [], [], []
    for file in sorted(folder.glob("*.bvh")):
        _, content, style, _ = file.stem.split("_")
        if quick and style not in QUICK_STYLES:
            continue
        clip = prepare_take(load(file))
        windows.append(describe(clip.skeleton, clip.positions, clip.rotations, clip.rate))
        contents.append(content)
        styles.append(style)
    return windows, contents, styles


QUICK_STYLES = ("normal", "angry", "old", "tired", "happy", "giant")


def macro_f1(truth: np.ndarray, found: np.ndarray, weights: np.ndarray, labels: list[str]) -> float:
    scores = []
    for label in labels:
        right = weights[(truth == label) & (found == label)].sum()
        wrong = weights[(truth != label) & (found == label)].sum()
        missed = weights[(truth == label) & (found != label)].sum()
        scores.append(2 * right / max(2 * right + wrong + missed, 1))
    return float(np.mean(scores))


def judge(name: str, windows: list, truth: list[str], groups: list[str], folds: int) -> list[Row]:
    """Rows for one kind of tag; ``groups`` are what is held out together."""
    from ambulo.learning.auto_tagging import TaggedClip, train

    tags = sorted(set(truth))
    repeated = [tag for tag in tags if len({g for t, g in zip(truth, groups, strict=True) if t == tag}) > 1]
    clips = [
        TaggedClip(str(number), group, w, np.tile([tag == label for tag in tags], (len(w.starts), 1)))
        for number, (w, label, group) in enumerate(zip(windows, truth, groups, strict=True))
    ]
    names = sorted(set(groups))
    order = np.random.default_rng(0).permutation(len(names))
    fold_of = {names[place]: number % folds for number, place in enumerate(order)}
    said = {key: [] for key in ("truth", "weight", "ambulo", "nearest", "majority")}
    for fold in range(folds):
        known = [clip for clip in clips if fold_of[clip.group] != fold]
        y = np.concatenate([clip.labels for clip in known])
        learnable = [place for place in range(len(tags)) if y[:, place].any()]
        seen = [tags[place] for place in learnable]
        tagger = train([c._replace(labels=c.labels[:, learnable]) for c in known], seen, exclusive=[seen])
        x = (np.concatenate([clip.windows.features for clip in known]) - tagger.mean) / tagger.scale
        squares, answer = (x**2).sum(axis=1), np.array([tags[place] for place in y.argmax(axis=1)])
        most = max(seen, key=lambda tag: (answer == tag).sum())
        for clip in clips:
            if fold_of[clip.group] != fold:
                continue
            query = (clip.windows.features - tagger.mean) / tagger.scale
            nearest = (squares[None] - 2.0 * query @ x.T).argmin(axis=1)
            said["truth"] += [tags[place] for place in clip.labels.argmax(axis=1)]
            said["weight"] += list(clip.windows.stops - clip.windows.starts)
            said["ambulo"] += [seen[place] for place in tagger.probabilities(clip.windows).argmax(axis=1)]
            said["nearest"] += list(answer[nearest])
            said["majority"] += [most] * len(query)
    found = {key: np.array(values) for key, values in said.items()}
    frames = int(found["weight"].sum())
    rows = []
    for labels, over in ((tags, f"{len(tags)} tags"), (repeated, f"{len(repeated)} captured repeatedly")):
        if labels is repeated and len(repeated) == len(tags):
            continue
        scores = {
            key: macro_f1(found["truth"], found[key], found["weight"], labels)
            for key in ("ambulo", "nearest", "majority")
        }
        rows += [
            Row(
                f"{name}, {over}: ambulo", frames, scores["ambulo"], "F1", bar=scores["nearest"], higher_is_better=True
            ),
            Row(f"{name}, {over}: nearest window", frames, scores["nearest"], "F1"),
            Row(f"{name}, {over}: most frequent tag", frames, scores["majority"], "F1"),
        ]
    right = found["weight"][found["truth"] == found["ambulo"]].sum()
    rows.append(Row(f"{name}: frames right, ambulo", frames, 100.0 * right / frames, "%"))
    return rows


def main() -> None:
    args = harness.arguments("Auto-tagging, in clips held out")
    data = harness.shared_folder("data")
    if data is None or not (folder := data / SET).is_dir():
        raise SystemExit(f"{SET} is not here: it may not be shipped")
    windows, contents, styles = load_clips(folder, args.quick)
    folds = 3 if args.quick else 5
    harness.report(
        [*judge("content", windows, contents, styles, folds), *judge("style", windows, styles, contents, folds)], args
    )


if __name__ == "__main__":
    main()
