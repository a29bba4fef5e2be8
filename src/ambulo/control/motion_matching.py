"""Motion matching: the frame whose pose and future best fit the present pose and the wish, ten times a second.

After S. Clavet, "Motion Matching and The Road to Next-Gen Animation" (GDC 2016), and the constants of D. Holden et al.,
"Learned Motion Matching" (SIGGRAPH 2020). The playhead jumps to the best frame or goes on; the body moves
by the root motion of the frames played and is drawn, gently, to the simulation object.

Jumps are not smoothed here: wrap the controller in :class:`ambulo.control.inertialization.Inertialize`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ambulo.control.database_controller import DatabaseController, PlayerState
from ambulo.control.intent import Intent
from ambulo.control.pose import Pose
from ambulo.control.settings import ControlSettings
from ambulo.control.stepping import empty_pose, make_pose

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
        arrays = empty_pose(count, len(self._parents))
        contacts, frames = np.empty((count, 2), np.uint8), np.empty(count, np.int64)
        playhead, root = np.empty(count), np.empty_like(state.root)
        for who, frame_set in plan.groups:
            self._kernels.advance(
                who, state.playhead, plan.jump, state.root, plan.simulation, frame_set.run_stops, *self._frames,
                self._parents, self._constants, dt * self.database.rate, dt, playhead, root, *arrays, contacts, frames,
            )  # fmt: skip
        shown = PlayerState(
            playhead, plan.timer, plan.wish, plan.impatience, root, plan.simulation, plan.query, plan.query_frame,
            plan.chosen_frame, plan.tag_set, plan.eager,
        )  # fmt: skip
        pose = make_pose(
            arrays, contacts, plan.transitioned, frames, plan.trajectory_positions, plan.trajectory_directions,
            plan.simulation,
        )  # fmt: skip
        return shown, pose
