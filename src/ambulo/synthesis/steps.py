"""The footstep plan's data: steps, jumps, flights."""

from __future__ import annotations

from dataclasses import dataclass

LEFT, RIGHT = 0, 1


@dataclass(frozen=True)
class Step:
    """One foot's stay on the ground.

    Attributes:
        foot: 0 left, 1 right.
        land: time of first contact, s.
        lift: time of last contact, s (infinite where the take ends first).
        place: ground place under the ankle (world x, z), metres.
        yaw: heading of the foot, radians.
        land_pitch: toe-up angle at landing (negative: the ball lands first), radians.
        lift_pitch: toe-up angle at lift-off (negative: the heel has risen), radians.
        nominal: seconds that a stance of this speed lasts: the clock of the foot's rockers.
        flat: shares of ``nominal`` from landing to foot flat, and from heel rise to lift-off.
        roll_time: seconds from heel rise (backward: toe rise) to lift-off.
        speed: ground speed in this step, m/s.
        run: 0 walking, 1 running.
        rise: height of the lowest point of the foot in the swing that leads here, metres.
        swivel: (time, radians) keys of a turn about the ball while the heel is up, before the foot lifts; the last is
            at lift-off.
        leap: the swing that leads here is a jump.
    """

    foot: int
    land: float
    lift: float
    place: tuple[float, float]
    yaw: float
    land_pitch: float
    lift_pitch: float
    nominal: float
    flat: tuple[float, float]
    speed: float
    run: float
    rise: float
    leap: bool = False
    roll_time: float = 0.2
    swivel: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Jump:
    """A jump in the plan: from both feet out of a stand, or a leap within a run.

    Attributes:
        time: when the feet leave the ground (a leap takes the first landing after this time).
        flight: seconds in the air.
        standing: from both feet.
    """

    time: float
    flight: float
    standing: bool


@dataclass(frozen=True)
class Flight:
    """A flight that a jump caused: from ``start`` to ``stop`` seconds."""

    start: float
    stop: float
    standing: bool


@dataclass(frozen=True)
class Footsteps:
    """All steps of a take, by foot and in order, and the flights of its jumps."""

    steps: tuple[tuple[Step, ...], tuple[Step, ...]]
    flights: tuple[Flight, ...]

    def ordered(self) -> list[Step]:
        """All steps by time of landing."""
        return sorted(self.steps[0] + self.steps[1], key=lambda step: (step.land, step.foot))
