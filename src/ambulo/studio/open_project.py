"""A project opened for playing: its database, its index, its controllers, and what the page must know of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.controller import Controller
from ambulo.control.create import CONTROLLERS, create_chain
from ambulo.control.pose import Pose
from ambulo.control.project_settings import project_fallback, project_settings
from ambulo.control.settings import ControlSettings
from ambulo.database.database import Database
from ambulo.database.joined import frame_offsets, join_databases
from ambulo.learning.create import controller_names, create_controller, model_stamp, models_folder
from ambulo.matching.index import SearchIndex
from ambulo.matching.schema import KINDS
from ambulo.maths import quaternions
from ambulo.motion import kinematics
from ambulo.studio import messages

Level = tuple[str, Database, SearchIndex, ControlSettings]

FORWARD = np.array([0.0, 0.0, 1.0], np.float32)


@dataclass
class OpenProject:
    """A project in use.

    Attributes:
        name: shown to the user; unique among the projects of one server.
        database: what is played.
        index: exact search over its features.
        settings: of its controllers.
        models: folder of its trained models; None where it has none.
        fallback: name, database, index and settings of those that answer what it cannot, in their order.
        also: folders of those of them that its file does not name.
    """

    name: str
    database: Database
    index: SearchIndex
    settings: ControlSettings = field(default_factory=ControlSettings)
    models: Path | None = None
    fallback: tuple[Level, ...] = ()
    also: tuple[Path, ...] = ()
    _controllers: dict[str, tuple[object, Controller]] = field(default_factory=dict)

    def controller(self, name: str) -> Controller:
        """The full stack of that name, made on first use; a model that was trained again is opened again.

        Raises:
            ControlError: there is no controller of that name.
        """
        stamp = model_stamp(self.models, name)
        if name not in self._controllers or self._controllers[name][0] != stamp:
            if self.fallback and name in CONTROLLERS:
                own = self.database.name or self.name
                made = create_chain(name, [(own, self.database, self.index, self.settings), *self.fallback])
            else:
                made = create_controller(name, self.database, self.index, self.settings, self.models)
            self._controllers[name] = stamp, made
        return self._controllers[name][1]

    @cached_property
    def shown(self) -> Database:
        """All that may be shown: the database, and those that answer what it cannot behind it."""
        return join_databases(self._databases)

    @cached_property
    def _databases(self) -> list[Database]:
        return [self.database, *(level[1] for level in self.fallback)]

    def shown_frame(self, pose: Pose) -> int:
        """The frame of :attr:`shown` that the first character shows."""
        return int(pose.frames[0]) + int(frame_offsets(self._databases)[int(pose.levels[0])])

    @property
    def trajectory_times(self) -> tuple[float, ...]:
        """Seconds ahead of the trajectory points."""
        groups = self.index.feature_set.schema.groups
        times = sorted({time for group in groups for time in group.times})
        return tuple(times)

    def matched_trajectory(
        self, frame: int, root_position: NDArray[np.float32], root_rotation: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Where the data goes from a frame, laid onto the present root: positions, directions ``[1, K, 3]``, world."""
        database = self.shown
        clip = database.clips[int(database.clip_of_frame(frame))]
        ahead = np.rint(np.array(self.trajectory_times) * database.rate).astype(np.int64)
        frames = np.minimum(frame + ahead, clip.stop - 1)
        positions, rotations = database.positions[frames, 0], database.rotations[frames, 0]
        here, turn = database.positions[frame, 0], database.rotations[frame, 0]
        local = quaternions.inverse_rotate(turn, positions - here)
        headings = quaternions.rotate(rotations, np.broadcast_to(FORWARD, positions.shape))
        world = root_position + quaternions.rotate(root_rotation, local)
        directions = quaternions.rotate(root_rotation, quaternions.inverse_rotate(turn, headings))
        return np.asarray(world, np.float32)[None], np.asarray(directions, np.float32)[None]

    def hello(self, projects: list[str], history_seconds: float, weights: dict[str, float]) -> messages.Hello:
        """What the page must know."""
        database, schema = self.shown, self.index.feature_set.schema
        skeleton = database.skeleton
        seconds = {tag: float((r[:, 1] - r[:, 0]).sum()) / database.rate for tag, r in database.tags.items()}
        return messages.Hello(
            version=messages.PROTOCOL_VERSION,
            project=self.name,
            projects=projects,
            controllers=sorted(controller_names(self.models), key=lambda name: name != "motion_matching"),
            rate=database.rate,
            history_seconds=history_seconds,
            trajectory_times=list(self.trajectory_times),
            skeleton=messages.SkeletonInfo(
                names=list(skeleton.names),
                parents=[int(parent) for parent in skeleton.parents],
                roles={role: int(joint) for role, joint in skeleton.roles.items()},
                offsets=skeleton.offsets.tolist(),
                end_offsets=[None if np.isnan(end).any() else end.tolist() for end in skeleton.end_offsets],
            ),
            bind=bind_pose(database),
            groups=[
                messages.GroupInfo(
                    name=group.name,
                    kind=group.kind,
                    meaning=KINDS[group.kind].meaning,
                    dimension_count=group.size,
                    schema_weight=float(group.weight),
                    weight=weights[group.name],
                )
                for group in schema.groups
            ],
            tags=[messages.TagInfo(tag, duration) for tag, duration in sorted(seconds.items(), key=lambda e: -e[1])],
            default_tags=[tag for tag in self.settings.search.default_tags if tag in database.tags],
            clips=[
                messages.ClipInfo(clip.name, (clip.stop - clip.start) / database.rate, clip.mirrored, list(clip.tags))
                for clip in database.clips
            ],
            summary=messages.SummaryInfo(
                clip_count=len(database.clips),
                frame_count=database.frame_count,
                minutes=database.duration / 60.0,
                joint_count=skeleton.joint_count,
                dimension_count=schema.dimension_count,
                megabytes=sum(map(_megabytes, self._databases)),
                top_speed=top_speed(database),
            ),
        )


