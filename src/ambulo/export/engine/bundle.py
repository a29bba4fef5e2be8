"""A controller as a folder that any engine runs: graphs, manifest, recording, and a script that checks them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np

from ambulo import __version__
from ambulo.database.licences import LicenceUse, licences_of
from ambulo.errors import AmbuloError, ControlError
from ambulo.export.engine import verify
from ambulo.export.engine.axes import Axes, axes_of
from ambulo.export.engine.controller_graph import Stack, controller_model, start_model
from ambulo.export.engine.golden import FRAMES, STEP, Golden, record_golden
from ambulo.export.engine.graph import OPSET
from ambulo.export.engine.output_folder import leftovers, refuse_overwriting, refuse_project_folders
from ambulo.export.engine.step_inputs import FASTEST, LONGEST_SECONDS, SHORTEST_SECONDS
from ambulo.formats.paths import write_whole

if TYPE_CHECKING:
    from ambulo.control.settings import ControlSettings
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

ENGINE_TARGETS = ("onnx", "unreal", "unity", "godot", "web")
MOST_CHARACTERS = 1024

LEFT_OUT = [
    "events: what is to happen at a given time (`Intent.event`), and the stretches of frames that lead to it",
    "numbers that frames carry (`Intent.numbers`)",
    "tags that were not chosen at export; with a trained model, all but those that it was trained on",
    "fallback databases of a chain, and its order",
    "uneven ground: the root goes along a plane",
]
"""What the Python controllers do and a graph does not."""


class Exported(msgspec.Struct, frozen=True):
    """What was written.

    Attributes:
        folder: where it lies.
        files: name -> bytes.
        operators: kinds of operators in the graph.
        operator_count: how many operators it has.
        state_size: width of the state.
        differences: of the graph from our own controller over the recording, the largest a output.
        licences: of what is inside.
        notes: what a person should know.
    """

    target: str
    controller: str
    folder: str
    characters: int
    files: dict[str, int]
    operators: list[str]
    operator_count: int
    state_size: int
    differences: dict[str, float]
    licences: list[LicenceUse]
    notes: list[str]


def open_stack(
    project: str | Path, controller: str, tag_sets: Sequence[tuple[str, ...]]
) -> tuple[Stack, Database, SearchIndex, ControlSettings]:
    """The stack of a project's controller, ``mm`` for motion matching or the name of a trained model.

    Raises:
        ControlError: there is no such controller, or it cannot be exported; lists those that can.
    """
    from ambulo.control.create import CONTROLLERS, full_name
    from ambulo.control.project_settings import project_settings
    from ambulo.database.database import Database
    from ambulo.errors import nearest_names
    from ambulo.learning.create import create_controller, exportable_controllers, models_folder
    from ambulo.matching.build import load_index

    known = exportable_controllers(models_folder(project))
    if controller not in known and full_name(controller) not in ("motion_matching", "lmm"):
        why = "cannot be exported" if controller in CONTROLLERS else "is not there"
        raise ControlError(
            f"the controller {controller!r} {why}; {nearest_names(controller, known)}", key="controller",
            remedy="export mm, or train a model with `ambulo train lmm`",
        )  # fmt: skip
    database = Database.open(project)
    _, index = load_index(database)
    settings = project_settings(project, known_tags=database.tags)
    whole = create_controller(controller, database, index, settings, models_folder(project))
    stack = Stack.of(whole, tag_sets or ((),))
    if stack.matching is None and any(tag_sets):
        raise ControlError(
            "a trained model has its tags inside", key="tags", remedy="train one with `ambulo train lmm --tags TAG`"
        )
    return stack, database, index, settings


def export_controller(
    project: str | Path,
    out: Path,
    *,
    controller: str = "lmm",
    target: str = "onnx",
    characters: int = 1,
    tag_sets: Sequence[tuple[str, ...]] = (),
    force: bool = False,
) -> Exported:
    """Write a controller as graphs for an engine.

    Args:
        project: a built project.
        out: folder to write to; the untouched files of an earlier export in it are replaced, or removed where this one
            has none of their name.
        controller: ``mm``, or the name of a trained model.
        target: one of :data:`ENGINE_TARGETS`; decides axes, handedness and unit of length.
        characters: N, fixed in the graph.
        tag_sets: tags that can be asked for, each set a place of the input ``tag_set``; default tags if left out. A tag
            with a ``+`` before it is preferred, not required.
        force: replace other files of these names as well.

    Raises:
        ControlError: the database has too many frames, or the controller cannot be exported.
        AmbuloError: a package is missing, or the graph does not agree with the controller.
    """
    axes = axes_of(target)
    if not 1 <= characters <= MOST_CHARACTERS:
        raise ControlError(f"{characters} characters are not possible; 1 to {MOST_CHARACTERS} are", key="characters")
    if target == "web":
        from ambulo.export.engine.web_page import read_live

        if characters != 1:
            raise ControlError("the page plays one character", key="characters", remedy="leave --characters out")
        read_live()
    refuse_project_folders(out, project)
    stack, database, index, settings = open_stack(project, controller, tag_sets)
    licences = licences_inside(stack, database)
    refuse_overwriting(out, _names(stack, target), force=force)
    model, operators = controller_model(stack, characters, axes)
    files = {"controller.onnx": model.SerializeToString()}
    files["start.onnx"] = start_model(stack, characters, axes).SerializeToString()
    if stack.matching is None:
        from ambulo.export.engine.networks import network_model
        from ambulo.learning.lmm_model import NAMES

        for name in NAMES:
            layers = getattr(stack.bare.model, name)
            files[f"{name}.onnx"] = network_model(name, layers, characters).SerializeToString()
    golden = record_golden(stack, files["controller.onnx"], files["start.onnx"], characters, axes, tag_sets)
    files |= golden_files(golden, axes)
    if target == "web":
        files["index.html"] = _page(stack, database, model, golden, licences)
    files["verify.py"] = Path(verify.__file__).read_bytes()
    notes = notes_of(stack, licences)
    if stack.matching is None:
        from ambulo.learning.lmm_changes import age_note

        age = age_note(stack.bare.model.manifest, database, index, settings)
        notes = [age, *notes] if age else notes
    manifest = describe(stack, database, model, operators, characters, axes, tag_sets, licences, notes)
    manifest["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest["fields"] = {name: verify.digest_of(value) for name, value in json.loads(json.dumps(manifest)).items()}
    files["manifest.json"] = json.dumps(manifest, indent=1).encode() + b"\n"
    out.mkdir(parents=True, exist_ok=True)
    for path in leftovers(out, files):
        path.unlink()
    for name, data in files.items():  # the manifest last: a folder with one is whole
        write_whole(out / name, data)
    return Exported(
        target=target, controller=controller, folder=str(out), characters=characters,
        files={name: len(data) for name, data in files.items()}, operators=operators,
        operator_count=len(model.graph.node), state_size=stack.slots.size,
        differences=golden.differences, licences=licences, notes=notes,
    )  # fmt: skip


def _names(stack: Stack, target: str) -> list[str]:
    """Of the files that are written."""
    names = ["controller.onnx", "start.onnx", "golden.npz", "golden.bin", "golden.json", "verify.py", "manifest.json"]
    if stack.matching is None:
        from ambulo.learning.lmm_model import NAMES

        names += [f"{name}.onnx" for name in NAMES]
    return [*names, "index.html"] if target == "web" else names


def _page(stack: Stack, database: Database, model: Any, golden: Golden, licences: list[LicenceUse]) -> bytes:
    """The page that plays it; it begins where the recording does, and speaks of non-commercial motion."""
    from ambulo.export.engine.web_page import live_data, web_page

    learned = "learned motion matching" if stack.matching is None else "motion matching"
    warning = " · NON-COMMERCIAL motion" if any(use.non_commercial for use in licences) else ""
    speeds = np.linalg.norm(np.asarray(database.velocities)[:, 0, [0, 2]], axis=1)
    top = float(np.percentile(speeds[np.asarray(database.valid) != 0], 99.0))
    subtitle = f"{learned}, in the browser{warning}"
    return web_page(live_data(stack, model, golden.arrays["state"], database.name, subtitle, top), licences)


def golden_files(golden: Golden, axes: Axes) -> dict[str, bytes]:
    """The recording as ``golden.npz``, as plain numbers in ``golden.bin``, and what ``golden.json`` says of both."""
    places, offset = {}, 0
    for name, array in golden.arrays.items():
        places[name] = {"shape": list(array.shape), "offset": offset}
        offset += array.size
    plain = b"".join(np.ascontiguousarray(array, "<f4").tobytes() for array in golden.arrays.values())
    packed = io.BytesIO()
    np.savez_compressed(packed, **cast("dict[str, Any]", golden.arrays))
    told = {
        "frames": FRAMES,
        "dt": STEP,
        "seed": golden.seed,
        "recordings_tried": golden.tried,
        "axes": axes.describe(),
        "tolerances": golden.tolerances,
        "differences_at_export": golden.differences,
        "arrays": places,
        "golden.bin": "all arrays end to end, float32, little-endian; offsets count numbers",
        "compared": "rotations without their sign; contacts and transitions exactly",
    }
    note = json.dumps(told, indent=1).encode() + b"\n"
    return {"golden.npz": packed.getvalue(), "golden.bin": plain, "golden.json": note}


def describe(
    stack: Stack, database: Database, model: Any, operators: list[str], characters: int, axes: Axes,
    tag_sets: Sequence[tuple[str, ...]], licences: list[LicenceUse], notes: list[str],
) -> dict[str, Any]:  # fmt: skip
    """The content of ``manifest.json``, without the hashes."""
    skeleton, unit = stack.whole.skeleton, axes.unit
    n, j, s = characters, skeleton.joint_count, stack.slots.size
    schema = stack.bare.schema
    learned = stack.matching is None
    frames, digest = (
        (0, stack.bare.model.manifest.database_digest) if learned else (database.frame_count, database.digest)
    )
    meanings = {
        "state": ([n, s], "everything remembered; feed state_next back, begin with start.onnx"),
        "velocity": (
            [n, 3],
            f"desired velocity in the world, {unit}/s; height is not used; slowed down to {FASTEST * axes.per_metre:g} "
            "along an axis, and 0 for what is not finite",
        ),
        "facing": (
            [n, 3],
            "direction in the world that the body shall face, any length; zero: where it goes; what is not finite is 0",
        ),
        "tag_set": (
            [n],
            "which of tag_sets is asked for, a whole number as float; rounded, and held within them; NaN: 0",
        ),
        "dt": (
            [1],
            f"seconds since the last step; held within {SHORTEST_SECONDS:g} and {LONGEST_SECONDS:g}, and the least "
            "where it is not finite: in a pause 0 does no harm",
        ),
        "state_next": ([n, s], "the state after the step"),
        "root_position": ([n, 3], f"world, {unit}; equals joint 0 of local_positions"),
        "root_rotation": ([n, 4], "world, quaternion x, y, z, w; equals joint 0 of local_rotations"),
        "local_positions": ([n, j, 3], f"to the parent, {unit}; joint 0 in the world"),
        "local_rotations": ([n, j, 4], "to the parent, quaternions x, y, z, w; joint 0 in the world"),
        "contacts": ([n, 2], "1 where the left, the right foot is on the ground"),
        "transitioned": ([n], "1 in a step that jumped"),
    }

    def tensors(values: Any) -> list[dict[str, Any]]:
        return [
            {"name": v.name, "type": "float32", "shape": meanings[v.name][0], "meaning": meanings[v.name][1]}
            for v in values
        ]

    return {
        "format": verify.FORMAT,
        "version": verify.VERSION,
        "ambulo": __version__,
        "controller": "learned motion matching" if learned else "motion matching",
        "database": {"name": database.name, "digest": digest, "frames_inside": frames},
        "rate": database.rate,
        "opset": OPSET,
        "operators": operators,
        "operator_count": len(model.graph.node),
        "characters": n,
        "foot_lock": stack.has_foot_lock,
        "above_ground": stack.ground is not None,
        "left_out": LEFT_OUT,
        "axes": axes.describe(),
        "inputs": tensors(model.graph.input),
        "outputs": tensors(model.graph.output),
        "state": stack.slots.describe(),
        "state_axes": "the state's own numbers are metres, right-handed, +Y up, +Z forward, +X left, for every target",
        "tag_sets": [list(tags) for tags in tag_sets] or [[]],
        "skeleton": {
            "names": list(skeleton.names),
            "parents": [int(parent) for parent in skeleton.parents],
            "offsets": axes.vectors(np.asarray(skeleton.offsets, np.float32)).tolist(),
            "roles": {role: int(joint) for role, joint in sorted(skeleton.roles.items())},
        },
        "features": schema.to_dict(),
        "feature_names": list(schema.dimension_names),
        "licences": [msgspec.to_builtins(use) for use in licences],
        "non_commercial": forbids_sale(licences),
        "notes": notes,
    }


def licences_inside(stack: Stack, database: Database) -> list[LicenceUse]:
    """Of the frames inside, or of those that the networks were trained on."""
    if stack.matching is not None:
        return licences_of(database)
    manifest = stack.bare.model.manifest
    clips = [
        SimpleNamespace(licence=clip.licence, attribution=clip.attribution, frame_count=clip.frames)
        for clip in manifest.clips
    ]
    return licences_of(cast("Database", SimpleNamespace(clips=clips, rate=manifest.rate)))


def forbids_sale(licences: Sequence[LicenceUse]) -> bool | str:
    """Whether one of them forbids commercial use; ``"unknown"`` where none does, but one is not known, or all are."""
    if any(use.non_commercial for use in licences):
        return True
    return "unknown" if not licences or any(not use.licence.strip() for use in licences) else False


def notes_of(stack: Stack, licences: list[LicenceUse]) -> list[str]:
    """What a person should know."""
    notes = []
    if any(use.non_commercial for use in licences):
        notes.append("contains or was trained on NON-COMMERCIAL motion: not for products that are sold")
    if not licences or any(not use.licence.strip() for use in licences):
        notes.append("the licence of some of the motion is UNKNOWN: find out what it allows before you pass this on")
    if not stack.has_foot_lock:
        notes.append("feet are not locked: the body is not two-legged; the lowest is kept above the ground")
    return notes


def refuse_unknown(target: str, known: Sequence[str]) -> None:
    """Refuse a target that there is not.

    Raises:
        AmbuloError: see above.
    """
    from ambulo.errors import nearest_names

    if target not in known:
        raise AmbuloError(f"no target {target!r}; {nearest_names(target, known)}", key="target")
