"""Iterating on a project of 200 clips: one take added, edited, tagged or removed, until a character can be steered.

Each time is that of a new process, the start of Python included: build, open, make the project's controller, and take
its first step. The takes are synthetic, about 40 seconds each (two minutes in three pieces, from as many seeds as it
takes), and mirrored: a million frames. Kernels are compiled by the first build. Where the time goes is told by stage.

    python benchmarks/iteration.py [--quick] [--json]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness
from harness import Row

harness.one_thread()

CLIPS, QUICK_CLIPS, BAR = 200, 40, 10.0

PLAYABLE = """
import sys, time
begin = time.perf_counter()
from ambulo.control.create import create_controller
from ambulo.control.intent import Intent
from ambulo.control.project_settings import project_controller, project_settings
from ambulo.database.database import Database
from ambulo.matching.build import build, load_index
import json, numpy as np
stages, last = {"import": time.perf_counter() - begin}, [None, time.perf_counter()]
def tell(stage, done, total):
    now = time.perf_counter()
    if last[0] is not None:
        stages[last[0]] = stages.get(last[0], 0.0) + now - last[1]
    last[:] = [stage, now]
project = sys.argv[1]
report = build(project, progress=tell)
tell("open and first step", 0, 1)
database = Database.open(project)
_, index = load_index(database)
controller = create_controller(project_controller(project), database, index, project_settings(project))
state = controller.start(1, seed=0)
forward = np.array([[0.0, 0.0, 1.2]], np.float32)
controller.step(state, Intent(forward, np.zeros((1, 3), np.float32)), 1 / 60)
tell("end", 1, 1)
print(json.dumps({"stages": stages, "clips": report.clips, "frames": report.frames, "prepared": report.prepared}))
"""


def playable(project: Path) -> tuple[float, dict]:
    """Wall seconds from nothing running to a character that has taken a step, and what the build said.

    The processor's seconds, which other work on the machine changes little, are under ``cpu``.
    """
    begin, before = time.perf_counter(), os.times()
    done = subprocess.run([sys.executable, "-c", PLAYABLE, str(project)], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(done.stderr)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, {**json.loads(done.stdout.splitlines()[-1]), "cpu": spent}


def make_project(folder: Path, clips: int) -> list[Path]:
    """Synthetic takes and a project around them; returns the takes, in a folder a seed."""
    from ambulo.synthesis.performance import synthesize
    from ambulo.synthesis.takes import write_take

    takes: list[Path] = []
    seed = 0
    while len(takes) < clips + 8:
        for performance in synthesize(seed, 2.0):
            takes.append(write_take(folder / "takes" / f"s{seed}", performance))
        seed += 1
    for take in takes:
        take.with_suffix(".truth.npz").unlink()
    (folder / "ambulo.toml").write_text('name = "iteration"\n[[sources]]\npath = "takes"\ntags_from = []\n')
    spare = folder / "spare"
    spare.mkdir()
    for number, take in enumerate(takes[clips:]):
        take.with_suffix(".tags.csv").unlink(missing_ok=True)
        take.rename(spare / f"{number}.bvh")
    return takes[:clips]


def main() -> None:
    args = harness.arguments("Iterating on a project of 200 clips")
    clips = QUICK_CLIPS if args.quick else CLIPS
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        takes = make_project(folder, clips)
        spare = sorted((folder / "spare").iterdir())
        seconds, report = playable(folder)
        rows.append(Row("everything built, to playable", report["frames"], seconds, "s"))
        repeats = 1 if args.quick else 3
        stages: dict[str, float] = {}

        def row(name: str, edit) -> None:
            nonlocal stages
            times, spent = [], []
            for number in range(repeats):
                edit(number)
                seconds, found = playable(folder)
                times.append(seconds)
                spent.append(found["cpu"])
            stages = found["stages"]
            rows.append(Row(f"{name}, to playable", found["frames"], statistics.median(times), "s", bar=BAR))
            rows.append(Row(f"{name}, processor time", found["frames"], statistics.median(spent), "s"))

        row("one take added", lambda n: spare[n].rename(folder / "takes" / f"added_{n}.bvh"))
        told = dict(stages)
        row("one take edited", lambda n: takes[n].write_bytes(spare[3 + n].read_bytes()))
        row(
            "one row of tags added",
            lambda n: takes[9 + n].with_suffix(".tags.csv").open("a").write("0.5,1.5,injured\n"),
        )
        row("one take removed", lambda n: (folder / "takes" / f"added_{n}.bvh").unlink())
        row("nothing changed", lambda n: None)
        for stage, seconds in told.items():
            rows.append(Row(f"  of one take added: {stage}", report["frames"], seconds, "s"))
        with tempfile.TemporaryDirectory() as small:
            rows += dropped_in(Path(small))
    harness.report(rows, args)


def dropped_in(folder: Path) -> list[Row]:
    """The story of "injured" in a project of 20 clips: takes dropped in, until the character moves by them."""
    import ambulo
    from ambulo.prepare.stylise.limp import Limp
    from ambulo.prepare.stylise.style import Operator, stylise
    from ambulo.synthesis.performance import synthesize

    takes = folder / "takes"
    takes.mkdir()
    performances = [p for seed in range(4) for p in synthesize(seed, 2.0)][:10]
    for number, performance in enumerate(performances):
        ambulo.save(performance.motion, takes / f"{number}.bvh")
    (folder / "ambulo.toml").write_text('name = "small"\n[[sources]]\npath = "takes"\ntags_from = []\n')
    playable(folder)
    limp = stylise(performances[0].motion, [Operator(limp=Limp(side="left", amount=0.7))])[0]
    ambulo.save(limp, takes / "limp.bvh")
    (takes / "limp.tags.csv").write_text("start,stop,tag\n,,injured\n")
    seconds, found = playable(folder)
    name = "an injured take dropped into 20 clips"
    return [
        Row(f"{name}, to playable", found["frames"], seconds, "s", bar=BAR),
        Row(f"{name}, processor time", found["frames"], found["cpu"], "s"),
    ]


if __name__ == "__main__":
    main()
