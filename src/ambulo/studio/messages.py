"""All JSON messages between the studio's server and its page, one struct each.

One definition serves both ends: the server encodes and checks with msgspec, and :mod:`ambulo.studio.typescript` writes
``web/src/messages.ts`` from this module. A message is an object whose ``type`` names the struct in snake case. Poses do
not travel as JSON: see :mod:`ambulo.studio.frames`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

PROTOCOL_VERSION = 1
"""Raised with every change that an older page would not understand."""

MAXIMUM_MESSAGE_BYTES = 16 * 1024
"""A larger message from a page closes its connection; the largest honest one (all weights) has about 2 kB."""

MAXIMUM_SPEED = 12.0
"""m/s; nobody is asked to run faster."""

Speed = Annotated[float, Meta(ge=-MAXIMUM_SPEED, le=MAXIMUM_SPEED)]
Weight = Annotated[float, Meta(ge=0.0, le=1000.0)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Names = Annotated[list[Name], Meta(max_length=64)]


class _Message(Struct, tag_field="type", forbid_unknown_fields=True, frozen=True):
    """Base of all messages."""


# --- from the page to the server -------------------------------------------------------------------------------------


class Input(_Message, tag="input", frozen=True):
    """What is asked of the character until the next input.

    Attributes:
        velocity: desired velocity (x, z), m/s in the world.
        facing: direction (x, z) to face; (0, 0) means "face where you go".
        sequence: a number that grows by one with every input; frames echo it, so that the page can tell the latency.
    """

    velocity: tuple[Speed, Speed]
    facing: tuple[Speed, Speed] = (0.0, 0.0)
    sequence: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0


class Seen(_Message, tag="seen", frozen=True):
    """How many pose frames of this connection the page has drawn or passed over. Frames are sent while few are unseen,
    so that a slow page gets the newest ones and none pile up on the way.
    """

    frames: Annotated[int, Meta(ge=0)]


class Pause(_Message, tag="pause", frozen=True):
    """Stop or go on. Going on from the past forgets what came after it."""

    paused: bool


class Step(_Message, tag="step", frozen=True):
    """Pause, and go a few frames forward (negative: back)."""

    frames: Annotated[int, Meta(ge=-600, le=600)] = 1


class Rate(_Message, tag="rate", frozen=True):
    """Slow motion: seconds of the character's life a second of ours."""

    rate: Annotated[float, Meta(ge=0.02, le=1.0)]


class Rewind(_Message, tag="rewind", frozen=True):
    """Pause, and show the moment of that tick."""

    tick: Annotated[int, Meta(ge=0)]


class SetWeights(_Message, tag="set_weights", frozen=True):
    """Other weights for some feature groups; the others keep theirs."""

    weights: Annotated[dict[Name, Weight], Meta(max_length=64)]


class SetTags(_Message, tag="set_tags", frozen=True):
    """Tags that all frames shown must carry."""

    required: Names


class ChooseController(_Message, tag="choose_controller", frozen=True):
    """Drive the character by another controller."""

    name: Name


class ChooseProject(_Message, tag="choose_project", frozen=True):
    """Play another of the projects that the server was started with."""

    name: Name


class Restart(_Message, tag="restart", frozen=True):
    """Put the character back to the origin."""


class SaveInput(_Message, tag="save_input", frozen=True):
    """Send what was asked in the moments kept, up to the one shown, as a file for ``ambulo simulate --input``."""


class Train(_Message, tag="train", frozen=True):
    """Train learned motion matching on the project that is open, in a process of its own.

    Attributes:
        preset: how large and how long.
        resume: go on where it was stopped.
    """

    preset: Name
    resume: bool = False


class StopTraining(_Message, tag="stop_training", frozen=True):
    """Stop the training; what it has learned is kept to go on from."""


ClientMessage = (
    Input
    | Seen
    | Pause
    | Step
    | Rate
    | Rewind
    | SetWeights
    | SetTags
    | ChooseController
    | ChooseProject
    | Restart
    | SaveInput
    | Train
    | StopTraining
)


# --- from the server to the page -------------------------------------------------------------------------------------


class SkeletonInfo(Struct, frozen=True):
    """The skeleton; offsets in metres, ``end_offsets`` null where the file has none."""

    names: list[str]
    parents: list[int]
    roles: dict[str, int]
    offsets: list[list[float]]
    end_offsets: list[list[float] | None]