def open_project(path: Path, name: str | None = None, also: Sequence[Path] = ()) -> OpenProject:
    """Open a built project, and those that answer what it cannot: which its file names, and ``also`` these.

    Raises:
        DatabaseError: it was not built, or is damaged; the message says what to do.
        ProjectError: its project file cannot be used, or asks for tags that nothing carries.
    """
    from ambulo.matching.build import load_index

    database = Database.open(path)
    index = load_index(database)[1]
    settings = project_settings(path, known_tags=database.tags)
    title = name or database.name or path.resolve().name
    fallback: list[Level] = []
    taken = {database.name or title}
    for place in (*project_fallback(path), *also):
        other = Database.open(place)
        known = other.name if other.name and other.name not in taken else place.resolve().as_posix()
        taken.add(known)
        fallback.append((known, other, load_index(other)[1], project_settings(place, known_tags=other.tags)))
    return OpenProject(title, database, index, settings, models_folder(path), tuple(fallback), tuple(also))


ProjectOpener = Callable[[str], OpenProject]
"""Opens a project by its name."""


def bind_pose(database: Database) -> messages.BindInfo:
    """The most upright still pose with both feet on the ground: what the page models the body in."""
    stride = max(database.frame_count // 20_000, 1)
    frames = np.arange(0, database.frame_count, stride)
    speed = np.linalg.norm(database.velocities[frames, 1:], axis=-1).mean(axis=-1)
    speed += np.linalg.norm(database.velocities[frames, 0], axis=-1)
    hips = database.skeleton.roles.get("hips", min(1, database.skeleton.joint_count - 1))
    height = database.positions[frames, hips, 1]
    planted = database.contacts[frames].all(axis=-1) & (database.valid[frames] != 0)
    # A crouch is as still as a stand: only poses with the hips near their usual height count, where there are any.
    usual = planted & (height > np.quantile(height, 0.5) * 0.97)
    pool = frames[usual] if usual.any() else frames
    calm = speed[usual] if usual.any() else speed
    frame = int(pool[int(np.argmin(calm))])
    pose = kinematics.forward(
        database.positions[frame : frame + 1], database.rotations[frame : frame + 1], database.skeleton.parents
    )
    positions = pose.positions[0] - pose.positions[0, 0] * np.array([1.0, 0.0, 1.0], np.float32)
    return messages.BindInfo(positions.tolist(), pose.rotations[0].tolist())


def top_speed(database: Database) -> float:
    """The root speed that 99 % of the frames stay under, m/s."""
    stride = max(database.frame_count // 20_000, 1)
    velocities = database.velocities[::stride, 0]
    return float(np.quantile(np.hypot(velocities[:, 0], velocities[:, 2]), 0.99))


def _megabytes(database: Database) -> float:
    if database.folder is not None:
        return sum(file.stat().st_size for file in database.folder.rglob("*") if file.is_file()) / 1e6
    arrays: list[Any] = [database.positions, database.rotations, database.velocities, database.angular_velocities]
    return sum(int(array.nbytes) for array in arrays) / 1e6
