"""The one-second-block controller: the simplest thing that works, from whole blocks of capture.

Every second, or at once when the wish changes (S0.29), the block of capture that begins with the pose most like the
present one, and one second later is most nearly where the wish leads, is played and cross-faded into (S0.27, S0.28,
S0.30). Blocks overlap: every frame that has a whole second of allowed frames after it begins one (S0.54). A block that
still stands after half of it although it was to go, or the other way round, is cut short.

The input is that of S0.27: positions and velocities of the joints now; position, velocity and facing of the root one
second ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.database_controller import DatabaseController, PlayerState
from ambulo.control.intent import Intent
from ambulo.control.kernel_arrays import empty_pose, empty_shown
from ambulo.control.pose import Pose
from ambulo.control.settings import BlockSettings, ControlSettings
from ambulo.control.step_checks import raise_foreign_state
from ambulo.database.feature_spec import FeatureSpec

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex
    from ambulo.matching.schema import FeatureSchema
    from ambulo.motion.skeleton import Skeleton

TRAJECTORY_WEIGHT = 1.5
"""Weight of each of the three groups of the target against all joints' positions (1) and velocities (1) together."""


@dataclass(frozen=True)
class BlockState(PlayerState):
    """The state of N characters that play blocks.

    Attributes:
        fading: float64 ``[N]``, the playhead that is being faded out, -1 where there is none.
        faded: float64 ``[N]``, seconds since the last cross-fade began.
    """

    fading: NDArray[np.float64]
    faded: NDArray[np.float64]


def block_features(skeleton: Skeleton, length: float = 1.0) -> tuple[FeatureSpec, ...]:
    """The input of S0.27: every joint that plays a humanoid role, and the root ``length`` seconds ahead."""
    joints = [role for role, joint in skeleton.roles.items() if joint > 0]
    weight = 1.0 / np.sqrt(max(len(joints), 1))
    specs = [FeatureSpec(kind, joint, weight) for kind in ("position", "velocity") for joint in joints]
    specs += [
        FeatureSpec("trajectory_position", weight=TRAJECTORY_WEIGHT, times=(length,)),
        FeatureSpec("trajectory_velocity", weight=TRAJECTORY_WEIGHT, times=(length,)),
        FeatureSpec("trajectory_direction", weight=TRAJECTORY_WEIGHT, times=(length,)),
    ]
    return tuple(specs)


def is_block_index(index: SearchIndex, database: Database, length: float = 1.0) -> bool:
    """Whether an index compares the features of S0.27 for blocks of that length (seconds)."""
    return index.feature_set.schema == block_schema(database, length)


def block_schema(database: Database, length: float) -> FeatureSchema:
    """The features of S0.27, compiled for a database."""
    from ambulo.matching.schema import FeatureSchema

    return FeatureSchema.compile(block_features(database.skeleton, length), database.skeleton, database.rate)


def build_block_index(database: Database, settings: BlockSettings | None = None) -> SearchIndex:
    """Index every frame that begins a whole block (S0.54), over the features of S0.27."""
    from ambulo.matching.features import compute_features
    from ambulo.matching.index import SearchIndex

    length = (settings or BlockSettings()).length
    schema = block_schema(database, length)
    return SearchIndex.build(
        compute_features(database, schema),
        database.clip_starts,
        database.clip_stops,
        database.valid,
        end_margin_frames=round(length * database.rate),
    )


class Blocks(DatabaseController):
    """A controller that plays blocks of one second.

    Args:
        database: built, or made in memory.
        index: over the features of S0.27, from :func:`build_block_index`; made here where it is None or of other
            features (about a second for 20 minutes of capture).
        settings: springs, tags, block length and cross-fade.
        weights: one a feature group in place of the schema's own.
    """

    state_kind = BlockState

    def __init__(
        self,
        database: Database,
        index: SearchIndex | None = None,
        settings: ControlSettings | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        from ambulo.control import playback_kernels

        settings = settings or ControlSettings()
        length = settings.blocks.length
        if index is None or not is_block_index(index, database, length):
            index = build_block_index(database, settings.blocks)
        super().__init__(database, index, settings, weights, interval=length, minimum_run=length, patience=0.5 * length)
        self._kernels = playback_kernels

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> BlockState:
        """N characters that stand, in the database's stillest pose. See :meth:`Controller.start`."""
        return self._own(self._start(count, seed, position, facing))

    def _own(self, state: PlayerState) -> BlockState:
        count = len(state.playhead)
        return BlockState(**state.__dict__, fading=np.full(count, -1.0), faded=np.zeros(count))

    def step(self, state: BlockState, intent: Intent, dt: float) -> tuple[BlockState, Pose]:
        """One step of N characters; see :meth:`ambulo.control.motion_matching.MotionMatching.step`."""
        plan = self._plan(state, intent, dt)
        if not state.fading.max() < self.database.frame_count:
            raise_foreign_state()
        count = len(state.playhead)
        arrays, shown = empty_pose(count, len(self._parents)), empty_shown(count)
        fading, faded = np.empty(count), np.empty(count)
        for who, frame_set in plan.groups:
            self._kernels.advance_blended(
                who, state.playhead, state.fading, state.faded, plan.jump, state.root, plan.planned.simulation,
                plan.stops, frame_set.run_stops, self._frames, self._parents, self._constants,
                dt * self.database.rate, dt, self.settings.blocks.fade, fading, faded, arrays, shown,
            )  # fmt: skip
        after = BlockState(**self._state_after(plan, shown, dt).__dict__, fading=fading, faded=faded)
        return after, self._pose_after(plan, shown, arrays)
