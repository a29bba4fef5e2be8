"""Published gait data as functions of speed: the numbers that make the synthetic actor step like a person.

Sources, cited at each curve:

- D. W. Grieve and R. J. Gear, Ergonomics 9 (1966) 379-399: stride frequency against speed, adults.
- J. Perry and J. M. Burnfield, "Gait Analysis: Normal and Pathological Function", 2nd ed. (2010): foot rockers, joint
  angles, pelvic motion of free walking.
- D. A. Winter, "Biomechanics and Motor Control of Human Gait", 2nd ed. (1991): joint angles, step width, clearance.
- T. F. Novacheck, Gait and Posture 7 (1998) 77-95: stance fraction and joint angles of running.
- P. R. Cavanagh and R. Kram, Med. Sci. Sports Exerc. 21 (1989) 467-479: stride frequency of distance running.
- A. Hreljac, Med. Sci. Sports Exerc. 25 (1993) 1158-1162: the preferred walk-run transition near 2.07 m/s.

Speeds are m/s, times are seconds, angles are radians. All functions take floats or arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.synthesis.body import STATURE
from ambulo.synthesis.curves import keyed, ramp

Array = NDArray[np.floating]

TRANSITION_SPEED = 2.07
_DEGREE = np.pi / 180.0


def walk_stride_frequency(speed: Any) -> Any:
    """Strides a second of an adult walking (Grieve and Gear 1966: 64.8 (v / stature)^0.57 a minute)."""
    return 64.8 / 60.0 * np.power(np.maximum(speed, 0.05) / STATURE, 0.57)


def run_stride_frequency(speed: Any) -> Any:
    """Strides a second of an adult running: 1.37 Hz at 3.2 m/s, rising slowly (Cavanagh and Kram 1989)."""
    return 1.26 + 0.035 * np.asarray(speed)


def run_weight(speed: Any) -> Any:
    """0 in walking, 1 in running: a narrow blend about the preferred transition speed (Hreljac 1993)."""
    return ramp(speed, TRANSITION_SPEED - 0.15, TRANSITION_SPEED + 0.20)


def walk_stance_fraction(speed: Any) -> Any:
    """Share of a stride that a walking foot is down: 0.62 at free speed, more when slow (Perry and Burnfield 2010).

    The ball of the foot leaves about 3 % of a stride before the tip of the toes does; this is the ball's share.
    """
    return np.clip(0.62 - 0.07 * (np.asarray(speed) - 1.4), 0.57, 0.71) - 0.03


def run_stance_fraction(speed: Any) -> Any:
    """The same in running: 0.39 at 3.2 m/s, 0.36 at 3.9 (Novacheck 1998)."""
    published = np.clip(0.39 - 0.043 * (np.asarray(speed) - 3.2), 0.25, 0.43) - 0.02
    # A leg of this length spans some 0.85 m of travel in one contact.
    return np.minimum(published, 0.84 * run_stride_frequency(speed) / np.maximum(speed, 0.1))


def step_time(speed: Any, run: Any) -> Any:
    """Seconds from one foot's landing to the other's."""
    walk = 0.5 / walk_stride_frequency(speed)
    return (1.0 - run) * walk + run * 0.5 / run_stride_frequency(speed)


def stance_fraction(speed: Any, run: Any) -> Any:
    """Share of a stride that a foot is down, through the transition."""
    return (1.0 - run) * walk_stance_fraction(speed) + run * run_stance_fraction(speed)


def step_half_width(speed: Any, run: Any) -> Any:
    """Half of the distance between the feet's lines: 4 to 5 cm in walking (Winter 1991), narrower in running."""
    walk = 0.095 - 0.045 * ramp(speed, 0.0, 1.1)
    return (1.0 - run) * walk + run * 0.040


def landing_pitch(speed: Any, run: Any) -> Any:
    """Toe-up angle of the foot at heel strike: about 20 degrees in free walking (Winter 1991), flatter in running."""
    walk = (6.0 + 15.0 * ramp(speed, 0.1, 1.5)) * _DEGREE
    fast = (12.0 - 9.0 * ramp(speed, 3.0, 5.0)) * _DEGREE
    return (1.0 - run) * walk + run * fast


def push_off_pitch(speed: Any, run: Any) -> Any:
    """Heel-up angle of the foot at toe-off, negative: about 60 degrees in free walking (Perry and Burnfield 2010)."""
    walk = -(22.0 + 38.0 * ramp(speed, 0.1, 1.4)) * _DEGREE
    return (1.0 - run) * walk + run * -62.0 * _DEGREE


def swing_lift(speed: Any, run: Any) -> Any:
    """Height of the lowest point of the foot in swing: 2 cm in walking (Winter 1991), a high heel in running."""
    walk = 0.018 + 0.008 * ramp(speed, 0.5, 2.0)
    return (1.0 - run) * walk + run * (0.07 + 0.055 * (np.asarray(speed) - 2.0))


# Knee flexion of the stance leg over stance (0 = landing, 1 = toe-off).
_KNEE_TIMES = np.array([-0.02, 0.0, 0.22, 0.62, 0.82, 1.0, 1.02])
_KNEE_WALK = np.array([6.0, 6.0, 18.0, 7.0, 14.0, 38.0, 38.0]) * _DEGREE  # Perry and Burnfield 2010
_KNEE_RUN = np.array([18.0, 18.0, 40.0, 44.0, 36.0, 24.0, 24.0]) * _DEGREE  # Novacheck 1998


def stance_knee_walk(progress: Any, speed: Any) -> Any:
    """Knee flexion of the loaded leg in walking; the loading wave shrinks as one slows down."""
    wave = keyed(_KNEE_TIMES, _KNEE_WALK, progress)
    return 7.0 * _DEGREE + (0.35 + 0.65 * ramp(speed, 0.2, 1.3)) * (wave - 7.0 * _DEGREE)


def stance_knee_run(progress: Any) -> Any:
    """Knee flexion of the loaded leg in running."""
    return keyed(_KNEE_TIMES, _KNEE_RUN, progress)
