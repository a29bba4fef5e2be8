"""What makes a database stale: code, but not its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.database import fingerprints
from ambulo.database.fingerprints import FRAME_ROOMS, code_fingerprint, hash_code

CODE = '''"""A module."""
LIMIT = 3  # metres


def far(x: float) -> bool:
    """Whether it is far."""
    return x > LIMIT


class Walker:
    """Walks."""

    name = "walker"
'''


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A module."""\n', ""),
        ('"""A module."""', '"""Another description."""'),
        ("  # metres", ""),
        ('    """Whether it is far."""\n', "    # says whether\n"),
        ('"""Walks."""', '"""Walks\n    and runs.\n    """'),
        ("return x > LIMIT", "return (\n        x > LIMIT\n    )"),
    ],
)
def test_words_and_layout_do_not_count(before: str, after: str) -> None:
    assert before in CODE
    assert hash_code(CODE.replace(before, after)) == hash_code(CODE)


@pytest.mark.parametrize(
    ("before", "after"), [("3", "4"), ("> LIMIT", ">= LIMIT"), ('"walker"', '"runner"'), ("far", "near")]
)
def test_what_it_does_counts(before: str, after: str) -> None:
    assert hash_code(CODE.replace(before, after)) != hash_code(CODE)


def test_a_kept_fingerprint_is_the_one_that_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMBULO_CACHE", str(tmp_path))
    computed = code_fingerprint.__wrapped__(("maths",))
    (kept,) = (tmp_path / "code").iterdir()
    assert kept.read_text() == computed
    monkeypatch.setattr(fingerprints, "hash_code", lambda source: pytest.fail("computed again"))
    assert code_fingerprint.__wrapped__(("maths",)) == computed
    monkeypatch.undo()
    monkeypatch.setenv("AMBULO_CACHE", str(tmp_path / "elsewhere"))
    kept.write_text("half")
    assert code_fingerprint.__wrapped__(("maths",)) == computed
    assert code_fingerprint(FRAME_ROOMS) != computed


@pytest.mark.parametrize("module", ["motion/retargeting.py", "database/retarget_plan.py", "database/prepare_jobs.py"])
def test_other_code_that_puts_takes_on_a_skeleton_makes_their_frames_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setenv("AMBULO_CACHE", str(tmp_path))
    home = Path(fingerprints.ambulo.__file__).parent
    now = code_fingerprint.__wrapped__(FRAME_ROOMS)
    copy = tmp_path / "ambulo"
    for room in (*FRAME_ROOMS, "database"):
        for file in [home / room] if room.endswith(".py") else (home / room).glob("*.py"):
            target = copy / file.relative_to(home)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    monkeypatch.setattr(fingerprints.ambulo, "__file__", str(copy / "__init__.py"))
    assert code_fingerprint.__wrapped__(FRAME_ROOMS) == now
    changed = copy / module
    changed.write_text(changed.read_text(encoding="utf-8") + "\nEXTRA = 1\n", encoding="utf-8")
    assert code_fingerprint.__wrapped__(FRAME_ROOMS) != now
