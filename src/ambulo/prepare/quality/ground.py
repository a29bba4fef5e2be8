"""Where the feet are over the floor: sunk, floating, at different heights."""

from __future__ import annotations

import numpy as np

from ambulo.prepare.floor import TIP_HEIGHT, TOLERANCE
from ambulo.prepare.quality.examination import Examination, runs
from ambulo.prepare.quality.finding import Finding, Proposal

NOTABLE = 0.03
"""Metres from which a take's wrong height is a warning; preparation mends less (and more) by itself."""
LEAST = 0.001
"""Metres below which nobody could tell the difference."""
DEPTH = 0.03
"""Metres below the take's own floor ..."""
DEPTH_TIME = 0.05
"""... for at least so many seconds: a foot sinks in."""
HOVER = 0.12
"""Metres that every joint is above the floor at least ..."""
HOVER_TIME = 0.8
"""... for so many seconds: no jump lasts so long (0.8 s in the air take a leap of 0.78 m)."""


def find_ground(exam: Examination) -> list[Finding]:
    """The height of the whole take, and stretches below or above its floor."""
    if not exam.has_feet or exam.usable.stop - exam.usable.start < 2:
        return []
    floor = exam.floor
    found = []
    part = exam.usable
    whole = (0, exam.motion.frame_count)
    low = floor.offset > 0.0
    # Where the very tips of the feet are known, they are put at y = 0 exactly: it lies within the tolerance.
    exact = low and floor.penetration > 0.0 and floor.expected == TIP_HEIGHT <= TOLERANCE
    lift = floor.penetration if exact else floor.offset
    amount = abs(lift)
    if amount >= LEAST:
        under = f"; standing feet are {100 * floor.penetration:.1f} cm below y = 0" if floor.penetration > 0.005 else ""
        found.append(
            exam.finding(
                "sunk" if low else "floating",
                "warning" if amount >= NOTABLE else "note",
                whole,
                f"the whole take is {100 * amount:.1f} cm too {'low' if low else 'high'}{under}",
                value=amount,
                unit="m",
                remedy=f"lift it by {100 * lift:+.1f} cm",
                proposal=Proposal(lift=round(float(lift), 4)) if amount >= NOTABLE else None,
            )
        )
    if floor.uneven:
        found.append(
            exam.finding(
                "uneven",
                "note",
                whole,
                "the feet stand at different heights: steps, slopes or a floor that drifts",
                value=0.0,
                unit="m",
            )
        )
        return found
    ground = floor.foot_height - floor.expected
    toes = exam.pose.positions[part][:, list(exam.toes), 1]
    rate = exam.motion.rate
    names = exam.motion.skeleton.names
    deep = toes < ground - DEPTH
    for first, last in runs(deep.any(axis=1), max(2, round(DEPTH_TIME * rate))):
        depth = ground - toes[first:last]
        joint = names[exam.toes[int(depth.max(axis=0).argmax())]]
        found.append(
            exam.finding(
                "sunk",
                "warning",
                (first + part.start, last + part.start),
                f"{joint!r} is {100 * depth.max():.1f} cm below the take's own floor",
                value=float(depth.max()),
                unit="m",
                joint=joint,
                remedy="repair the feet (ambulo repair --feet)",
            )
        )
    high = toes.min(axis=1) > ground + HOVER
    if high.any():
        high &= exam.pose.positions[part, :, 1].min(axis=1) > ground + HOVER
    for first, last in runs(high, max(2, round(HOVER_TIME * rate))):
        height = float(np.min(toes[first:last]) - ground)
        found.append(
            exam.finding(
                "floating",
                "warning",
                (first + part.start, last + part.start),
                f"no part of the body is nearer to the floor than {100 * height:.0f} cm for "
                f"{(last - first) / rate:.1f} s, longer than any jump",
                value=height,
                unit="m",
                remedy="skip these frames",
                proposal=Proposal(skip_frames=((first + part.start, last + part.start),)),
            )
        )
    return found
