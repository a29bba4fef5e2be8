"""``ambulo export``: a project's controller for other engines, as one file that any of them runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ambulo.errors import AmbuloError

if TYPE_CHECKING:
    from ambulo.export.engine.bundle import Exported

TARGETS = ("onnx", "unreal", "unity", "godot", "web", "holden", "jlpm")

READS = "project"


@dataclass(frozen=True)
class Arguments:
    """Write a project's controller so that another engine runs it.

    The targets onnx, unreal, unity, godot and web give a folder with the whole step as one ONNX graph, a manifest, a
    recording and verify.py, which replays it; web adds a page that plays the character. The targets holden and jlpm
    write the database in the file layouts of D. Holden's C++ code and of JLPM's Unity code."""

    project: Path
    """Folder of a built project."""
    controller: str | None = None
    """mm for motion matching with the database inside, or the name of a trained model; lmm if left out, and mm for the
    targets holden and jlpm."""
    target: str = "onnx"
    """onnx, unreal, unity, godot, web, holden or jlpm: axes, handedness and units, or file layout."""
    out: str | None = None
    """Folder to write to; PROJECT/export/TARGET-CONTROLLER if left out."""
    characters: int = 1
    """How many characters one run of the graph moves."""
    tags: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="TAG[,TAG]")] = ()
    """A set of tags that can be asked for (mm only), +TAG for one that is preferred, not required; may be given several
    times, the input tag_set then chooses."""
    force: bool = False
    """Overwrite files in the folder that are not an earlier export's own."""
    json: bool = False
    """Print one JSON object."""


def run(arguments: Arguments) -> Exported:
    """Export."""
    from ambulo.cli.tag_lists import split_tags
    from ambulo.export.engine.targets import default_controller, export

    controller = arguments.controller or default_controller(arguments.target)
    sets = [split_tags((text,)) for text in arguments.tags]
    place = arguments.project if arguments.project.is_dir() else arguments.project.parent
    if arguments.out is not None and not arguments.out.strip():
        raise AmbuloError("the name of a folder is empty", key="out", remedy="name one, or leave --out out")
    out = Path(arguments.out) if arguments.out else place / "export" / f"{arguments.target}-{controller}"
    return export(
        arguments.project,
        out,
        controller=controller,
        target=arguments.target,
        characters=arguments.characters,
        tag_sets=sets,
        force=arguments.force,
    )


def show(exported: Exported) -> None:
    """Print what was written, whose motion is inside, and how closely the graph agrees."""
    for name, size in exported.files.items():
        print(f"{exported.folder}/{name}  {size / 1e6:.2f} MB")
    if exported.differences:
        worst = ", ".join(f"{name.replace('_', ' ')} {value:.1g}" for name, value in exported.differences.items())
        print(f"the graph differs from the controller, over 300 frames, by at most: {worst}")
    for use in exported.licences:
        print(f"licence: {use.text}")
    for note in exported.notes:
        print(f"note: {note}")
