"""Styles: how one actor's walk differs from another's, as a table of numbers.

Neutral is the published gait; every other style is a departure from it. Angles are in degrees here, for people to read.
"""

from __future__ import annotations

from dataclasses import dataclass

from ambulo.errors import QueryError, nearest_names


@dataclass(frozen=True)
class Style:
    """One way of moving.

    Attributes:
        name: tag of the style.
        pace: the style's own walking speed, m/s.
        tempo: multiplier of the stride frequency.
        width: metres added to half of the step width.
        toe_out: degrees that the feet point outward.
        stance: added to the stance fraction.
        limp: 0 to 1; the left leg is spared: shorter stance, stiff knee, trunk over it.
        knee: degrees of knee flexion added to the standing leg.
        roll: multiplier of the foot's pitch at heel strike and toe-off.
        lift: multiplier of the foot's height in swing.
        pelvis: multiplier of pelvic rotation, list and sway.
        twist: multiplier of the chest's counter-rotation.
        lean: degrees that the trunk leans forward.
        hunch: degrees of curvature of the upper spine.
        head: degrees that the head hangs forward (negative: chin up).
        tilt: degrees that the head tilts to the left.
        side: degrees that the trunk leans to the left.
        shoulders: degrees that the collar bones are raised.
        swing: multipliers of the left and right arm's swing.
        flex: degrees that the left and right upper arm point forward.
        spread: degrees between upper arm and trunk.
        inward: degrees that the upper arms turn inward.
        elbow: degrees of left and right elbow flexion.
        tremble: degrees of fast trembling.
        unsteady: multiplier of the variation between cycles.
        breath: multiplier of the breathing depth.
        bounce: multiplier of the vertical bob.
        drag: 0 to 1; the right foot is dragged (no lift, no roll).
    """

    name: str = "neutral"
    pace: float = 1.35
    tempo: float = 1.0
    width: float = 0.0
    toe_out: float = 7.0
    stance: float = 0.0
    limp: float = 0.0
    knee: float = 0.0
    roll: float = 1.0
    lift: float = 1.0
    pelvis: float = 1.0
    twist: float = 1.0
    lean: float = 0.0
    hunch: float = 0.0
    head: float = 0.0
    tilt: float = 0.0
    side: float = 0.0
    shoulders: float = 0.0
    swing: tuple[float, float] = (1.0, 1.0)
    flex: tuple[float, float] = (0.0, 0.0)
    spread: float = 9.0
    inward: float = 22.0
    elbow: tuple[float, float] = (16.0, 16.0)
    tremble: float = 0.0
    unsteady: float = 1.0
    breath: float = 1.0
    bounce: float = 1.0
    drag: float = 0.0


