"""``ambulo pose``: a full pose, or a take, from a few points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import tyro

if TYPE_CHECKING:
    from ambulo.motion.motion import Motion


@dataclass(frozen=True)
class Arguments:
    """Pose a body by a few points: what is not set follows, bones keep their lengths.

    The file is JSON, in metres, +Y up: {"left_wrist": [0.5, 1.4, 0.3], "hips": {"position": [0, 0.95, 0], "tolerance":
    0.02}}, or {"rate": 30, "frames": [{...}, ...]} for a take. Key points of an image or of a tracker: --from.
    """

    points: Path | None = None
    """Needed: the JSON file of points."""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("pose.bvh")
    """The file to write; its ending tells the format."""
    skeleton: Path | None = None
    """A character or a take: the skeleton to pose; the embedded one if left out."""
    height: float | None = None
    """Metres from sole to crown; the skeleton is scaled to it."""
    model: Path | None = None
    """Folder of a trained posing model; the packaged one if left out."""
    tolerance: float = 0.0
    """Metres by which points may be off that have no tolerance of their own; 0 pins them to a millimetre."""
    floor: bool = False
    """No point goes below y = 0."""
    stand: bool = False
    """Both feet stand on y = 0 wherever no point of a knee or foot is set."""
    smooth: float = 0.05
    """Seconds below which predicted points of a take do not tremble."""
    rate: float | None = None
    """Poses a second, where the file has frames and no rate."""
    source: Annotated[Literal["points", "coco17", "blazepose33"], tyro.conf.arg(name="from", prefix_name=False)] = (
        "points"
    )
    """What the file holds: points of ours, or key points."""
    facing: float = 0.0
    """Of flat key points: degrees by which the body is turned to its left away from facing the camera."""
    json: bool = False
    """Print one JSON object."""


class OffPin(msgspec.Struct, frozen=True):
    """A point that the body does not reach."""

    frame: int
    point: str
    metres: float


class Outcome(msgspec.Struct, frozen=True):
    """What was written and how near the points are."""

    file: str
    frames: int
    rate: float
    joints: int
    model: str
    points: list[dict[str, list[float]]]
    errors: dict[str, float]
    unreachable: list[OffPin]


def run(arguments: Arguments) -> Outcome:
    """Read, complete, project, write."""
    import numpy as np

    from ambulo.errors import AmbuloError, PosingError
    from ambulo.formats.registry import save
    from ambulo.posing.key_points import read_key_points
    from ambulo.posing.point_file import read_points
    from ambulo.posing.points import POINTS
    from ambulo.posing.pose_from_points import pose_from_points, posing_body
    from ambulo.posing.poser import Poser

    if arguments.points is None:
        raise AmbuloError("which points?", key="points", remedy="give a JSON file with --points FILE")
    if not 0.0 <= arguments.tolerance <= 10.0:
        raise PosingError("a tolerance is a length in metres, from 0 to 10", key="tolerance")
    body = posing_body(None if arguments.skeleton is None else _target(arguments.skeleton), arguments.height)
    track = None
    if arguments.source == "points":
        track = read_points(arguments.points, tolerance=arguments.tolerance, rate=arguments.rate)
    poser = Poser.default() if arguments.model is None else Poser.load(arguments.model)
    if track is None:
        track = read_key_points(
            arguments.points,
            arguments.source,
            body,
            poser=poser,
            facing=float(np.radians(arguments.facing)),
            rate=arguments.rate,
        )
    try:
        done = pose_from_points(
            track,
            body,
            floor=0.0 if arguments.floor else None,
            stand=arguments.stand,
            smooth=arguments.smooth,
            poser=poser,
        )
    except PosingError as error:
        raise PosingError(
            error.message, path=arguments.points, frame=error.frame, key=error.key, remedy=error.remedy
        ) from None
    motion = done.motion(track.rate or 30.0, arguments.out.stem)
    save(motion, arguments.out)
    asked = [POINTS[i] for i in track.indices]
    worst = [float(np.nanmax(done.errors[:, i])) for i in track.indices]
    return Outcome(
        str(arguments.out),
        motion.frame_count,
        motion.rate,
        motion.skeleton.joint_count,
        poser.manifest.name,
        [
            {name: [round(float(v), 5) for v in at] for name, at in zip(POINTS, pose, strict=True)}
            for pose in done.points
        ],
        {name: round(error, 6) for name, error in zip(asked, worst, strict=True)},
        [OffPin(off.frame, off.point, round(off.metres, 5)) for off in done.unreachable],
    )


def _target(path: Path) -> Motion:
    from ambulo.formats.registry import load_all

    return max(load_all(path), key=lambda motion: motion.frame_count)


def show(outcome: Outcome) -> None:
    """Print what was written, and what could not be reached."""
    what = "1 pose" if outcome.frames == 1 else f"{outcome.frames} poses at {outcome.rate:g} a second"
    print(f"{outcome.file}: {what} of {outcome.joints} joints")
    worst = max(outcome.errors, key=lambda name: outcome.errors[name])
    print(f"  {len(outcome.errors)} points set; the farthest from its place is {worst}, by "
          f"{1000 * outcome.errors[worst]:.1f} mm")  # fmt: skip
    for off in outcome.unreachable[:10]:
        frame = f" in frame {off.frame}" if outcome.frames > 1 else ""
        print(f"  out of reach{frame}: {off.point}, by {100 * off.metres:.1f} cm")
    if outcome.unreachable[10:]:
        print(f"  and {len(outcome.unreachable) - 10} more")
