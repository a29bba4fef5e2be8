"""``ambulo fetch``: fetch a known data set and make a project of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ambulo.database.fetch import Fetched

if TYPE_CHECKING:
    from ambulo.database.preset import Preset


@dataclass(frozen=True)
class Arguments:
    """Fetch a known data set and make a project of it: lafan1, 100style, bandai, cmu, or a preset file of your own. Its
    licence is shown, and has to be accepted. A fetch that was broken off goes on where it ended."""

    dataset: str
    """Name of a preset, or a .toml file of your own."""
    to: Path | None = None
    """Folder of the new project; one named after the preset if left out."""
    name: str | None = None
    """Name of the project; the preset's if left out."""
    yes: Annotated[bool, tyro.conf.arg(aliases=["-y"])] = False
    """Accept the licence without being asked."""
    keep: bool = False
    """Leave the downloaded archives in the folder `downloads`."""
    json: bool = False
    """Print one JSON object."""


def run(arguments: Arguments) -> Fetched:
    """Show the licence, ask, fetch."""
    from ambulo.cli.progress import progress_bars
    from ambulo.database.fetch import fetch
    from ambulo.database.preset import load_preset
    from ambulo.errors import ProjectError

    preset = load_preset(arguments.dataset)
    print(_terms(preset), file=sys.stderr)
    if preset.files and not arguments.yes:
        asked = sys.stdin.isatty() and not arguments.json
        if not asked or input("Do you accept these terms? [y/N] ").strip().lower() not in ("y", "yes"):
            raise ProjectError(
                "the licence was not accepted" if asked else "nobody is here to accept the licence",
                key="yes",
                remedy="read it, and add --yes if you accept it",
            )
    with progress_bars() as progress:
        return fetch(
            preset, arguments.to or Path(preset.name), name=arguments.name, progress=progress, keep=arguments.keep
        )


def _terms(preset: Preset) -> str:
    """What one should know before one accepts."""
    flag = " [NON-COMMERCIAL]" if preset.non_commercial else ""
    lines = [preset.title, f"  home: {preset.homepage}" if preset.homepage else ""]
    lines += [f"  licence: {preset.licence}{flag}  {preset.licence_url}".rstrip()]
    lines += [f"    {line}" for line in preset.licence_summary.strip().splitlines()]
    lines += [f"  credit: {preset.attribution}" if preset.attribution else ""]
    for file in preset.files:
        size = f" ({file.size / 1e6:.0f} MB)" if file.size else ""
        check = "checksum known" if file.sha256 else "no checksum known: the first download is believed"
        lines.append(f"  from: {file.url}{size}, {check}")
    lines += [f"  note: {note}" for note in preset.notes]
    return "\n".join(line for line in lines if line)


def show(fetched: Fetched) -> None:
    """Print what came, and what to do next."""
    print(f"{fetched.name}: {fetched.project}")
    print(f"  {fetched.extracted} files in {fetched.takes}")
    for url, file in fetched.files.items():
        how = "as the preset says" if file.trust == "preset" else "believed at first sight, recorded in fetch.lock.json"
        print(f"  {url}: {file.size:,} bytes, sha256 {file.sha256[:16]}... ({how})")
    for pattern in fetched.unmatched:
        print(f"  no file matches {pattern}")
    flag = " [NON-COMMERCIAL]" if fetched.non_commercial else ""
    print(f"  licence: {fetched.licence}{flag}")
    print(f"next: ambulo build {Path(fetched.project).parent}")
