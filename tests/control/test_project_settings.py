"""The project file says which tags are shown while nothing is asked for."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ambulo.control.frame_sets import FrameSets
from ambulo.control.project_settings import project_controller, project_settings
from ambulo.control.settings import ControlSettings, SearchSettings
from ambulo.database.database import Database
from ambulo.database.fingerprints import project_content
from ambulo.database.play_settings import PlaySettings
from ambulo.database.project import Project, SourceSpec, load_project
from ambulo.database.project_text import write_project
from ambulo.errors import ProjectError
from ambulo.matching.index import SearchIndex

PLAY = PlaySettings(default_tags=("neutral",), opt_in_tags=("jump", "sit"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(Project(name="x", sources=(SourceSpec(path="takes"),), play=PLAY), tmp_path)
    return tmp_path


@pytest.mark.parametrize("place", ["", "ambulo.toml", "database"])
def test_tags_come_from_the_project_file(project: Path, place: str) -> None:
    (project / "database").mkdir()
    search = project_settings(project / place).search
    assert search.default_tags == ("neutral",)
    assert search.opt_in_tags == ("jump", "sit")


def test_other_settings_stay(project: Path) -> None:
    base = ControlSettings(search=SearchSettings(interval=0.25))
    assert project_settings(project, base).search.interval == 0.25


def test_without_a_project_nothing_changes(tmp_path: Path) -> None:
    base = ControlSettings()
    assert project_settings(tmp_path / "nowhere" / "database", base) is base


def test_a_tag_that_cannot_be_one_is_refused_with_its_line(project: Path) -> None:
    file = project / "ambulo.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('"neutral"', '"!"'), encoding="utf-8")
    with pytest.raises(ProjectError, match=r"ambulo.toml:\d+: '!' cannot be a tag"):
        project_settings(project)


def test_a_default_tag_that_nothing_carries_is_refused(project: Path) -> None:
    assert project_settings(project, known_tags=["neutral", "old"]).search.default_tags == ("neutral",)
    with pytest.raises(ProjectError, match=r"'neutral'.*natural") as caught:
        project_settings(project, known_tags=["natural", "old"])
    assert (caught.value.path, caught.value.key) == (project / "ambulo.toml", "play.default_tags")


def test_the_first_controller_of_the_project_plays_it(project: Path, tmp_path: Path) -> None:
    file = project / "ambulo.toml"
    text = file.read_text(encoding="utf-8")
    assert project_controller(project) == project_controller(tmp_path / "nowhere" / "database") == "motion_matching"
    file.write_text(text.replace('["motion_matching"]', '["blocks", "motion_matching"]'), encoding="utf-8")
    assert project_controller(project) == "blocks"
    file.write_text(text.replace('["motion_matching"]', "[]"), encoding="utf-8")
    assert project_controller(project) == "motion_matching"
    file.write_text(text.replace('["motion_matching"]', '["block"]'), encoding="utf-8")
    with pytest.raises(ProjectError, match="'block'") as caught:
        project_controller(project)
    assert "'blocks'" in str(caught.value.remedy)
    assert (caught.value.path, caught.value.key) == (file, "controllers")


def test_play_settings_are_no_part_of_the_database(project: Path) -> None:
    loaded = load_project(project)
    other = msgspec.structs.replace(loaded, play=PlaySettings(), controllers=("blocks",))
    assert project_content(loaded) == project_content(other)


def test_opt_in_tags_give_way_where_there_is_nothing_else(database: Database, index: SearchIndex) -> None:
    some = FrameSets(database, index, SearchSettings(default_tags=(), opt_in_tags=("run",)), 0.75)
    running = database.mask(("run",))
    assert not some.of((), ()).allowed[running].any()
    assert some.of(("run",), ()).allowed[running].any()
    every = tuple(tag for tag in database.tags if tag != "junk")
    alone = FrameSets(database, index, SearchSettings(default_tags=(), opt_in_tags=every), 0.75)
    assert alone.of((), ()).allowed.any()
    assert not alone.of((), ()).allowed[database.mask(("junk",))].any()
