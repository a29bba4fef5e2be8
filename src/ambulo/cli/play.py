"""``ambulo play``: steer the character in the browser."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Arguments:
    """Open the studio: a page in the browser in which you steer the character by keyboard or gamepad."""

    projects: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of built projects; the first is opened, the page can switch to the others."""
    controller: str | None = None
    """Controller to begin with; the first that the first project names if left out."""
    fallback: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction] = ()
    """Another built project, which answers what these cannot; may be given several times, in this order."""
    port: int = 0
    """Port on the loopback interface; 0 takes a free one."""
    no_browser: bool = False
    """Only print the address; open no browser."""
    frozen: bool = False
    """Play the databases as they are: do not build them again when files change, and take no dropped files."""
    json: bool = False
    """Print one JSON object with the address once the studio is ready."""


def run(arguments: Arguments) -> None:
    """Serve until interrupted; the address is printed (and the browser opened) once steps are compiled."""
    try:
        from ambulo.studio import server
    except ModuleNotFoundError as error:
        from ambulo.errors import StudioError, install_remedy

        raise StudioError(
            f"the studio needs the package {error.name}", key=error.name, remedy=install_remedy("studio")
        ) from error
    from ambulo.studio.launch import check_projects, make_session, project_places

    server.static_folder()
    places = project_places(arguments.projects)
    # A port that is taken is no reason to wait for a minute first.
    listener = server.bind(arguments.port)
    try:
        check_projects(arguments.projects)
        print("getting ready (the first time, the controller is compiled: up to a minute)", file=sys.stderr, flush=True)
        session = make_session(arguments.projects, controller=arguments.controller, fallback=arguments.fallback)
    except BaseException:
        listener.close()
        raise
    host, port = listener.getsockname()[:2]
    address = f"http://{host}:{port}/"
    app = server.create_app(session, port=port, places=None if arguments.frozen else places)
    _announce(arguments, session.projects, address)
    if not arguments.no_browser:
        import webbrowser

        if not webbrowser.open(address):
            print(f"no browser could be opened; open {address} yourself", file=sys.stderr)
    server.serve(app, listener)


def show(result: None) -> None:
    """Nothing is left to say once the studio has closed."""


def _announce(arguments: Arguments, projects: list[str], address: str) -> None:
    if arguments.json:
        import msgspec

        print(msgspec.json.encode({"url": address, "projects": projects}).decode(), flush=True)
    else:
        print(f"{', '.join(projects)}: {address}  (Ctrl+C ends)", flush=True)
