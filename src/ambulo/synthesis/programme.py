"""The programme: which takes make up the embedded data set.

One round is twenty minutes, two thirds of it neutral locomotion. A shorter data set takes the first of the
round; a longer one goes on with further rounds, whose takes differ by their seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ambulo.formats.tag_file import TagRange
from ambulo.synthesis import dances
from ambulo.synthesis.directions import Directions
from ambulo.synthesis.script import Script
from ambulo.synthesis.styles import STYLES, Style, style_named
from ambulo.synthesis.terrain import FLAT, Terrain, hill, stairs

_DEGREE = np.pi / 180.0


@dataclass(frozen=True)
class Take:
    """One line of the programme.

    Attributes:
        name: file stem without its number.
        folder: folder below the data set's.
        seconds: length.
        fill: writes the script.
        style: name of the style.
        terrain: ground.
        tags: tags of the whole take.
    """

    name: str
    folder: str
    seconds: float
    fill: Callable[[Script, float], None]
    style: str = "neutral"
    terrain: Terrain = FLAT
    tags: tuple[str, ...] = ()


_WALKS = (1.0, 1.35, 1.5, 1.75)
_RUNS = (2.5, 3.0, 3.5, 4.0)
_ANGLES = (90.0, 180.0, 135.0, 90.0, 45.0, 180.0, 144.0, 60.0)


def _neutral() -> list[Take]:
    def take(name: str, seconds: float, fill: Callable[[Script, float], None]) -> Take:
        return Take(name, "neutral", seconds, fill, tags=("locomotion",))

    return [
        take("walk_curves", 50, lambda s, t: dances.curves(s, t, 0.4, 1.9)),
        take("walk_sticks", 60, lambda s, t: dances.sticks(s, t, 0.8, 1.8)),
        take("walk_strafes", 75, lambda s, t: dances.strafes(s, t, 0.6, 1.7)),
        take("run_curves", 45, lambda s, t: dances.curves(s, t, 2.2, 4.6)),
        take("idle", 20, dances.idle),
        take("walk_pivots", 55, lambda s, t: dances.pivots(s, t, _WALKS, _ANGLES)),
        take("turns_in_place", 30, dances.turns_in_place),
        take("walk_circles", 55, lambda s, t: dances.circles(s, t, _WALKS, (2.0, 1.3, 3.0))),
        take("run_sticks", 55, lambda s, t: dances.sticks(s, t, 2.3, 4.2)),
        take("walk_starts_stops", 45, lambda s, t: dances.starts_stops(s, t, (1.3, 1.6, 0.8, 1.75))),
        take("walk_free_sticks", 60, lambda s, t: dances.free_sticks(s, t, 0.7, 1.6)),
        take("run_strafes", 35, lambda s, t: dances.strafes(s, t, 2.2, 3.6)),
        take("gear_changes", 40, dances.gear_changes),
        take("run_pivots", 40, lambda s, t: dances.pivots(s, t, _RUNS, _ANGLES)),
        take("mixed_sticks", 55, lambda s, t: dances.sticks(s, t, 0.6, 3.6)),
        take("run_circles", 30, lambda s, t: dances.circles(s, t, (2.5, 3.2, 4.0), (3.0, 5.0))),
        take("run_starts_stops", 25, lambda s, t: dances.starts_stops(s, t, (2.5, 3.5, 4.0, 5.0))),
    ]


def _styled(style: Style) -> Take:
    def fill(script: Script, seconds: float) -> None:
        pace = style.pace
        script.stand(3.0)
        side = 1.0 if script.rng.random() < 0.5 else -1.0
        while script.seconds < seconds - 6.0:
            script.go(3.5, pace * float(script.rng.uniform(0.85, 1.15)))
            for turn in (side, -side):
                rate = turn * pace / float(script.rng.uniform(1.2, 2.2))
                script.go(3.0, pace, turn=rate, tags=("turn_left" if rate > 0.0 else "turn_right",))
            script.go(2.0, pace, heading=script.heading + side * np.pi * 0.5, tags=("pivot",))
            script.stand(1.8, tags=("stop",))
            side = -side
        script.stand(2.5)

    return Take("walk", style.name, 25, fill, style.name)


def _crouch(script: Script, seconds: float) -> None:
    script.stand(1.0)
    while script.seconds < seconds - 3.0:
        depth = float(script.rng.uniform(0.45, 1.0))
        script.stand(float(script.rng.uniform(1.0, 2.0)), crouch=depth, tags=("crouch",))
        for _ in range(3):
            speed = float(script.rng.uniform(0.5, 1.3))
            turn = float(script.rng.normal(0.0, 0.5))
            heading = script.heading + float(script.rng.choice([0.0, 0.5, -0.5, 1.0])) * np.pi
            script.go(
                float(script.rng.uniform(1.6, 2.6)), speed, heading=heading, turn=turn, crouch=depth, tags=("crouch",)
            )
        facing = script.facing
        for side in (0.5, -0.5):
            script.go(1.6, 0.7, heading=facing + side * np.pi, facing=facing, crouch=depth, tags=("crouch", "strafe"))
        script.go(1.0, 0.0, facing=None, crouch=depth, tags=("crouch",))
        script.stand(1.0)
    script.stand(1.0)


def _jumps_standing(script: Script, seconds: float) -> None:
    script.stand(1.0)
    while script.seconds < seconds - 3.0:
        flight = float(script.rng.uniform(0.36, 0.50))
        far = float(script.rng.choice([0.0, 0.0, 0.6, 1.0]))
        script.jump(0.9, flight, True)
        start = script.seconds
        script.stand(0.86)
        script.go(flight, far / flight, half_life=0.05)
        script.go(1.4, 0.0, half_life=0.12)
        script.tags.append(TagRange(start, script.seconds - 0.5, "jump_standing"))
        turned = script.facing + float(script.rng.choice([0.0, 0.5, -0.5])) * np.pi
        script.stand(1.0, facing=turned)
        script.heading = script.facing
    script.stand(1.0)


def _jumps_running(script: Script, seconds: float) -> None:
    script.stand(0.8)
    while script.seconds < seconds - 3.0:
        speed = float(script.rng.uniform(2.6, 4.2))
        script.go(1.8, speed, turn=float(script.rng.normal(0.0, 0.2)))
        script.jump(0.0, float(script.rng.uniform(0.42, 0.56)), False)
        start = script.seconds
        script.go(1.6, speed)
        script.tags.append(TagRange(start, script.seconds, "jump_running"))
        script.go(1.6, 1.4, heading=script.heading + float(script.rng.choice([0.0, 0.5, -0.5, 1.0])) * np.pi)
    script.stand(1.6)


def _along(speeds: tuple[float, ...], there: float) -> Callable[[Script, float], None]:
    """Back and forth along +Z over ``there`` metres."""

    def fill(script: Script, seconds: float) -> None:
        script.stand(0.8)
        lap = 0
        while script.seconds < seconds - 3.0:
            speed = speeds[lap % len(speeds)]
            script.go(there / speed, speed, heading=np.pi * (lap % 2), half_life=0.2)
            script.stand(1.0)
            lap += 1
        script.stand(0.8)

    return fill


def _special() -> list[Take]:
    slope = hill(1.5, 3.5, 0.85, 1.2)
    steep = hill(1.5, 3.5, 1.25, 1.2)
    steps = stairs(1.2, 6, 0.32, 0.16, 1.5)
    return [
        Take("crouch", "crouch", 50, _crouch),
        Take("standing", "jump", 25, _jumps_standing),
        Take("running", "jump", 25, _jumps_running),
        Take("slope", "terrain", 35, _along((1.3, 1.1, 2.6), 11.2), terrain=slope, tags=("slope",)),
        Take("slope_steep", "terrain", 25, _along((1.2, 0.9), 11.2), terrain=steep, tags=("slope",)),
        Take("stairs", "terrain", 40, _along((0.55, 0.50), 7.4), terrain=steps, tags=("stairs",)),
    ]


def round_of_takes() -> list[Take]:
    """One round of the programme, most useful first."""
    neutral, special = _neutral(), _special()
    styled = [_styled(style) for name, style in STYLES.items() if name != "neutral"]
    return [*neutral[:11], *styled[:4], *special[:3], *neutral[11:], *styled[4:], *special[3:]]


def takes(minutes: float) -> Iterator[tuple[int, Take]]:
    """Takes that fill ``minutes``, each with the number of its round."""
    left = minutes * 60.0
    turn = 0
    while True:
        for take in round_of_takes():
            if left <= 0.0:
                return
            seconds = min(take.seconds, max(left, 12.0))
            yield turn, replace(take, seconds=seconds)
            left -= seconds
        turn += 1


def direct(take: Take, number: int, rng: np.random.Generator, rate: float) -> Directions:
    """Write out one take of the programme; ``number`` counts from 1 within its name."""
    script = Script(rng, rate)
    take.fill(script, take.seconds)
    wish, crouch = script.wish()
    tags = [TagRange(None, None, take.style), *(TagRange(None, None, tag) for tag in take.tags), *script.tags]
    return Directions(
        f"{take.name}_{number:02d}",
        take.folder,
        style_named(take.style),
        wish,
        crouch,
        tuple(script.jumps),
        take.terrain,
        tags,
    )
