"""Draw the pictures of the docs, from the embedded data: ``python figures/motion_pictures.py PROJECT``.

PROJECT is a built project of the embedded takes (``ambulo new demo``, ``ambulo build demo``). The picture of the studio
is taken by its browser test.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import ambulo
from ambulo import Database
from ambulo.control.create import create_controller
from ambulo.control.project_settings import project_settings
from ambulo.control.scripts import create_script
from ambulo.control.simulation import simulate
from ambulo.export.pictures import contact_sheet
from ambulo.matching.build import load_index
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
TAKES = {
    "walk": ("neutral/walk_curves_01", 20.0, 4, "side"),
    "run": ("neutral/run_curves_01", 20.0, 3, "side"),
    "pivot": ("neutral/walk_pivots_01", 10.0, 6, "three_quarter"),
}
STYLES = ("injured", "tired", "old", "zombie", "proud", "sneaky", "cold", "happy")


def take(project: Path, name: str) -> ambulo.Motion:
    """One of the embedded takes."""
    return with_detected_roles(ambulo.load(project / "takes" / f"{name}.bvh"))


def draw_takes(project: Path) -> None:
    """Two cycles of walking and of running, a pivot, and a frame or two of every style."""
    for picture, (name, second, step, view) in TAKES.items():
        motion = take(project, name)
        pose = forward_motion(motion)
        first = int(second * motion.rate)
        frames = list(range(first, first + 16 * step, step))
        contact_sheet(
            motion.skeleton,
            pose.positions,
            IMAGES / f"{picture}.png",
            frames=frames,
            columns=8,
            view=view,
            global_rotations=pose.rotations,
        )
    positions, rotations = [], []
    for style in STYLES:
        motion = take(project, f"{style}/walk_01")
        pose = forward_motion(motion)
        for second in (15.0, 15.4):
            positions.append(pose.positions[int(second * motion.rate)])
            rotations.append(pose.rotations[int(second * motion.rate)])
    contact_sheet(
        motion.skeleton,
        np.stack(positions),
        IMAGES / "styles.png",
        columns=8,
        view="three_quarter",
        global_rotations=np.stack(rotations),
    )


def draw_controller(project: Path) -> None:
    """A stick turned round, answered."""
    database = Database.open(project)
    _, index = load_index(database)
    for name in ("motion_matching", "blocks"):
        controller = create_controller(name, database, index, project_settings(project))
        recording = simulate(controller, create_script("turn_180"), 6.0, seed=0)
        contact_sheet(
            recording.skeleton,
            recording.global_positions[:, 0],
            IMAGES / f"{name}.png",
            frames=list(range(150, 150 + 16 * 10, 10)),
            columns=8,
            view="three_quarter",
            global_rotations=recording.global_rotations[:, 0],
        )


def draw_learned(project: Path) -> None:
    """Motion matching along a square above, learned motion matching below, at the same times."""
    from ambulo.learning.create import create_controller as create_any
    from ambulo.learning.create import models_folder, trained_models

    models = models_folder(project)
    if "lmm" not in trained_models(models):
        print("no trained model, so no picture of one: run `ambulo train lmm` on the project", file=sys.stderr)
        return
    database = Database.open(project)
    _, index = load_index(database)
    positions, rotations = [], []
    for name in ("motion_matching", "lmm"):
        controller = create_any(name, database, index, project_settings(project), models)
        recording = simulate(controller, create_script("square"), 11.0, seed=0)
        chosen = slice(420, 420 + 8 * 12, 12)
        positions.append(recording.global_positions[chosen, 0])
        rotations.append(recording.global_rotations[chosen, 0])
    contact_sheet(
        database.skeleton,
        np.concatenate(positions),
        IMAGES / "learned_motion_matching.png",
        columns=8,
        rows=2,
        cell=(84, 132),
        view="three_quarter",
        global_rotations=np.concatenate(rotations),
    )


def main() -> None:
    project = Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo")
    IMAGES.mkdir(exist_ok=True)
    draw_takes(project)
    draw_controller(project)
    draw_learned(project)


if __name__ == "__main__":
    main()
