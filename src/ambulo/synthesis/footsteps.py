"""The footstep plan: where and when each foot stands, made from the body's path.

Steps follow one another at the published cadence of the speed at hand. A foot is put where the body will be, on
average, while the foot stands (for steady travel that is the body's place at mid-stance), so that starts, stops, turns
and reversals need no case of their own. While the body rests both feet stay down, until one of them is out of place.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ambulo.synthesis import gait
from ambulo.synthesis.curves import ramp
from ambulo.synthesis.pacing import Pacing
from ambulo.synthesis.path import BodyPath
from ambulo.synthesis.placing import IDLE_HALF_WIDTH, Placing
from ambulo.synthesis.steps import LEFT, RIGHT, Flight, Footsteps, Jump, Step
from ambulo.synthesis.styles import Style
from ambulo.synthesis.terrain import FLAT, Terrain

Array = NDArray[np.floating]

_DEGREE = np.pi / 180.0
_BALANCE = 0.9 / 9.81  # Height of the centre of mass over gravity: how far feet trail an acceleration.


class _Planner:
    """State of a plan under way; :func:`plan` is the public face."""

    def __init__(
        self,
        path: BodyPath,
        style: Style,
        rng: np.random.Generator,
        jumps: tuple[Jump, ...],
        terrain: Terrain,
    ) -> None:
        self.path, self.style, self.rng = path, style, rng
        self.pacing = Pacing(path, style, terrain, rng)
        self.placing = Placing(path, style, terrain, self.pacing)
        self.jumps = list(jumps)
        self.rate = path.rate
        self.last = path.frame_count - 1
        self.end = self.last / self.rate
        self.steps: tuple[list[Step], list[Step]] = ([], [])
        self.flights: list[Flight] = []

    # -- placing ----------------------------------------------------------------------------------------------------

    def step(self, foot: int, land: float, period: float, speed: float, run: float, leap: bool = False) -> Step:
        """The stance that begins at ``land``."""
        style, sign = self.style, 1.0 if foot == LEFT else -1.0
        nominal = 2.0 * period * self.pacing.stance(speed, run, foot, period)
        window = self.pacing.mean(land, land + nominal)
        settle = 1.0 - float(ramp(self.pacing.top_speed(land + 0.5 * nominal, land + 0.5 * nominal + 0.5), 0.12, 0.6))
        rest = self.pacing.mean(land + 0.6, land + 0.9)
        x, z = (1.0 - settle) * window[:2] + settle * rest[:2]
        yaw = float((1.0 - settle) * window[2] + settle * rest[2])
        sine, cosine = np.sin(yaw), np.cos(yaw)
        here = self.pacing.mean(land - 0.5 * period, land + 0.5 * period)
        left = float(here[3] * cosine - here[4] * sine)
        ahead = float(here[3] * sine + here[4] * cosine)
        pace = float(np.hypot(left, ahead))
        width = float(gait.step_half_width(pace, run)) + style.width
        width = (1.0 - settle) * (width + min(0.07, 0.3 * abs(left) * period)) + settle * (
            IDLE_HALF_WIDTH + style.width
        )
        # In a sideways move whose steps are longer than the feet are apart, the trailing foot passes in front.
        cross = float(ramp(abs(left) * period - 2.0 * width, -0.12, 0.12)) * (1.0 - settle)
        trailing = left * sign < 0.0
        forward = cross * (0.11 if trailing else -0.05)
        noise = 0.008 * style.unsteady * self.rng.standard_normal(3)
        across = sign * width + float(noise[0])
        forward += float(noise[1]) - 0.012
        # Feet land nearer to the body than they leave it: a third of the stance is ahead, and the heel then rises.
        forward -= (0.11 + 0.08 * run) * nominal * ahead * (1.0 - settle)
        balance = -0.5 * _BALANCE * window[5:7] * (1.0 - settle)
        size = float(np.hypot(*balance))
        balance *= min(1.0, 0.20 / max(size, 1e-6))
        x += across * cosine + forward * sine + balance[0]
        z += -across * sine + forward * cosine + balance[1]
        turned = float(np.clip(0.30 * left / max(pace, 0.3), -0.3, 0.3)) * float(ramp(abs(left), 0.1, 0.8))
        yaw += turned + self.placing.toe_out(foot, 1.0 - 0.6 * run) + 2.0 * float(noise[2])
        # A hip turns out farther than in; a foot that lands amid a fast turn is followed by another.
        facing = float(self.path.facing[self.pacing.frame(land)])
        inward, outward = (-0.5, 0.85) if foot == LEFT else (-0.85, 0.5)
        yaw = facing + float(np.clip(yaw - facing, inward, outward))
        direction = ahead / max(pace, 0.25) if pace > 0.05 else 0.0
        land_pitch, before = self.pacing.landing(foot, direction, pace, run)
        lift_pitch, after = self.pacing.push_off(foot, direction, pace, run)
        flat = (before, after)
        rise = float(gait.swing_lift(speed, run)) * (style.lift if run < 0.5 else 1.0)
        # Sideways and backward the toes do not point up by themselves: walkers lift the foot, runners lift it less.
        rise *= 1.0 + (1.0 - max(direction, 0.0)) * (0.9 * (1.0 - run) - 0.35 * run)
        rise *= 1.0 - 0.75 * style.drag * (foot == RIGHT)
        x, z = self.placing.within_reach(foot, land, nominal, run, float(x), float(z))
        other = self.steps[1 - foot][-1]
        if run < 0.5:
            x, z = self.placing.beside(foot, other, x, z, yaw)
        z = self.placing.on_tread(other, z, yaw)
        return Step(
            foot, land, np.inf, (float(x), float(z)), yaw, land_pitch, lift_pitch, nominal, flat, pace, run, rise, leap
        )

    # -- the loop ---------------------------------------------------------------------------------------------------

    def put(self, step: Step, lift_before: float) -> None:
        """Add a step; the same foot's stance before it ends at ``lift_before``, pushing off as the body then moves."""
        mine = self.steps[step.foot]
        if mine:
            before = mine[-1]
            lift = max(min(lift_before, self.placing.overstretched(before, before.land)), before.land + 0.10)
            now = self.pacing.mean(lift - 0.1, lift + 0.25)
            pace = float(np.hypot(now[3], now[4]))
            ahead = float(now[3] * np.sin(now[2]) + now[4] * np.cos(now[2]))
            pitch, after = self.pacing.push_off(step.foot, ahead / max(pace, 0.3), pace, step.run)
            stay = 2.0 * (step.land - lift) * self.pacing.stance(pace, step.run, step.foot)
            stay = min(before.nominal, stay / max(1.0 - self.pacing.stance(pace, step.run, step.foot), 0.2) * 0.5)
            at = self.pacing.frame(lift)
            # The farther the hip is ahead, the higher the heel.
            ahead = float(self.placing.ahead(before, np.array([at]))[0][0])
            pitch = min(pitch, -66.0 * _DEGREE * float(ramp(ahead, 0.12, 0.54)))
            roll = min(max(after * stay, 0.13 * abs(pitch)), 0.55 * (lift - before.land))
            swivel, since = self.placing.swivel(before, lift)
            if swivel:
                pitch = min(pitch, -14.0 * _DEGREE)
                roll = max(roll, lift - since)
            roll = min(roll, 0.8 * (lift - before.land))
            mine[-1] = replace(
                before, lift=lift, lift_pitch=pitch, flat=(before.flat[0], after), roll_time=roll, swivel=swivel
            )
        mine.append(step)

    def run(self) -> Footsteps:
        for foot in (LEFT, RIGHT):
            x, z, yaw = self.placing.home(foot, np.array([0]))
            stance = Step(
                foot,
                -10.0,
                np.inf,
                (float(x[0]), float(z[0])),
                float(yaw[0]),
                0.0,
                -0.4,
                0.7,
                (0.1, 0.3),
                0.0,
                0.0,
                0.02,
            )
            self.steps[foot].append(stance)
        time, last = 0.0, -1
        while time < self.end:
            following = self._next_foot(time, last) if last >= 0 else None
            if following is None:
                started = self._start(time)
                if started is None:
                    break
                time, last = started
                continue
            speed, run, period = self.pacing.tempo(time)
            if run < 0.5:
                # A walker must land before the other leg is at its end; a runner flies.
                period = float(np.clip(self.placing.overstretched(self.steps[last][-1], time) - time, 0.26, period))
            lift = self._lift(following, time + period, period, speed, run)
            leap = next((jump for jump in self.jumps if not jump.standing and jump.time <= time), None)
            if leap is None:
                land = time + period
                self.put(self.step(following, land, period, speed, run), lift)
            else:
                self.jumps.remove(leap)
                contact = 2.0 * period * self.pacing.stance(speed, run, last, period)
                land = time + contact + leap.flight
                self.put(self.step(following, land, period, speed, run, leap=True), lift)
                # The standing foot takes off; its own next landing is planned as usual, from a lift-off fixed here.
                self.steps[last][-1] = replace(self.steps[last][-1], lift=time + contact)
                self.flights.append(Flight(time + contact, land, False))
            time, last = land, following
        return Footsteps((tuple(self.steps[0]), tuple(self.steps[1])), tuple(self.flights))

    def _lift(self, foot: int, land: float, period: float, speed: float, run: float) -> float:
        lift = land - 2.0 * period * (1.0 - self.pacing.stance(speed, run, foot, period))
        fixed = self.steps[foot][-1].lift
        return min(lift, fixed)

    def _next_foot(self, time: float, last: int) -> int | None:
        """The foot that steps next while the body moves, or None where both may rest."""
        other = 1 - last
        if self.pacing.top_speed(time, time + 0.5) > 0.22:
            return other
        ahead = np.array([self.pacing.frame(time + 0.45)])
        return other if self._astray(other, ahead)[0] > 0.8 else None

    def _astray(self, foot: int, frames: NDArray[np.integer]) -> Array:
        """How far a standing foot is from its place at ease, 1 where it must step."""
        x, z, yaw = self.placing.home(foot, frames)
        step = self.steps[foot][-1]
        distance = np.hypot(x - step.place[0], z - step.place[1])
        astray: Array = np.maximum(distance / 0.085, np.abs(yaw - step.yaw) / (24.0 * _DEGREE))
        return astray

    def _start(self, time: float) -> tuple[float, int] | None:
        """The first step out of a rest (or a standing jump). Returns the time and foot of landing."""
        frames = np.arange(self.pacing.frame(time), self.last + 1)
        ahead = np.minimum(frames + round(0.22 * self.rate), self.last)
        need = np.maximum(self._astray(LEFT, ahead), self._astray(RIGHT, ahead)) > 1.0
        begin = frames[int(np.argmax(need))] / self.rate if need.any() else np.inf
        jump = next((jump for jump in self.jumps if jump.standing), None)
        if jump is not None and jump.time <= max(begin, time) + 0.3:
            return self._jump(jump, max(jump.time, time + 0.05))
        if not np.isfinite(begin):
            return None
        begin = max(begin, time + 0.02)
        foot = self._leading_foot(begin)
        begin = max(begin, self.steps[foot][-1].land + 0.15)
        speed, run, period = self.pacing.tempo(begin)
        swing = float(np.clip(2.0 * period * (1.0 - self.pacing.stance(speed, run, foot, period)), 0.30, 0.48))
        land = min(begin + swing, max(self.placing.overstretched(self.steps[1 - foot][-1], begin), begin + 0.28))
        self.put(self.step(foot, land, period, speed, run), begin)
        return land, foot

    def _leading_foot(self, time: float) -> int:
        """The foot that begins: towards the move or turn; where that says nothing, the one farther behind."""
        soon = self.pacing.mean(time, time + 0.5)
        a, b = self.pacing.frame(time), self.pacing.frame(time + 0.5)
        turn = float(self.path.facing[b] - self.path.facing[a])
        left = float(soon[3] * np.cos(soon[2]) - soon[4] * np.sin(soon[2])) + 0.35 * turn
        need = [float(self._astray(foot, np.array([self.pacing.frame(time + 0.3)]))[0]) for foot in (LEFT, RIGHT)]
        if abs(left) > 0.12 and min(need) > 0.6:
            return LEFT if left > 0.0 else RIGHT
        if abs(need[0] - need[1]) > 0.25:
            return LEFT if need[0] > need[1] else RIGHT
        return int(self.rng.integers(2))

    def _jump(self, jump: Jump, time: float) -> tuple[float, int]:
        self.jumps.remove(jump)
        first = int(self.rng.integers(2))
        for foot, late in ((first, 0.0), (1 - first, 0.015)):
            land = time + jump.flight + late
            step = replace(self.step(foot, land, 0.5, 0.0, 0.0, leap=True), land_pitch=-14.0 * _DEGREE, rise=0.05)
            self.put(step, time)
            before = self.steps[foot][-2]
            self.steps[foot][-2] = replace(before, lift_pitch=-48.0 * _DEGREE, roll_time=0.2)
        self.flights.append(Flight(time, time + jump.flight, True))
        return time + jump.flight + 0.015, 1 - first


def plan(
    path: BodyPath,
    style: Style,
    rng: np.random.Generator,
    jumps: tuple[Jump, ...] = (),
    terrain: Terrain = FLAT,
) -> Footsteps:
    """Steps that carry a body along its path.

    Args:
        path: where the body goes.
        style: how it steps.
        rng: variation between cycles.
        jumps: in order of time.
        terrain: where feet find a tread.
    """
    return _Planner(path, style, rng, jumps, terrain).run()
