"""What can be tuned in a controller; every number with its unit and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.database.play_settings import OPT_IN_TAGS
from ambulo.errors import ControlError

_MAY_BE_ZERO = ("adjustment_ratio", "clamping_yield")


@dataclass(frozen=True)
class SimulationSettings:
    """The simulation object: a point with a heading that follows the wish by springs, and that the body follows.

    D. Holden's public Motion-Matching code uses 0.27 s for both half-lives. A heading spring of 0.27 s needs 1.1 s to
    come within 5 degrees of a reversed wish; the half-lives here are shorter, so that a 180 degree change is answered
    within 0.8 s and a walk stops within half a second.

    Attributes:
        velocity_half_life: seconds, spring of the velocity towards the desired one.
        rotation_half_life: seconds, spring of the heading towards the desired one.
        adjustment_position_half_life: seconds, how fast the body is drawn to the simulation object.
        adjustment_rotation_half_life: seconds, the same for the heading.
        adjustment_ratio: the correction moves the body by at most this part of its own speed. The published controller
            allows half; a foot that stands for 0.6 s is then left behind by more than a leg can reach.
        clamping_distance: metres, the body is never further from the simulation object.
        clamping_angle: radians, nor turned further from its heading.
        clamping_yield: which part of that clamping moves the simulation object to the body, 0 to 1; the rest moves the
            body. 0 is the published controller: the body is dragged, and its feet with it. 1 lets the capture decide
            how fast a body can turn round.
    """

    velocity_half_life: float = 0.2
    rotation_half_life: float = 0.16
    adjustment_position_half_life: float = 0.1
    adjustment_rotation_half_life: float = 0.2
    adjustment_ratio: float = 0.3
    clamping_distance: float = 0.15
    clamping_angle: float = 0.5 * np.pi
    clamping_yield: float = 1.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value, least = getattr(self, entry.name), 0.0 if entry.name in _MAY_BE_ZERO else 1e-6
            if not (np.isfinite(value) and value >= least):
                raise ControlError(f"a simulation setting must be positive, {entry.name} is {value}", key=entry.name)
        if self.clamping_yield > 1.0:
            raise ControlError(f"clamping_yield is a part, 0 to 1, not {self.clamping_yield}", key="clamping_yield")

    def constants(self) -> NDArray[np.float64]:
        """The numbers in the order that the kernels read them."""
        return np.array([getattr(self, entry.name) for entry in fields(self)], np.float64)


@dataclass(frozen=True)
class SearchSettings:
    """When motion matching searches and among which frames.

    Attributes:
        interval: seconds between two searches while the wish stays.
        velocity_change: m/s; a wish that differs by more from the one last searched for is answered at once (S0.29).
        facing_change: radians, the same for the desired facing.
        pose_emphasis: what the weights of the joint features are multiplied by against those of the trajectory. The
            schema's weights (Holden et al. 2020) are for half an hour of capture; with less, a closer pose is worth
            more than a closer trajectory: feet slide less at transitions, and the response stays.
        bias: how much better than the continuing pose a frame must be, in squared normalised feature units.
        direction_spread: what the spread of a future direction in the database counts as at least. In straight walks it
            is nearly nothing, and everything but the wish to turn would count as little.
        position_spread: metres, the same for future positions, and m/s for future velocities.
        patience: seconds for which the body may go although it is asked to stand, or stand although it is asked to go,
            before a search puts the trajectory first and the bias aside: nobody walks on because no stop fits the pose.
        impatient_emphasis: what the trajectory's weights are multiplied by in such a search.
        surround: seconds around the playhead that are not candidates: they are the continuing pose in disguise, and a
            shorter stretch makes a standing body repeat the same breath.
        memory: seconds for which a moment that was left is not gone back to, see :mod:`ambulo.control.memory`; 0 for
            none.
        memory_margin: seconds before and after what was played of it that count as the same moment.
        memory_brief: seconds; only what was left sooner than this after it began is remembered: it led nowhere.
        dwell: seconds until the next search after two such brief stays in a row, unless the wish changes or the clip
            ends. 0.3 s make a tenth fewer jumps and jerk 2 % less, but paths and planted feet are kept less well.
        rest_speed: m/s; a body slower than this that is asked to stand, and faces about where it is asked to, is not
            searched for until its clip ends. 0.08 m/s spare jumps between two ways of standing, but let a clip that
            begins to go take a foot along; 0 for never.
        preference: how much less a frame costs for each preferred tag that it carries, in units of ``bias``.
        event_lead: seconds before an event's marker at which its clip is entered at the earliest.
        event_wait: seconds that a character plays on, without searching, for the best moment to enter.
        minimum_run: seconds that a candidate can be played at least before its tags or its clip end.
        default_tags: tags required while the intent requires none; names that the database does not know are ignored.
        opt_in_tags: frames with such a tag are shown only while the intent asks for that tag, or where there are no
            others. ``junk`` is never shown.
    """

    interval: float = 0.1
    velocity_change: float = 0.5
    facing_change: float = 0.35
    pose_emphasis: float = 1.5
    bias: float = 0.5
    direction_spread: float = 0.25
    position_spread: float = 0.15
    patience: float = 0.1
    impatient_emphasis: float = 8.0
    surround: float = 2.0
    memory: float = 1.0
    memory_margin: float = 0.1
    memory_brief: float = 0.35
    dwell: float = 0.0
    rest_speed: float = 0.0
    preference: float = 2.0
    event_lead: float = 1.0
    event_wait: float = 0.5
    minimum_run: float = 0.75
    default_tags: tuple[str, ...] = ("locomotion",)
    opt_in_tags: tuple[str, ...] = OPT_IN_TAGS

    def __post_init__(self) -> None:
        for name in (
            "interval",
            "velocity_change",
            "facing_change",
            "pose_emphasis",
            "bias",
            "direction_spread",
            "position_spread",
            "surround",
            "memory",
            "memory_margin",
            "memory_brief",
            "dwell",
            "rest_speed",
            "preference",
            "event_lead",
            "event_wait",
            "minimum_run",
        ):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ControlError(f"search setting {name} must be zero or more, got {value}", key=name)


@dataclass(frozen=True)
class InertializeSettings:
    """How the jump of a transition fades.

    Attributes:
        half_life: seconds, spring of all offsets. The 0.1 s of D. Holden's code is rougher, and feet gain nothing
            by it, since the foot lock holds the toes of the pose before smoothing.
    """

    half_life: float = 0.2

    def __post_init__(self) -> None:
        _check_positive(self, "an inertialization setting")


@dataclass(frozen=True)
class FootLockSettings:
    """How feet that stand are held.

    Attributes:
        release_half_life: seconds, how fast the toe returns to the animation when a lock lets go, as in D. Holden's
            code.
        unlock_distance: metres between the locked toe and the animated one at which the lock lets go, as in D. Holden's
            code.
        stretch_margin: metres before the leg is straight at which IK begins to yield and the pelvis to come down. The
            0.015 m of D. Holden's code is too late: the toe is dragged before the pelvis has moved.
        lock_speed: m/s, a toe that moves faster is not locked yet.
        lock_height: metres above where toes in contact are, a toe that is higher is not locked yet.
        step_height: metres, how high a toe is lifted that must move although the animation stands.
        step_duration: seconds that such a step takes, unless it is far.
        height_half_life: seconds, how fast a difference in the toe's height fades.
        pelvis_drop: metres that the pelvis is let down at most, for a locked toe that the leg would not reach.
        drop_half_life: seconds, how fast it goes down and up.
        step_speed: m/s, the fastest that a toe moves over the ground in such a step.
    """

    release_half_life: float = 0.1
    unlock_distance: float = 0.2
    stretch_margin: float = 0.06
    lock_speed: float = 2.0
    lock_height: float = 0.05
    step_height: float = 0.06
    step_duration: float = 0.25
    height_half_life: float = 0.1
    pelvis_drop: float = 0.1
    drop_half_life: float = 0.1
    step_speed: float = 5.0

    def __post_init__(self) -> None:
        _check_positive(self, "a foot lock setting")

    def constants(self) -> NDArray[np.float64]:
        """The numbers in the order that the kernels read them."""
        return np.array([getattr(self, entry.name) for entry in fields(self)], np.float64)


@dataclass(frozen=True)
class BlockSettings:
    """The one-second-block controller (S0.27 to S0.30, S0.54).

    Attributes:
        length: seconds of a block.
        fade: seconds of the cross-fade into a new block.
    """

    length: float = 1.0
    fade: float = 0.25

    def __post_init__(self) -> None:
        _check_positive(self, "a block setting")
        if self.fade > self.length:
            raise ControlError("the cross-fade cannot last longer than a block", key="fade")


@dataclass(frozen=True)
class BlendSettings:
    """How several places of the database are blended (S0.8).

    Attributes:
        count: places at most, the character's own one with them; 1 is motion matching.
        softness: what a place must cost more than the character's own to weigh 1/e of it, in the units of ``bias``.
        separation: seconds; of places in one clip that are nearer than this only the best counts.
        fade: seconds before two places cease to have the same feet on the ground at which the other one begins to fade
            out.
        margin: seconds before that in which it counts nothing any more.
        half_life: seconds, how fast a share follows what it shall be.
        slack: seconds by which feet may come down, or lift, earlier or later and still be in step.
    """

    count: int = 4
    softness: float = 0.5
    separation: float = 0.5
    fade: float = 0.4
    margin: float = 0.1
    half_life: float = 0.1
    slack: float = 0.05

    def __post_init__(self) -> None:
        _check_positive(self, "a blend setting")
        if self.margin >= self.fade:
            raise ControlError("a fade ends after it begins: margin is less than fade", key="margin")
        if self.count != int(self.count):
            raise ControlError(f"count is a whole number, not {self.count}", key="count")


@dataclass(frozen=True)
class ControlSettings:
    """All settings of a stack of controllers."""

    simulation: SimulationSettings = field(default_factory=SimulationSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    inertialize: InertializeSettings = field(default_factory=InertializeSettings)
    foot_lock: FootLockSettings = field(default_factory=FootLockSettings)
    blocks: BlockSettings = field(default_factory=BlockSettings)
    blend: BlendSettings = field(default_factory=BlendSettings)


def _check_positive(settings: Any, what: str) -> None:
    for entry in fields(settings):
        value = getattr(settings, entry.name)
        if not (np.isfinite(value) and value > 0):
            raise ControlError(f"{what} must be positive, {entry.name} is {value}", key=entry.name)
