"""What the search benchmark searches: features of real walks and runs, more of them by augmentation, and queries.

The real capture goes through ambulo's own pipeline (load, prepare, mirror, features). Where it is not present, the
embedded synthesizer's takes stand in for it; the rows then say so.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import numpy as np

# Bandai has 446 takes of walks and runs; every second one, with its mirror image, is plenty.
SETS = {
    "free/cmu_loco": (("walking", "running"), 1),
    "noncommercial/pfnn": (("",), 1),
    "noncommercial/bandai2_loco": (("",), 2),
}
POSE = 15
HELD_OUT = 12
SEARCH_FRAMES = 10


@dataclass
class Clips:
    """Features of clips end to end: ``raw [F, D]``, and where each clip starts and stops."""

    raw: Any
    starts: Any
    stops: Any
    schema: Any

    def take(self, numbers: list[int], frame_count: int | None = None) -> Clips:
        """Some of the clips; the last one is cut where there are more frames than asked for."""
        parts, starts, stops, total = [], [], [], 0
        for number in numbers:
            part = self.raw[self.starts[number] : self.stops[number]]
            if frame_count is not None:
                part = part[: frame_count - total]
            if len(part) == 0:
                break
            parts.append(part)
            starts.append(total)
            total += len(part)
            stops.append(total)
        return Clips(np.concatenate(parts), np.array(starts), np.array(stops), self.schema)


def load_clips() -> tuple[Clips, str]:
    """All clips, and where they come from; kept on the disk until the code that makes them changes."""
    from ambulo.database.fingerprints import DATABASE_ROOMS, code_fingerprint
    from ambulo.matching.schema import FeatureSchema

    data = harness.shared_folder("data")
    origin = "real capture" if data is not None else "embedded synthetic capture"
    key = hashlib.sha256(f"{code_fingerprint(DATABASE_ROOMS)} {origin} {SETS}".encode()).hexdigest()[:16]
    store = harness.PEERS_FOLDER / f"search-features-{key}.npz"
    if not store.is_file():
        print(f"computing features of the {origin} ...", file=sys.stderr)
        for old in harness.PEERS_FOLDER.glob("search-features-*.npz"):
            old.unlink()
        parts, schema = [], None
        for motion in _real_motions(data) if data is not None else _synthetic_motions():
            raws, schema = _features(motion)
            parts += raws
        assert schema is not None
        stops = np.cumsum([len(part) for part in parts])
        store.parent.mkdir(parents=True, exist_ok=True)
        np.savez(store, raw=np.concatenate(parts), stops=stops, schema=json.dumps(schema.to_dict()))
    with np.load(store) as stored:
        stops = stored["stops"]
        schema = FeatureSchema.from_dict(json.loads(str(stored["schema"])))
        return Clips(stored["raw"], np.concatenate([[0], stops[:-1]]), stops, schema), origin


def _real_motions(data: Path) -> Iterator[Any]:
    import ambulo

    for folder, (words, step) in SETS.items():
        files = sorted(file for file in (data / folder).glob("*.bvh") if any(word in file.name for word in words))
        for file in files[::step]:
            yield ambulo.load(file)


def _synthetic_motions() -> Iterator[Any]:
    from ambulo.synthesis.performance import synthesize

    for performance in synthesize(seed=0, minutes=40.0):
        yield performance.motion


def _features(motion: Any) -> tuple[list[Any], Any]:
    from ambulo.database.database import Database
    from ambulo.errors import AmbuloError
    from ambulo.matching.features import compute_features
    from ambulo.matching.schema import FeatureSchema
    from ambulo.prepare.mirror import mirror_clip
    from ambulo.prepare.pipeline import prepare_take
    from ambulo.prepare.settings import PrepareSettings

    try:
        clip = prepare_take(motion, PrepareSettings(), {})
    except AmbuloError as error:
        print(f"left out: {error}", file=sys.stderr)
        return [], None
    found = []
    for one in (clip, mirror_clip(clip)):
        database = Database.from_clips([one])
        schema = FeatureSchema.compile(skeleton=database.skeleton, rate=database.rate)
        found.append(compute_features(database, schema).raw)
    return found, schema


def split(clips: Clips, seed: int = 0) -> tuple[list[int], Clips]:
    """Numbers of the clips to search, shuffled, and the moving clips that are kept for the queries' wishes."""
    order = np.random.default_rng(seed).permutation(len(clips.starts)).tolist()
    speed = [float(np.abs(clips.raw[clips.starts[n] : clips.stops[n], 12:15]).mean()) for n in order]
    moving = [n for n, s in zip(order, speed, strict=True) if s > 0.1]
    kept = moving[::HELD_OUT]
    return [n for n in order if n not in set(kept)], clips.take(kept)


def augment(clips: Clips, numbers: list[int], frame_count: int, seed: int = 0) -> Clips:
    """So many frames: the clips, then copies of them in another tempo by another body, as long as there is room."""
    base = clips.take(numbers, frame_count)
    total = len(base.raw)
    raw = np.empty((frame_count, base.raw.shape[1]), np.float32)
    raw[:total] = base.raw
    starts, stops = base.starts.tolist(), base.stops.tolist()
    random = np.random.default_rng(seed)
    spread = base.raw.std(axis=0)
    while total < frame_count:
        for start, stop in zip(base.starts, base.stops, strict=True):
            tempo = random.uniform(0.85, 1.18)
            length = min(int((stop - start) / tempo), frame_count - total)
            if length <= 0:
                break
            place = np.minimum(np.arange(length) * tempo, stop - start - 1)
            below = place.astype(np.int64)
            share = (place - below)[:, None].astype(np.float32)
            source = base.raw[start:stop]
            rows = source[below] * (1 - share) + source[np.minimum(below + 1, stop - start - 1)] * share
            rows[:, 6:21] *= tempo
            rows *= random.normal(1.0, 0.03, raw.shape[1])
            rows += random.normal(0.0, 0.03, raw.shape[1]) * spread
            raw[total : total + length] = rows
            starts.append(total)
            total += length
            stops.append(total)
    return Clips(raw, np.array(starts), np.array(stops), clips.schema)


def play(index: Any, wishes: Clips, count: int, seed: int = 0) -> tuple[Any, Any]:
    """Queries of a motion-matching loop, one every ten frames, and the frames that were playing.

    The pose is that of the frame playing, the trajectory that of a clip that is not in the index; now and then another
    such clip takes over, as when a player changes their mind.
    """
    random = np.random.default_rng(seed)
    raw, frames = index.feature_set.raw, index.whole.frames
    stops = index.clip_stops[np.searchsorted(index.clip_starts, np.arange(len(raw)), side="right") - 1]
    queries, current = np.empty((count, raw.shape[1]), np.float32), np.empty(count, np.int64)
    playing, wish, clip = int(frames[0]), 0, 0
    for number in range(count):
        wish += SEARCH_FRAMES
        if number == 0 or wish >= wishes.stops[clip] or random.random() < 0.05:
            clip = int(random.integers(len(wishes.starts)))
            wish = int(random.integers(wishes.starts[clip], wishes.stops[clip]))
        queries[number, :POSE] = raw[playing, :POSE]
        queries[number, POSE:] = wishes.raw[wish, POSE:]
        current[number] = playing
        found = int(index.search(queries[number : number + 1], current=current[number : number + 1]).frames[0])
        playing = found + SEARCH_FRAMES
        if playing >= stops[found] - 1:
            playing = int(frames[random.integers(len(frames))])
    return queries, current
