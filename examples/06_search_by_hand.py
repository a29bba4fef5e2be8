"""The exact search alone: nearest frames under tags and weights, checked against brute force."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ambulo import Database
from ambulo.matching.build import load_index

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")


def main() -> None:
    database = Database.open(OUT / "small")
    features, index = load_index(database)
    rng = np.random.default_rng(0)

    # A query is a row of raw features: here frames of the database, disturbed.
    frames = rng.integers(0, database.frame_count, 200)
    queries = features.raw[frames] + 0.2 * features.scale * rng.normal(size=(200, features.schema.dimension_count))
    found = index.search(queries.astype(np.float32))
    print(f"{(np.abs(found.frames - frames) < 10).mean():.0%} of the answers are the frame asked about, or near it")

    walking = index.mask(database.mask(["walk"]))
    tagged = index.search(queries.astype(np.float32), mask=walking)
    print(f"asked for walking, all answers are tagged so: {bool(database.mask(['walk'])[tagged.frames].all())}")

    for candidate in index.top(queries[0].astype(np.float32), 3):
        print(f"  frame {candidate.frame}: cost {candidate.cost:.3f}")


if __name__ == "__main__":
    main()
