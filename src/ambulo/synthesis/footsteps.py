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
from ambulo.synthesis.body import FOOT_LENGTH, HEEL_BACK, HIP_HALF_WIDTH
from ambulo.synthesis.curves import ramp
from ambulo.synthesis.path import BodyPath
from ambulo.synthesis.steps import LEFT, RIGHT, Flight, Footsteps, Jump, Step
from ambulo.synthesis.styles import Style
from ambulo.synthesis.terrain import FLAT, Terrain

Array = NDArray[np.floating]

_DEGREE = np.pi / 180.0
_IDLE_HALF_WIDTH = 0.095
_REACH_LAND = 0.38  # How far from under its hip joint a foot may land, m.
_REACH_LIFT = 0.59  # How far ahead of its place the hip may be at lift-off: the heel rises.
_REACH_SIDE = 0.43  # The same to the sides and behind.
_SWIVEL = 0.65  # How far the body may turn over a standing foot before the foot swivels about its ball, radians.
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
        self.path, self.style, self.rng, self.terrain = path, style, rng, terrain
        self.jumps = list(jumps)
        self.rate = path.rate
        self.last = path.frame_count - 1
        self.end = self.last / self.rate
        self.speed = path.speed
        columns = [path.position, path.facing[:, None], path.velocity, path.acceleration]
        values = np.concatenate(columns, axis=1)
        self.sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
        self.steps: tuple[list[Step], list[Step]] = ([], [])
        self.flights: list[Flight] = []

    # -- what the path does -----------------------------------------------------------------------------------------

    def frame(self, time: float) -> int:
        return int(min(max(round(time * self.rate), 0), self.last))

    def mean(self, start: float, stop: float) -> Array:
        """Mean of (x, z, facing, velocity x, z, acceleration x, z) over a time window."""
        a, b = self.frame(start), self.frame(stop) + 1
        values: Array = (self.sums[b] - self.sums[a]) / (b - a)
        return values

    def top_speed(self, start: float, stop: float) -> float:
        return float(self.speed[self.frame(start) : self.frame(stop) + 1].max())

    def turn_rate(self, start: float, stop: float) -> float:
        a, b = self.frame(start), self.frame(stop)
        return abs(float(self.path.facing[b] - self.path.facing[a])) / max((b - a) / self.rate, 1e-3)

    def home(self, foot: int, frames: NDArray[np.integer]) -> tuple[Array, Array, Array]:
        """Where a foot stands at ease: x, z and yaw."""
        yaw = self.path.facing[frames]
        side = (1.0 if foot == LEFT else -1.0) * (_IDLE_HALF_WIDTH + self.style.width)
        x = self.path.position[frames, 0] + side * np.cos(yaw)
        z = self.path.position[frames, 1] - side * np.sin(yaw)
        return x, z, yaw + self.toe_out(foot, 1.4)

    def toe_out(self, foot: int, gain: float = 1.0) -> float:
        return (1.0 if foot == LEFT else -1.0) * self.style.toe_out * gain * _DEGREE

    # -- timing -----------------------------------------------------------------------------------------------------

    def tempo(self, time: float) -> tuple[float, float, float]:
        """Speed, running and step time for the step that begins at ``time``."""
        ahead = self.mean(time, time + 0.45)
        speed = 0.8 * self.top_speed(time, time + 0.5) + 0.2 * self.top_speed(time, time + 0.1)
        run = float(gait.run_weight(speed))
        period = float(gait.step_time(speed, run)) / self.style.tempo
        sine, cosine = np.sin(ahead[2]), np.cos(ahead[2])
        left = abs(ahead[3] * cosine - ahead[4] * sine)
        back = max(0.0, -(ahead[3] * sine + ahead[4] * cosine))
        # Sideways and backward steps are short and quick; turning on the spot takes a step every 50 degrees or so.
        period = min(period, (0.31 + 0.10 * left) / max(left, 1e-3), (0.52 + 0.06 * back) / max(back, 1e-3))
        period = min(period, 0.85 / max(self.turn_rate(time, time + 0.5), 1e-3))
        period = min(period, self._stair_time(time, speed))
        jitter = 1.0 + 0.02 * self.style.unsteady * float(self.rng.standard_normal())
        return speed, run, float(np.clip(period * np.clip(jitter, 0.85, 1.15), 0.26, 0.80 / min(self.style.tempo, 1.0)))

    def stance(self, speed: float, run: float, foot: int, period: float = 1.0) -> float:
        """Share of a stride on the ground; quick steps leave at least a fifth of a second for the swing."""
        fraction = float(gait.stance_fraction(speed, run)) + self.style.stance * (1.0 - run)
        spared = self.style.limp * (1.0 if foot == LEFT else -1.0)
        return float(np.clip(fraction - 0.05 * spared, 0.25, min(0.76, 1.0 - 0.11 / period)))

    # -- placing ----------------------------------------------------------------------------------------------------

    def step(self, foot: int, land: float, period: float, speed: float, run: float, leap: bool = False) -> Step:
        """The stance that begins at ``land``."""
        style, sign = self.style, 1.0 if foot == LEFT else -1.0
        nominal = 2.0 * period * self.stance(speed, run, foot, period)
        window = self.mean(land, land + nominal)
        settle = 1.0 - float(ramp(self.top_speed(land + 0.5 * nominal, land + 0.5 * nominal + 0.5), 0.12, 0.6))
        rest = self.mean(land + 0.6, land + 0.9)
        x, z = (1.0 - settle) * window[:2] + settle * rest[:2]
        yaw = float((1.0 - settle) * window[2] + settle * rest[2])
        sine, cosine = np.sin(yaw), np.cos(yaw)
        here = self.mean(land - 0.5 * period, land + 0.5 * period)
        left = float(here[3] * cosine - here[4] * sine)
        ahead = float(here[3] * sine + here[4] * cosine)
        pace = float(np.hypot(left, ahead))
        width = float(gait.step_half_width(pace, run)) + style.width
        width = (1.0 - settle) * (width + min(0.07, 0.3 * abs(left) * period)) + settle * (
            _IDLE_HALF_WIDTH + style.width
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
        yaw += turned + self.toe_out(foot, 1.0 - 0.6 * run) + 2.0 * float(noise[2])
        direction = ahead / max(pace, 0.25) if pace > 0.05 else 0.0
        land_pitch, before = self._landing(foot, direction, pace, run)
        lift_pitch, after = self._push_off(foot, direction, pace, run)
        flat = (before, after)
        rise = float(gait.swing_lift(speed, run)) * (style.lift if run < 0.5 else 1.0)
        rise *= 1.0 - 0.75 * style.drag * (foot == RIGHT)
        rise *= 0.65 + 0.35 * abs(direction) if run > 0.5 else 1.0
        x, z = self._within_reach(foot, land, nominal, run, float(x), float(z))
        z = self._on_tread(foot, z, yaw)
        return Step(
            foot, land, np.inf, (float(x), float(z)), yaw, land_pitch, lift_pitch, nominal, flat, pace, run, rise, leap
        )

    def _roll(self, foot: int) -> float:
        roll = self.style.roll * (1.0 - 0.8 * self.style.drag * (foot == RIGHT))
        return roll * 0.5 if self.style.limp and foot == LEFT else roll

    def _landing(self, foot: int, direction: float, pace: float, run: float) -> tuple[float, float]:
        """Pitch at landing and share of stance until the foot is flat; backward and sideways the ball lands first."""
        heel = float(gait.landing_pitch(pace, run)) * self._roll(foot)
        ahead, back = max(direction, 0.0), max(-direction, 0.0)
        pitch = ahead * heel + (1.0 - ahead - back) * -5.0 * _DEGREE + back * -15.0 * _DEGREE
        return pitch, 0.06 + 0.10 * min(1.0, abs(pitch) / (20.0 * _DEGREE))

    def _push_off(self, foot: int, direction: float, pace: float, run: float) -> tuple[float, float]:
        """Pitch at lift-off and share of stance after heel rise; walking backward, the heel leaves last."""
        push = float(gait.push_off_pitch(pace, run)) * max(abs(self._roll(foot)), 0.3)
        ahead, back = max(direction, 0.0), max(-direction, 0.0)
        pitch = ahead * push + (1.0 - ahead - back) * -22.0 * _DEGREE + back * (9.0 - 25.0 * run) * _DEGREE
        return pitch, ahead * (0.46 + 0.06 * run) + (1.0 - ahead) * 0.30

    def _hip(self, foot: int, frames: NDArray[np.integer]) -> Array:
        """Ground places under a hip joint ``[N, 2]``."""
        side = (HIP_HALF_WIDTH if foot == LEFT else -HIP_HALF_WIDTH) * np.ones(len(frames))
        yaw = self.path.facing[frames]
        places: Array = self.path.position[frames] + np.stack([side * np.cos(yaw), -side * np.sin(yaw)], axis=-1)
        return places

    def _within_reach(
        self, foot: int, land: float, nominal: float, run: float, x: float, z: float
    ) -> tuple[float, float]:
        """Pull a place towards the body until a leg can span it at lift-off and, above all, at landing."""
        place = np.array([x, z])
        for time, limit in ((land + nominal, _REACH_LIFT - 0.05 + 0.12 * run), (land, _REACH_LAND - 0.06 * run)):
            hip = self._hip(foot, np.array([self.frame(time)]))[0]
            distance = float(np.hypot(*(place - hip)))
            if distance > limit:
                place = hip + (place - hip) * (limit / distance)
        return float(place[0]), float(place[1])

    def _ahead(self, step: Step, frames: NDArray[np.integer]) -> tuple[Array, Array]:
        """How far the hip joint is ahead and to the left of a standing foot's place, in the foot's heading, metres."""
        offset = self._hip(step.foot, frames) - np.array(step.place)
        sine, cosine = np.sin(step.yaw), np.cos(step.yaw)
        return offset[:, 0] * sine + offset[:, 1] * cosine, offset[:, 0] * cosine - offset[:, 1] * sine

    def _overstretched(self, foot: int, since: float) -> float:
        """When a standing foot gets out of the leg's reach, s; infinite where not within a second and a half."""
        step = self.steps[foot][-1]
        begin = self.frame(max(since, step.land + 0.06))
        frames = np.arange(begin, min(begin + round(1.5 * self.rate), self.last) + 1)
        ahead, left = self._ahead(step, frames)
        out = np.hypot(ahead / np.where(ahead > 0.0, _REACH_LIFT, _REACH_SIDE), left / _REACH_SIDE) > 1.0
        return float(frames[int(np.argmax(out))]) / self.rate if out.any() else np.inf

    def _on_tread(self, foot: int, z: float, yaw: float) -> float:
        """A place on stairs moves to the middle of its tread, never more than one from the other foot's."""
        if not self.terrain.treads:
            return z
        treads = np.asarray(self.terrain.treads)
        nearest = int(np.argmin(np.abs(treads - z)))
        other = self.steps[1 - foot][-1].place[1] if self.steps[1 - foot] else z
        beside = int(np.argmin(np.abs(treads - other)))
        if abs(treads[beside] - other) < 0.12:
            nearest = int(np.clip(nearest, beside - 1, beside + 1))
        # Ankle a little behind the middle of the tread: the whole sole fits.
        ahead = float(np.sign(np.cos(yaw)))
        if abs(treads[nearest] - z) < 0.24:
            z = float(treads[nearest]) - 0.06 * ahead
        # On the level before and behind the stairs, neither toes nor heel stand inside a step.
        for reach in (HEEL_BACK + 0.02, -(FOOT_LENGTH - HEEL_BACK + 0.02)):
            for _ in range(12):
                if float(self.terrain.height(z - reach * ahead)) <= float(self.terrain.height(z)) + 0.01:
                    break
                z += 0.025 * ahead * float(np.sign(reach))
        return z

    def _stair_time(self, time: float, speed: float) -> float:
        """Longest step time that still takes every tread, s."""
        treads = self.terrain.treads
        z = float(self.path.position[self.frame(time + 0.4), 1])
        if len(treads) < 2 or not any(abs(z - tread) < 0.45 for tread in treads):
            return np.inf
        return (treads[1] - treads[0]) / max(speed, 0.2)

    # -- the loop ---------------------------------------------------------------------------------------------------

    def put(self, step: Step, lift_before: float) -> None:
        """Add a step; the same foot's stance before it ends at ``lift_before``, pushing off as the body then moves."""
        mine = self.steps[step.foot]
        if mine:
            before = mine[-1]
            lift = max(min(lift_before, self._overstretched(step.foot, before.land)), before.land + 0.10)
            now = self.mean(lift - 0.1, lift + 0.25)
            pace = float(np.hypot(now[3], now[4]))
            ahead = float(now[3] * np.sin(now[2]) + now[4] * np.cos(now[2]))
            pitch, after = self._push_off(step.foot, ahead / max(pace, 0.3), pace, step.run)
            stay = 2.0 * (step.land - lift) * self.stance(pace, step.run, step.foot)
            stay = min(before.nominal, stay / max(1.0 - self.stance(pace, step.run, step.foot), 0.2) * 0.5)
            at = self.frame(lift)
            # The farther the hip is ahead, the higher the heel.
            ahead = float(self._ahead(before, np.array([at]))[0][0])
            pitch = min(pitch, -66.0 * _DEGREE * float(ramp(ahead, 0.12, 0.54)))
            roll = min(max(after * stay, 0.13 * abs(pitch)), 0.55 * (lift - before.land))
            turned = self.path.facing[self.frame(before.land) : at + 1] - before.yaw
            swivel = float(np.clip(np.sign(turned[-1]) * max(abs(turned[-1]) - _SWIVEL, 0.0), -1.3, 1.3))
            if swivel:
                pitch = min(pitch, -14.0 * _DEGREE)
                late = int(np.argmax(np.abs(turned) > 0.3))
                roll = max(roll, lift - before.land - late / self.rate)
            roll = min(roll, 0.8 * (lift - before.land))
            mine[-1] = replace(
                before, lift=lift, lift_pitch=pitch, flat=(before.flat[0], after), roll_time=roll, swivel=swivel
            )
        mine.append(step)

    def run(self) -> Footsteps:
        for foot in (LEFT, RIGHT):
            x, z, yaw = self.home(foot, np.array([0]))
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
            speed, run, period = self.tempo(time)
            if run < 0.5:
                # A walker must land before the other leg is at its end; a runner flies.
                period = float(np.clip(self._overstretched(last, time) - time, 0.24, period))
            lift = self._lift(following, time + period, period, speed, run)
            leap = next((jump for jump in self.jumps if not jump.standing and jump.time <= time), None)
            if leap is None:
                land = time + period
                self.put(self.step(following, land, period, speed, run), lift)
            else:
                self.jumps.remove(leap)
                contact = 2.0 * period * self.stance(speed, run, last, period)
                land = time + contact + leap.flight
                self.put(self.step(following, land, period, speed, run, leap=True), lift)
                # The standing foot takes off; its own next landing is planned as usual, from a lift-off fixed here.
                self.steps[last][-1] = replace(self.steps[last][-1], lift=time + contact)
                self.flights.append(Flight(time + contact, land, False))
            time, last = land, following
        return Footsteps((tuple(self.steps[0]), tuple(self.steps[1])), tuple(self.flights))

    def _lift(self, foot: int, land: float, period: float, speed: float, run: float) -> float:
        lift = land - 2.0 * period * (1.0 - self.stance(speed, run, foot, period))
        fixed = self.steps[foot][-1].lift
        return min(lift, fixed)

    def _next_foot(self, time: float, last: int) -> int | None:
        """The foot that steps next while the body moves, or None where both may rest."""
        other = 1 - last
        if self.top_speed(time, time + 0.5) > 0.22:
            return other
        ahead = np.array([self.frame(time + 0.45)])
        return other if self._astray(other, ahead)[0] > 0.8 else None

    def _astray(self, foot: int, frames: NDArray[np.integer]) -> Array:
        """How far a standing foot is from its place at ease, 1 where it must step."""
        x, z, yaw = self.home(foot, frames)
        step = self.steps[foot][-1]
        distance = np.hypot(x - step.place[0], z - step.place[1])
        astray: Array = np.maximum(distance / 0.085, np.abs(yaw - step.yaw) / (24.0 * _DEGREE))
        return astray

    def _start(self, time: float) -> tuple[float, int] | None:
        """The first step out of a rest (or a standing jump). Returns the time and foot of landing."""
        frames = np.arange(self.frame(time), self.last + 1)
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
        speed, run, period = self.tempo(begin)
        swing = float(np.clip(2.0 * period * (1.0 - self.stance(speed, run, foot, period)), 0.26, 0.48))
        land = min(begin + swing, max(self._overstretched(1 - foot, begin), begin + 0.24))
        self.put(self.step(foot, land, period, speed, run), begin)
        return land, foot

    def _leading_foot(self, time: float) -> int:
        """The foot that begins: towards the move or turn; where that says nothing, the one farther behind."""
        soon = self.mean(time, time + 0.5)
        a, b = self.frame(time), self.frame(time + 0.5)
        turn = float(self.path.facing[b] - self.path.facing[a])
        left = float(soon[3] * np.cos(soon[2]) - soon[4] * np.sin(soon[2])) + 0.35 * turn
        need = [float(self._astray(foot, np.array([self.frame(time + 0.3)]))[0]) for foot in (LEFT, RIGHT)]
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