_ALL = (
    Style(),
    Style(
        "injured",
        pace=0.75,
        tempo=0.95,
        limp=1.0,
        stance=0.02,
        roll=0.7,
        lean=6.0,
        hunch=10.0,
        side=3.0,
        head=8.0,
        swing=(0.15, 0.7),
        flex=(12.0, 0.0),
        spread=7.0,
        inward=60.0,
        elbow=(85.0, 22.0),
        unsteady=1.5,
        breath=1.5,
    ),
    Style(
        "tired",
        pace=0.85,
        tempo=0.90,
        width=0.012,
        stance=0.03,
        knee=7.0,
        roll=0.7,
        lift=0.6,
        pelvis=1.1,
        twist=0.7,
        lean=7.0,
        hunch=18.0,
        head=20.0,
        shoulders=-6.0,
        swing=(0.6, 0.6),
        flex=(4.0, 4.0),
        elbow=(8.0, 8.0),
        unsteady=1.6,
        breath=2.2,
    ),
    Style(
        "old",
        pace=0.70,
        tempo=1.12,
        width=0.02,
        toe_out=12.0,
        stance=0.05,
        knee=12.0,
        roll=0.45,
        lift=0.6,
        pelvis=0.6,
        twist=0.4,
        lean=14.0,
        hunch=26.0,
        head=-12.0,
        swing=(0.45, 0.45),
        flex=(-6.0, -6.0),
        spread=12.0,
        elbow=(48.0, 48.0),
        tremble=0.5,
        unsteady=1.4,
    ),
    Style(
        "zombie",
        pace=0.60,
        tempo=0.82,
        width=0.03,
        toe_out=2.0,
        stance=0.03,
        knee=6.0,
        roll=0.35,
        lift=0.7,
        pelvis=1.9,
        twist=0.3,
        lean=4.0,
        hunch=12.0,
        head=10.0,
        tilt=20.0,
        side=-5.0,
        shoulders=5.0,
        swing=(0.15, 0.2),
        flex=(62.0, 44.0),
        spread=12.0,
        inward=40.0,
        elbow=(30.0, 48.0),
        unsteady=3.0,
        breath=0.2,
        drag=0.9,
    ),
    Style(
        "proud",
        pace=1.45,
        tempo=0.95,
        toe_out=11.0,
        knee=-2.0,
        roll=1.15,
        lift=1.4,
        pelvis=1.1,
        twist=1.5,
        lean=-4.0,
        hunch=-12.0,
        head=-7.0,
        shoulders=-3.0,
        swing=(1.15, 1.15),
        spread=15.0,
        inward=12.0,
        elbow=(22.0, 22.0),
        bounce=1.35,
    ),
    Style(
        "sneaky",
        pace=0.80,
        tempo=0.92,
        width=0.01,
        toe_out=4.0,
        stance=0.02,
        knee=38.0,
        roll=-0.35,
        lift=3.2,
        pelvis=0.7,
        twist=0.5,
        lean=22.0,
        hunch=14.0,
        head=-24.0,
        shoulders=6.0,
        swing=(0.3, 0.3),
        flex=(18.0, 26.0),
        spread=20.0,
        inward=52.0,
        elbow=(88.0, 78.0),
        bounce=0.4,
    ),
    Style(
        "cold",
        pace=1.15,
        tempo=1.10,
        toe_out=3.0,
        knee=6.0,
        pelvis=0.6,
        twist=0.45,
        lean=7.0,
        hunch=18.0,
        head=10.0,
        shoulders=15.0,
        swing=(0.12, 0.12),
        flex=(24.0, 18.0),
        spread=-2.0,
        inward=74.0,
        elbow=(112.0, 104.0),
        tremble=1.1,
        breath=1.4,
        bounce=0.8,
    ),
    Style(
        "happy",
        pace=1.50,
        tempo=1.10,
        toe_out=11.0,
        knee=4.0,
        roll=1.15,
        lift=2.6,
        pelvis=1.4,
        twist=1.5,
        lean=-3.0,
        hunch=-9.0,
        head=-9.0,
        tilt=5.0,
        swing=(1.45, 1.45),
        spread=19.0,
        inward=10.0,
        elbow=(50.0, 50.0),
        unsteady=1.3,
        bounce=2.6,
    ),
    Style(
        "drunk",
        pace=0.80,
        tempo=0.93,
        width=0.05,
        toe_out=14.0,
        stance=0.03,
        knee=8.0,
        roll=0.7,
        pelvis=1.5,
        lean=3.0,
        hunch=8.0,
        head=10.0,
        swing=(0.9, 0.6),
        spread=22.0,
        elbow=(26.0, 14.0),
        unsteady=4.5,
    ),
)

STYLES: dict[str, Style] = {style.name: style for style in _ALL}


def style_named(name: str) -> Style:
    """The style of that name.

    Raises:
        QueryError: there is no such style; lists the nearest ones.
    """
    try:
        return STYLES[name]
    except KeyError:
        raise QueryError(f"no style {name!r}; {nearest_names(name, STYLES)}", key=name) from None
