"""One take on another machine: used where it lies if that machine sees the same files, else with its files sent along.

Either way the record and the frames are those of a local build, byte for byte.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ambulo.database.fingerprints import FRAME_ROOMS, code_fingerprint
from ambulo.database.prepare_jobs import JobResult, PrepareJob, run_job
from ambulo.database.records import TakeRecord
from ambulo.errors import DatabaseError

TOKEN = "token"
"""File beside the jobs' outputs by which a worker sees that it shares the file system of the build."""


class Stamped(NamedTuple):
    """A file that a job reads, and what it looks like where the build runs: size, time of change."""

    path: Path
    size: int
    modified_ns: int


class Shipment(NamedTuple):
    """A job with what another machine needs to know to do the same.

    Attributes:
        job: the job.
        inputs: files that it reads.
        token: content of :data:`TOKEN`.
        code: fingerprint of the code that prepares; another version would give other frames.
    """

    job: PrepareJob
    inputs: tuple[Stamped, ...]
    token: str
    code: str


class Shipped(NamedTuple):
    """What came of a shipment.

    Attributes:
        result: of the job; None where the files must be sent along first.
        frames: the output file, where the worker could not write it in its place.
    """

    result: JobResult | None
    frames: bytes | None = None


def pack(job: PrepareJob, token: str) -> Shipment:
    """The shipment of a job."""
    from ambulo.formats.registry import companion_files

    paths = [job.path, *companion_files(job.path)]
    if job.target is not None:
        paths += [job.target.path, *companion_files(job.target.path)]
    if job.mapping is not None:
        paths.append(job.mapping)
    stamps = []
    for path in dict.fromkeys(paths):
        try:
            info = path.stat()
        except OSError:  # the preparation says of which take it is missing
            continue
        stamps.append(Stamped(path, info.st_size, info.st_mtime_ns))
    return Shipment(job, tuple(stamps), token, code_fingerprint(FRAME_ROOMS))


def contents(shipment: Shipment) -> dict[Path, bytes]:
    """The files of a shipment, to be sent along. One that cannot be read is left to the worker to miss."""
    found = {}
    for stamped in shipment.inputs:
        try:
            found[stamped.path] = stamped.path.read_bytes()
        except OSError:
            continue
    return found


def unpack_and_run(shipment: Shipment, files: dict[Path, bytes] | None = None) -> Shipped:
    """Do the job of a shipment, on whatever machine this is. Doing it twice does no harm.

    Args:
        shipment: what to do.
        files: content of its files; None tries to find them in their places.

    Raises:
        DatabaseError: this machine has another version of ambulo.
        OSError: the frames cannot be written.
    """
    if shipment.code != code_fingerprint(FRAME_ROOMS):
        raise DatabaseError(
            "a worker has another version of ambulo than the build",
            key="engine",
            remedy="install the same version on every machine of the cluster",
        )
    if files is None and not all(map(_is_here, shipment.inputs)):
        return Shipped(None)
    with tempfile.TemporaryDirectory(prefix="ambulo-") as name:
        folder = Path(name)
        job = shipment.job if files is None else _place(shipment.job, files, folder)
        output = shipment.job.output
        if _shares_output(shipment):
            own = output.with_name(f"{output.name}.{os.getpid()}")
            result = run_job(job._replace(output=own))
            if own.exists():
                own.replace(output)  # whole or not at all: the same job may run twice
            return Shipped(_with_own_paths(result, folder))
        own = folder / "frames.safetensors"
        result = run_job(job._replace(output=own))
        return Shipped(_with_own_paths(result, folder), own.read_bytes() if own.exists() else None)


def _is_here(stamped: Stamped) -> bool:
    try:
        info = stamped.path.stat()
    except OSError:
        return False
    return (info.st_size, info.st_mtime_ns) == (stamped.size, stamped.modified_ns)


def _shares_output(shipment: Shipment) -> bool:
    try:
        return (shipment.job.output.parent / TOKEN).read_text() == shipment.token
    except OSError:
        return False


def _place(job: PrepareJob, files: dict[Path, bytes], folder: Path) -> PrepareJob:
    """Write the files below a folder, as they lie to each other; returns the job that reads them there."""

    def below(path: Path) -> Path:
        return folder / "files" / path.relative_to(path.anchor) if path.anchor else folder / "files" / path

    for path, data in files.items():
        below(path).parent.mkdir(parents=True, exist_ok=True)
        below(path).write_bytes(data)
    target = None if job.target is None else job.target._replace(path=below(job.target.path))
    mapping = None if job.mapping is None else below(job.mapping)
    return job._replace(path=below(job.path), target=target, mapping=mapping)


def _with_own_paths(result: JobResult, folder: Path) -> JobResult:
    """The result, where errors name files as the build knows them."""
    prefix = str(folder / "files")
    record = msgspec.json.decode(msgspec.json.encode(result.record))
    if prefix not in str(record):
        return result
    return result._replace(record=msgspec.convert(_renamed(record, prefix), TakeRecord))


def _renamed(value: Any, prefix: str) -> Any:
    if isinstance(value, str):
        return value.replace(prefix, "")
    if isinstance(value, list):
        return [_renamed(item, prefix) for item in value]
    if isinstance(value, dict):
        return {key: _renamed(item, prefix) for key, item in value.items()}
    return value
