"""Motion matching that shows the weighted mean of the k nearest places in place of the nearest one (S0.7, S0.8).

What decides is motion matching itself: the same query, the same search, the same jumps. Each time it searches, the next
best places are retrieved too, exactly, with weights that fall with their costs; their poses and their root motion are
blended with those of the place that motion matching chose. (Y. Lee et al., "Motion Fields for Interactive Character
Animation", SIGGRAPH Asia 2010, blend the k nearest poses of a database likewise.)

Poses with other feet on the ground are not blended with one another: their mean would slide. So a place fades in only
while it is *in step* with the character's own, and fades out before it ceases to be. (To play it a little faster or
slower, so that it stays in step for longer, was tried: bodies moved more roughly, and nothing else changed.) Contacts
are those of the character's own place, which is the heaviest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.database_controller import DatabaseController, PlayerState
from ambulo.control.frame_sets import FrameSet
from ambulo.control.intent import Intent
from ambulo.control.kernel_arrays import BlendArrays, Pace, empty_pose, empty_shown
from ambulo.control.planner import Plan
from ambulo.control.pose import Pose
from ambulo.control.settings import ControlSettings
from ambulo.control.step_checks import check_state, raise_foreign_state
from ambulo.database.pointer import DbPointer
from ambulo.errors import ControlError

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex


@dataclass(frozen=True)
class BlendState(PlayerState):
    """The state of N characters that play several places of a database each.

    Attributes:
        places: float64 ``[N, S]``, moments of the database that are blended in, in frames; -1 for a free slot.
        shares: float64 ``[N, S]``, what each counts now, 0 to 1; the character's own place (``playhead``) counts 1.
        speeds: float64 ``[N, S]``, time derivatives of the shares.
        targets: float64 ``[N, S]``, what each would count if it were in step for good.
    """

    places: NDArray[np.float64]
    shares: NDArray[np.float64]
    speeds: NDArray[np.float64]
    targets: NDArray[np.float64]


class Blended(NamedTuple):
    """What is blended: places, the heaviest first, and float64 weights that sum to 1."""

    pointers: tuple[DbPointer, ...]
    weights: NDArray[np.float64]


class BlendedMatching(DatabaseController):
    """A controller that plays several places of a database at once.

    Args:
        database: built, or made in memory.
        index: exact search over the features of that database.
        settings: springs, search, tags and blend.
        weights: one a feature group in place of the schema's own.
    """

    state_kind = BlendState

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        settings: ControlSettings | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        from ambulo.control import blending_kernels

        settings = settings or ControlSettings()
        search, blend = settings.search, settings.blend
        super().__init__(
            database,
            index,
            settings,
            weights,
            interval=search.interval,
            minimum_run=search.minimum_run,
            patience=search.patience,
            pose_emphasis=search.pose_emphasis,
        )
        self._kernels = blending_kernels
        self._separation = max(round(blend.separation * database.rate), 1)
        self._blend_limits = np.array([blend.fade, blend.half_life, blend.slack * database.rate, blend.margin])
        # What fades out needs a place while what is new fades in.
        self._slots = 2 * (blend.count - 1)

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> BlendState:
        """N characters that stand, in the database's stillest pose. See :meth:`Controller.start`."""
        return self._own(self._start(count, seed, position, facing))

    def _own(self, state: PlayerState) -> BlendState:
        shape = len(state.playhead), self._slots
        return BlendState(
            **state.__dict__,
            places=np.full(shape, -1.0),
            shares=np.zeros(shape),
            speeds=np.zeros(shape),
            targets=np.zeros(shape),
        )

    def step(self, state: BlendState, intent: Intent, dt: float) -> tuple[BlendState, Pose]:
        """One step of N characters; see :meth:`ambulo.control.motion_matching.MotionMatching.step`."""
        plan = self._plan(state, intent, dt)
        if state.places.shape[1] != self._slots or not state.places.max(initial=0.0) < self.database.frame_count:
            raise_foreign_state()
        count = len(state.playhead)
        arrays, shown = empty_pose(count, len(self._parents)), empty_shown(count)
        blend = BlendArrays(*(getattr(state, name).copy() for name in BlendArrays._fields))
        scratch = np.empty((3, self._slots + 18))
        pace = Pace(float(dt * self.database.rate), float(dt))
        for who, frame_set in plan.groups:
            self._retrieve(plan, state, who, frame_set, blend)
            self._kernels.advance_together(
                who, state.playhead, plan.jump, plan.stops, plan.commitments.stop, frame_set.run_stops,
                state.root, plan.planned.simulation, self._blend_limits, pace, self._frames, self._parents,
                self._constants, blend, scratch, arrays, shown,
            )  # fmt: skip
        after = BlendState(**self._state_after(plan, shown, dt).__dict__, **blend._asdict())
        return after, self._pose_after(plan, shown, arrays)

    def blended(self, state: BlendState, character: int = 0) -> Blended:
        """The places that a character shows the mean of.

        Raises:
            ControlError: there is no such character.
        """
        check_state(state, BlendState, self.schema.dimension_count, "query")
        if not 0 <= character < len(state.playhead):
            raise ControlError(f"character {character} of {len(state.playhead)}", key="character")
        counted = np.flatnonzero(state.shares[character] > 0.0)
        moments = np.append(state.playhead[character], state.places[character, counted])
        weights = np.append(1.0, state.shares[character, counted])
        order = np.argsort(-weights, kind="stable")
        last = self.database.frame_count - 1
        frames = np.minimum((moments[order] + 0.5).astype(np.int64), last)
        pointers = tuple(DbPointer.of_frame(self.database, int(frame)) for frame in frames)
        return Blended(pointers, weights[order] / weights.sum())

    def _retrieve(
        self, plan: Plan, state: PlayerState, who: NDArray[np.int64], frame_set: FrameSet, blend: BlendArrays
    ) -> None:
        """The next best places for those who have just searched, into their slots."""
        seekers = who[plan.planned.due[who] & (plan.commitments.stop[who] == 0)]
        if not len(seekers) or not self._slots:
            return
        jumped = plan.jump[seekers] >= 0
        own = np.where(jumped, plan.jump[seekers], state.playhead[seekers].astype(np.int64))
        for eager in (False, True):
            alike = plan.eager[seekers] == eager
            if alike.any():
                some = seekers[alike]
                numbers = self.frame_search.numbers_of(int(plan.numbers[some[0]]))
                found, costs, own_costs = self.frame_search.nearest(
                    frame_set, plan.query[some], own[alike], eager, numbers, self.settings.blend.count - 1,
                    self._separation,
                )  # fmt: skip
                # Going on costs less than a jump does, so it counts as more.
                own_costs -= np.where(jumped[alike] | eager, 0.0, self.settings.search.bias)
                self._kernels.assign_places(
                    some, found, costs, own_costs, jumped[alike], self.settings.blend.softness,
                    float(self._separation), blend,
                )  # fmt: skip
