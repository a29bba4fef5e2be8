"""The database: the frames of all clips end to end, memory-mapped, with their clips and tags."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.database.annotation_settings import COMPUTED_CHANNELS
from ambulo.database.annotations import (
    Annotations,
    WeightedRange,
    frame_bonus,
    frame_numbers,
    frame_priority,
    transition_mask,
)
from ambulo.database.catalog import CATALOG, Clip, read_catalog
from ambulo.database.channels import CHANNELS
from ambulo.database.manifest import MANIFEST, check_files, read_manifest
from ambulo.database.project import PROJECT_FILE
from ambulo.database.storage import map_tensors
from ambulo.database.tag_query import TagQuery, as_query
from ambulo.database.tags import merge_ranges, range_to_frames
from ambulo.errors import DatabaseError, QueryError, nearest_names
from ambulo.formats.paths import is_file
from ambulo.formats.tag_file import TagRange
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.clip import PreparedClip

Array = NDArray[Any]

_ATTEMPTS = 20


class Database:
    """Frames of all clips end to end. F frames, J joints; joint 0 is the root.

    Open one with :meth:`open`; make one in memory with :meth:`from_clips`.

    Attributes:
        skeleton: J joints with roles.
        rate: frames a second.
        positions: float32 ``[F, J, 3]`` local, metres; the root's in the world.
        rotations: float32 ``[F, J, 4]`` local, unit.
        velocities: float32 ``[F, J, 3]`` of the local positions, m/s.
        angular_velocities: float32 ``[F, J, 3]``, rad/s in the parent's frame; the root's in world axes.
        contacts: uint8 ``[F, 2]``, left and right foot on the ground.
        valid: uint8 ``[F]``, 0 where the capture has a glitch.
        clips: the clips in the order of their frames; they cover all frames.
        tags: name -> int64 ``[n, 2]``, the frames that carry it: half-open, sorted, merged ranges.
        name: the project's name.
        folder: where it lies; None in memory.
        digest: hash of all that it was made from; empty in memory.
        annotations: priorities, bonuses and numbers as ranges; see :attr:`priority`, :attr:`bonus`, :attr:`numbers`.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        rate: float,
        channels: Mapping[str, Array],
        clips: Sequence[Clip],
        tags: Mapping[str, NDArray[np.int64]],
        *,
        name: str = "",
        folder: Path | None = None,
        digest: str = "",
        annotations: Annotations | None = None,
    ) -> None:
        self.skeleton = skeleton
        self.rate = float(rate)
        self.positions: NDArray[np.float32] = channels["positions"]
        self.rotations: NDArray[np.float32] = channels["rotations"]
        self.velocities: NDArray[np.float32] = channels["velocities"]
        self.angular_velocities: NDArray[np.float32] = channels["angular_velocities"]
        self.contacts: NDArray[np.uint8] = channels["contacts"]
        self.valid: NDArray[np.uint8] = channels["valid"]
        self.clips = tuple(clips)
        self.tags = dict(tags)
        self.name = name
        self.folder = folder
        self.digest = digest
        self.annotations = annotations or Annotations()
        frames = self.positions.shape[0]
        for channel in CHANNELS:
            expected = (frames, *channel.row_shape(skeleton.joint_count))
            if channels[channel.name].shape != expected:
                raise DatabaseError(
                    f"{channel.name} is {channels[channel.name].shape}, not {expected}", path=folder, key=channel.name
                )
        edges = [0, *(clip.stop for clip in self.clips)]
        if [clip.start for clip in self.clips] != edges[:-1] or edges[-1] != frames:
            raise DatabaseError(f"the clips do not cover the {frames} frames end to end", path=folder)

    @classmethod
    def open(cls, folder: str | Path) -> Database:
        """Open a built database: its own folder, that of a project with a ``database`` in it, or its project file.

        Takes milliseconds: frames are read from the disk when they are touched. A database at a URL
        (``s3://bucket/database``) is first brought to this user's cache, as much of it as changed.

        Raises:
            DatabaseError: there is none, it is damaged, or of another version; the message says what to do.
        """
        from ambulo.database.remote.addresses import as_url
        from ambulo.database.remote.databases import fetch_database
        from ambulo.database.swap import behind_links, recover

        url = as_url(folder)
        folder = Path(folder) if url is None else fetch_database(url)
        if folder.name == PROJECT_FILE and is_file(folder):
            folder = folder.parent
        if not is_file(folder / MANIFEST) and folder.name != "database":
            folder = folder / "database"
        folder = behind_links(folder)
        # A build may put a new database in the place of the one that is being opened; then it is opened again.
        for attempt in range(_ATTEMPTS):
            recover(folder)
            before = _identity(folder)
            try:
                database = cls._map(folder)
            except DatabaseError:
                if attempt == _ATTEMPTS - 1 or _identity(folder) == before:
                    raise
            else:
                if _identity(folder) == before:
                    return database
            time.sleep(0.01)
        raise DatabaseError("was rebuilt again and again while it was opened", path=folder, remedy="try again")

    @classmethod
    def _map(cls, folder: Path) -> Database:
        manifest = read_manifest(folder)
        check_files(folder, manifest)
        channels = {}
        for channel in CHANNELS:
            tensors = map_tensors(folder / channel.file)
            if channel.name not in tensors:
                raise DatabaseError(f"has no {channel.name!r}", path=folder / channel.file, remedy="build it again")
            channels[channel.name] = tensors[channel.name]
        clips, tags, annotations = read_catalog(folder / CATALOG)
        return cls(
            manifest.skeleton.skeleton(),
            manifest.rate,
            channels,
            clips,
            tags,
            name=manifest.name,
            folder=folder,
            digest=manifest.digest,
            annotations=annotations,
        )

    @classmethod
    def from_clips(
        cls,
        clips: Sequence[PreparedClip],
        tags: Mapping[str, Iterable[Sequence[int]]] | Sequence[Iterable[TagRange]] | None = None,
    ) -> Database:
        """A database in memory.

        Args:
            clips: at least one; all of one skeleton (same names and parents) and one rate.
            tags: either tag -> frame ranges ``(start, stop)`` of the whole database, or one sequence of
                ``(start, stop, tag)`` in seconds of the take for each clip, with priority and bonus if need be
                (:class:`~ambulo.formats.tag_file.TagRange`).

        Raises:
            DatabaseError: no clips, or they do not fit together.
        """
        if not clips:
            raise DatabaseError("a database needs at least one clip")
        first = clips[0]
        for clip in clips:
            if clip.skeleton.names != first.skeleton.names or not np.array_equal(
                clip.skeleton.parents, first.skeleton.parents
            ):
                raise DatabaseError(f"the clips {first.name!r} and {clip.name!r} have different skeletons")
            if clip.rate != first.rate:
                raise DatabaseError(f"the clips {first.name!r} and {clip.name!r} have different rates")
        edges = np.concatenate([[0], np.cumsum([clip.frame_count for clip in clips])]).tolist()
        ranges: dict[str, list[tuple[int, int]]] = {}
        weighted: list[WeightedRange] = []
        if isinstance(tags, Mapping):
            ranges = {tag: [(int(r[0]), int(r[1])) for r in tag_ranges] for tag, tag_ranges in tags.items()}
        elif tags is not None:
            for clip, start, clip_tags in zip(clips, edges, tags, strict=False):
                for entry in clip_tags:
                    begin, end, tag, priority, bonus, _ = TagRange(*entry)
                    a, b = range_to_frames(
                        begin, end, rate=clip.rate, frame_count=clip.frame_count, start_time=clip.start_time
                    )
                    if b > a:
                        ranges.setdefault(tag, []).append((start + a, start + b))
                        if priority or bonus:
                            weighted.append(WeightedRange(start + a, start + b, priority, bonus))
        merged = {tag: merge_ranges(tag_ranges) for tag, tag_ranges in sorted(ranges.items())}
        rows = []
        for clip, start, stop in zip(clips, edges, edges[1:], strict=False):
            carried = tuple(tag for tag, r in merged.items() if bool(((r[:, 0] < stop) & (r[:, 1] > start)).any()))
            source = "" if clip.source.path is None else clip.source.path.as_posix()
            licence, credit = clip.source.licence, clip.source.attribution
            rows.append(Clip(clip.name, start, stop, source, False, licence, carried, clip.start_time, credit))
        channels = {c.name: np.concatenate([getattr(clip, c.name) for clip in clips]) for c in CHANNELS}
        return cls(first.skeleton, first.rate, channels, rows, merged, annotations=Annotations(tuple(weighted)))

    def __repr__(self) -> str:
        where = "in memory" if self.folder is None else str(self.folder)
        return (
            f"Database({len(self.clips)} clips, {self.frame_count} frames at {self.rate:g} fps, "
            f"{self.skeleton.joint_count} joints, {len(self.tags)} tags, {where})"
        )

    @property
    def frame_count(self) -> int:
        """Number of frames F."""
        return int(self.positions.shape[0])

    @property
    def duration(self) -> float:
        """Seconds of motion of all clips together."""
        return self.frame_count / self.rate

    @cached_property
    def clip_starts(self) -> NDArray[np.int64]:
        """First frame of every clip, int64 ``[C]``."""
        return np.array([clip.start for clip in self.clips], np.int64)

    @cached_property
    def clip_stops(self) -> NDArray[np.int64]:
        """Frame after the last of every clip, int64 ``[C]``."""
        return np.array([clip.stop for clip in self.clips], np.int64)

    @cached_property
    def clips_by_name(self) -> dict[str, Clip]:
        """The clips by their names."""
        return {clip.name: clip for clip in self.clips}

    def clip_of_frame(self, frame: ArrayLike) -> NDArray[np.int64]:
        """Index into ``clips`` for frames of any shape. Returns int64 of that shape (a scalar array for a scalar).

        Raises:
            QueryError: a frame outside ``[0, F)``.
        """
        frames = np.asarray(frame, np.int64)
        if frames.size and (int(frames.min()) < 0 or int(frames.max()) >= self.frame_count):
            wrong = int(frames.min()) if int(frames.min()) < 0 else int(frames.max())
            raise QueryError(f"frame {wrong} is outside the database's {self.frame_count} frames", frame=wrong)
        return np.asarray(np.searchsorted(self.clip_starts, frames, side="right") - 1, np.int64)

    def locate(self, frame: int) -> tuple[Clip, float]:
        """The clip that a frame belongs to, and the frame's time in seconds of the take."""
        clip = self.clips[int(self.clip_of_frame(frame))]
        return clip, clip.start_time + (int(frame) - clip.start) / self.rate

    def mask(self, required_tags: Iterable[str] | str | TagQuery, *, junk: bool = False) -> NDArray[np.bool_]:
        """bool ``[F]``: the frames that answer a question, without those that are ``junk``.

        Args:
            required_tags: tags that a frame carries *all* of (all frames for none), a question as text
                (:mod:`ambulo.database.tag_query`), or a parsed one.
            junk: also frames that are ``junk``; else they answer only a question that names that tag.

        Raises:
            QueryError: a tag that no frame carries, with the nearest ones; text that is no question.
        """
        return as_query(required_tags).mask(self, junk=junk)

    @cached_property
    def bonus(self) -> NDArray[np.float32]:
        """float32 ``[F]``: what a frame costs less than others, in units of a search's cost; its ranges' add up."""
        return frame_bonus(self.annotations.weighted, self.frame_count)

    @cached_property
    def priority(self) -> NDArray[np.int16]:
        """int16 ``[F]``: the highest priority that a range gives; 0 where none gives one."""
        return frame_priority(self.annotations.weighted, self.frame_count)

    @cached_property
    def transition_ok(self) -> NDArray[np.bool_]:
        """bool ``[F]``: false inside ``no_transition``: no jump may start there, nor land there.

        Such a range is entered by playing what leads into it, and left by playing to its end.
        """
        return transition_mask(self.tags, self.frame_count)

    @cached_property
    def numbers(self) -> dict[str, NDArray[np.float32]]:
        """Annotated numeric channel -> float32 ``[F]`` in its unit, NaN where nobody says anything."""
        return frame_numbers(self.annotations, self.frame_count)

    @property
    def number_units(self) -> dict[str, str]:
        """Numeric channel -> unit: the annotated ones, then the computed ones."""
        return {**self.annotations.units, **COMPUTED_CHANNELS}

    def number(self, name: str) -> NDArray[np.float32]:
        """A numeric channel, float32 ``[F]``: annotated, or computed from the root's motion.

        ``speed`` is that over the ground in m/s, ``turn_rate`` is in rad/s, to the left positive.

        Raises:
            QueryError: there is no such channel; lists the nearest.
        """
        if name == "speed":
            return np.hypot(self.velocities[:, 0, 0], self.velocities[:, 0, 2])
        if name == "turn_rate":
            return np.ascontiguousarray(self.angular_velocities[:, 0, 1])
        if name not in self.annotations.units:
            known = self.number_units
            raise QueryError(
                f"no number is called {name!r}; {nearest_names(name, known)}",
                key=name,
                remedy=f"ask for one of those, or declare [channels.{name}] in ambulo.toml, annotate takes, and build",
            )
        return self.numbers[name]


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """Tells one built database from another that took its place; None where there is none."""
    try:
        info = (folder / MANIFEST).stat()
    except OSError:
        return None
    return info.st_ino, info.st_mtime_ns, info.st_ctime_ns
