"""What a USD stage says about skeletons and their animations, as plain arrays. Runs where ``pxr`` runs: see usd_worker.

Matrices are USD's: row vectors, translation in the last row. Quaternions are ``(x, y, z, w)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FREE_FRAMES = 10_000
FRAMES_A_SAMPLE = 100
"""Keys far apart are sampled at the stage's rate; at most so many frames come of so many keys."""
SLOWEST_KEYS = 8.0
"""Evenly spaced keys are the frames from so many a second on; slower ones were set by hand, or thinned out."""

Record = dict[str, Any]


class StageFault(Exception):
    """Something in the file that cannot be read: message, joint and frame."""

    def __init__(self, message: str, joint: str | None = None, frame: int | None = None) -> None:
        super().__init__(message)
        self.message, self.joint, self.frame = message, joint, frame


def extract(path: str) -> Record:
    """All skeletons of a file with all their animations.

    Returns:
        ``metres``, ``up``, ``codes_per_second``, and ``takes``: one record for each pair of skeleton and animation.

    Raises:
        StageFault: no stage, or one that contradicts itself.
    """
    from pxr import Tf, Usd, UsdGeom, UsdSkel

    try:
        stage = Usd.Stage.Open(path)
    except Tf.ErrorException as error:
        raise StageFault(_first_line(str(error))) from None
    if stage is None:
        raise StageFault("no stage can be made of it")
    codes_per_second = float(stage.GetTimeCodesPerSecond())
    skeletons, animations = [], []
    for prim in Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()):
        if prim.IsA(UsdSkel.Skeleton):
            skeletons.append(UsdSkel.Skeleton(prim))
        elif prim.IsA(UsdSkel.Animation):
            animations.append(UsdSkel.Animation(prim))
    sources = [UsdSkel.BindingAPI(skeleton.GetPrim()).GetInheritedAnimationSource() for skeleton in skeletons]
    bound = {str(source.GetPath()) for source in sources if source}
    free = [animation for animation in animations if str(animation.GetPrim().GetPath()) not in bound]
    takes: list[Record] = []
    rate = float(stage.GetFramesPerSecond())
    step = codes_per_second / rate if rate > 0 and math.isfinite(rate) and codes_per_second > 0 else 1.0
    for skeleton, source in zip(skeletons, sources, strict=True):
        body = _body(skeleton)
        if body is None:
            continue
        own = [UsdSkel.Animation(source)] if source and source.IsA(UsdSkel.Animation) else []
        known = set(body["joints"])
        own += [animation for animation in free if _joints(animation) and set(_joints(animation)) <= known]
        for animation in own or [None]:
            takes.append(_take(skeleton, body, animation, step, codes_per_second))
    return {
        "metres": float(UsdGeom.GetStageMetersPerUnit(stage)),
        "up": str(UsdGeom.GetStageUpAxis(stage)),
        "codes_per_second": codes_per_second,
        "takes": takes,
        "animations": len(animations),
    }


def _first_line(text: str) -> str:
    """What USD's own message says, without where in its sources."""
    said = text.split(" : ", 1)[-1].strip().splitlines()
    return (said[0].strip("' ") if said else "USD refuses it")[:300]


def _joints(animation: Any) -> list[str]:
    return [str(joint) for joint in animation.GetJointsAttr().Get() or []]


def _body(skeleton: Any) -> Record | None:
    """Joints in an order in which parents come first, and their rest pose."""
    tokens = [str(joint) for joint in skeleton.GetJointsAttr().Get() or []]
    where = str(skeleton.GetPrim().GetPath())
    if not tokens:
        return None
    if len(set(tokens)) != len(tokens):
        raise StageFault(f"the skeleton {where} lists a joint twice")
    order = sorted(range(len(tokens)), key=lambda joint: tokens[joint].count("/"))
    if all(_above(token, tokens) < index for index, token in enumerate(tokens)):
        order = list(range(len(tokens)))
    joints = [tokens[joint] for joint in order]
    place = {token: index for index, token in enumerate(joints)}
    parents = [_parent(token, place) for token in joints]
    names = [str(name) for name in skeleton.GetJointNamesAttr().Get() or []]
    names = [names[joint] for joint in order] if len(names) == len(tokens) and len(set(names)) == len(names) else []
    if not names:
        names = [joint.rsplit("/", 1)[-1] for joint in joints]
        names = names if len(set(names)) == len(names) and all(names) else joints
    notes: list[tuple[str, str, bool]] = []
    rest = _matrices(skeleton.GetRestTransformsAttr(), len(tokens))
    if rest is not None:
        rest = rest[order]
    else:
        bind = _matrices(skeleton.GetBindTransformsAttr(), len(tokens))
        if bind is None:
            notes.append(("rest", f"the skeleton {where} has no usable rest or bind transforms", True))
            rest = np.tile(np.eye(4), (len(tokens), 1, 1))
        else:
            bind = bind[order]
            notes.append(("rest", f"the skeleton {where} has no rest transforms; its bind pose is taken", False))
            try:
                rest = np.array(
                    [bind[j] @ np.linalg.inv(bind[p]) if p >= 0 else bind[j] for j, p in enumerate(parents)]
                )
            except np.linalg.LinAlgError:
                raise StageFault(f"a bind transform of the skeleton {where} has no inverse") from None
    if not np.isfinite(rest).all():
        bad = int(np.argmin(np.isfinite(rest).all(axis=(1, 2))))
        raise StageFault("a rest transform is not finite", joint=names[bad])
    return {"path": where, "joints": joints, "names": names, "parents": parents, "rest": rest, "notes": notes}


