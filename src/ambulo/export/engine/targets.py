"""All targets of an export, by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ambulo.errors import ControlError
from ambulo.export.engine.bundle import ENGINE_TARGETS, Exported, export_controller, refuse_unknown

TARGETS = (*ENGINE_TARGETS, "holden", "jlpm")


def default_controller(target: str) -> str:
    """What is exported if nothing is named."""
    return "lmm" if target in ENGINE_TARGETS else "mm"


def export(
    project: str | Path,
    out: Path,
    *,
    controller: str | None = None,
    target: str = "onnx",
    characters: int = 1,
    tag_sets: Sequence[tuple[str, ...]] = (),
    force: bool = False,
) -> Exported:
    """Write a project's controller for a target; see :func:`ambulo.export.engine.bundle.export_controller`.

    ``controller`` is the model ``lmm`` if left out, and motion matching where the target is a file layout.

    Raises:
        AmbuloError: an unknown target; what the target's own export raises.
    """
    refuse_unknown(target, TARGETS)
    controller = controller or default_controller(target)
    if target not in ENGINE_TARGETS:
        from ambulo.export.engine.layouts import export_layout, refuse_models

        refuse_models(target, controller)
        if characters != 1 or any(tag_sets):
            raise ControlError(
                f"{target} is a file layout: characters and tags are its own runtime's",
                key="characters" if characters != 1 else "tags",
                remedy="leave them out",
            )
        return export_layout(project, out, target, force=force)
    return export_controller(
        project, out, controller=controller, target=target, characters=characters, tag_sets=tag_sets, force=force
    )
