"""Several skeletons in one project: which skeleton all motion is put on, and what each take needs for that."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ambulo.database.manifest import SkeletonRecord
from ambulo.database.project import Project
from ambulo.database.records import RetargetRecord, TakeRecord
from ambulo.database.takes import Hasher, Take
from ambulo.errors import ProjectError, nearest_names

if TYPE_CHECKING:
    from ambulo.motion.motion import Motion
    from ambulo.motion.retargeting import RetargetTarget


class TargetSpec(NamedTuple):
    """A file on the target's skeleton.

    Attributes:
        label: how reports call it.
        path: where it lies.
        sha256: hash of its content.
        unit, up, rate: as the project says; None leaves them to the reader.
        number: which of its motions.
        roles: role -> joint name of the target, corrections, sorted.
    """

    label: str
    path: Path
    sha256: str
    unit: str | float | None
    up: str | None
    rate: float | None
    number: int = 0
    roles: tuple[tuple[str, str], ...] = ()

    @property
    def identity(self) -> list[object]:
        """What the retargeted frames depend on."""
        return [self.sha256, self.unit, self.up, self.rate, self.number, list(self.roles)]


def outside_files(project: Project, hasher: Hasher) -> dict[str, str]:
    """Hashes of the target and mapping files, which a build depends on beside the takes, as the project names them.

    Raises:
        ProjectError: one of them is missing.
    """
    found: dict[str, str] = {}
    for number, source in enumerate(project.sources):
        if source.mapping is not None:
            digest = hasher.sha256(project.folder / source.mapping)
            if digest is None:
                raise ProjectError(
                    f"the mapping file {source.mapping!r} does not exist",
                    path=project.path,
                    key=f"sources.{number}.mapping",
                    remedy="it is relative to the project file; write one with `ambulo retarget ... --write-mapping`",
                )
            found[source.mapping] = digest
    target = project.skeleton.target
    if target is not None and (project.folder / target).is_file():
        digest = hasher.sha256(project.folder / target)
        assert digest is not None, "it is a file"
        found[target] = digest
    return found


def explicit_target(
    project: Project, takes: Sequence[Take], hashes: Sequence[str], files: Mapping[str, str]
) -> TargetSpec | None:
    """The target that ``[skeleton] target`` names: a file, or a source (its first take); None where it is left out.

    Raises:
        ProjectError: it names neither.
    """
    target = project.skeleton.target
    if target is None:
        return None
    roles = tuple(sorted(project.roles.items()))
    if target in files:
        return TargetSpec(target, project.folder / target, files[target], None, None, None, 0, roles)
    names = [source.path.replace("\\", "/").rstrip("/") for source in project.sources]
    wanted = target.replace("\\", "/").rstrip("/")
    for number, take in enumerate(takes):
        name = names[take.source]
        if wanted in (name, name.rpartition("/")[2], take.label):
            return take_target(project, take, hashes[number], 0)
    raise ProjectError(
        f"the target {target!r} is no file and no source; {nearest_names(target, names)}",
        path=project.path,
        key="skeleton.target",
        remedy="name a file on the target's skeleton, relative to the project file, or the path of a source",
    )


def take_target(project: Project, take: Take, sha256: str, number: int) -> TargetSpec:
    """A take of the project as the target."""
    source = project.source_of(take.source, take.label)
    roles = tuple(sorted(project.roles.items()))
    return TargetSpec(take.label, take.path, sha256, source.unit, source.up, source.rate, number, roles)


def majority_target(
    project: Project,
    takes: Sequence[Take],
    hashes: Sequence[str],
    records: Sequence[TakeRecord],
    chosen_key: str,
) -> TargetSpec | None:
    """The first take on the skeleton that most of the motion is on."""
    for take, digest, record in zip(takes, hashes, records, strict=True):
        for number, clip in enumerate(record.own_clips):
            if clip.skeleton == chosen_key:
                return take_target(project, take, digest, number)
    return None


def retarget_key(key: str, target: TargetSpec, mapping_sha256: str | None) -> str:
    """Hash of all that the frames of a retargeted take depend on; ``key`` is that of the take alone."""
    return hashlib.sha256(msgspec.json.encode([key, target.identity, mapping_sha256])).hexdigest()


@lru_cache(maxsize=4)
def load_target(spec: TargetSpec) -> RetargetTarget:
    """The target made ready; once a process.

    Raises:
        FormatError, SkeletonError: the file cannot be read, or its skeleton cannot be mapped.
    """
    from ambulo.formats.registry import load_all
    from ambulo.motion.retargeting import retarget_target

    motions = load_all(spec.path, unit=spec.unit, up=spec.up, rate=spec.rate)
    motion = motions[min(spec.number, len(motions) - 1)]
    known = {role: name for role, name in spec.roles if name in motion.skeleton.names}
    return retarget_target(motion, known)


def put_on_target(
    motion: Motion, spec: TargetSpec, mapping: Mapping[str, str] | None
) -> tuple[Motion, RetargetRecord | None]:
    """A take's motion on the target's skeleton; as it is where it is on it already.

    Raises:
        SkeletonError: it cannot be mapped.
    """
    from ambulo.errors import SkeletonError
    from ambulo.motion.joint_mapping import same_tree
    from ambulo.motion.retargeting import retarget

    target = load_target(spec)
    if same_tree(motion.skeleton, target.skeleton):
        return motion, None
    try:
        done = retarget(motion, target, mapping=mapping)
    except SkeletonError as error:
        raise SkeletonError(error.message, path=motion.source.path, key=error.key, remedy=error.remedy) from None
    report = done.report
    return done.motion, RetargetRecord(
        target=spec.label,
        joints=motion.skeleton.joint_count,
        frames=report.frame_count,
        scale=round(report.scale, 6),
        slide=(round(report.before.slide, 6), round(report.after.slide, 6)),
        penetration=(round(report.before.penetration, 6), round(report.after.penetration, 6)),
        jumps=(round(report.before.jumps, 4), round(report.after.jumps, 4)),
        contact_f1=round(report.contact_f1, 6),
    )


def signature_of_target(spec: TargetSpec) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """What prepared clips on the target have in common."""
    from ambulo.prepare.root import rooted_skeleton

    return SkeletonRecord.of(rooted_skeleton(load_target(spec).skeleton)).signature