def _above(token: str, tokens: list[str]) -> int:
    return _parent(token, {name: index for index, name in enumerate(tokens)}) if "/" in token else -1


def _parent(token: str, place: dict[str, int]) -> int:
    """Index of the nearest joint above, by path."""
    while "/" in token:
        token = token.rsplit("/", 1)[0]
        if token in place:
            return place[token]
    return -1


def _matrices(attribute: Any, count: int) -> NDArray[np.float64] | None:
    value = attribute.Get()
    array = np.array(value, np.float64) if value is not None else np.zeros(0)
    return array if array.shape == (count, 4, 4) else None


def _take(skeleton: Any, body: Record, animation: Any | None, step: float, codes_per_second: float) -> Record:
    """The animation's values on the skeleton's joints, frame by frame."""
    from pxr import Usd, UsdGeom

    notes = list(body["notes"])
    attributes = (
        (animation.GetTranslationsAttr(), animation.GetRotationsAttr(), animation.GetScalesAttr())
        if animation is not None
        else ()
    )
    samples = sorted({float(time) for attribute in attributes for time in attribute.GetTimeSamples()})
    times, spacing = _frames(samples, step, codes_per_second, notes)
    joints = _joints(animation) if animation is not None else []
    place = {token: index for index, token in enumerate(body["joints"])}
    used = [(number, place[token]) for number, token in enumerate(joints) if token in place]
    if len(used) < len(joints):
        notes.append(("joints", f"{len(joints) - len(used)} animated joints are not in the skeleton", True))
    if len({target for _, target in used}) < len(used):
        raise StageFault(f"the animation {animation.GetPrim().GetPath()} lists a joint twice")  # type: ignore[union-attr]
    take: Record = {
        "name": animation.GetPrim().GetName() if animation is not None else skeleton.GetPrim().GetName(),
        "skeleton": skeleton.GetPrim().GetName(),
        "names": body["names"],
        "parents": body["parents"],
        "rest": body["rest"],
        "spacing": spacing,
        "start": float(times[0]) if samples else 0.0,
        "animated": animation is not None,
        "targets": [target for _, target in used],
        "notes": notes,
    }
    sources = [number for number, _ in used]
    for kind, width, attribute in zip(("translations", "rotations", "scales"), (3, 4, 3), attributes, strict=False):
        values = _values(attribute, times if samples else [None], len(joints), width, kind)
        if values is None:
            continue
        if kind == "scales" and np.abs(values - 1.0).max(initial=0.0) < 1e-6:
            continue
        take[kind] = np.ascontiguousarray(values[:, sources])
    prim = skeleton.GetPrim()
    moving = any(
        UsdGeom.Xformable(p).TransformMightBeTimeVarying() for p in _ancestry(prim) if p.IsA(UsdGeom.Xformable)
    )
    worlds = []
    for time in times if moving and samples else times[:1]:
        code = Usd.TimeCode(time) if samples else Usd.TimeCode.EarliestTime()
        worlds.append(np.array(UsdGeom.XformCache(code).GetLocalToWorldTransform(prim), np.float64))
    take["world"] = np.array(worlds)
    if not np.isfinite(take["world"]).all():
        raise StageFault(f"the transform of the skeleton {body['path']} is not finite")
    return take


def _ancestry(prim: Any) -> Iterator[Any]:
    while prim and not prim.IsPseudoRoot():
        yield prim
        prim = prim.GetParent()


def _frames(
    samples: list[float], step: float, codes_per_second: float, notes: list[tuple[str, str, bool]]
) -> tuple[list[float], float]:
    """Time codes of the frames, evenly spaced, and their spacing."""
    if len(samples) < 2:
        return (samples or [0.0]), step
    times = np.array(samples)
    if not np.isfinite(times).all():
        raise StageFault("a time code is not finite")
    gaps = np.diff(times)
    middle = float(np.median(gaps))
    even = bool(np.abs(gaps - middle).max() <= 1e-4 * middle)
    if even and (middle < 1.5 * step or codes_per_second / middle >= SLOWEST_KEYS):
        return samples, float((times[-1] - times[0]) / (len(times) - 1))
    count = (times[-1] - times[0]) / step
    if not count < FREE_FRAMES + FRAMES_A_SAMPLE * len(samples):
        raise StageFault(f"{len(samples)} keys are spread over {count:.3g} frames")
    how = "far apart" if even else "unevenly"
    notes.append(("resampled", f"{len(samples)} keys stand {how}; they are sampled every {step:g} time codes", False))
    return [float(times[0] + i * step) for i in range(int(count + 1e-6) + 1)], step


def _values(attribute: Any, times: list[Any], count: int, width: int, kind: str) -> NDArray[np.float32] | None:
    """One attribute in all frames, ``[T, count, width]``; None where it is not given."""
    rows = np.empty((len(times), count, width), np.float32)
    for frame, time in enumerate(times):
        value = attribute.Get() if time is None else attribute.Get(time)
        if value is None or (len(value) == 0 and count):
            if frame == 0:
                return None
            raise StageFault(f"the animation has no {kind} in this frame", frame=frame)
        array = np.array(value, np.float32)
        if array.shape != (count, width):
            raise StageFault(f"the animation has {len(array)} {kind} for {count} joints", frame=frame)
        rows[frame] = array
    return rows
