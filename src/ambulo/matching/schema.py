"""The feature schema: which numbers describe a frame, compiled from a few lines of the project file.

A schema turns specs such as ``velocity of left_foot, weight 1`` into groups of dimensions, with joints resolved and
times in frames. The default has the 27 dimensions of S4.12 to S4.14 (Holden et al., "Learned Motion Matching", 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.database.feature_spec import DEFAULT_FEATURES, FeatureSpec
from ambulo.errors import DatabaseError, QueryError, SkeletonError, nearest_names
from ambulo.motion.skeleton import Skeleton


@dataclass(frozen=True)
class FeatureKind:
    """What one kind of feature needs and how many dimensions it has.

    Attributes:
        axes: letters of the dimensions, once a joint or once a time.
        of_joint: it describes a joint now.
        of_time: it describes the root at times ahead.
        meaning: one sentence for the documentation and the studio.
    """

    axes: tuple[str, ...]
    of_joint: bool
    of_time: bool
    meaning: str


KINDS: Mapping[str, FeatureKind] = {
    "position": FeatureKind(("x", "y", "z"), True, False, "where a joint is, in the root's frame (m)"),
    "velocity": FeatureKind(("x", "y", "z"), True, False, "how a joint moves in the world, in the root's axes (m/s)"),
    "trajectory_position": FeatureKind(("x", "z"), False, True, "where the root will be, in the root's frame (m)"),
    "trajectory_velocity": FeatureKind(("x", "z"), False, True, "how the root will move, in the root's axes (m/s)"),
    "trajectory_direction": FeatureKind(("x", "z"), False, True, "where the root will face, in the root's frame"),
    "number": FeatureKind(("",), False, False, "a numeric channel of the annotations (its unit)"),
    "trajectory_height": FeatureKind(("y",), False, True, "how much higher the root will be (m)"),
}


@dataclass(frozen=True)
class FeatureGroup:
    """Dimensions ``[start, stop)`` that share one standard deviation and one weight.

    Attributes:
        name: for example ``left_foot position`` or ``trajectory_direction``.
        kind: a key of :data:`KINDS`.
        joint: index of the joint; -1 for the root's trajectory.
        joint_name: as the spec names it: a role or a joint; empty for the trajectory.
        weight: the schema's own weight; a search may use another.
        times: seconds ahead, for trajectory kinds.
        frames: the same in frames of the database.
        channel: the numeric channel, for the kind ``number``; else empty.
    """

    name: str
    kind: str
    start: int
    stop: int
    weight: float
    joint: int = -1
    joint_name: str = ""
    times: tuple[float, ...] = ()
    frames: tuple[int, ...] = ()
    channel: str = ""

    @property
    def size(self) -> int:
        """Number of dimensions."""
        return self.stop - self.start


@dataclass(frozen=True)
class FeatureSchema:
    """The compiled schema.

    Attributes:
        groups: in the order of the dimensions.
        rate: frames a second of the database that it was compiled for.
    """

    groups: tuple[FeatureGroup, ...]
    rate: float

    @classmethod
    def compile(
        cls,
        specs: Sequence[FeatureSpec] = DEFAULT_FEATURES,
        skeleton: Skeleton | None = None,
        rate: float = 60.0,
    ) -> FeatureSchema:
        """Resolve joints and times.

        Args:
            specs: what to compare; the default is :data:`ambulo.database.feature_spec.DEFAULT_FEATURES`.
            skeleton: prepared (root first, with roles).
            rate: frames a second.

        Raises:
            QueryError: an unknown kind, a weight or a time that makes no sense, the same group twice, nothing at all.
            SkeletonError: the skeleton has neither the role nor the joint.
        """
        if not specs:
            raise QueryError(
                "the feature schema is empty",
                key="features",
                remedy="list at least one feature, or leave the table out to get the default 27 dimensions",
            )
        if not (np.isfinite(rate) and rate > 0):
            raise QueryError(f"a rate of {rate} frames a second is not possible", key="rate")
        groups: list[FeatureGroup] = []
        start = 0
        for spec in specs:
            kind = _kind(spec)
            joint = _joint(spec, kind, skeleton)
            times = tuple(float(time) for time in spec.times)
            frames = tuple(round(time * rate) for time in times)
            name = f"{spec.joint or spec.channel} {spec.kind}".strip()
            if any(group.name == name for group in groups):
                raise QueryError(f"the feature {name!r} is listed twice", key=name, remedy="remove one of the two")
            stop = start + len(kind.axes) * max(len(times), 1)
            groups.append(
                FeatureGroup(
                    name, spec.kind, start, stop, float(spec.weight), joint, spec.joint if kind.of_joint else "",
                    times, frames, spec.channel,
                )
            )  # fmt: skip
            start = stop
        return cls(tuple(groups), float(rate))

    @property
    def dimension_count(self) -> int:
        """Number of dimensions D."""
        return self.groups[-1].stop

    @cached_property
    def dimension_names(self) -> tuple[str, ...]:
        """One name a dimension, for example ``left_foot velocity x`` or ``trajectory_position z +0.33s``."""
        names: list[str] = []
        for group in self.groups:
            axes = KINDS[group.kind].axes
            if group.times:
                names += [f"{group.name} {axis} {time:+.2f}s" for time in group.times for axis in axes]
            else:
                names += [f"{group.name} {axis}".strip() for axis in axes]
        return tuple(names)

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """The schema's own weights, float32 ``[G]``."""
        return np.array([group.weight for group in self.groups], np.float32)

    @cached_property
    def group_of_dimension(self) -> NDArray[np.int64]:
        """Index of the group of each dimension, int64 ``[D]``."""
        return np.repeat(np.arange(len(self.groups)), [group.size for group in self.groups]).astype(np.int64)

    def group(self, name: str) -> FeatureGroup:
        """The group of that name.

        Raises:
            QueryError: there is none; lists the nearest.
        """
        for group in self.groups:
            if group.name == name:
                return group
        raise QueryError(f"no feature {name!r}; {nearest_names(name, [g.name for g in self.groups])}", key=name)

    def checked_weights(self, weights: ArrayLike | None) -> NDArray[np.float32]:
        """Group weights as float32 ``[G]``; None gives the schema's own.

        Raises:
            QueryError: another count, or a weight that is negative or not finite.
        """
        if weights is None:
            return self.weights
        values = np.ascontiguousarray(weights, np.float32)
        if values.shape != (len(self.groups),):
            raise QueryError(
                f"weights must be [{len(self.groups)}], one a feature group, got {list(values.shape)}",
                key="weights",
                remedy=f"the groups are: {', '.join(group.name for group in self.groups)}",
            )
        if not np.all((values >= 0.0) & np.isfinite(values)):
            worst = int(np.argmin((values >= 0.0) & np.isfinite(values)))
            raise QueryError(
                f"the weight of {self.groups[worst].name!r} is {values[worst]}; weights are finite and not negative",
                key="weights",
            )
        return values

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form, complete."""
        groups = [
            {
                "name": group.name,
                "kind": group.kind,
                "start": group.start,
                "stop": group.stop,
                "weight": group.weight,
                "joint": group.joint,
                "joint_name": group.joint_name,
                "times": list(group.times),
                "frames": list(group.frames),
                **({"channel": group.channel} if group.channel else {}),
            }
            for group in self.groups
        ]
        return {"rate": self.rate, "groups": groups}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FeatureSchema:
        """Inverse of :meth:`to_dict`.

        Raises:
            DatabaseError: the mapping is not a schema.
        """
        try:
            groups = tuple(
                FeatureGroup(**{**group, "times": tuple(group["times"]), "frames": tuple(group["frames"])})
                for group in data["groups"]
            )
            return cls(groups, float(data["rate"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DatabaseError(
                f"the stored feature schema cannot be read: {error!r}", remedy="build the database again"
            ) from None


def _kind(spec: FeatureSpec) -> FeatureKind:
    kind = KINDS.get(spec.kind)
    if kind is None:
        raise QueryError(f"no feature kind {spec.kind!r}; {nearest_names(spec.kind, KINDS)}", key="features.kind")
    if not (np.isfinite(spec.weight) and spec.weight >= 0.0):
        raise QueryError(
            f"the weight of the feature {spec.kind!r} is {spec.weight}; weights are finite and not negative",
            key="features.weight",
        )
    if kind.of_joint and not spec.joint:
        raise QueryError(
            f"the feature kind {spec.kind!r} needs a joint", key="features.joint", remedy='for example joint = "hips"'
        )
    if (spec.kind == "number") != bool(spec.channel):
        raise QueryError(
            f"the feature kind {spec.kind!r} "
            + ("needs a channel" if spec.kind == "number" else f"takes no channel, not {spec.channel!r}"),
            key="features.channel",
            remedy='for example { kind = "number", channel = "fatigue" }',
        )
    if kind.of_time and not spec.times:
        raise QueryError(
            f"the feature kind {spec.kind!r} needs times", key="features.times", remedy="for example times = [0.33, 1]"
        )
    if kind.of_joint and spec.times:
        raise QueryError(f"the feature kind {spec.kind!r} describes the frame itself and takes no times", key="times")
    if not all(np.isfinite(time) for time in spec.times):
        raise QueryError(f"times must be finite seconds, got {spec.times}", key="features.times")
    return kind


def _joint(spec: FeatureSpec, kind: FeatureKind, skeleton: Skeleton | None) -> int:
    if not kind.of_joint:
        return -1
    if skeleton is None:
        raise QueryError(f"the feature {spec.joint!r} {spec.kind} needs a skeleton to find its joint", key=spec.joint)
    if spec.joint in skeleton.roles:
        return int(skeleton.roles[spec.joint])
    if spec.joint in skeleton.names:
        return skeleton.index(spec.joint)
    known = [*skeleton.roles, *skeleton.names]
    raise SkeletonError(
        f"the feature '{spec.joint} {spec.kind}' needs the role or joint {spec.joint!r}, which this skeleton "
        f"does not have; {nearest_names(spec.joint, known)}",
        joint=spec.joint,
        remedy=f'name the joint in the [roles] table of ambulo.toml ({spec.joint} = "JOINT"), '
        "or list other features in [[features]]",
    )
