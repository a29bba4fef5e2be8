"""Read FBX files: skeletons and what moves them, each take sampled at the file's frame rate.

What is decided here, where files leave it open:

- Time is in seconds, by FBX's ticks; the rate is that of the file's time mode, and ``rate`` in its place samples the
  same movement at other steps. N frames lie at ``LocalStart``, ``LocalStart + h``, ..., up to ``LocalStop``.
- A take that moves nothing of a skeleton is left out where another does; a file without takes is one frame of rest.
- Several takes are several motions, called as the file calls them; several bodies likewise.
- Scale of nodes is folded into positions, so that bones have the length that one sees; rotations are never scaled.
- Nodes between and above joints are folded into the joint below.
- Unit and axes are those of the global settings; a unit that makes no human body is a warning.
- ``strict`` refuses whatever would be read with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats import units
from ambulo.formats.fbx_binary import MAGIC
from ambulo.formats.fbx_curves import TICKS_PER_SECOND
from ambulo.formats.fbx_document import Document, read_document
from ambulo.formats.fbx_settings import read_basis, read_rate, read_unit
from ambulo.formats.fbx_skeleton import Actor, find_actors
from ambulo.formats.fbx_takes import Take, frame_times, read_takes
from ambulo.formats.fbx_transform import WORLD, Global, compose, local_transform
from ambulo.formats.format import ReadOptions, read_file
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion, Note, Source
from ambulo.motion.skeleton import Skeleton

MAX_FRAMES = 500_000
"""Frames of one take: more than two hours at 60 a second."""

JOINT_FRAMES_FREE = 2_000_000
"""Frames times joints that any file may have; each four bytes of the file allow one more. A few bytes of a damaged file
can otherwise ask for years of motion."""

_FALLBACK_RATE = 30.0
_HEAD = re.compile(rb"\s*(;\s*FBX\b|FBXHeaderExtension\s*:)")


def sniff(head: bytes) -> bool:
    """Whether a file's first bytes look like an FBX file."""
    return head.startswith(MAGIC) or bool(_HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


def read(path: Path, options: ReadOptions | None = None) -> list[Motion]:
    """Read all takes of all bodies of an FBX file.

    Args:
        path: the file.
        options: what the caller knows better; ``rate`` is the rate to sample at.

    Returns:
        Motions in metres and +Y up, without roles.

    Raises:
        FormatError: with line or byte, and the record.
    """
    options = options or ReadOptions()
    document = read_document(read_file(path), path)
    actors = find_actors(document)
    takes = read_takes(document, [node for actor in actors for node in actor.nodes])
    motions = [
        _Reading(document, actor, take, options).motion(_name(path, actor, take, len(actors), len(own) > 1), len(own))
        for actor, own in ((actor, _takes_of(actor, takes)) for actor in actors)
        for take in own
    ]
    if options.strict:
        warnings = list(dict.fromkeys(note for motion in motions for note in motion.source.warnings))
        if warnings:
            listed = "; ".join(note.message for note in warnings)
            raise FormatError(listed, path=path, joint=warnings[0].joint, remedy="refused because strict was asked for")
    return motions


def _takes_of(actor: Actor, takes: list[Take]) -> list[Take | None]:
    """The takes that move a body; None stands for rest."""
    moving: list[Take | None] = [take for take in takes if take.moves(actor.nodes)]
    return moving or [take for take in takes if take.poses(actor.nodes)] or [None]


def _name(path: Path, actor: Actor, take: Take | None, actors: int, several: bool) -> str:
    name = take.name if several and take is not None and take.name else path.stem
    return f"{name}_{actor.names[0]}" if actors > 1 else name


class _Sampled(NamedTuple):
    """A body's joints over time, in metres and our axes."""

    positions: NDArray[np.float32]
    rotations: NDArray[np.float32]
    mirrored: tuple[str, ...]


class _Reading:
    """One body in one take, on its way to a motion."""

    def __init__(self, document: Document, actor: Actor, take: Take | None, options: ReadOptions) -> None:
        self.document, self.actor, self.take, self.options = document, actor, take, options
        self.unit, self.metres, unit_notes = read_unit(document, options)
        self.basis, axis_notes = read_basis(document, options)
        self.notes = [*(take.notes if take is not None else ()), *unit_notes, *axis_notes]

    def motion(self, name: str, siblings: int) -> Motion:
        if siblings > 1 and self.take is not None:
            text = f"{self.take.name} is one of {siblings} animations"
            self.notes.append(Note("animation", text))
        rate = self._rate()
        start, count, step = 0, 1, 0.0
        if self.take is not None:
            start = self.take.start
            count, step = frame_times(start, self.take.stop, rate)
            self._check_size(count)
        else:
            self.notes.append(
                Note("rest", "no take moves this skeleton: it is read as one frame of rest", warning=True)
            )
        times = start + np.rint(np.arange(count) * step).astype(np.int64)
        moving = self._sample(times, self.take)
        rest = self._sample(np.zeros(1, np.int64), None)
        parents = np.array(self.actor.joint_parents, np.int32)
        skeleton = Skeleton(self.actor.names, parents, rest.positions[0], rest_rotations=rest.rotations[0])
        self._note_oddities(moving, rest, skeleton)
        return Motion(
            skeleton,
            moving.positions,
            moving.rotations,
            rate,
            name,
            Source(
                path=self.document.path,
                format="fbx",
                unit=self.unit,
                metres_per_unit=self.metres,
                up=self.basis.up,
                frame_time=1.0 / rate,
                notes=tuple(self.notes),
            ),
        )

    def _rate(self) -> float:
        if self.options.rate is not None:
            return self.options.rate
        given = read_rate(self.document)
        keys = _key_rate(self.take)
        if given is None:
            rate = keys or _FALLBACK_RATE
            reason = "the spacing of the keys" if keys else "FBX's custom"
            text = f"the file leaves its frame rate open; {rate:g} a second by {reason}"
            self.notes.append(Note("rate", text, warning=not keys))
            return rate
        if keys and keys > 1.01 * given:
            text = (
                f"keys lie {keys:g} a second, the file says {given:g} frames a second and is sampled at that; "
                f"give rate={keys:g} to keep all keys"
            )
            self.notes.append(Note("rate", text, warning=True))
        return given

    def _check_size(self, count: int) -> None:
        joints = len(self.actor.joints)
        most = min(MAX_FRAMES, (JOINT_FRAMES_FREE + self.document.file_bytes // 4) // joints)
        if count > most:
            raise FormatError(
                f"the take {self.take.name if self.take else ''!r} has {count} frames of {joints} joints, more than a "
                f"file of {self.document.file_bytes} bytes makes plausible (at most {most})",
                path=self.document.path,
                key="LocalStop",
                remedy="set the take's start and end to where it has keys, or give a lower rate",
            )

    def _sample(self, times: NDArray[np.int64], take: Take | None) -> _Sampled:
        """The joints at some times, each seen from the joint above."""
        actor = self.actor
        rank = {node: joint for joint, node in enumerate(actor.joints)}
        positions = np.empty((len(times), len(rank), 3), np.float32)
        rotations = np.empty((len(times), len(rank), 4), np.float32)
        mirrored = []
        for index, world, above in self._walk(times, take):
            joint = rank.get(index)
            if joint is None:
                continue
            offset = world.position - above.position
            local = quaternions.inverse_rotate(above.rotation, offset)
            turned = quaternions.inverse_multiply(above.rotation, world.rotation)
            turned = quaternions.normalize(np.broadcast_to(turned, (len(times), 4)))
            positions[:, joint] = self.basis.vectors(np.broadcast_to(local, (len(times), 3)) * self.metres)
            rotations[:, joint] = quaternions.unroll(self.basis.rotations(turned))
            if world.scale is not None and bool((np.linalg.det(world.scale) < 0.0).any()):
                mirrored.append(actor.names[joint])
        if not (np.isfinite(positions).all() and np.isfinite(rotations).all()):
            raise FormatError(
                "positions grow beyond all bounds", path=self.document.path, remedy="check scales and units of the file"
            )
        return _Sampled(positions, rotations, tuple(mirrored))

    def _walk(self, times: NDArray[np.int64], take: Take | None) -> Iterator[tuple[int, Global, Global]]:
        """Every node in the world, with the joint above it there; only the way down to the node is kept."""
        actor = self.actor
        joints = set(actor.joints)
        way: list[tuple[int, Global, Global]] = []  # node, the node in the world, the nearest joint from it upwards
        for index, node in enumerate(actor.nodes):
            while way and way[-1][0] != actor.parents[index]:
                way.pop()
            parent, above = (way[-1][1], way[-1][2]) if way else (WORLD, WORLD)
            moved = take.sample(self.document, node, times) if take is not None else {}
            with np.errstate(over="ignore", invalid="ignore"):
                world = compose(parent, bool(way), local_transform(self.document, node, moved))
            yield index, world, above
            way.append((index, world, world if index in joints else above))

    def _note_oddities(self, moving: _Sampled, rest: _Sampled, skeleton: Skeleton) -> None:
        if moving.mirrored:
            listed = ", ".join(moving.mirrored[:5])
            text = f"{len(moving.mirrored)} joints are scaled by a negative number ({listed}); they are not mirrored"
            self.notes.append(Note("negative_scale", text, warning=True, joint=moving.mirrored[0]))
        twice = [name for name in skeleton.names if "#" in name]
        if twice:
            text = f"joints of the same name are told apart by a number: {', '.join(twice[:5])}"
            self.notes.append(Note("duplicate_name", text, warning=True, joint=twice[0]))
        bones = np.linalg.norm(rest.positions[0], axis=1)
        span = units.body_span(skeleton.parents, bones, np.zeros(len(bones)))
        if self.options.unit is None and span > 0.0 and units.looks_human(skeleton.names):
            guess = units.guess_unit(skeleton.names, span / self.metres)
            if guess.sure and not 0.5 < guess.metres_per_unit / self.metres < 2.0:
                text = (
                    f"the file's unit is {self.metres:g} m, by which the body measures {span:.2f} m along its bones; "
                    f"{guess.name} would be like a person's"
                )
                self.notes.append(Note("unit_doubt", text, warning=True))


def _key_rate(take: Take | None) -> float | None:
    """Keys a second where they are evenly spaced; None where they are not."""
    times = take.key_times() if take is not None else np.zeros(0, np.int64)
    if len(times) < 3:
        return None
    steps = np.diff(times).astype(np.float64)
    step = float(np.median(steps))
    if step <= 0.0 or np.mean(np.abs(steps - step) < 0.02 * step) < 0.9:
        return None
    rate = TICKS_PER_SECOND / step
    return float(round(rate)) if abs(rate - round(rate)) < 0.01 * rate and rate >= 1.0 else rate
