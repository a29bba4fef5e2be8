"""Pages load nothing, hold the data whole, and show names as text, whatever is in them."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from ambulo.control.recording import Recording
from ambulo.database.database import Database
from ambulo.errors import AmbuloError
from ambulo.evaluation.measures import measure
from ambulo.export import page
from ambulo.export.player_data import recording_player_data, unpack

EVIL = "</script><img src=x onerror=alert(1)>&\"'"


class Elements(HTMLParser):
    """Collects tags with their attributes, and what stands in scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[-1] += data


def parse(text: str) -> Elements:
    elements = Elements()
    elements.feed(text)
    return elements


@pytest.fixture()
def player() -> str:
    """The built player."""
    if not page.PLAYER.is_file():
        pytest.skip("the front-end is not built: python web/build.py")
    return page.PLAYER.read_text(encoding="utf-8")


def test_a_report_holds_the_data_and_loads_nothing(
    player: str, recording: Recording, database: Database, tmp_path: Path
) -> None:
    path = page.write_page(recording, measure(recording, database), tmp_path / "r" / "report.html", database=database)
    text = path.read_text(encoding="utf-8")
    elements = parse(text)
    for tag, attributes in elements.tags:
        assert tag not in ("link", "img", "iframe", "base"), tag
        assert not {"src", "href", "srcset", "action"} & set(attributes), (tag, attributes)
    policy = next(a["content"] for t, a in elements.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'") and "http" not in policy
    outside = text.replace(elements.scripts[1], "")
    assert not re.search(r"https?:|url\(|@import", outside)
    data = json.loads(elements.scripts[0])
    assert data == json.loads(json.dumps(recording_player_data(recording, database, title=data["title"])))
    np.testing.assert_allclose(unpack(data["characters"][0]["positions"]), recording.global_positions[:, 0], atol=1e-3)
    assert len(elements.scripts) == 3
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_the_report_shows_value_beside_raw(
    player: str, recording: Recording, database: Database, tmp_path: Path
) -> None:
    measures = measure(recording, database)
    text = page.write_page(recording, measures, tmp_path / "r.html").read_text(encoding="utf-8")
    slide = measures["contact_slide"]
    assert slide.raw is not None
    row = re.search(r"<th>contact slide</th><td>(.*?)</td><td>(.*?)</td>", text)
    assert row is not None and row.groups() == (page.number(slide.value), page.number(slide.raw))
    # What differs from run to run is not in it.
    assert "latency" in " ".join(measures) and "<th>latency" not in text


def test_the_same_recording_gives_the_same_bytes(
    player: str, recording: Recording, database: Database, tmp_path: Path
) -> None:
    measures = measure(recording, database)
    files = [page.write_page(recording, measures, tmp_path / name, database=database) for name in ("a", "b")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_names_are_text(player: str, recording: Recording, tmp_path: Path) -> None:
    object.__setattr__(recording, "script", EVIL)
    measures = {EVIL: page.Measure(1.0, 2.0, EVIL, False, EVIL)}
    text = page.write_page(
        recording, measures, tmp_path / "r.html", title=EVIL, subtitle=EVIL, facts={EVIL: EVIL}, failures=[EVIL]
    ).read_text(encoding="utf-8")
    elements = parse(text)
    assert not [attributes for tag, attributes in elements.tags if tag == "img" or "onerror" in attributes]
    assert len(elements.scripts) == 3
    data = json.loads(elements.scripts[0])
    assert data["title"] == EVIL and data["characters"][0]["name"].startswith(EVIL)
    assert html.escape(EVIL) in text


def test_a_page_of_motions_alone(player: str, recording: Recording, tmp_path: Path) -> None:
    path = page.write_player_page([recording.motion(0)], tmp_path / "m.html", title="walk", notes="as <recorded>")
    text = path.read_text(encoding="utf-8")
    assert "as &lt;recorded&gt;" in text
    assert json.loads(parse(text).scripts[0])["characters"][0]["positions"]["shape"] == [120, 20, 3]
    with pytest.raises(AmbuloError, match="at least one motion"):
        page.write_player_page([], tmp_path / "n.html")


def test_a_missing_player_says_how_to_build_it(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "PLAYER", tmp_path / "none" / "player.js")
    with pytest.raises(AmbuloError, match="has not been built") as caught:
        page.write_page(recording, {}, tmp_path / "r.html")
    assert "web/build.py" in str(caught.value.remedy)
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.12345, "0.123"),
        (123.46, "123.5"),
        (54321.0, "54321"),
        (0.0, "0"),
        (1.99e-5, "<0.001"),
        (-1.99e-5, ">-0.001"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert page.number(value) == text
