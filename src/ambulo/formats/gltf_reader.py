"""Read glTF 2.0 (``.gltf``, ``.glb``): bodies and their animations, as motions at even steps of time.

What is decided here, where files leave it open:

- Lengths are metres and +Y is up, as the specification says; ``unit`` and ``up`` overrule it for files that lie. A
  body of an implausible size is a warning.
- One animation is one :class:`~ambulo.motion.motion.Motion` a body, named after the animation; where the file has a
  single one, after the file. It begins at the earliest key of all its channels.
- glTF has no frame rate. The rate at which all keys are frames is guessed from their times (from those of the whole
  file where an animation's own do not tell) and reported; ``rate`` overrules it. Keys keep their times in seconds.
- A channel that is missing leaves the node at rest, one with a single key holds it. Rotations take the shorter way.
- Scales are folded into positions (an armature in centimetres becomes metres).
- Key times that do not increase are refused; ``lenient`` leaves out the later key.
- A file without animations is one frame, the rest pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats import axes, units
from ambulo.formats.format import ReadOptions
from ambulo.formats.gltf_channels import Channels, read_channels
from ambulo.formats.gltf_container import Document
from ambulo.formats.gltf_nodes import NodeTree, read_tree
from ambulo.formats.gltf_poses import NodePoses, joint_poses, needed_nodes
from ambulo.formats.gltf_rates import USUAL_RATE, guess_rate
from ambulo.formats.gltf_skeletons import Actor, find_actors
from ambulo.formats.placement import Placement
from ambulo.motion.motion import Motion, Note, Source
from ambulo.motion.skeleton import Skeleton

_LEAST_ROOM = 1 << 25
_ON_FRAME = 0.051
_SMALLEST_BODY, _LARGEST_BODY = 0.02, 40.0
_UNLIKELY = 1.6


@dataclass
class _Clip:
    """One animation, and its place among the frames of all."""

    animation: int
    name: str
    origin: float
    rate: float
    start: int
    count: int
    notes: list[Note]


def read(path: Path, options: ReadOptions | None = None) -> list[Motion]:
    """Read all animations of all bodies of a glTF file.

    Args:
        path: the file.
        options: what the caller knows better.

    Returns:
        One motion an animation and a body, metres and +Y up, without roles.

    Raises:
        FormatError: naming the animation, the sampler, the accessor, the node and the key where they apply.
    """
    options = options or ReadOptions()
    document = Document(path, options)
    tree = read_tree(document)
    channels = read_channels(document, options)
    actors = find_actors(document, tree, set(channels.node.tolist()))
    clips = _clips(document, channels, options)
    poses = _sample(document, tree, channels, actors, clips)
    motions = [motion for actor in actors for motion in _build(document, tree, channels, actor, clips, poses, options)]
    if len(actors) > 1:
        motions = _by_animation(motions, actors, clips)
    if options.strict:
        warnings = list(dict.fromkeys(note for motion in motions for note in motion.source.warnings))
        if warnings:
            listed = "; ".join(note.message for note in warnings[:5])
            raise FormatError(listed, path=path, remedy="refused because strict was asked for")
    return motions


def _clips(document: Document, channels: Channels, options: ReadOptions) -> list[_Clip]:
    """When each animation begins, at which rate and over how many frames it is sampled."""
    if options.rate is not None and not (np.isfinite(options.rate) and options.rate > 0.0):
        document.refuse(f"a rate of {options.rate} is not possible", key="rate", remedy="give frames a second")
    found = np.unique(channels.animation)
    names = _unique([document.root.animations[a].name or f"{document.path.stem}_{a}" for a in found])
    starts, stops = np.searchsorted(channels.animation, found), np.searchsorted(channels.animation, found, "right")
    rows = [slice(a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    origins = [float(channels.first[row].min()) for row in rows]
    tracks = _tracks(channels, found, origins)
    together = guess_rate([track for each in tracks for track in each]) if len(found) else None
    clips = []
    start = 1  # frame 0 is the rest pose
    for animation, name, row, origin, track in zip(found, names, rows, origins, tracks, strict=True):
        if options.rate is not None:
            rate, said = float(options.rate), f"sampled at {options.rate:g} frames a second, which was given"
            exact = True
        else:
            guess = guess_rate(track)
            if not guess.even and together is not None and together.exact and together.rate <= USUAL_RATE:
                guess = together._replace(reason="all keys of the file lie on its frames")
            rate, exact = guess.rate, guess.exact
            said = f"sampled at {rate:g} frames a second (a guess): {guess.reason}"
        last = float(channels.last[row].max())
        count = int((last - origin) * rate + _ON_FRAME) + 1
        notes = [Note("rate_guess" if options.rate is None else "rate_given", said, warning=not exact)]
        if abs(origin) > 1e-6:
            notes.append(Note("late_start", f"the first key of {name!r} is at {origin:.4g} s; its time starts there"))
        clips.append(_Clip(int(animation), name, origin, rate, start, count, notes))
        start += count
    return clips


def _tracks(channels: Channels, found: NDArray[np.int64], origins: list[float]) -> list[list[NDArray[np.float64]]]:
    """For each animation the different key times of its channels, from its first key on."""
    place = channels.animation * (len(channels.pool) + 1) + channels.time_start
    tracks: list[list[NDArray[np.float64]]] = [[] for _ in found]
    for row in np.unique(place, return_index=True)[1].tolist():
        animation = int(np.searchsorted(found, channels.animation[row]))
        tracks[animation].append(channels.times(row) - origins[animation])
    return tracks


def _sample(
    document: Document, tree: NodeTree, channels: Channels, actors: list[Actor], clips: list[_Clip]
) -> NodePoses:
    """All nodes that bodies need, at rest (frame 0) and in every frame of every animation."""
    from ambulo.formats import gltf_sampling_kernels as kernels

    needed = set().union(*(needed_nodes(actor, tree) for actor in actors))
    nodes = [node for node in tree.order if node in needed]
    column = {node: place for place, node in enumerate(nodes)}
    frames = 1 + sum(clip.count for clip in clips)
    scaled = channels.scale_change > 1e-5 or np.abs(tree.scales[nodes] - 1.0).max(initial=0.0) > 1e-5
    size = frames * len(nodes) * 4 * (10 if scaled else 7)
    if size > max(_LEAST_ROOM, 10 * document.size):
        longest = max(clips, key=lambda clip: clip.count, default=None)
        where = f"animation {longest.name!r} lasts {longest.count / longest.rate:.6g} s: " if longest else ""
        document.refuse(
            f"{where}{frames} frames of {len(nodes)} nodes would be {size / 1e6:.0f} MB, out of a file of "
            f"{document.size / 1e6:.3g} MB",
            key="rate",
            remedy="check its key times, or give a lower rate: rate=10",
        )
    poses = NodePoses(
        column,
        np.tile(tree.translations[nodes].astype(np.float32), (frames, 1, 1)),
        np.tile(tree.rotations[nodes].astype(np.float32), (frames, 1, 1)),
        np.tile(tree.scales[nodes].astype(np.float32), (frames if scaled else 0, 1, 1)),
    )
    of_animation = np.zeros((len(document.root.animations), 4))
    for clip in clips:
        of_animation[clip.animation] = clip.start, clip.count, clip.origin, clip.rate
    of_channel = of_animation[channels.animation]
    lookup = np.full(len(tree.parents), -1, np.int64)
    lookup[nodes] = np.arange(len(nodes))
    columns = lookup[channels.node]
    kernels.sample_channels(
        channels.pool,
        np.nonzero(columns >= 0)[0],
        columns,
        channels.path,
        channels.interpolation,
        channels.time_start,
        channels.time_stride,
        channels.key_count,
        channels.value_start,
        channels.value_stride,
        of_channel[:, 0].astype(np.int64),
        of_channel[:, 1].astype(np.int64),
        np.ascontiguousarray(of_channel[:, 2]),
        np.ascontiguousarray(of_channel[:, 3]),
        *poses[1:],
    )
    if len(poses.scales) > 1:
        # A node that has one and the same scale in all clips, and another at rest, was scaled in the clips only (an
        # armature in centimetres): at rest it must have that scale too, or offsets and motion would not agree.
        still = (np.ptp(poses.scales[1:], axis=0) <= 1e-5 * np.abs(poses.scales[1])).all(axis=1)
        poses.scales[0, still] = poses.scales[1, still]
    unused = sorted({int(node) for node in channels.node[columns < 0]})
    if unused:
        names = ", ".join(repr(document.root.nodes[node].name or f"node {node}") for node in unused[:5])
        more = ", ..." if len(unused) > 5 else ""
        document.notes.append(Note("nodes_skipped", f"{len(unused)} animated nodes are no joints: {names}{more}"))
    return poses


def _build(
    document: Document,
    tree: NodeTree,
    channels: Channels,
    actor: Actor,
    clips: list[_Clip],
    poses: NodePoses,
    options: ReadOptions,
) -> list[Motion]:
    """The motions of one body."""
    with np.errstate(over="ignore", invalid="ignore"):
        positions, rotations, notes = joint_poses(actor, tree, poses)
    if not (abs(positions.min()) < 1e12 and abs(positions.max()) < 1e12 and np.isfinite(rotations.sum())):
        good = (np.abs(positions) < 1e12).all(axis=(0, 2)) & np.isfinite(rotations).all(axis=(0, 2))
        raise FormatError(
            "scales and translations multiply to what is not finite",
            path=document.path,
            joint=actor.names[int(np.argmin(good))],
            remedy="the file is damaged; export it again",
        )
    parents = np.array(actor.parents, np.int32)
    placement, doubts = _place(actor, parents, positions[0], options)
    if placement.metres_per_unit != 1.0:
        positions *= np.float32(placement.metres_per_unit)
    positions, rotations = placement.vectors(positions), placement.rotations(rotations)
    ends = _end_offsets(document, actor) * placement.metres_per_unit
    skeleton = Skeleton(tuple(actor.names), parents, positions[0], placement.vectors(ends), rest_rotations=rotations[0])
    shared = (*document.notes, *actor.notes, *notes, *doubts)
    own = np.zeros(len(tree.parents), np.bool_)
    own[needed_nodes(actor, tree)] = True
    moving = set(channels.animation[own[channels.node]].tolist())
    mine = [clip for clip in clips if clip.animation in moving]
    if not mine:
        rest = Note("rest_pose", "no animation moves this body: its rest pose is the only frame", warning=True)
        rate = float(options.rate or USUAL_RATE)
        mine = [_Clip(-1, document.path.stem, 0.0, rate, 0, 1, [rest])]
    motions = []
    licence = _extras(document.root.asset.extras).licence
    for clip in mine:
        frames = slice(clip.start, clip.start + clip.count)
        source = Source(
            path=document.path,
            format="glb" if document.path.suffix.lower() == ".glb" else "gltf",
            unit=placement.unit,
            metres_per_unit=placement.metres_per_unit,
            up=placement.up,
            notes=(*_clip_notes(clip, len(clips)), *shared),
            licence=licence,
            attribution=document.root.asset.copyright,
        )
        name = clip.name if len(clips) > 1 else document.path.stem
        motions.append(Motion(skeleton, positions[frames], rotations[frames], clip.rate, name, source))
    return motions


def _clip_notes(clip: _Clip, count: int) -> list[Note]:
    notes = list(clip.notes)
    if clip.animation >= 0:
        notes.insert(0, Note("animation", f"animation {clip.name!r} is one of {count}"))
        if clip.count == 1:
            notes.append(Note("one_frame", "there is one frame only, a pose; it cannot enter a database", warning=True))
    return notes


def _by_animation(motions: list[Motion], actors: list[Actor], clips: list[_Clip]) -> list[Motion]:
    """The motions of several bodies, named after both, one animation after another."""
    from dataclasses import replace

    roots = {tuple(actor.names): actor.names[0] for actor in actors}
    order = {clip.name: place for place, clip in enumerate(clips)}
    named = []
    for motion in motions:
        root = roots[motion.skeleton.names]
        note = Note("actor", f"{root} is one of {len(actors)} bodies", joint=root)
        source = replace(motion.source, notes=(note, *motion.source.notes))
        named.append((order.get(motion.name, 0), replace(motion, name=f"{motion.name}_{root}", source=source)))
    named.sort(key=lambda pair: pair[0])
    names = _unique([motion.name for _, motion in named])
    return [replace(motion, name=name) for (_, motion), name in zip(named, names, strict=True)]


def _place(
    actor: Actor, parents: NDArray[np.int32], rest: NDArray[np.float32], options: ReadOptions
) -> tuple[Placement, list[Note]]:
    """Metres and +Y up unless the caller says otherwise; a doubt where the size speaks against metres."""
    unit = units.parse_unit(options.unit) if options.unit is not None else ("metre", 1.0)
    up = axes.parse_up(options.up) if options.up is not None else "+Y"
    notes: list[Note] = []
    if options.unit is None:
        bones = np.linalg.norm(rest.astype(np.float64), axis=1)
        span = units.body_span(parents, bones, np.zeros(len(parents)))
        factor = units.HUMAN_SPAN / span if span > 0.0 and units.looks_human(actor.names) else 1.0
        if not 1.0 / _UNLIKELY < factor < _UNLIKELY:
            doubt = f"unlike a person's {units.HUMAN_SPAN} m; unit={factor:.3g} would bring it to that size"
        elif span > 0.0 and not _SMALLEST_BODY <= span <= _LARGEST_BODY:
            doubt = "which is hard to believe; unit='centimetre' may be meant"
        else:
            return Placement(*unit, up), notes
        message = f"glTF is in metres, but the body measures {span:.3g} m along its bones, {doubt}"
        notes.append(Note("unit_doubt", message, warning=True))
    return Placement(*unit, up), notes


class _Extras(msgspec.Struct):
    """What ambulo's writer leaves beside the standard's fields."""

    end_offset: tuple[float, float, float] | None = None
    licence: str = ""


def _extras(raw: msgspec.Raw) -> _Extras:
    if not bytes(raw).startswith(b"{"):
        return _Extras()
    try:
        return msgspec.json.decode(raw, type=_Extras)
    except msgspec.MsgspecError:
        return _Extras()


def _end_offsets(document: Document, actor: Actor) -> NDArray[np.float64]:
    """Tips of leaf bones, which ambulo's writer puts beside the node; NaN where there is none."""
    ends = np.full((len(actor.nodes), 3), np.nan)
    for place, node in enumerate(actor.nodes):
        tip = _extras(document.root.nodes[node].extras).end_offset if node >= 0 else None
        if tip is not None and all(abs(value) < 1e6 for value in tip):
            ends[place] = tip
    return ends


def _unique(names: list[str]) -> list[str]:
    taken: set[str] = set()
    result = []
    for name in names:
        unique, number = name, 1
        while unique in taken:
            number += 1
            unique = f"{name}#{number}"
        taken.add(unique)
        result.append(unique)
    return result
