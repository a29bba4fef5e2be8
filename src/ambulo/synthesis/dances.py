"""Dance cards of the neutral actor: what a session of locomotion capture asks for, dense where a player's stick goes.

Each function fills a :class:`~ambulo.synthesis.script.Script` for about ``seconds`` and ends at rest.
"""

from __future__ import annotations

import numpy as np

from ambulo.synthesis.script import Script

_DEGREE = np.pi / 180.0
_TURN = ("turn_left", "turn_right")


def _turn_tags(turn: float) -> tuple[str, ...]:
    return () if abs(turn) < 0.15 else (_TURN[0] if turn > 0.0 else _TURN[1],)


def _sign(script: Script) -> float:
    return 1.0 if script.rng.random() < 0.5 else -1.0


def idle(script: Script, seconds: float) -> None:
    """Standing, breathing, shifting weight, a small turn now and then."""
    while script.seconds < seconds:
        script.stand(float(script.rng.uniform(3.0, 7.0)))
        angle = _sign(script) * float(script.rng.uniform(20.0, 60.0)) * _DEGREE
        script.stand(1.6, facing=script.facing + angle, tags=("turn_in_place",))


def curves(script: Script, seconds: float, low: float, high: float) -> None:
    """Travel along arcs of many radii, both ways, at changing speed, without stopping."""
    script.stand(0.8)
    side = _sign(script)
    while script.seconds < seconds - 2.0:
        speed = float(script.rng.uniform(low, high))
        radius = float(np.exp(script.rng.uniform(np.log(0.45 + 0.45 * speed), np.log(7.0))))
        turn = side * speed / radius if script.rng.random() < 0.8 else 0.0
        length = float(script.rng.uniform(1.8, 4.2))
        script.go(length, speed, turn=turn, tags=_turn_tags(turn))
        side = -side if script.rng.random() < 0.6 else side
    script.stand(1.6, tags=("stop",))


