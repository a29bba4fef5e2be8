"""Presets: those that come with ambulo are sound, and mistakes in others are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.database.preset import PRESETS, load_preset, preset_names
from ambulo.errors import ProjectError


def test_every_preset_that_comes_with_ambulo_is_sound() -> None:
    names = preset_names()
    assert {"lafan1", "100style", "bandai", "cmu"} <= set(names)
    for name in names:
        preset = load_preset(name)
        assert preset.licence and preset.attribution and preset.licence_url.startswith("http"), name
        assert preset.licence_summary and preset.notes, name
        assert all(file.url.startswith("http") for file in preset.files), name
    assert {name for name in names if load_preset(name).non_commercial} == {"lafan1", "bandai"}
    assert len(list(PRESETS.glob("*.toml"))) == len(names)


def test_names_and_keys_that_are_not_known_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="did you mean 'lafan1'"):
        load_preset("lafan")
    own = tmp_path / "mine.toml"
    own.write_text('title = "T"\nlicence = "MIT"\n[[files]]\nurl = "https://x/y.zip"\nsha = "00"\n')
    with pytest.raises(ProjectError, match="unknown key 'sha'") as caught:
        load_preset(own)
    assert caught.value.line == 5
    for text, message in (
        ('title = "T"', "licence"),
        ('title = "T"\nlicence = "MIT"\n[[files]]\nurl = "file:///etc/passwd"', "no address of the web"),
        ('title = "T"\nlicence = "MIT"\n[[files]]\nurl = "https://x/y"\nname = "../y"', "no name of a file"),
        ('title = "T"\nlicence = "MIT"\n[[files]]\nurl = "https://x/y"\nsha256 = "12"', "64 hexadecimal"),
    ):
        own.write_text(text)
        with pytest.raises(ProjectError, match=message):
            load_preset(own)
