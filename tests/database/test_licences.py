"""Licences: recognised, flagged, carried from project and file into database, report, info and page."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ambulo.cli import build as build_verb
from ambulo.cli import info as info_verb
from ambulo.database.database import Database
from ambulo.database.licences import LicenceUse, is_non_commercial, licence_hints, licences_of

from .conftest import write_take


@pytest.mark.parametrize(
    ("text", "restricted"),
    [
        ("CC-BY-NC-4.0", True),
        ("CC BY-NC-ND 4.0", True),
        ("cc_by_nc_sa_3.0", True),
        ("free for non-commercial use", True),
        ("Noncommercial research only", True),
        ("academic", True),
        ("for research purposes only", True),
        ("CC0-1.0", False),
        ("CC-BY-4.0", False),
        ("MIT", False),
        ("Academic Free License v3.0", False),
        ("CMU: may be included in commercial products, not resold", False),
        ("LicenseRef-Encore", False),
        ("", False),
    ],
)
def test_what_forbids_commercial_use(text: str, restricted: bool) -> None:
    assert is_non_commercial(text) is restricted


PROJECT = """\
name = "mixed"
mirror = true
[[sources]]
path = "free"
licence = "CC0-1.0"
attribution = "nobody"
[[sources]]
path = "bound"
licence = "CC BY-NC 4.0"
attribution = "Studio"
[[sources]]
path = "unsaid"
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("licences")
    for seed, (place, seconds) in enumerate({"free": 3.0, "bound": 2.0, "unsaid": 1.0}.items()):
        write_take(folder / place / f"walk_{place}.bvh", seed, seconds=seconds)
    (folder / "ambulo.toml").write_text(PROJECT, encoding="utf-8")
    return folder


def test_from_project_to_database_report_info_and_catalogue(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = build_verb.run(build_verb.Arguments(project, jobs=1))
    expected = [("CC0-1.0", "nobody", False), ("CC BY-NC 4.0", "Studio", True), ("", "", False)]
    assert [(use.licence, use.attribution, use.non_commercial) for use in report.licences] == expected
    assert all(use.clips == 2 for use in report.licences)

    database = Database.open(project)
    uses = licences_of(database)
    assert uses == list(report.licences)
    assert sum(use.seconds for use in uses) == pytest.approx(database.duration, abs=1e-2)
    by_source = {clip.source.split("/")[0]: (clip.licence, clip.attribution) for clip in database.clips}
    assert by_source == {"free": ("CC0-1.0", "nobody"), "bound": ("CC BY-NC 4.0", "Studio"), "unsaid": ("", "")}

    with closing(sqlite3.connect(project / "database" / "catalog.sqlite")) as catalog:
        rows = catalog.execute("SELECT path, licence, attribution FROM sources ORDER BY id").fetchall()
    assert rows == [("free", "CC0-1.0", "nobody"), ("bound", "CC BY-NC 4.0", "Studio"), ("unsaid", "", "")]

    info = info_verb.run(info_verb.Arguments(project))
    assert info.licences == report.licences
    build_verb.show(report)
    info_verb.show(info)
    printed = capsys.readouterr().out
    assert printed.count("CC BY-NC 4.0 [NON-COMMERCIAL], Studio") == 2
    assert "CC0-1.0 [NON" not in printed


def test_nothing_is_said_where_nobody_said_anything() -> None:
    assert LicenceUse("", "", False, 3, 120.0).text == "licence unknown (3 clips, 2.0 minutes)"


@pytest.mark.parametrize(
    ("name", "text", "licence", "restricted"),
    [
        ("LICENSE", "Attribution-NonCommercial 4.0 International\n...", "CC-BY-NC-4.0", True),
        ("LICENSE.txt", "Attribution-NonCommercial-NoDerivatives 4.0", "CC-BY-NC-ND-4.0", True),
        ("licence.md", "CC0 1.0 Universal", "CC0-1.0", False),
        ("COPYING", "Permission is hereby granted, free of charge, to any person", "MIT", False),
        ("LICENSE", "You may look at this on Sundays.", "", False),
        ("README.md", "This data set is licensed under CC BY 4.0.", "CC-BY-4.0", False),
        ("Terms.txt", "For research purposes only.", "", True),
    ],
)
def test_a_licence_beside_takes_is_a_hint(tmp_path: Path, name: str, text: str, licence: str, restricted: bool) -> None:
    takes = tmp_path / "somewhere" / "takes"
    takes.mkdir(parents=True)
    (takes / name).write_text(text, encoding="utf-8")
    (takes / "README_en.txt").write_text("Thank you for the music.", encoding="utf-8")
    (hint,) = licence_hints(takes)
    assert (Path(hint.path).name, hint.licence, hint.non_commercial) == (name, licence, restricted)


def test_licences_of_the_folder_above_count_but_not_its_readme(tmp_path: Path) -> None:
    takes = tmp_path / "set" / "takes"
    (takes / "deeper").mkdir(parents=True)
    (takes.parent / "LICENSE").write_text("MIT License", encoding="utf-8")
    (takes.parent / "README").write_text("CC BY 4.0", encoding="utf-8")
    (takes / "deeper" / "LICENSE").write_text("Apache License, Version 2.0", encoding="utf-8")
    assert [hint.licence for hint in licence_hints(takes)] == ["Apache-2.0", "MIT"]
    assert licence_hints(tmp_path / "nowhere") == []


def test_the_report_of_a_simulation_ends_with_the_licences(project: Path) -> None:
    from ambulo.export import page

    build_verb.run(build_verb.Arguments(project, jobs=1))
    footer = page._licences(Database.open(project))
    assert "<footer" in footer and "CC BY-NC 4.0 [NON-COMMERCIAL], Studio" in footer
    assert page._licences(None) == ""
