"""Why a pose was chosen: the winner, the runner-up and the continuing pose, by feature group."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Candidate:
    """One frame that was considered.

    Attributes:
        frame: database frame.
        clip: name of its clip.
        time: seconds of the take that the clip was cut from.
        cost: squared distance in normalised, weighted features, less the bonus.
        costs: the squared distance by feature group; they add up to ``cost`` and ``bonus``.
        bonus: what annotations and preferred tags take off.
    """

    frame: int
    clip: str
    time: float
    cost: float
    costs: dict[str, float]
    bonus: float = 0.0


@dataclass(frozen=True)
class Explanation:
    """The last search of one character.

    Attributes:
        winner: what was chosen (the continuing pose itself, where nothing was better).
        runner_up: the best other candidate; None where there was only one.
        continuing: what going on would have cost; None where the clip or the tags ended.
        required_tags: tags that candidates had to carry.
        candidate_count: frames searched.
        filtered: reason -> frames taken away by it.
        age: seconds since that search.
        preferred_tags: tags that made candidates cost less.
        level: which database of a chain answered; 0 is the first.
        database: its name.
        passed_over: tag -> why it does not count, where :attr:`ambulo.control.intent.Intent.on_missing` lets the
            character go on without what the data does not have.
    """

    winner: Candidate
    runner_up: Candidate | None
    continuing: Candidate | None
    required_tags: tuple[str, ...]
    candidate_count: int
    filtered: dict[str, int]
    age: float
    preferred_tags: tuple[str, ...] = ()
    level: int = 0
    database: str = ""
    passed_over: dict[str, str] = field(default_factory=dict)