class BindInfo(Struct, frozen=True):
    """A standing pose of the database in which the page models the body: global, metres and (x, y, z, w)."""

    positions: list[list[float]]
    rotations: list[list[float]]


class GroupInfo(Struct, frozen=True):
    """A feature group: its name, its kind and meaning, and its weight in the schema and now."""

    name: str
    kind: str
    meaning: str
    dimension_count: int
    schema_weight: float
    weight: float


class TagInfo(Struct, frozen=True):
    """A tag and how much of the database carries it, in seconds."""

    name: str
    seconds: float


class ClipInfo(Struct, frozen=True):
    """A clip of the database."""

    name: str
    seconds: float
    mirrored: bool
    tags: list[str]


class SummaryInfo(Struct, frozen=True):
    """The database in numbers."""

    clip_count: int
    frame_count: int
    minutes: float
    joint_count: int
    dimension_count: int
    megabytes: float
    top_speed: float


class Hello(_Message, tag="hello", frozen=True):
    """All that a page needs to know of the project, sent when it connects and when the project changes.

    ``default_tags`` are required while the page requires none."""

    version: int
    project: str
    projects: list[str]
    controllers: list[str]
    rate: float
    history_seconds: float
    trajectory_times: list[float]
    skeleton: SkeletonInfo
    bind: BindInfo
    groups: list[GroupInfo]
    tags: list[TagInfo]
    default_tags: list[str]
    clips: list[ClipInfo]
    summary: SummaryInfo


class Status(_Message, tag="status", frozen=True):
    """What is set; sent when it changes."""

    controller: str
    paused: bool
    rate: float
    weights: dict[str, float]
    required_tags: list[str]


class CandidateInfo(Struct, frozen=True):
    """A frame that was considered: clip, second of the take, and cost by feature group."""

    frame: int
    clip: str
    time: float
    cost: float
    costs: dict[str, float]


class Choice(_Message, tag="choice", frozen=True):
    """Why the character shows what it shows: its last search."""

    tick: int
    clip: str
    time: float
    winner: CandidateInfo
    runner_up: CandidateInfo | None
    continuing: CandidateInfo | None
    candidate_count: int
    filtered: dict[str, int]
    age: float


class Stats(_Message, tag="stats", frozen=True):
    """How the server keeps up: steps a second (asked and done), and the cost of a step in microseconds."""

    asked_hz: float
    hz: float
    step_p50: float
    step_p99: float
    client_count: int


class Problem(_Message, tag="problem", frozen=True):
    """A message that was refused, or something that went wrong; the character plays on."""

    message: str
    key: str | None = None
    remedy: str | None = None


class Rebuild(_Message, tag="rebuild", frozen=True):
    """A project's files changed: it is ``building``, ``ready`` (and played, from where the character is) or ``failed``
    (and played on as it was).
    """

    project: str
    state: str
    text: str
    remedy: str | None = None


class NetworkCurve(Struct, frozen=True):
    """What one network has learned so far: steps done of how many, seconds that are left (null before it is known), the
    loss as (step, loss), and what was measured on held-out data as (step, measure -> value).
    """

    name: str
    step: int
    steps: int
    remaining: float | None
    loss: list[tuple[int, float]]
    validation: list[tuple[int, dict[str, float]]]


class Training(_Message, tag="training", frozen=True):
    """The training of learned motion matching: ``impossible`` here (``text`` and ``remedy`` say why), ``none`` yet,
    ``running``, ``stopping``, ``stopped``, ``done`` or ``failed``. Sent when a page comes and while it runs.
    """

    project: str
    state: str
    preset: str
    presets: list[str]
    text: str
    remedy: str | None
    seconds: float
    networks: list[NetworkCurve]


class InputFile(_Message, tag="input_file", frozen=True):
    """The answer to ``save_input``, for the page that asked: a file's name and text."""

    name: str
    text: str


ServerMessage = Hello | Status | Choice | Stats | Problem | Rebuild | Training | InputFile

_decoder: msgspec.json.Decoder[ClientMessage] = msgspec.json.Decoder(ClientMessage)
_encoder = msgspec.json.Encoder()


def decode(text: str | bytes) -> ClientMessage:
    """The message in a page's text.

    Raises:
        msgspec.ValidationError: a field is missing, unknown, of another type or out of range.
        msgspec.DecodeError: not JSON.
    """
    return _decoder.decode(text)


def encode(message: ServerMessage) -> str:
    """The text that carries a message to the page."""
    return _encoder.encode(message).decode()
