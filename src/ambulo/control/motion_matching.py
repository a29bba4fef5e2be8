"""Motion matching: the frame whose pose and future best fit the present pose and the wish, ten times a second.

After S. Clavet, "Motion Matching and The Road to Next-Gen Animation" (GDC 2016), and the constants of D. Holden et al.,
"Learned Motion Matching" (SIGGRAPH 2020). The playhead jumps to the best frame or goes on; the body moves
by the root motion of the frames played and is drawn, gently, to the simulation object.

Jumps are not smoothed here: wrap the controller in :class:`ambulo.control.inertialization.Inertialize`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ambulo.control.database_controller import DatabaseController, PlayerState
from ambulo.control.intent import Intent
from ambulo.control.kernel_arrays import empty_pose, empty_shown
from ambulo.control.pose import Pose
from ambulo.control.settings import ControlSettings

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex


class MotionMatching(DatabaseController):
    """A controller that plays a database.

    Args:
        database: built, or made in memory.
        index: exact search over the features of that database.
        settings: springs, search and tags.
        weights: one a feature group in place of the schema's own.
    """

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        settings: ControlSettings | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        from ambulo.control import playback_kernels

        settings = settings or ControlSettings()
        search = settings.search
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
        self._kernels = playback_kernels

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> PlayerState:
        """N characters that stand, in the database's stillest pose. See :meth:`Controller.start`."""
        return self._start(count, seed, position, facing)

    def step(self, state: PlayerState, intent: Intent, dt: float) -> tuple[PlayerState, Pose]:
        """One step of N characters.

        Args:
            state: of N characters; not changed.
            intent: of the same N.
            dt: seconds, positive; any, not only one database frame.

        Raises:
            ControlError: shapes differ, a number is not finite, ``dt`` is not positive.
            QueryError: a tag is unknown or nothing carries the required tags.
        """
        plan = self._plan(state, intent, dt)
        count = len(state.playhead)
        arrays, shown = empty_pose(count, len(self._parents)), empty_shown(count)
        self._kernels.advance(
            self.planner.all_of(count), state.playhead, plan.jump, state.root, plan.planned.simulation, plan.stops,
            plan.commitments.stop, self._frames, self._parents, self._constants, dt * self.database.rate, dt, arrays,
            shown,
        )  # fmt: skip
        return self._state_after(plan, shown, dt), self._pose_after(plan, shown, arrays)
