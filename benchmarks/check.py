"""`ambulo check` against what is known of real capture: what it finds, what it finds wrongly, and how fast.

*Known* are: the manifest of the real capture (rates that lie, frames to skip at the start, frames in which a joint is
faster than 20 m/s), and faults that are planted here into takes which are clean (floors, pops, stopped streams, other
rates). One file counts once a kind; a glitch counts by frame. A take is a false alarm of a kind where nothing of it is
known and the check warns of it. Thresholds rest on physics and on the spread over all sets (docs/guides/checking.md
says which); the two halves of the files, split by a hash of their names, stand side by side: none carries it alone.

    python benchmarks/check.py [--quick] [--json] [--misses]
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402

import ambulo  # noqa: E402
from ambulo.database.checking import CheckJob, run_check  # noqa: E402
from ambulo.database.workers import run_tasks  # noqa: E402
from ambulo.maths import quaternions  # noqa: E402
from ambulo.motion.humanoid import with_detected_roles  # noqa: E402
from ambulo.motion.motion import Motion  # noqa: E402
from ambulo.prepare.quality.check import check_motion  # noqa: E402
from ambulo.prepare.quality.finding import Finding  # noqa: E402

RECALL_BAR, ALARM_BAR, SPEED_BAR = 95.0, 5.0, 100_000.0
CLEAN_SETS = ("bandai1", "bandai2_loco", "pfnn")
SPARE_FRAMES = 0.1
"""Seconds beyond the frames to skip that a cut may take away."""


@dataclass
class Tally:
    """One kind of fault: found, missed, false alarms, rightly silent; by half of the files."""

    found: list[int] = field(default_factory=lambda: [0, 0])
    missed: list[int] = field(default_factory=lambda: [0, 0])
    alarms: list[int] = field(default_factory=lambda: [0, 0])
    silent: list[int] = field(default_factory=lambda: [0, 0])
    named: list[str] = field(default_factory=list)

    def count(self, half: int, known: bool, told: bool, name: str) -> None:
        """Count one file (or frame)."""
        kind = (self.found if told else self.missed) if known else (self.alarms if told else self.silent)
        kind[half] += 1
        if known != told:
            self.named.append(f"{'missed' if known else 'false alarm'}: {name}")

    def recall(self, halves: tuple[int, ...] = (0, 1)) -> float:
        """Per cent of what is known that was found."""
        found = sum(self.found[h] for h in halves)
        return 100.0 * found / max(found + sum(self.missed[h] for h in halves), 1)

    def alarm_rate(self, halves: tuple[int, ...] = (0, 1)) -> float:
        """Per cent of what is fine that was told to be wrong."""
        alarms = sum(self.alarms[h] for h in halves)
        return 100.0 * alarms / max(alarms + sum(self.silent[h] for h in halves), 1)


def half_of(name: str) -> int:
    """Which half of the files a name belongs to, the same in every run."""
    return hashlib.sha256(name.encode()).digest()[0] & 1


def warned(findings: list[Finding], *codes: str) -> list[Finding]:
    """Findings of these codes that are more than notes."""
    return [finding for finding in findings if finding.severity != "note" and finding.code in codes]


def known_faults(tallies: dict[str, Tally], row: dict[str, str], findings: list[Finding]) -> None:
    """What the manifest knows of one file against what was found in it."""
    path, half = row["path"], half_of(row["trial"])
    declared, true = 1.0 / float(row["frame_time"]), float(row["fps_true"])
    rates = [f.proposal.rate for f in warned(findings, "rate", "repeats")]
    lies = abs(declared / true - 1.0) > 0.02
    right = any(rate is not None and abs(rate / true - 1.0) < 0.02 for rate in rates)
    tallies["rate that lies"].count(half, lies, right if lies else bool(rates), path)

    skip = int(row["skip_first"])
    starts = [f.proposal.start_frame for f in findings if f.proposal.start_frame is not None]
    start = max(starts, default=0)
    within = skip <= start <= skip + max(1, round(SPARE_FRAMES * true))
    tallies["frames to skip"].count(half, skip > 0, within if skip else start > 0, f"{path} ({skip}: {start})")

    fast = warned(findings, "speed", "head_jump", "tail_jump")
    glitches = [int(frame) for frame in row["glitch_frames"].split(";") if frame]
    for frame in glitches:
        # The manifest names the frame in which the joint arrives: the step from the one before.
        told = frame < start or any(f.start_frame <= frame <= f.stop_frame for f in fast)
        tallies["glitch frame"].count(half, True, told, f"{path} frame {frame}")
    if not glitches:
        tallies["glitch frame"].count(half, False, bool(warned(findings, "speed")), path)


def planted(motion: Motion, generator: np.random.Generator) -> Iterator[tuple[str, Motion, Any]]:
    """Faults in a clean take: kind, the spoiled take, what is to be found."""
    count = motion.frame_count
    height = float(generator.choice([-1.0, 1.0]) * generator.uniform(0.05, 0.4))
    positions = motion.positions.copy()
    positions[:, motion.skeleton.parents < 0, 1] += np.float32(height)
    yield "planted floor", replace(motion, positions=positions), height

    roles = motion.skeleton.roles
    role = str(generator.choice([r for r in ("chest", "head", "left_upper_arm", "right_lower_leg") if r in roles]))
    frame = int(generator.integers(count // 3, 2 * count // 3))
    rotations = motion.rotations.copy()
    axis = generator.normal(size=3)
    turn = quaternions.from_angle_axis(np.radians(generator.uniform(50.0, 150.0)), axis / np.linalg.norm(axis))
    rotations[frame, roles[role]] = quaternions.multiply(rotations[frame, roles[role]], turn)
    yield "planted pop", replace(motion, rotations=quaternions.unroll(rotations)), frame

    length = max(6, round(0.3 * motion.rate))
    if count > 3 * length:
        start = int(generator.integers(length, count - 2 * length))
        positions, rotations = motion.positions.copy(), motion.rotations.copy()
        positions[start : start + length], rotations[start : start + length] = positions[start], rotations[start]
        yield "planted stop", replace(motion, positions=positions, rotations=rotations), start


def planted_found(kind: str, findings: list[Finding], truth: Any) -> bool:
    """Whether a planted fault was found where it is, with the number that it has."""
    if kind == "planted floor":
        lifts = [f.proposal.lift for f in warned(findings, "sunk", "floating") if f.proposal.lift is not None]
        return bool(lifts) and abs(lifts[0] + truth) < 0.04
    codes = ("pop", "flip", "speed") if kind == "planted pop" else ("frozen",)
    return any(f.start_frame <= truth < f.stop_frame for f in warned(findings, *codes))


def clean_of(kind: str, findings: list[Finding]) -> bool:
    """Whether a take without the planted fault is told to have it."""
    codes = {"planted floor": ("sunk", "floating"), "planted pop": ("pop", "flip"), "planted stop": ("frozen",)}[kind]
    return bool(warned(findings, *codes))


def confusion(data: Path, quick: bool) -> tuple[dict[str, Tally], dict[str, list[int]]]:
    """Tallies of all kinds, and how many takes of other rates are told so, by factor."""
    with (data / "manifest.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["path"].endswith(".bvh")]
    tallies: dict[str, Tally] = defaultdict(Tally)
    factors: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    generator = np.random.default_rng(7)
    for number, row in enumerate(rows):
        clean = row["set"] in CLEAN_SETS
        if quick and clean and number % 5:
            continue
        motion = ambulo.load(data / row["path"])
        findings = check_motion(motion)
        known_faults(tallies, row, findings)
        if clean:
            body = with_detected_roles(motion)
            for kind, spoiled, truth in planted(body, generator):
                half = half_of(row["trial"])
                tallies[kind].count(half, True, planted_found(kind, check_motion(spoiled), truth), row["path"])
                tallies[kind].count(half, False, clean_of(kind, findings), row["path"])
            for factor in (0.5, 2.0, 4.0):
                told = warned(check_motion(replace(body, rate=body.rate * factor)), "rate")
                factors[f"x{factor:g}"][0] += bool(told)
                factors[f"x{factor:g}"][1] += 1
    return tallies, factors


def speed(data: Path, quick: bool) -> tuple[float, float, float, int]:
    """Frames a second of one core (processor time), of two (wall), of two by their processor time; and frames.

    Both of the latter include the start of the processes.
    """
    files = sorted(data.rglob("*.bvh"))[:: 4 if quick else 1]
    work = [CheckJob(number, file.name, file, file.stat().st_size) for number, file in enumerate(files)]
    run_tasks(run_check, work[:5], 1, lambda result: None)  # kernels load
    frames = 0
    began = time.process_time()
    for job in work:
        frames += run_check(job).frame_count
    one = frames / (time.process_time() - began)
    copies = 8 if quick else 6
    total = 0

    def done(result: Any) -> None:
        nonlocal total
        total += result.frame_count

    before, began = _children_seconds(), time.perf_counter()
    run_tasks(run_check, [job._replace(number=k) for k, job in enumerate(work * copies)], 2, done)
    wall = time.perf_counter() - began
    return one, total / wall, 2.0 * total / (_children_seconds() - before), frames


def _children_seconds() -> float:
    """Processor seconds of the processes that this one started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    """Measure and print."""

    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--misses", action="store_true", help="name every miss and false alarm, not the first few")

    args = harness.arguments(__doc__.splitlines()[0], extend)
    data = harness.shared_folder("data")
    if data is None:
        raise SystemExit("the real capture is not here")
    tallies, factors = confusion(data, args.quick)
    one, two, undisturbed, frames = speed(data, args.quick)
    rows = []
    for kind, tally in tallies.items():
        known = sum(tally.found) + sum(tally.missed)
        fine = sum(tally.alarms) + sum(tally.silent)
        rows.append(Row(f"{kind}: found", known, tally.recall(), "%", bar=RECALL_BAR, higher_is_better=True))
        rows.append(Row(f"{kind}: false alarms", fine, tally.alarm_rate(), "%", bar=ALARM_BAR))
    for factor, (told, count) in factors.items():
        rows.append(Row(f"clean takes at {factor} their rate, told", count, 100.0 * told / max(count, 1), "%"))
    rows.append(Row("speed, one core (processor time)", frames, one, "frames/s"))
    rows.append(Row("speed, two cores (processor time of both)", frames, undisturbed, "frames/s"))
    rows.append(Row("speed, two cores (wall)", frames, two, "frames/s", bar=SPEED_BAR, higher_is_better=True))
    print_table(tallies, 10_000 if args.misses else 6, sys.stderr if args.json else sys.stdout)
    harness.report(rows, args)


def print_table(tallies: dict[str, Tally], most: int, stream: Any) -> None:
    """The confusion table, both halves side by side, and what was missed or told wrongly."""
    print("| kind | found | missed | false alarms | rightly silent | found in halves | alarms in halves |", file=stream)
    print("|---|---|---|---|---|---|---|", file=stream)
    for kind, t in tallies.items():
        halves = " / ".join(f"{t.recall((h,)):.1f} %" for h in (0, 1))
        alarms = " / ".join(f"{t.alarm_rate((h,)):.1f} %" for h in (0, 1))
        counts = " | ".join(str(sum(side)) for side in (t.found, t.missed, t.alarms, t.silent))
        print(f"| {kind} | {counts} | {halves} | {alarms} |", file=stream)
    print(file=stream)
    for kind, t in tallies.items():
        for name in t.named[:most]:
            print(f"  {kind}, {name}", file=stream)
        if len(t.named) > most:
            print(f"  {kind}: ... and {len(t.named) - most} more", file=stream)
    print(file=stream)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
