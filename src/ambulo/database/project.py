"""The project file ``ambulo.toml``: which takes, in which units, with which tags, prepared and compared how."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from ambulo.database.annotation_settings import COMPUTED_CHANNELS, NumericChannel, TagSettings
from ambulo.database.feature_spec import DEFAULT_FEATURES, FEATURE_KINDS, JOINT_KINDS, FeatureSpec
from ambulo.database.play_settings import PlaySettings
from ambulo.database.style_spec import StyleSpec
from ambulo.database.take_spec import TakeSpec
from ambulo.database.toml_check import check_keys, line_of, validation_error
from ambulo.errors import FormatError, ProjectError, nearest_names
from ambulo.formats.paths import is_file, is_folder
from ambulo.formats.tag_file import check_tag, is_tag, normalize_tag
from ambulo.prepare.settings import PrepareSettings

PROJECT_FILE = "ambulo.toml"
DATABASE_FOLDER = "database"

TagOrigin = Literal["folder", "name"]


class SourceSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[sources]]`` entry: a folder of takes.

    Attributes:
        path: folder or single file, relative to the project file, or a URL (``s3://bucket/takes``).
        glob: which files in it; ``**`` crosses folders; upper and lower case are the same. A pattern without an
            extension takes files of the motion formats only.
        exclude: patterns of files to leave out, like ``glob``.
        unit: length unit of the files (a name such as ``"centimetre"``, or metres a unit); None guesses by file.
        up: up axis of the files (``"+Y"``, ``"+Z"``); None guesses by file.
        rate: true frames a second where the files lie about it; None believes them.
        skip_first: frames to leave out at the start of every take; 0 leaves the start to the preparation.
        tags: tags that every take of this source carries.
        tags_from: where else tags come from: words of ``folder`` names, words of the file's own ``name``.
        numbers: numeric channel -> value that every take of this source has, where nothing else is said.
        licence: licence of the data, carried into the database.
        attribution: whom to credit, carried along.
        retarget: put takes that are on another skeleton than the target's on that one; else they are left out.
        mapping: mapping file (target joint = source joint or role), relative to the project file; None guesses.
        travel: where the way comes from: ``as_is`` from the file, ``from_feet`` from feet that stand, for clips that
            walk in place.
    """

    path: str
    glob: str = "**/*"
    exclude: tuple[str, ...] = ()
    unit: str | float | None = None
    up: str | None = None
    rate: float | None = None
    skip_first: int = 0
    tags: tuple[str, ...] = ()
    tags_from: tuple[TagOrigin, ...] = ("folder", "name")
    numbers: dict[str, float] = {}
    licence: str = ""
    attribution: str = ""
    retarget: bool = True
    mapping: str | None = None
    travel: Literal["as_is", "from_feet"] = "as_is"


class SkeletonSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[skeleton]`` table: which skeleton all motion is put on.

    Attributes:
        target: a file on it, relative to the project file, or the path of a source; left out, it is the skeleton that
            most of the motion is on.
    """

    target: str | None = None


class Project(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of ``ambulo.toml``.

    Attributes:
        name: the project's name.
        rate: frames a second of the database.
        mirror: add a mirrored copy of every clip, tagged ``mirrored``.
        controllers: controllers that the project is about, the first is the one played by default.
        features: what is compared in a search, and how much each counts.
        sources: folders of takes.
        takes: corrections of single takes.
        skeleton: the target, where motion on several skeletons is put on one.
        roles: humanoid role -> joint name, where detection needs help.
        prepare: constants of the preparation; its ``rate`` always equals the project's.
        channels: numbers that takes are annotated with, and their units.
        tags: which tags exclude each other.
        stylise: takes that are made of others by operators.
        play: tags that are shown or hidden while nothing is asked for.
        folder: where the project file lies; not part of the file.
    """

    name: str = "character"
    rate: float = 60.0
    mirror: bool = True
    controllers: tuple[str, ...] = ("motion_matching",)
    features: tuple[FeatureSpec, ...] = DEFAULT_FEATURES
    sources: tuple[SourceSpec, ...] = ()
    takes: tuple[TakeSpec, ...] = ()
    skeleton: SkeletonSpec = SkeletonSpec()
    roles: dict[str, str] = {}
    prepare: PrepareSettings = PrepareSettings()
    channels: dict[str, NumericChannel] = {}
    tags: TagSettings = TagSettings()
    stylise: tuple[StyleSpec, ...] = ()
    play: PlaySettings = PlaySettings()
    folder: Path = Path()

    @property
    def path(self) -> Path:
        """The project file."""
        return self.folder / PROJECT_FILE

    def take_spec(self, label: str) -> TakeSpec | None:
        """The corrections of a take, by the name that reports call it; None where there are none."""
        label = label.rpartition("@")[0] if self.made_by(label) is not None else label
        return next((spec for spec in self.takes if spec.file == label and spec.clip is None), None)

    def clip_specs(self, number: int, label: str) -> dict[str, TakeSpec]:
        """Name of a clip of a take of a source -> its corrections, of those that have some of their own."""
        label = label.rpartition("@")[0] if self.made_by(label) is not None else label
        first = self.sources[number].skip_first or None
        return {
            spec.clip: spec if spec.start_frame is not None else msgspec.structs.replace(spec, start_frame=first)
            for spec in self.takes
            if spec.file == label and spec.clip is not None
        }

    def made_by(self, label: str) -> StyleSpec | None:
        """The style that makes a take of that name; None for a take that was captured."""
        base, mark, name = label.rpartition("@")
        return next((style for style in self.stylise if mark and base and style.name == name), None)

    def spec_of(self, number: int, label: str) -> TakeSpec | None:
        """The corrections of a take of a source, with the frames that the source skips; None where there are none."""
        spec, first = self.take_spec(label), self.sources[number].skip_first
        if not first or (spec is not None and spec.start_frame is not None):
            return spec
        return msgspec.structs.replace(spec or TakeSpec(file=label), start_frame=first)

    def source_of(self, number: int, label: str) -> SourceSpec:
        """The source of a take, with the rate and the unit that are given for the take itself."""
        source, spec = self.sources[number], self.take_spec(label)
        if spec is None:
            return source
        known = {key: value for key in ("rate", "unit") if (value := getattr(spec, key)) is not None}
        return msgspec.structs.replace(source, **known)

    @property
    def database_folder(self) -> Path:
        """Where the database is built by default."""
        return self.folder / DATABASE_FOLDER