def circles(script: Script, seconds: float, speeds: tuple[float, ...], radii: tuple[float, ...]) -> None:
    """Steady circles and waves, the bread and butter of path following."""
    script.stand(0.6)
    i = 0
    while script.seconds < seconds - 3.0:
        speed, radius = speeds[i % len(speeds)], radii[(i // 2) % len(radii)]
        turn = (1.0 if i % 2 else -1.0) * speed / radius
        script.go(min(5.0, 1.4 * np.pi / abs(turn)), speed, turn=turn, tags=_turn_tags(turn))
        if i % 3 == 2:
            for _ in range(2):
                script.go(1.3, speed, turn=-0.8 * turn)
                script.go(1.3, speed, turn=0.8 * turn)
        i += 1
    script.stand(1.4, tags=("stop",))


def pivots(script: Script, seconds: float, speeds: tuple[float, ...], angles: tuple[float, ...]) -> None:
    """Plant and turn: the heading jumps by an angle while the speed is kept, as on a stick."""
    script.stand(0.6)
    script.go(1.5, speeds[0], tags=("start",))
    i = 0
    while script.seconds < seconds - 2.0:
        angle = angles[i % len(angles)] * (1.0 if script.rng.random() < 0.5 else -1.0)
        speed = speeds[int(script.rng.integers(len(speeds)))]
        length = float(script.rng.uniform(1.0, 2.1))
        turned = script.heading + angle * _DEGREE + float(script.rng.normal(0.0, 0.06))
        script.go(length, speed, heading=turned, tags=("pivot",))
        i += 1
    script.stand(1.5, tags=("stop",))


def starts_stops(script: Script, seconds: float, speeds: tuple[float, ...]) -> None:
    """From a stand in any direction and back to a stand, again and again."""
    i = 0
    while script.seconds < seconds - 1.0:
        script.stand(float(script.rng.uniform(0.5, 1.4)), tags=("stop",))
        angle = float(script.rng.choice([0.0, 0.0, 0.5, -0.5, 1.0, -1.0, 0.75, -0.75, 0.25, -0.25])) * np.pi
        speed = speeds[i % len(speeds)]
        script.go(float(script.rng.uniform(0.9, 2.3)), speed, heading=script.heading + angle, tags=("start",))
        i += 1
    script.stand(1.5, tags=("stop",))


def turns_in_place(script: Script, seconds: float) -> None:
    """Turns on the spot of 45 to 180 degrees, and slow spins."""
    while script.seconds < seconds - 1.0:
        script.stand(float(script.rng.uniform(0.4, 1.0)))
        angle = _sign(script) * float(script.rng.choice([45.0, 90.0, 90.0, 135.0, 170.0])) * _DEGREE
        script.stand(float(script.rng.uniform(1.0, 1.5)), facing=script.facing + angle, tags=("turn_in_place",))
        if script.rng.random() < 0.25:
            spin = _sign(script) * float(script.rng.uniform(0.8, 2.2))
            script.go(2.0, 0.0, facing=None, spin=spin, tags=("turn_in_place", *_turn_tags(spin)))
    script.stand(0.8)


_DIRECTIONS = {
    0: "forward",
    1: "strafe_left",
    2: "strafe_left",
    3: "strafe_left",
    4: "backward",
    5: "strafe_right",
    6: "strafe_right",
    7: "strafe_right",
}


def strafes(script: Script, seconds: float, low: float, high: float) -> None:
    """Eight directions of travel under a fixed or slowly turning facing; slower sideways and backward."""
    script.stand(0.5)
    facing = script.facing
    octant = 2
    while script.seconds < seconds - 1.6:
        # The hardest answer, straight back the way one came, comes up more often than by chance.
        octant = (octant + 4) % 8 if script.rng.random() < 0.25 else int(script.rng.integers(8))
        if script.rng.random() < 0.20:
            script.go(float(script.rng.uniform(0.7, 1.3)), 0.0, facing=None, tags=("stop",))
            continue
        relative = octant * 0.25 * np.pi + float(script.rng.normal(0.0, 0.08))
        slower = (1.0, 0.96, 0.90, 0.85, 0.82, 0.85, 0.90, 0.96)[octant]
        speed = slower * float(script.rng.uniform(low, high))
        if script.rng.random() < 0.25:
            facing = facing + _sign(script) * float(script.rng.choice([0.25, 0.5])) * np.pi
        spin = _sign(script) * float(script.rng.uniform(0.2, 0.9)) if script.rng.random() < 0.25 else 0.0
        script.go(
            float(script.rng.uniform(0.75, 2.1)),
            speed,
            heading=facing + relative,
            facing=facing,
            spin=spin,
            turn=spin,
            tags=(_DIRECTIONS[octant],),
        )
        facing = script.facing
    script.go(1.4, 0.0, facing=None, tags=("stop",))


def sticks(script: Script, seconds: float, low: float, high: float, rest: float = 0.14) -> None:
    """A player's stick: a new direction every second or so, facing where one goes."""
    script.stand(0.6)
    while script.seconds < seconds - 1.6:
        if script.rng.random() < rest:
            script.stand(float(script.rng.uniform(0.5, 1.3)), tags=("stop",))
            continue
        heading = script.heading + float(script.rng.uniform(-np.pi, np.pi))
        turn = float(script.rng.normal(0.0, 0.5)) if script.rng.random() < 0.4 else 0.0
        script.go(float(script.rng.uniform(0.6, 1.9)), float(script.rng.uniform(low, high)), heading=heading, turn=turn)
    script.stand(1.4, tags=("stop",))


def free_sticks(script: Script, seconds: float, low: float, high: float) -> None:
    """A player with two sticks: travel and sight change direction at once and know nothing of each other."""
    script.stand(0.5)
    while script.seconds < seconds - 1.6:
        if script.rng.random() < 0.22:
            script.go(float(script.rng.uniform(0.6, 1.3)), 0.0, facing=None, tags=("stop",))
            continue
        heading = script.heading + float(script.rng.uniform(-np.pi, np.pi))
        choice = script.rng.random()
        facing: float | str | None = heading + float(script.rng.uniform(-np.pi, np.pi))
        if choice < 0.4:
            facing = "travel" if choice < 0.2 else None
        speed = float(script.rng.uniform(low, high))
        script.go(float(script.rng.uniform(0.7, 2.0)), speed, heading=heading, facing=facing)
    script.go(1.4, 0.0, facing=None, tags=("stop",))


def gear_changes(script: Script, seconds: float) -> None:
    """Walk to run to walk, on straights and curves."""
    script.stand(0.6)
    speeds = (1.3, 3.0, 1.5, 4.0, 2.4, 0.9, 3.5, 1.75, 4.8, 1.2)
    i = 0
    while script.seconds < seconds - 2.0:
        speed = speeds[i % len(speeds)]
        turn = float(script.rng.normal(0.0, 0.45)) * min(1.0, 2.0 / speed)
        script.go(float(script.rng.uniform(1.6, 3.0)), speed, turn=turn, tags=_turn_tags(turn))
        i += 1
    script.stand(1.8, tags=("stop",))
