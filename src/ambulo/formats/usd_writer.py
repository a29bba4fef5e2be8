"""Write USD files with ``usd-core``: a SkelRoot with a Skeleton and a SkelAnimation for each motion.

Joint names must be identifiers in USD's paths; names that are none are mended there, and kept as they are in
``jointNames``. ``bindTransforms`` and ``restTransforms`` are the skeleton's rest pose.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import AmbuloError, FormatError, install_remedy, nearest_names
from ambulo.formats import axes, units
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

_OPTIONS = ("unit", "up")


def write_text(motions: Sequence[Motion], options: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a ``.usda``.

    Args:
        motions: each becomes a skeleton with its animation; the first one's rate is the stage's.
        options: ``unit`` (name or metres a unit, ``"metre"`` by default), ``up`` (``"+Y"`` or ``"+Z"``).

    Raises:
        FormatError: an unknown option, or poses that are not finite.
        AmbuloError: ``usd-core`` is not installed.
    """
    stage = _stage(motions, options)
    text: str = stage.GetRootLayer().ExportToString()
    return text.encode("utf-8")


def write_crate(motions: Sequence[Motion], options: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a ``.usdc``; see :func:`write_text`."""
    stage = _stage(motions, options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stage.usdc")
        if not stage.GetRootLayer().Export(str(path)):
            raise FormatError("USD's own library cannot write this stage")
        return path.read_bytes()


def _stage(motions: Sequence[Motion], options: Mapping[str, Any] | None) -> Any:
    try:
        from pxr import Usd, UsdGeom
    except ImportError as error:
        raise AmbuloError(f"USD files need usd-core: {error}", remedy=install_remedy("formats")) from None
    given = dict(options or {})
    _, metres = units.parse_unit(given.pop("unit", "metre"))
    up = axes.parse_up(str(given.pop("up", "+Y")))
    if given:
        wrong = next(iter(given))
        raise FormatError(f"USD has no option {wrong!r}; {nearest_names(wrong, _OPTIONS)}", key=wrong)
    if up not in ("+Y", "+Z"):
        raise FormatError(f"USD knows no up axis {up}", key="up", remedy="use '+Y' or '+Z'")
    if not motions:
        raise FormatError("there is no motion to write")
    for motion in motions:
        _check(motion)
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    UsdGeom.SetStageUpAxis(stage, up[1])
    stage.SetTimeCodesPerSecond(motions[0].rate)
    stage.SetFramesPerSecond(motions[0].rate)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(max(motion.duration for motion in motions) * motions[0].rate)
    taken: set[str] = set()
    for number, motion in enumerate(motions):
        _write(stage, motion, _identifier(motion.name or "motion", taken), metres, up, motions[0].rate, number == 0)
    return stage  # and not its layer, which lives no longer than its stage


def _check(motion: Motion) -> None:
    if not motion.skeleton.joint_count:
        raise FormatError("the skeleton has no joints")
    good = np.isfinite(motion.positions).all(axis=2) & np.isfinite(motion.rotations).all(axis=2)
    if not good.all():
        frame, joint = (int(index) for index in np.argwhere(~good)[0])
        raise FormatError(
            "the pose is not finite",
            frame=frame,
            joint=motion.skeleton.names[joint],
            remedy="mend the motion first; markers cannot be written as a skeleton",
        )


def _identifier(name: str, taken: set[str]) -> str:
    """A name that USD takes, unlike those before."""
    from pxr import Tf

    plain = str(Tf.MakeValidIdentifier(name))
    unique, number = plain, 1
    while unique in taken:
        number += 1
        unique = f"{plain}_{number}"
    taken.add(unique)
    return unique


def joint_paths(skeleton: Skeleton) -> list[str]:
    """USD's paths of the joints, ``Hips/Spine/Chest``."""
    taken: set[str] = set()
    paths: list[str] = []
    for name, parent in zip(skeleton.names, skeleton.parents, strict=True):
        own = _identifier(name, taken)
        paths.append(own if parent < 0 else f"{paths[int(parent)]}/{own}")
    return paths


def _write(stage: Any, motion: Motion, name: str, metres: float, up: str, codes: float, default: bool) -> None:
    from pxr import Sdf, UsdSkel, Vt

    skeleton = motion.skeleton
    root = UsdSkel.Root.Define(stage, f"/{name}")
    body = UsdSkel.Skeleton.Define(stage, f"/{name}/skeleton")
    take = UsdSkel.Animation.Define(stage, f"/{name}/{'animation' if name != 'animation' else 'take'}")
    if default:
        stage.SetDefaultPrim(root.GetPrim())
    paths = joint_paths(skeleton)
    body.CreateJointsAttr(paths)
    if any(path.rsplit("/", 1)[-1] != own for path, own in zip(paths, skeleton.names, strict=True)):
        body.CreateJointNamesAttr(list(skeleton.names))
    turn = axes.inverse_up(up)
    local = _matrices(skeleton.offsets, skeleton.rest_rotations, turn, metres)
    body.CreateRestTransformsAttr(Vt.Matrix4dArray.FromNumpy(local))
    body.CreateBindTransformsAttr(Vt.Matrix4dArray.FromNumpy(_matrices(*skeleton.rest_pose(), turn, metres)))
    for prim in (root, body):
        UsdSkel.BindingAPI.Apply(prim.GetPrim())
    UsdSkel.BindingAPI(body.GetPrim()).CreateAnimationSourceRel().SetTargets([take.GetPrim().GetPath()])
    take.CreateJointsAttr(paths)
    positions = (axes.convert_vectors(motion.positions, turn) / np.float32(metres)).astype(np.float32)
    rotations = axes.convert_rotations(motion.rotations, turn)
    moves, turns, sizes = take.CreateTranslationsAttr(), take.CreateRotationsAttr(), take.CreateScalesAttr()
    sizes.Set(Vt.Vec3hArray.FromNumpy(np.ones((skeleton.joint_count, 3), np.float16)))
    with Sdf.ChangeBlock():
        for frame in range(motion.frame_count):
            code = _code(frame, motion.rate, codes)
            moves.Set(Vt.Vec3fArray.FromNumpy(positions[frame]), code)
            turns.Set(Vt.QuatfArray.FromNumpy(rotations[frame]), code)


def _code(frame: int, rate: float, codes: float) -> float:
    return float(frame) if math.isclose(rate, codes) else frame * codes / rate


def _matrices(
    positions: NDArray[np.float32], rotations: NDArray[np.float32], turn: str, metres: float
) -> NDArray[np.float64]:
    """USD's matrices ``[J, 4, 4]`` of positions in metres and rotations, row vectors."""
    matrices = np.tile(np.eye(4), (len(positions), 1, 1))
    turned = axes.convert_rotations(rotations, turn).astype(np.float64)
    matrices[:, :3, :3] = np.swapaxes(quaternions.to_matrix(turned), 1, 2)
    matrices[:, 3, :3] = axes.convert_vectors(positions, turn).astype(np.float64) / metres
    return matrices
