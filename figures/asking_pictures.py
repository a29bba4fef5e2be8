"""The pictures of the guides on asking at run time and on gameplay, drawn from the embedded data.

python figures/asking_pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ambulo import Database
from ambulo.control.asking_script import AskingScript
from ambulo.control.create import create_controller
from ambulo.control.recording import Recording
from ambulo.control.scripts import forward
from ambulo.control.simulation import simulate
from ambulo.export.pictures import contact_sheet
from ambulo.matching.build import make_index
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import perform
from ambulo.synthesis.programme import direct, round_of_takes

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "docs" / "images")


def main() -> None:
    rng = np.random.default_rng(0)
    chosen = [
        take
        for take in round_of_takes()
        if take.style == "injured" or take.name == "running" or (take.style == "neutral" and "walk" in take.name)
    ]
    acted = [perform(direct(take, 1, rng, 60.0), rng, 60.0) for take in chosen]
    tags = [
        [*((tag.start, tag.stop, tag.tag) for tag in take.tags), *_style(chosen_take.style)]
        for take, chosen_take in zip(acted, chosen, strict=True)
    ]
    database = Database.from_clips([prepare_take(take.motion) for take in acted], tags)  # type: ignore[arg-type]
    controller = create_controller("motion_matching", database, make_index(database))
    walk = forward(start=0.2)
    draw(simulate(controller, AskingScript(walk, events=(("jump", 2.0),)), 4.0), "event.png", 60, 180)
    draw(simulate(controller, forward(0.7, 0.2, tags=("injured",)), 4.0), "injured.png", 60, 180)


def _style(style: str) -> list[tuple[None, None, str]]:
    """What ``ambulo new`` takes from the folder of a styled take."""
    return [] if style == "neutral" else [(None, None, style)]


def draw(recording: Recording, name: str, start: int, stop: int) -> None:
    contact_sheet(
        recording.skeleton,
        recording.global_positions[:, 0],
        FOLDER / name,
        view="side",
        frames=range(start, stop, 10),
        columns=12,
        rate=recording.rate,
        contacts=recording.contacts[:, 0] != 0,
        cell=(90, 160),
    )


if __name__ == "__main__":
    main()
