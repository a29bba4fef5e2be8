"""``ambulo status``: what of a project's database is stale and why, file by file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ambulo.database.status import ProjectStatus


@dataclass(frozen=True)
class Arguments:
    """Say what of a project's database is stale and why, file by file, and what to do."""

    project: Path
    """Folder of the project, or its ambulo.toml."""
    folder: Path | None = None
    """Folder or URL of its database, where it was built elsewhere with `build --folder`."""
    takes: bool = False
    """List the names of all takes too."""
    json: bool = False
    """Print one JSON object."""


def run(arguments: Arguments) -> ProjectStatus:
    """Compare the project with its database."""
    import msgspec

    from ambulo.database.project import load_project
    from ambulo.database.remote.addresses import as_url, shown
    from ambulo.database.remote.databases import fetch_database
    from ambulo.database.status import project_status

    project = load_project(arguments.project)
    url = None if arguments.folder is None else as_url(arguments.folder)
    status = project_status(project, arguments.folder if url is None else fetch_database(url))
    if url is not None:
        status = msgspec.structs.replace(status, folder=shown(url))
    return status if arguments.takes else msgspec.structs.replace(status, names=())


def show(status: ProjectStatus) -> None:
    """Print it."""
    state = "not built" if not status.built else "stale" if status.stale else "up to date"
    by = f", built by ambulo {status.built_by}" if status.built_by else ""
    print(f"{status.project}: {status.folder} is {state} ({status.takes} takes{by})")
    for reason in status.reasons:
        print(f"  {reason}")
    for setting in status.settings:
        print(f"    {setting.key}: {_short(setting.before)} -> {_short(setting.now)}")
    width = max((len(entry.state) for entry in status.files), default=0)
    for entry in status.files[:60]:
        where = entry.file if entry.line is None else f"{entry.file}:{entry.line}"
        print(f"  {entry.state:<{width}}  {where}: {entry.why}")
        if entry.remedy:
            print(f"{'':{width + 4}}-> {entry.remedy}")
    if len(status.files) > 60:
        print(f"  ... and {len(status.files) - 60} more files (see --json)")
    print(f"  -> {status.remedy}")
    for name in status.names:
        print(f"  {name}")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