def project_file(path: str | Path) -> Path:
    """The project file of a project's folder, or the file itself.

    Raises:
        ProjectError: there is none.
    """
    from ambulo.database.remote.addresses import as_url, shown

    url = as_url(path)
    if url is not None:
        raise ProjectError(
            f"{shown(url)} is a URL, and projects lie in folders of this machine",
            remedy="name the project's folder; a database there is named by --folder, or asked by `ambulo info`",
        )
    path = Path(path)
    folder = is_folder(path)
    file = path / PROJECT_FILE if folder else path
    if not is_file(file):
        what = "has no ambulo.toml" if folder else "does not exist, or may not be read"
        raise ProjectError(what, path=path, remedy=f"make a project with `ambulo new {path} --from FOLDER_OF_TAKES`")
    return file


def load_project(path: str | Path) -> Project:
    """Read ``ambulo.toml``, strictly.

    Args:
        path: the project's folder, or the file.

    Raises:
        ProjectError: the file is missing, no TOML, or has a key, name or value that is not known; with the line where
            it can be found and the nearest valid names.
    """
    file = project_file(path)
    try:
        text = file.read_bytes().decode("utf-8-sig")
        data = tomllib.loads(text)
    except UnicodeDecodeError:
        raise ProjectError("is not UTF-8 text", path=file, remedy="save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        message, line = _split_toml_error(str(error))
        raise ProjectError(f"is not TOML: {message}", path=file, line=line) from None
    except (ValueError, RecursionError):  # what Python's reader does not foresee
        raise ProjectError(
            "cannot be read: it has a number of thousands of digits, or hundreds of brackets in each other", path=file
        ) from None
    except OSError as error:
        raise ProjectError(f"cannot be read: {error.strerror}", path=file) from None
    if "folder" in data:
        raise ProjectError("unknown key 'folder'", path=file, line=line_of(text, ("folder",)), key="folder")
    check_keys(data, Project, text, file)
    if isinstance(data.get("prepare"), dict) and "rate" in data["prepare"]:
        raise ProjectError(
            "the rate belongs to the top of the file, not into [prepare]",
            path=file,
            line=line_of(text, ("prepare", "rate")),
            key="prepare.rate",
        )
    try:
        project = msgspec.convert(data, Project, strict=True)
    except msgspec.ValidationError as error:
        raise validation_error(error, text, file) from None
    prepare = msgspec.structs.replace(project.prepare, rate=project.rate)
    project = msgspec.structs.replace(project, prepare=prepare, folder=file.parent)
    check_values(project, text, file)
    return project


def _split_toml_error(message: str) -> tuple[str, int | None]:
    head, found, tail = message.partition(" (at line ")
    return (head, int(tail.split(",")[0])) if found else (message, None)


def check_values(project: Project, text: str, file: Path) -> None:
    """Refuse values that no project can have, with their line in the text."""
    from ambulo.formats.axes import parse_up
    from ambulo.formats.units import parse_unit
    from ambulo.motion.humanoid import ALL_ROLES

    def fail(message: str, *place: str | int, remedy: str | None = None) -> ProjectError:
        key = ".".join(str(part) for part in place if isinstance(part, str))
        return ProjectError(message, path=file, line=line_of(text, place), key=key, remedy=remedy)

    if not (math.isfinite(project.rate) and 1.0 <= project.rate <= 1000.0):
        raise fail(f"a rate of {project.rate:g} frames a second is not possible", "rate", remedy="60 is usual")
    fault = project.prepare.fault()
    if fault is not None:
        raise fail(fault[1], "prepare", fault[0], remedy="leave the key out for the usual value")
    if not project.sources:
        raise fail("the project names no takes", "sources", remedy="add a [[sources]] table with a path")
    for role in project.roles:
        if role not in ALL_ROLES:
            raise fail(f"{role!r} is not a role", "roles", role, remedy=nearest_names(role, ALL_ROLES))
    for key in ("default_tags", "opt_in_tags"):
        for tag in getattr(project.play, key):
            check_tag(tag, path=file, line=line_of(text, ("play", key)))
    for name, channel in project.channels.items():
        if normalize_tag(name) != name or not is_tag(name):
            raise fail(f"{name!r} cannot be the name of a channel", "channels", name, remedy="such as fatigue")
        if name in COMPUTED_CHANNELS:
            raise fail(f"{name!r} is computed from the motion", "channels", name, remedy="choose another name")
        limits = [limit for limit in (channel.minimum, channel.maximum) if limit is not None]
        if not all(map(math.isfinite, limits)) or limits != sorted(limits):
            raise fail("the limits are not possible", "channels", name, remedy="minimum and maximum in this order")
    for group in project.tags.exclusive:
        for tag in group:
            check_tag(tag, path=file, line=line_of(text, ("tags", "exclusive")))
    for number, style in enumerate(project.stylise):
        twice = style.name in {other.name for other in project.stylise[:number]}
        wrong_style = ("name", f"two styles are called {style.name!r}") if twice else style.fault()
        if wrong_style is not None:
            remedy = "correct it in the [[stylise]] table; each operator's range is in the guide to stylisation"
            raise fail(wrong_style[1], "stylise", number, wrong_style[0], remedy=remedy)
        for key in ("tags", "of_tags", "without"):
            for tag in getattr(style, key):
                check_tag(tag, path=file, line=line_of(text, ("stylise", number, key)))
    known: set[tuple[str, str | None]] = set()
    for number, spec in enumerate(project.takes):
        named = f"{spec.file!r}" if spec.clip is None else f"the clip {spec.clip!r} of {spec.file!r}"
        twice = (spec.file, spec.clip) in known
        wrong_take = ("file", f"{named} has two [[takes]] entries") if twice else spec.fault()
        if wrong_take is not None:
            raise fail(wrong_take[1], "takes", number, wrong_take[0], remedy="correct or remove the table")
        known.add((spec.file, spec.clip))
    for number, source in enumerate(project.sources):
        for name, value in source.numbers.items():
            at = ("sources", number, "numbers", name)
            if name not in project.channels:
                raise fail(f"{name!r} is not declared in [channels]", *at, remedy=nearest_names(name, project.channels))
            wrong = "not a number" if not math.isfinite(value) else project.channels[name].fault(value)
            if wrong is not None:
                raise fail(f"{name} is {wrong}", *at)
        for tag in source.tags:
            check_tag(tag, path=file, line=line_of(text, ("sources", number, "tags")))
        if source.skip_first < 0:
            message = f"{source.skip_first} frames cannot be skipped"
            raise fail(message, "sources", number, "skip_first", remedy="give 0 or more")
        if source.rate is not None and not (math.isfinite(source.rate) and source.rate > 0):
            raise fail(f"a rate of {source.rate:g} frames a second is not possible", "sources", number, "rate")
        try:
            if source.unit is not None:
                parse_unit(source.unit)
            if source.up is not None:
                parse_up(source.up)
        except FormatError as error:
            raise fail(error.message, "sources", number, error.key or "unit", remedy=error.remedy) from None
    if not project.features:
        raise fail("the list of features is empty", "features", remedy="leave the key out for the default ones")
    for number, feature in enumerate(project.features):
        place = ("features", number, "kind")
        if feature.kind not in FEATURE_KINDS:
            raise fail(
                f"{feature.kind!r} is no kind of feature", *place, remedy=nearest_names(feature.kind, FEATURE_KINDS)
            )
        if feature.kind in JOINT_KINDS and not feature.joint:
            raise fail(f"a {feature.kind} feature needs a joint", *place, remedy='for example joint = "left_foot"')
        if feature.kind == "number":
            if not feature.channel:
                raise fail("a number feature needs a channel", *place, remedy='for example channel = "fatigue"')
        elif feature.kind not in JOINT_KINDS and not feature.times:
            raise fail(f"a {feature.kind} feature needs times", *place, remedy="for example times = [0.33, 0.67, 1.0]")
        if not (math.isfinite(feature.weight) and feature.weight >= 0):
            raise fail(f"a weight of {feature.weight:g} is not possible", "features", number, "weight")
