"""The project file: strict, with line and nearest names; written text reads back as the same project."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.database.annotation_settings import NumericChannel, TagSettings
from ambulo.database.feature_spec import DEFAULT_FEATURES, JOINT_KINDS, TRAJECTORY_KINDS, FeatureSpec
from ambulo.database.project import Project, SourceSpec, load_project
from ambulo.database.project_text import project_text, write_project
from ambulo.errors import ProjectError
from ambulo.prepare.settings import PrepareSettings

MINIMAL = '[[sources]]\npath = "takes"\n'


def load(folder: Path, text: str) -> Project:
    (folder / "ambulo.toml").write_text(text, encoding="utf-8")
    return load_project(folder)


def test_a_minimal_project_has_the_defaults(tmp_path: Path) -> None:
    project = load(tmp_path, MINIMAL)
    assert project.rate == 60.0 and project.mirror and project.features == DEFAULT_FEATURES
    assert project.sources == (SourceSpec(path="takes"),)
    assert project.sources[0].tags_from == ("folder", "name")


def test_every_kind_of_feature_can_be_asked_for(tmp_path: Path) -> None:
    rows = [f'{{ kind = "{kind}", joint = "hips" }}' for kind in JOINT_KINDS]
    rows += [f'{{ kind = "{kind}", times = [0.5] }}' for kind in TRAJECTORY_KINDS]
    project = load(tmp_path, f"features = [{', '.join(rows)}]\n" + MINIMAL)
    assert [feature.kind for feature in project.features] == [*JOINT_KINDS, *TRAJECTORY_KINDS]
    assert project.database_folder == tmp_path / "database"
    assert load_project(tmp_path / "ambulo.toml") == project


def test_the_rate_reaches_the_preparation(tmp_path: Path) -> None:
    project = load(tmp_path, "rate = 30\n" + MINIMAL + "[prepare]\ncontact_speed = 0.2\n")
    assert project.prepare == PrepareSettings(rate=30.0, contact_speed=0.2)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("rate = 60\nmiror = true\n" + MINIMAL, 2, "unknown key 'miror' | did you mean 'mirror'?"),
        (MINIMAL + 'globb = "*"\n', 3, "unknown key 'globb' in [sources] | did you mean 'glob'?"),
        ('[[sources]]\npath = "a"\n\n[[sources]]\npath = "b"\nunits = "cm"\n', 6, "did you mean 'unit'?"),
        (
            'features = [\n  { kind = "position", joint = "hips" },\n  { kind = "velocity", jiont = "hips" },\n]\n'
            + MINIMAL,
            3,
            "'joint'",
        ),
        (MINIMAL + "[prepare]\ncontact_sped = 0.1\n", 4, "did you mean 'contact_speed'"),
        (MINIMAL + "[prepare]\nposition_window = nan\n", 4, "nan is not possible"),
        (MINIMAL + "[prepare]\ncontact_window = 1e300\n", 4, "1e+300 is not possible"),
        (MINIMAL + "[prepare]\ncontact_speed = -1.0\n", 4, "-1 is not possible"),
        (MINIMAL + "[prepare]\nsmoothing_order = 99\n", 4, "99 is not possible"),
        ("prepare = 3\n" + MINIMAL, 1, "expected object, got int"),
        ("rate = " + "9" * 5000 + "\n" + MINIMAL, None, "thousands of digits"),
        ("name = " + "[" * 3000 + "]" * 3000 + "\n" + MINIMAL, None, "brackets in each other"),
        (MINIMAL + "[prepare]\nrate = 30\n", 4, "the rate belongs to the top"),
        (MINIMAL + '[roles]\nleft_fot = "LeftFoot"\n', 4, "did you mean 'left_foot'"),
        ('rate = "fast"\n' + MINIMAL, 1, "expected float, got str"),
        ("rate = 0\n" + MINIMAL, 1, "0 frames a second is not possible"),
        ("rate = nan\n" + MINIMAL, 1, "not possible"),
        (MINIMAL + 'tags = ["a b", "c/d"]\n', 3, "'c/d' cannot be a tag"),
        (MINIMAL + 'unit = "furlong"\n', 3, "no unit is called 'furlong'"),
        (MINIMAL + 'up = "w"\n', 3, "no up axis is called 'w'"),
        (MINIMAL + "rate = -1\n", 3, "-1 frames a second"),
        (MINIMAL + 'tags_from = ["nmae"]\n', 3, "invalid enum value"),
        ('features = [\n  { kind = "positoin", joint = "hips" },\n]\n' + MINIMAL, 2, "did you mean 'position'"),
        ('features = [\n  { kind = "position" },\n]\n' + MINIMAL, 2, "needs a joint"),
        ('features = [\n  { kind = "trajectory_position" },\n]\n' + MINIMAL, 2, "needs times"),
        ("features = []\n" + MINIMAL, 1, "is empty"),
        ('name = "a"\nname = "b"\n', 2, "is not TOML"),
        ('name = "a\n', 1, "is not TOML"),
        ('folder = "a"\n' + MINIMAL, 1, "unknown key 'folder'"),
        (MINIMAL + "mirror = false\n", 3, "belongs to the top of the file, above the first [table]"),
    ],
)
def test_errors_name_line_and_remedy(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    with pytest.raises(ProjectError) as caught:
        load(tmp_path, text)
    assert caught.value.path == tmp_path / "ambulo.toml"
    assert words in str(caught.value)
    assert caught.value.line == line


def test_a_project_without_takes_or_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="names no takes"):
        load(tmp_path, 'name = "a"\n')
    with pytest.raises(ProjectError, match=r"has no ambulo\.toml"):
        load_project(tmp_path.parent)
    with pytest.raises(ProjectError, match="does not exist"):
        load_project(tmp_path / "nowhere")


words = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12)
tag_lists = st.lists(st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True), max_size=3).map(tuple)
sources = st.builds(
    SourceSpec,
    path=words,
    glob=words,
    exclude=st.lists(words, max_size=2).map(tuple),
    unit=st.one_of(st.none(), st.sampled_from(["metre", "cm", "cmu"]), st.floats(1e-4, 100)),
    up=st.sampled_from([None, "+Y", "+Z"]),
    rate=st.one_of(st.none(), st.floats(1, 1000)),
    tags=tag_lists,
    tags_from=st.sampled_from([(), ("name",), ("folder", "name")]),
    licence=words,
    attribution=words,
)
channel_names = st.from_regex(r"[a-z\u00e9][a-z0-9_-]{0,6}", fullmatch=True)
channels = st.builds(
    NumericChannel,
    unit=words,
    description=words,
    minimum=st.none() | st.floats(-1e6, 0),
    maximum=st.none() | st.floats(1, 1e6),
    mirrored=st.sampled_from(["same", "negated"]),
)
projects = st.builds(
    Project,
    channels=st.dictionaries(channel_names, channels, max_size=2),
    tags=st.builds(TagSettings, exclusive=st.lists(tag_lists, max_size=2).map(tuple)),
    name=words,
    rate=st.floats(1, 1000),
    mirror=st.booleans(),
    features=st.just((FeatureSpec("velocity", "hips", 0.3), FeatureSpec("trajectory_position", "", 2.0, (0.1, 1.0)))),
    sources=st.lists(sources, min_size=1, max_size=3).map(tuple),
    roles=st.dictionaries(st.sampled_from(["hips", "left_foot"]), words),
)


def with_numbers(project: Project) -> Project:
    """Every source says a number of every channel."""
    numbers = {name: 0.5 if channel.minimum else 1.0 for name, channel in project.channels.items()}
    sources = tuple(msgspec.structs.replace(source, numbers=numbers) for source in project.sources)
    return msgspec.structs.replace(project, sources=sources)


@given(projects.map(with_numbers))
def test_written_projects_read_back_the_same(tmp_path_factory: pytest.TempPathFactory, project: Project) -> None:
    folder = tmp_path_factory.mktemp("project")
    prepare = msgspec.structs.replace(project.prepare, rate=project.rate)
    assert load(folder, project_text(project)) == msgspec.structs.replace(project, prepare=prepare, folder=folder)


def test_what_was_found_is_written_as_comments_that_can_be_uncommented(tmp_path: Path) -> None:
    project = Project(name="mine", sources=(SourceSpec(path="takes"),))
    write_project(
        project,
        tmp_path,
        source_notes={0: ["3 files found"]},
        source_guesses={0: {"unit": "cmu", "up": "+Z", "rate": 120.0}},
        detected_roles={"hips": "Hips"},
    )
    text = (tmp_path / "ambulo.toml").read_text()
    assert "# 3 files found" in text
    assert load_project(tmp_path).sources == project.sources
    for key in ("unit", "up", "rate", "hips"):
        text = text.replace(f"# {key} = ", f"{key} = ")
    changed = load(tmp_path, text)
    assert (changed.sources[0].unit, changed.sources[0].up, changed.sources[0].rate) == ("cmu", "+Z", 120.0)
    assert changed.roles == {"hips": "Hips"}


def test_a_project_is_never_overwritten(tmp_path: Path) -> None:
    project = Project(sources=(SourceSpec(path="takes"),))
    write_project(project, tmp_path)
    before = (tmp_path / "ambulo.toml").read_bytes()
    assert "/database*" in (tmp_path / ".gitignore").read_text().splitlines()
    with pytest.raises(ProjectError, match="already"):
        write_project(project, tmp_path)
    assert (tmp_path / "ambulo.toml").read_bytes() == before
