"""One operator of a list, and stylising a take with several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from ambulo.errors import MotionError
from ambulo.motion.humanoid import detect_roles
from ambulo.motion.motion import Motion
from ambulo.prepare.stylise.arm_swing import ArmSwing
from ambulo.prepare.stylise.draft import Draft
from ambulo.prepare.stylise.lean import Lean
from ambulo.prepare.stylise.limp import Limp
from ambulo.prepare.stylise.replant import StyleReport, replant
from ambulo.prepare.stylise.stride import Stride
from ambulo.prepare.stylise.tempo import Tempo

STYLISED = "stylised"
"""The tag that every take made by operators carries beside its own."""

Kind = Lean | Stride | Limp | ArmSwing | Tempo


class Operator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One operator: exactly one of these is given.

    Attributes:
        lean: the trunk.
        stride: length of steps.
        limp: a leg that is spared.
        arm_swing: how far arms swing.
        tempo: how fast all goes.
    """

    lean: Lean | None = None
    stride: Stride | None = None
    limp: Limp | None = None
    arm_swing: ArmSwing | None = None
    tempo: Tempo | None = None

    @property
    def given(self) -> list[tuple[str, Kind]]:
        """Name and parameters of what is given."""
        found = [(name, getattr(self, name)) for name in self.__struct_fields__]
        return [(name, kind) for name, kind in found if kind is not None]

    def fault(self) -> str | None:
        """What is wrong; None where nothing is."""
        if len(self.given) != 1:
            names = ", ".join(self.__struct_fields__)
            return f"an operator is one of {names}, {len(self.given) or 'none'} are given"
        name, kind = self.given[0]
        fault = kind.fault()
        return None if fault is None else f"{name}: {fault}"


def tempo_factor(operators: Sequence[Operator]) -> float:
    """What times of a take are divided by in the stylised one."""
    factor = 1.0
    for operator in operators:
        factor *= 1.0 if operator.tempo is None else operator.tempo.factor
    return factor


def stylise(
    motion: Motion, operators: Sequence[Operator], *, contact_speed: float = 0.3, contact_window: float = 0.1
) -> tuple[Motion, StyleReport]:
    """Make a stylised take of a base. Bones keep their lengths, feet that stand keep standing.

    Only rotations and the root's place change. Operators of amount 0 change nothing. The result has the frames of the
    base; a tempo gives it another rate.

    Args:
        motion: the base, with or without roles, at its true rate.
        operators: in the order in which they work.
        contact_speed: m/s under which a toe stands; a foot that rolls over its toe stands too.
        contact_window: seconds of the contacts' median filter.

    Returns:
        The take, and what was measured before and after.

    Raises:
        MotionError: an operator makes no sense.
        SkeletonError: hips, legs, feet or, for a lean, the spine cannot be found.
    """
    for operator in operators:
        fault = operator.fault()
        if fault is not None:
            raise MotionError(
                fault, path=motion.source.path, key="operators", remedy="give the operator a value that is possible"
            )
    roles = motion.skeleton.roles or detect_roles(motion.skeleton, motion).roles
    base = motion.with_roles(dict(roles))
    draft = begun = Draft.begin(base, speed=contact_speed, window=contact_window)
    for operator in operators:
        for _, kind in operator.given:
            draft = kind.apply(draft)
    made, report = replant(base, begun.down, draft)
    return replace(made, skeleton=motion.skeleton), report
