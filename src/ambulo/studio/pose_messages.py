"""The messages of the posing page: points are pinned, a pose comes back. See :mod:`ambulo.studio.messages`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from ambulo.studio.messages import BindInfo, Problem, SkeletonInfo

MAXIMUM_KEYS = 200
MAXIMUM_SECONDS = 120.0
MAXIMUM_SAVE_BYTES = 2 * 1024 * 1024
"""Of what a page asks to be saved; 200 keys with all points pinned have about 0.7 MB."""

Coordinate = Annotated[float, Meta(ge=-20.0, le=20.0)]
Place = tuple[Coordinate, Coordinate, Coordinate]
PointName = Annotated[str, Meta(min_length=1, max_length=40)]
Pins = Annotated[dict[PointName, Place], Meta(min_length=1, max_length=43)]


class SolvePose(Struct, tag_field="type", tag="solve_pose", forbid_unknown_fields=True, frozen=True):
    """Find the pose whose points lie where they are pinned.

    Attributes:
        pins: point -> metres.
        floor: no point goes below the ground.
        sequence: comes back with the answer.
    """

    pins: Pins
    floor: bool = True
    sequence: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0


class KeyPose(Struct, forbid_unknown_fields=True, frozen=True):
    """A key on the timeline: seconds and pins."""

    time: Annotated[float, Meta(ge=0.0, le=MAXIMUM_SECONDS)]
    pins: Pins


class SaveKeys(Struct, forbid_unknown_fields=True, frozen=True):
    """Keys to be saved as a file of motion; posted to ``/pose/save``."""

    keys: Annotated[list[KeyPose], Meta(min_length=1, max_length=MAXIMUM_KEYS)]
    format: Literal["bvh", "glb"]
    floor: bool = True
    rate: Annotated[float, Meta(ge=1.0, le=240.0)] = 30.0


PoseClientMessage = SolvePose


class PosePoint(Struct, frozen=True):
    """A point: the smallest scheme that sets it, its partner on the other side, and where it sits on which joint."""

    name: str
    scheme: int
    mirrored: int
    joint: int
    offset: list[float]


class PoseHello(Struct, tag_field="type", tag="pose_hello", frozen=True):
    """All that the posing page needs to know: the body, its points, the model, and the pins to begin with."""

    project: str
    model: str
    skeleton: SkeletonInfo
    bind: BindInfo
    points: list[PosePoint]
    start: dict[str, list[float]]


class UnreachedPin(Struct, frozen=True):
    """A pin that the body does not reach, and by how much."""

    point: str
    millimetres: float


class Posed(Struct, tag_field="type", tag="posed", frozen=True):
    """A pose: local joint positions ``[3 J]`` (metres) and rotations ``[4 J]`` (x, y, z, w), and what it cost."""

    sequence: int
    positions: list[float]
    rotations: list[float]
    unreached: list[UnreachedPin]
    microseconds: float


PoseServerMessage = PoseHello | Posed | Problem

_solve_decoder: msgspec.json.Decoder[SolvePose] = msgspec.json.Decoder(SolvePose)
_save_decoder: msgspec.json.Decoder[SaveKeys] = msgspec.json.Decoder(SaveKeys)


def decode(text: str | bytes) -> SolvePose:
    """The message in the posing page's text.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return _solve_decoder.decode(text)


def decode_save(text: str | bytes) -> SaveKeys:
    """The keys in what was posted to be saved.

    Raises:
        msgspec.DecodeError: there are none.
    """
    return _save_decoder.decode(text)
