"""A project that names who answers what it cannot, in the studio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.errors import QueryError
from ambulo.matching.build import build
from ambulo.studio import messages as m
from ambulo.studio.frames import HEADER
from ambulo.studio.open_project import OpenProject, open_project
from ambulo.studio.session import Session


@pytest.fixture(scope="module")
def hero(project: Path, tmp_path_factory: pytest.TempPathFactory) -> OpenProject:
    """A project of one take, behind which the small project stands."""
    folder = tmp_path_factory.mktemp("fallback") / "hero"
    (folder / "takes").mkdir(parents=True)
    take = next((project / "takes").rglob("walk_curves_01.bvh"))
    (folder / "takes" / take.name).write_bytes(take.read_bytes())
    (folder / "ambulo.toml").write_text(
        f'name = "hero"\n[play]\nfallback = ["{project.as_posix()}"]\n'
        '[[sources]]\npath = "takes"\ntags = ["hero"]\ntags_from = []\n'
    )
    build(folder, jobs=1)
    return open_project(folder, "hero")


@pytest.fixture
def session(hero: OpenProject) -> Session:
    return Session(["hero"], lambda name: hero)


def shown_tags(session: Session) -> set[str]:
    return {tag for tag in session.project.shown.tags if session.project.shown.mask((tag,))[session.now.frame]}


def test_the_page_knows_the_clips_and_tags_of_both(session: Session, hero: OpenProject) -> None:
    hello = session.hello()
    assert {"hero", "strafe_left"} <= {tag.name for tag in hello.tags}
    assert len(hello.clips) == len(hero.database.clips) + len(hero.fallback[0][1].clips)
    assert hello.summary.frame_count == hero.shown.frame_count


def test_what_the_first_cannot_is_answered_by_the_next(session: Session, hero: OpenProject) -> None:
    session.apply(m.Input((0.0, 1.2)))
    for _ in range(60):
        session.advance()
    assert "hero" in shown_tags(session)
    before = np.frombuffer(session.now.body, "<f4", 3).copy()
    session.apply(m.SetTags(("strafe_left",)))
    session.advance()
    after = np.frombuffer(session.now.body, "<f4", 3)
    assert np.linalg.norm(after - before) < 0.1  # it stays where it is
    for _ in range(30):
        session.advance()
        assert "strafe_left" in shown_tags(session)
        assert session.now.frame >= hero.database.frame_count
    choice = session.choice()
    assert "walk_strafes" in choice.clip
    assert len(session.frame()) > HEADER.size
    with pytest.raises(QueryError, match="strafe_left"):
        session.apply(m.SetTags(("strafe_lift",)))
    session.apply(m.SetTags(()))
    session.advance()
    assert "hero" in shown_tags(session)


@pytest.mark.parametrize("name", ["blocks", "blended_matching", "motion_matching"])
def test_other_controllers_and_a_rebuild_go_on_where_it_is(session: Session, hero: OpenProject, name: str) -> None:
    session.apply(m.Input((0.0, 1.2)))
    session.apply(m.SetTags(("strafe_left",)))
    for _ in range(60):
        session.advance()
    before = np.frombuffer(session.now.body, "<f4", 3).copy()
    session.apply(m.ChooseController(name))
    assert session.controller_name == name and "strafe_left" in shown_tags(session)
    again = OpenProject("hero", hero.database, hero.index, hero.settings, hero.models, hero.fallback)
    session.replace_project(again)
    assert session.required_tags == ("strafe_left",) and "strafe_left" in shown_tags(session)
    assert np.linalg.norm(np.frombuffer(session.now.body, "<f4", 3) - before) < 0.15


def test_who_answers_may_be_said_when_it_is_played(project: Path, hero: OpenProject, tmp_path: Path) -> None:
    from ambulo.studio.launch import make_session

    alone = tmp_path / "alone"
    (alone / "takes").mkdir(parents=True)
    take = next((project / "takes").rglob("walk_curves_01.bvh"))
    (alone / "takes" / take.name).write_bytes(take.read_bytes())
    (alone / "ambulo.toml").write_text('name = "alone"\n[[sources]]\npath = "takes"\ntags = ["hero"]\ntags_from = []\n')
    build(alone, jobs=1)
    session = make_session([alone])
    with pytest.raises(QueryError, match="strafe_left"):
        session.apply(m.SetTags(("strafe_left",)))
    session = make_session([alone], fallback=[project])
    session.apply(m.SetTags(("strafe_left",)))
    session.advance()
    assert "strafe_left" in shown_tags(session)
    assert session.project.also == (project,)
