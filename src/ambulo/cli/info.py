"""``ambulo info``: what a project's database holds, and whether it is up to date."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from ambulo.database.licences import LicenceUse
from ambulo.database.staleness import Staleness


@dataclass(frozen=True)
class Arguments:
    """Say what a project's database holds, and whether it is up to date."""

    project: Path
    """Folder of the project, its ambulo.toml, or a database by itself: its folder, or a URL such as s3://bucket/db."""
    folder: Path | None = None
    """Folder or URL of the project's database, where it was built elsewhere with `build --folder`."""
    verify: bool = False
    """Read every file of the database and compare it with its checksum."""
    json: bool = False
    """Print one JSON object."""


class ClipInfo(msgspec.Struct, frozen=True):
    """One clip: name, seconds of motion, file, tags, licence."""

    name: str
    seconds: float
    source: str
    mirrored: bool
    tags: tuple[str, ...]
    licence: str


class Info(msgspec.Struct, frozen=True):
    """What ``ambulo info`` says. A database without a project is compared with nothing: ``staleness`` is null."""

    name: str
    folder: str
    stale: bool
    staleness: Staleness | None
    rate: float
    frames: int
    seconds: float
    joints: tuple[str, ...]
    roles: dict[str, str]
    tags: dict[str, float]
    channels: dict[str, str]
    features: tuple[str, ...]
    megabytes: float
    verified: int | None
    clips: tuple[ClipInfo, ...]
    licences: tuple[LicenceUse, ...] = ()


def run(arguments: Arguments) -> Info:
    """Open the database and compare it with its project."""
    from ambulo.database.build_files import OWN_FILES
    from ambulo.database.channels import CHANNELS
    from ambulo.database.database import Database
    from ambulo.database.licences import licences_of
    from ambulo.database.manifest import list_files, read_manifest, verify_files
    from ambulo.database.project import load_project
    from ambulo.database.remote.addresses import as_url, shown
    from ambulo.database.remote.databases import verify_published
    from ambulo.database.staleness import staleness
    from ambulo.errors import DatabaseError
    from ambulo.matching.build import load_index

    project = None if _is_database(arguments.project) else load_project(arguments.project)
    place = arguments.folder or (arguments.project if project is None else project.database_folder)
    if project is None and arguments.folder is not None:
        raise DatabaseError("is a database itself", path=arguments.project, key="folder", remedy="leave --folder out")
    url = as_url(place)
    verified = verify_published(url) if arguments.verify and url is not None else None
    database = Database.open(place)
    folder = database.folder
    assert folder is not None
    names = database.skeleton.names
    stale = None if project is None else staleness(project, folder)
    if arguments.verify and url is None:
        manifest = read_manifest(folder)
        verify_files(folder, manifest)
        verified = len(manifest.checksums)
    if project is None:
        features = tuple(f"{group.joint_name} {group.kind}".strip() for group in load_index(database)[0].schema.groups)
    else:
        features = tuple(f"{spec.joint} {spec.kind}".strip() for spec in project.features)
    return Info(
        name=database.name,
        folder=str(folder) if url is None else shown(url),
        stale=stale is not None and stale.stale,
        staleness=stale,
        rate=database.rate,
        frames=database.frame_count,
        seconds=round(database.duration, 3),
        joints=names,
        roles={role: names[joint] for role, joint in database.skeleton.roles.items()},
        tags={
            tag: round(float((ranges[:, 1] - ranges[:, 0]).sum()) / database.rate, 3)
            for tag, ranges in database.tags.items()
        },
        channels={channel.name: channel.description for channel in CHANNELS},
        features=features,
        megabytes=round(sum(list_files(folder, OWN_FILES).values()) / 1e6, 3),
        verified=verified,
        clips=tuple(
            ClipInfo(c.name, round(c.frame_count / database.rate, 3), c.source, c.mirrored, c.tags, c.licence)
            for c in database.clips
        ),
        licences=tuple(licences_of(database)),
    )


def _is_database(path: Path) -> bool:
    """Whether a path names a database and no project: a URL, or a folder with one that has no project file."""
    from ambulo.database.manifest import MANIFEST
    from ambulo.database.remote.addresses import as_url
    from ambulo.formats.paths import is_file

    return as_url(path) is not None or is_file(path / MANIFEST)


def show(info: Info) -> None:
    """Print it."""
    print(f"{info.name}: {info.folder}")
    if info.staleness is None:
        print("  a database without its project: nothing to compare it with")
    elif info.stale:
        print("  stale; run `ambulo build`:")
        for reason in info.staleness.reasons:
            print(f"    {reason}")
    else:
        print("  up to date")
    mirrored = sum(clip.mirrored for clip in info.clips)
    print(
        f"  {len(info.clips)} clips ({mirrored} mirrored), {info.seconds / 60:.1f} minutes, {info.frames:,} frames at "
        f"{info.rate:g} a second, {len(info.joints)} joints, {info.megabytes:.1f} MB"
    )
    if info.verified is not None:
        print(f"  {info.verified} files hold what was written")
    for use in info.licences:
        if use.licence or use.attribution:
            print(f"  licence: {use.text}")
    print(f"  compared: {', '.join(info.features)}")
    print("  tags (minutes):")
    for tag, seconds in sorted(info.tags.items(), key=lambda item: (-item[1], item[0])):
        print(f"    {tag:<24} {seconds / 60:6.2f}")
    longest = sorted((clip for clip in info.clips if not clip.mirrored), key=lambda clip: -clip.seconds)
    print("  longest clips (seconds):")
    for clip in longest[:10]:
        print(f"    {clip.name:<40} {clip.seconds:7.2f}  {', '.join(clip.tags)}")
