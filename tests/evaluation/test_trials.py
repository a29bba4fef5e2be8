"""The regression gate itself: motion matching on the embedded data, inside the bars of ``bars.toml``."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.cli import new
from ambulo.control.create import create_controller
from ambulo.control.project_settings import project_settings
from ambulo.database.database import Database
from ambulo.evaluation.gate import check, load_bars
from ambulo.evaluation.trials import TRIALS, run_trials
from ambulo.matching.build import build, load_index


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built project of the embedded takes, made as a user makes it."""
    folder = tmp_path_factory.mktemp("gate") / "embedded"
    new.run(new.Arguments(folder))
    build(folder)
    return folder


def test_motion_matching_stays_inside_its_bars(embedded: Path) -> None:
    database = Database.open(embedded)
    _, index = load_index(database)
    controller = create_controller("motion_matching", database, index, project_settings(embedded))
    results = run_trials(controller, database, trials=TRIALS, index=index)
    assert set(results) == {trial.script for trial in TRIALS}
    failures = check(results, load_bars())
    assert not failures, "\n" + "\n".join(map(str, failures))
