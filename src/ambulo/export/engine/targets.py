"""All targets of an export, by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ambulo.export.engine.bundle import ENGINE_TARGETS, Exported, export_controller, refuse_unknown

TARGETS = (*ENGINE_TARGETS, "holden", "jlpm")


def export(
    project: str | Path,
    out: Path,
    *,
    controller: str = "lmm",
    target: str = "onnx",
    characters: int = 1,
    tag_sets: Sequence[tuple[str, ...]] = (),
    force: bool = False,
) -> Exported:
    """Write a project's controller for a target; see :func:`ambulo.export.engine.bundle.export_controller`.

    Raises:
        AmbuloError: an unknown target; what the target's own export raises.
    """
    refuse_unknown(target, TARGETS)
    if target not in ENGINE_TARGETS:
        from ambulo.export.engine.layouts import export_layout

        return export_layout(project, out, target, force=force)
    return export_controller(
        project, out, controller=controller, target=target, characters=characters, tag_sets=tag_sets, force=force
    )
