"""Presets of data sets: where they are, under which licence, and how a project reads them. Data, one TOML file each."""

from __future__ import annotations

import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from ambulo.database.cut_table import CutTable, read_cuts
from ambulo.database.discover import source_of
from ambulo.database.licences import is_non_commercial
from ambulo.database.play_settings import PlaySettings
from ambulo.database.project import Project, TagOrigin, check_values
from ambulo.database.takes import compile_glob, walk_files
from ambulo.database.toml_check import check_keys, line_of, validation_error
from ambulo.errors import ProjectError, nearest_names
from ambulo.formats.paths import is_file
from ambulo.prepare.settings import PrepareSettings

PRESETS = Path(__file__).parent / "presets"
"""The presets that come with ambulo."""


class PresetFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file to fetch.

    Attributes:
        url: http or https.
        name: what it is called on the disk; the last part of the address where left out.
        sha256: its checksum, where one is known; else the first download's is recorded and held to.
        size: its bytes, where known.
        members: patterns of what to take out of an archive, like a source's ``glob``.
        strip: folders to drop from the front of members' paths.
    """

    url: str
    name: str = ""
    sha256: str = ""
    size: int | None = None
    members: tuple[str, ...] = ("**",)
    strip: int = 0

    @property
    def file_name(self) -> str:
        """What it is called on the disk."""
        return self.name or Path(urlsplit(self.url).path).name


class PresetSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[sources]]`` entry to be, without its path; see :class:`~ambulo.database.project.SourceSpec`."""

    glob: str = "**/*"
    exclude: tuple[str, ...] = ()
    unit: str | float | None = None
    up: str | None = None
    rate: float | None = None
    skip_first: int = 0
    tags: tuple[str, ...] = ()
    tags_from: tuple[TagOrigin, ...] = ("folder", "name")


class PresetProject(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What of a project is known beforehand.

    Attributes:
        rate: frames a second of the database.
        mirror: add a mirrored copy of every clip.
        sources: how groups of files are read; those that match no file are left out.
        roles: humanoid role -> joint name, where detection needs help.
        prepare: constants of the preparation.
        play: tags that are shown or hidden while nothing is asked for.
        cuts: a table that comes with the takes and says which frames to use.
    """

    rate: float = 60.0
    mirror: bool = True
    cuts: CutTable | None = None
    sources: tuple[PresetSource, ...] = (PresetSource(),)
    roles: dict[str, str] = {}
    prepare: PrepareSettings = PrepareSettings()
    play: PlaySettings = PlaySettings()


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A data set.

    Attributes:
        title: its name in full.
        licence: name of its licence, of the SPDX list where it is there.
        licence_url: where the licence can be read.
        licence_summary: what it allows, in a few lines.
        attribution: whom to credit.
        homepage: where the data set is described.
        notes: what one should know.
        files: what to fetch.
        project: how to read it.
        name: short name, that of the preset's file; not part of the file.
    """

    title: str
    licence: str
    licence_url: str = ""
    licence_summary: str = ""
    attribution: str = ""
    homepage: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[PresetFile, ...] = ()
    project: PresetProject = PresetProject()
    name: str = ""

    @property
    def non_commercial(self) -> bool:
        """The licence's words forbid use for money."""
        return is_non_commercial(f"{self.licence} {self.licence_summary if not self.licence else ''}")


def preset_names() -> list[str]:
    """Names of the presets that come with ambulo."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def load_preset(name: str | Path) -> Preset:
    """A preset by name, or from a file of one's own.

    Raises:
        ProjectError: there is none of that name, or the file has a key or value that is not known; with the line.
    """
    own = Path(name)
    if own.suffix.lower() == ".toml" or is_file(own):
        path = own
    elif str(name).lower() in preset_names():
        path = PRESETS / f"{str(name).lower()}.toml"
    else:
        raise ProjectError(
            f"there is no preset {str(name)!r}; {nearest_names(str(name), preset_names())}",
            key="preset",
            remedy="give one of these names, or a .toml file of your own",
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
        data = tomllib.loads(text)
    except OSError as error:
        raise ProjectError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise ProjectError("is not UTF-8 text", path=path, remedy="save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ProjectError(f"is not TOML: {error}", path=path) from None
    if "name" in data:
        raise ProjectError("unknown key 'name'", path=path, line=line_of(text, ("name",)), key="name")
    check_keys(data, Preset, text, path)
    try:
        preset = msgspec.convert(data, Preset, strict=True)
    except msgspec.ValidationError as error:
        raise validation_error(error, text, path) from None
    _check_files(preset, text, path)
    return msgspec.structs.replace(preset, name=path.stem)


def _check_files(preset: Preset, text: str, path: Path) -> None:
    for number, file in enumerate(preset.files):

        def fail(message: str, key: str, remedy: str, number: int = number) -> ProjectError:
            line = line_of(text, ("files", number, key))
            return ProjectError(message, path=path, line=line, key=f"files.{key}", remedy=remedy)

        if urlsplit(file.url).scheme not in ("http", "https"):
            raise fail(f"{file.url!r} is no address of the web", "url", "it begins with https:// or http://")
        if not file.file_name or file.file_name in (".", "..") or set(file.file_name) & set('/\\:*?"<>|\0'):
            raise fail(f"{file.file_name!r} is no name of a file", "name", "give a name without folders")
        if file.sha256 and (len(file.sha256) != 64 or set(file.sha256.lower()) - set("0123456789abcdef")):
            raise fail("a SHA-256 checksum has 64 hexadecimal digits", "sha256", "leave it out if it is not known")
        if file.strip < 0 or (file.size is not None and file.size < 0):
            raise fail("neither strip nor size can be negative", "strip", "give 0 or more")


def apply_preset(preset: Preset, takes: Path, folder: Path, name: str) -> tuple[Project, list[str]]:
    """The project that a preset makes of a folder of takes.

    Args:
        preset: the preset.
        takes: where the takes are.
        folder: where the project will be.
        name: of the project.

    Returns:
        The project, and the patterns of the preset that no file matches.

    Raises:
        ProjectError: no file matches any pattern, or a value of the preset is not possible.
    """
    files = [relative for relative, _, _ in walk_files(takes)]
    base = source_of(takes, folder)
    sources = []
    unmatched = []
    for entry in preset.project.sources:
        wanted, unwanted = compile_glob(entry.glob), [compile_glob(pattern) for pattern in entry.exclude]
        if any(wanted.fullmatch(file) and not any(out.fullmatch(file) for out in unwanted) for file in files):
            known = {key: getattr(entry, key) for key in entry.__struct_fields__}
            known |= {"licence": preset.licence, "attribution": preset.attribution}
            sources.append(msgspec.structs.replace(base, **known))
        else:
            unmatched.append(entry.glob)
    if not sources:
        listed = ", ".join(unmatched[:6])
        raise ProjectError(
            f"none of its {len(files)} files is one that the preset {preset.name!r} knows ({listed})",
            path=takes,
            key="preset",
            remedy="check the folder, or make the project without a preset",
        )
    project = Project(
        name=name,
        rate=preset.project.rate,
        mirror=preset.project.mirror,
        sources=tuple(sources),
        roles=dict(preset.project.roles),
        prepare=msgspec.structs.replace(preset.project.prepare, rate=preset.project.rate),
        play=preset.project.play,
        folder=folder,
    )
    if preset.project.cuts is not None:
        project = msgspec.structs.replace(project, takes=read_cuts(preset.project.cuts, takes, project))
    check_values(project, "", folder / "ambulo.toml")
    return project, unmatched
