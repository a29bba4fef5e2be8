"""The projects and models that benchmarks/lmm.py measures.

They are kept in the user's cache (``AMBULO_CACHE``) and used again as long as what they are made from is the same: the
synthesizer's code for takes, the database and the training's code and preset for models.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

KEY = "benchmark.json"
TAKES_CODE = ("maths", "motion", "synthesis")
TRAINING_CODE = tuple(
    f"learning/{name}.py"
    for name in (
        "config", "lmm_data", "lmm_decompressor", "lmm_frames", "lmm_presets", "lmm_projector",
        "lmm_queries", "lmm_stages", "lmm_stepper", "lmm_training", "network", "optimizers", "pose_layout",
        "pose_space", "training",
    )
)  # fmt: skip
"""What decides what a training makes of a database."""


def say(text: str) -> None:
    """Say what is done, on stderr."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def embedded(minutes: float, name: str = "whole") -> Path:
    """The folder of a project of embedded takes; not built."""
    from ambulo.database.fingerprints import code_fingerprint
    from ambulo.maths.user_cache import user_cache

    return user_cache() / "benchmarks" / f"lmm-{minutes:g}-{code_fingerprint(TAKES_CODE)[:12]}" / name


def built(folder: Path, minutes: float) -> Path:
    """Embedded takes as a project, built."""
    from ambulo.cli.new import Arguments, run
    from ambulo.matching.build import build

    if not (folder / "ambulo.toml").is_file():
        say(f"{minutes:g} minutes of embedded takes into {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        run(Arguments(folder, name="embedded", minutes=minutes))
    say(f"building {folder}")
    build(folder)
    return folder


def without(whole: Path, folder: Path, takes: list[str]) -> Path:
    """A project as another one before some takes were added to it, built."""
    from ambulo.matching.build import build

    if not (folder / "ambulo.toml").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole / "takes", folder / "takes")
        for take in takes:
            (folder / take).unlink()
        shutil.copy(whole / "ambulo.toml", folder)
    say(f"building {folder}, without {len(takes)} takes")
    build(folder)
    return folder


def key_of(folder: Path, preset: str) -> dict[str, str]:
    """What a model of a built project depends on."""
    from ambulo.database.database import Database
    from ambulo.database.fingerprints import code_fingerprint

    return {"database": Database.open(folder).digest, "code": code_fingerprint(TRAINING_CODE), "preset": preset}


def is_trained(folder: Path, preset: str) -> bool:
    """Whether there is a model of a built project that would come out the same today."""
    from ambulo.errors import AmbuloError
    from ambulo.learning.lmm_data import refuse_stale
    from ambulo.learning.lmm_training import model_folder

    try:
        refuse_stale(folder)
        return bool(msgspec.json.decode((model_folder(folder) / KEY).read_bytes()) == key_of(folder, preset))
    except (OSError, msgspec.DecodeError, AmbuloError):
        return False


def trained(wanted: Sequence[tuple[Path, str]]) -> None:
    """Train the models of built projects with presets, those that are not there: two at once, a process each."""
    from ambulo.learning.lmm_training import model_folder

    waiting = []
    for folder, preset in wanted:
        if is_trained(folder, preset):
            say(f"{model_folder(folder)} is there, of the preset {preset!r}")
        else:
            waiting.append((folder, preset))
    running: list[tuple[Path, str, subprocess.Popen[bytes]]] = []
    jobs = 1 if len(waiting) > 1 else 2
    told = time.perf_counter()
    while waiting or running:
        while waiting and len(running) < 2:
            folder, preset = waiting.pop(0)
            say(f"training {model_folder(folder)} with the preset {preset!r}")
            command = [sys.executable, "-m", "ambulo", "train", "lmm", str(folder), "--preset", preset]
            shutil.rmtree(model_folder(folder), ignore_errors=True)  # an earlier one, and its curves
            process = subprocess.Popen([*command, "--jobs", str(jobs), "--json"], stdout=subprocess.DEVNULL)
            running.append((folder, preset, process))
        time.sleep(0.2)
        if time.perf_counter() - told > 15.0:
            told = time.perf_counter()
            for folder, _, _ in running:
                say(f"  {folder.name}: {progress_of(model_folder(folder) / 'training')}")
        for entry in [entry for entry in running if entry[2].poll() is not None]:
            running.remove(entry)
            folder, preset, process = entry
            if process.returncode != 0:
                for _, _, other in running:
                    other.terminate()
                    other.wait()
                raise SystemExit(f"the training of {folder} ended with code {process.returncode}")
            (model_folder(folder) / KEY).write_bytes(msgspec.json.encode(key_of(folder, preset)))
            say(f"  {folder.name}: done")


def progress_of(training: Path) -> str:
    """How far a running training is, from its curves."""
    from ambulo.learning.curve import read_curve

    found = []
    for network in ("decompressor", "stepper", "projector"):
        rows = read_curve(training / network)
        if rows:
            found.append(f"{network} step {rows[-1]['step']:,}, loss {rows[-1]['loss']:.3g}")
    return "; ".join(found) or "opening its data"
