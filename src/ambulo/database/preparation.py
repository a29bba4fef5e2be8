"""The takes of one build: which are as they were, and the preparation of the others on the skeleton they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ambulo.database.assemble import PlacedClip, majority_skeleton
from ambulo.database.channels import CHANNELS
from ambulo.database.engines.engine import Engine
from ambulo.database.fingerprints import skeleton_key, take_key
from ambulo.database.manifest import SkeletonRecord
from ambulo.database.old_database import OldDatabase
from ambulo.database.prepare_jobs import JobResult, PrepareJob, tensor_name
from ambulo.database.project import Project
from ambulo.database.records import Inputs, TakeRecord
from ambulo.database.retarget_plan import (
    TargetSpec,
    explicit_target,
    majority_target,
    retarget_key,
    signature_of_target,
)
from ambulo.database.storage import Array, map_tensors
from ambulo.database.takes import Take

Tell = Callable[[str, int, int], None]


class Preparation:
    """The takes of a project, prepared or taken over.

    Attributes:
        records: number of a take -> what became of it.
        skeletons: key -> skeleton, of all that is in ``records``.
        signature: of the target's skeleton; None where the most motion decides.
        fresh: takes that were prepared in this build.
        workers: most processes that prepared.
    """

    def __init__(
        self,
        project: Project,
        takes: Sequence[Take],
        inputs: Inputs,
        old: OldDatabase | None,
        work_folder: Path,
        engine: Engine,
        tell: Tell,
    ) -> None:
        self._project, self._takes, self._inputs = project, takes, inputs
        self._work_folder, self._engine, self._tell = work_folder, engine, tell
        self._copies = 2 if project.mirror else 1
        self._keys = [take_key(project, take.source, entry) for take, entry in zip(takes, inputs.takes, strict=True)]
        self._target = explicit_target(project, takes, [entry.sha256 for entry in inputs.takes], inputs.files)
        self.signature = None if self._target is None else signature_of_target(self._target)
        self.records: dict[int, TakeRecord] = {}
        self.skeletons: dict[str, SkeletonRecord] = {}
        self.workers = 0
        self._old_starts: dict[int, tuple[int, ...]] = {}
        self._open_take = -1
        self._open_tensors: dict[str, Array] = {}
        if old is not None:
            self._take_over(old)
        self.fresh = [number for number in range(len(takes)) if number not in self.records]

    def _take_over(self, old: OldDatabase) -> None:
        """Take over the records of unchanged takes; their frames come from the old database."""
        state = old.state
        known = {record.native_key or record.key: number for number, record in enumerate(state.records)}
        for number, key in enumerate(self._keys):
            place = known.get(key if self._target is None else self._key(number, self._target))
            if place is None:
                continue
            record, starts = state.records[place], state.starts[place]
            if record.failure is not None and not record.failure.facts:
                continue  # an unexpected failure, such as no memory, may not happen again
            self.records[number] = record
            self._old_starts[number] = starts
            clips = (*record.clips, *record.native_clips)
            self.skeletons.update({clip.skeleton: state.skeletons[clip.skeleton] for clip in clips})

    def _key(self, number: int, target: TargetSpec | None) -> str:
        """The key of a take that is put on a target, or of the take alone."""
        source = self._project.sources[self._takes[number].source]
        if target is None or not source.retarget:
            return self._keys[number]
        mapping = None if source.mapping is None else self._inputs.files[source.mapping]
        return retarget_key(self._keys[number], target, mapping)

    def run(self, jobs: int | None) -> None:
        """Prepare the takes that changed, and those that the change of others concerns."""
        self._work_folder.mkdir(parents=True)
        self._prepare(self.fresh, jobs, self._target)
        if self._target is not None:
            return
        # A take that was left out for its skeleton has no frames in the old database, and may fit now.
        chosen = majority_skeleton([self.records[number] for number in range(len(self._takes))], self.skeletons)
        late = [
            number
            for number, starts in self._old_starts.items()
            if chosen is not None
            and (len(starts) != self._copies * len(self.records[number].clips) or self.records[number].native_clips)
            and any(
                self.skeletons[clip.skeleton].signature == chosen.signature for clip in self.records[number].own_clips
            )
        ]
        for number in late:
            del self.records[number], self._old_starts[number]
        self._prepare(late, jobs, None)
        others: list[int] = []
        if chosen is not None:
            others = self._put_on(chosen, jobs)
        self.fresh = sorted({*self.fresh, *late, *others})

    def _put_on(self, chosen: SkeletonRecord, jobs: int | None) -> list[int]:
        """Put takes that are on other skeletons on the one of the most motion. Returns their numbers."""
        records = [self.records[number] for number in range(len(self._takes))]
        hashes = [entry.sha256 for entry in self._inputs.takes]
        target = majority_target(self._project, self._takes, hashes, records, skeleton_key(chosen))
        others = [
            number
            for number, record in enumerate(records)
            if target is not None
            and self._project.sources[self._takes[number].source].retarget
            and record.key != self._key(number, target)
            and any(self.skeletons[clip.skeleton].signature != chosen.signature for clip in record.own_clips)
        ]
        natives = {number: (self._keys[number], records[number].own_clips) for number in others}
        for number in others:
            self._old_starts.pop(number, None)
        self._prepare(others, jobs, target)
        for number, (key, clips) in natives.items():
            self.records[number] = msgspec.structs.replace(self.records[number], native_key=key, native_clips=clips)
        return others

    def _prepare(self, numbers: Sequence[int], jobs: int | None, target: TargetSpec | None) -> None:
        if not numbers:
            return
        work = [self._job(number, target) for number in numbers]
        workers = self._engine.worker_count(jobs, work)
        self.workers = max(self.workers, workers)
        finished = 0
        self._tell("prepare", 0, len(work))

        def done(result: JobResult) -> None:
            nonlocal finished
            finished += 1
            self.records[result.number] = result.record
            self.skeletons.update(result.skeletons)
            self._tell("prepare", finished, len(work))

        self._engine.run(work, workers, done)

    def _job(self, number: int, target: TargetSpec | None) -> PrepareJob:
        take, project = self._takes[number], self._project
        source = project.source_of(take.source, take.label)
        spec = project.spec_of(take.source, take.label)
        return PrepareJob(
            *(number, self._key(number, target), take.path, take.size, source.unit, source.up, source.rate),
            *(dict(project.roles), project.prepare, project.mirror, self._work_file(number)),
            corrections=None if spec is None else spec.corrections,
            target=target if source.retarget else None,
            mapping=None if source.mapping is None else project.folder / source.mapping,
            travel=source.travel,
            clip_corrections={
                name: spec.corrections for name, spec in project.clip_specs(take.source, take.label).items()
            },
            operators=() if take.style is None else project.stylise[take.style].operators,
        )

    def _work_file(self, number: int) -> Path:
        return self._work_folder / f"{number}.safetensors"

    def old_start(self, placed: PlacedClip) -> int | None:
        """Where the frames of a clip begin in the old database; None where they were prepared in this build."""
        starts = self._old_starts.get(placed.take)
        return None if starts is None else starts[placed.number * self._copies + placed.clip.mirrored]

    def read(self, placed: PlacedClip) -> dict[str, Array]:
        """Channel -> rows of a clip that was prepared in this build; to be asked for in the order of the clips."""
        if self._open_take != placed.take:  # its clips come one after the other
            opened = self._open_take
            self.close()
            if opened >= 0:  # frames that are copied need no place on the disk twice
                with suppress(OSError):
                    self._work_file(opened).unlink()
            self._open_take, self._open_tensors = placed.take, map_tensors(self._work_file(placed.take))
        return {
            channel.name: self._open_tensors[tensor_name(placed.number, placed.clip.mirrored, channel.name)]
            for channel in CHANNELS
        }

    def close(self) -> None:
        """Let go of what is open: on Windows a mapped file cannot be removed."""
        self._open_take, self._open_tensors = -1, {}
