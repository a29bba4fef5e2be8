"""From a raw take to an annotated clip: roles, trims, glitches, rate, floor, root bone, velocities, contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import MotionError, SkeletonError
from ambulo.motion.humanoid import detect_roles
from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.markers import SOLVE_FIRST, Markers
from ambulo.motion.motion import Motion, Note
from ambulo.motion.resampling import resample
from ambulo.prepare.clip import PreparedClip
from ambulo.prepare.contacts import contacts
from ambulo.prepare.corrections import Corrections
from ambulo.prepare.floor import floor_height
from ambulo.prepare.glitches import SERIOUS, Glitch, find_glitches
from ambulo.prepare.quality.examination import Examination
from ambulo.prepare.quality.rate import find_rate
from ambulo.prepare.root import attach_root, root_motion
from ambulo.prepare.settings import PrepareSettings
from ambulo.prepare.travel import feet_travel, with_travel
from ambulo.prepare.trim import TrimReport, usable_range
from ambulo.prepare.velocities import angular, linear

SHORTEST = 0.2
"""Seconds: a usable range shorter than this holds no motion to match."""

SLOWEST_RATE = 1.0
"""Frames a second. Slower takes have a wrong frame time; to believe it is to make hours of motion of a few frames."""


def prepare_take(
    motion: Motion,
    settings: PrepareSettings | None = None,
    roles_overrides: Mapping[str, str] | None = None,
    corrections: Corrections | None = None,
    travel: str = "as_is",
) -> PreparedClip:
    """Prepare one take.

    Steps: humanoid roles; trim the ends; find glitches (both at the take's own rate); resample; put the floor at y = 0;
    add the root bone; velocities; contacts; mark the frames of glitches unusable.

    Args:
        motion: a take as a reader gives it, in metres and +Y up.
        settings: constants; the defaults are the published ones.
        roles_overrides: role -> joint name, where the detection is wrong.
        corrections: what is known of this one take; it wins over what would be found.
        travel: ``"as_is"`` takes the way from the file; ``"from_feet"`` lets a clip that walks in place walk on
            (:mod:`ambulo.prepare.travel`).

    Raises:
        SkeletonError: hips, legs or feet cannot be told on this skeleton, or an override names nothing.
        MotionError: too short, too slow, or values or settings that are not possible numbers.
    """
    settings = settings or PrepareSettings()
    path = motion.source.path
    if isinstance(motion, Markers):
        raise MotionError(
            f"these are {motion.skeleton.joint_count} markers, not a skeleton",
            path=path,
            remedy=SOLVE_FIRST,
        )
    fault = settings.fault()
    if fault is not None:
        raise MotionError(f"the setting {fault[0]} = {fault[1]}", key=fault[0])
    if motion.rate < SLOWEST_RATE:
        raise MotionError(
            f"the take has {motion.rate:g} frames a second; between frames so far apart nothing is known",
            path=path,
            remedy="give the true rate in its [[sources]] table, or exclude it",
        )
    _check_length(motion, motion.frame_count, "")
    _check_finite(motion)
    notes = list(motion.source.notes)

    try:
        report = detect_roles(motion.skeleton, motion, roles_overrides)
    except SkeletonError as error:
        raise SkeletonError(error.message, path=path, joint=error.joint, key=error.key, remedy=error.remedy) from None
    _check_roles(report.roles, report.evidence, motion)
    motion = motion.with_roles(report.roles)
    if report.missing:
        why = "; ".join(f"{role}: {report.evidence[role]}" for role in report.missing)
        notes.append(Note("roles_missing", f"no joint plays {', '.join(report.missing)} ({why})"))

    pose = forward_motion(motion)
    trim = usable_range(motion, pose=pose) if settings.trim else TrimReport(0, motion.frame_count)
    if corrections is not None:
        trim = _corrected(trim, corrections, motion)
    notes += [Note("trim", reason) for reason in trim.reasons]
    doubts = find_rate(Examination(motion, settings, motion.rate, pose))
    notes += [Note("rate", f"{doubt.message}; {doubt.remedy}", warning=True) for doubt in doubts if doubt.proposal]
    start_time = trim.start_frame / motion.rate
    part = slice(trim.start_frame, trim.stop_frame)
    motion, pose = motion.slice(part.start, part.stop), GlobalPose(pose.positions[part], pose.rotations[part])
    _check_length(motion, motion.frame_count, " once its ends are trimmed")
    motion, pose = _travelled(motion, pose, travel, notes)
    glitches = find_glitches(motion, speed=settings.glitch_speed, pose=pose)
    notes += [_glitch_note(glitch, start_time, motion.rate) for glitch in glitches]

    resampled = resample(motion, settings.rate)
    _check_length(resampled, resampled.frame_count, f" at {settings.rate:g} frames a second")
    if resampled is not motion:
        pose = forward_motion(resampled)
    valid = ~_glitch_frames(glitches, motion.rate, settings, resampled.frame_count)
    for first, last in corrections.skip_frames if corrections is not None else ():
        valid[_frames_between(first - trim.start_frame, last - trim.start_frame, motion.rate, 0.0, settings)] = False

    lift = corrections.lift if corrections is not None else None
    if lift is not None:
        notes.append(Note("floor", f"the take was moved by {100 * lift:+.1f} cm, as the project says"))
        resampled, pose = _lifted(resampled, pose, lift)
    elif settings.floor:
        floor = floor_height(resampled, pose=pose)
        if floor.uneven:
            notes.append(Note("floor_uneven", "the feet stand at different heights: steps, slopes or a drifting floor"))
        if floor.offset:
            low = floor.foot_height - floor.expected
            text = (
                f"the floor lies at {100 * low:+.1f} cm in the file; the take was moved by {100 * floor.offset:+.1f} cm"
            )
            notes.append(Note("floor", text, warning=abs(floor.offset) > 0.15))
            resampled, pose = _lifted(resampled, pose, floor.offset)

    root_positions, root_rotations = root_motion(
        resampled,
        position_window=settings.position_window,
        direction_window=settings.direction_window,
        order=settings.smoothing_order,
        pose=pose,
    )
    down = contacts(
        resampled,
        speed=settings.contact_speed,
        window=settings.contact_window,
        height=settings.contact_height,
        pose=pose,
    )
    rooted = attach_root(resampled, root_positions, root_rotations, pose)
    dt = 1.0 / rooted.rate
    return PreparedClip(
        name=motion.name,
        skeleton=rooted.skeleton,
        rate=rooted.rate,
        positions=rooted.positions,
        rotations=rooted.rotations,
        velocities=linear(rooted.positions, dt),
        angular_velocities=angular(rooted.rotations, dt),
        contacts=down.astype(np.uint8),
        valid=valid.astype(np.uint8),
        notes=tuple(notes),
        source=motion.source,
        trim=trim,
        start_time=start_time,
    )


def _travelled(motion: Motion, pose: GlobalPose, travel: str, notes: list[Note]) -> tuple[Motion, GlobalPose]:
    """Say of a clip that walks in place that it does, or let it walk on."""
    if travel == "from_feet":
        moved, way = with_travel(motion, pose)
        if moved is motion:
            return motion, pose
        notes.append(Note("travel", f"walks in place; moved on by {way:.2f} m so that standing feet stand"))
        return moved, forward_motion(moved)
    found = feet_travel(motion, pose)
    if found.in_place:
        text = (
            f"walks in place: its feet walk at {found.speed:.2f} m/s, the body stays; "
            'travel = "from_feet" in its [[sources]] table moves it on'
        )
        notes.append(Note("in_place", text, warning=True))
    return motion, pose


def _lifted(motion: Motion, pose: GlobalPose, offset: float) -> tuple[Motion, GlobalPose]:
    positions, lifted = motion.positions.copy(), pose.positions.copy()
    positions[:, motion.skeleton.parents < 0, 1] += np.float32(offset)
    lifted[..., 1] += np.float32(offset)
    return replace(motion, positions=positions), GlobalPose(lifted, pose.rotations)


def _glitch_frames(
    glitches: list[Glitch], source_rate: float, settings: PrepareSettings, frame_count: int
) -> NDArray[np.bool_]:
    mask = np.zeros(frame_count, bool)
    for glitch in glitches:
        if glitch.displacement < SERIOUS:
            continue
        mask[_frames_between(glitch.start_frame, glitch.stop_frame, source_rate, settings.glitch_margin, settings)] = (
            True
        )
    return mask


def _frames_between(
    start_frame: int, stop_frame: int, source_rate: float, margin: float, settings: PrepareSettings
) -> slice:
    """Frames of the clip whose times lie in a range of frames of the take, with seconds of margin around it."""
    start = (start_frame / source_rate - margin) * settings.rate
    stop = ((stop_frame - 1) / source_rate + margin) * settings.rate
    return slice(max(0, int(np.ceil(start - 1e-6))), max(0, int(np.floor(stop + 1e-6)) + 1))


def _corrected(trim: TrimReport, corrections: Corrections, motion: Motion) -> TrimReport:
    """The usable part with the ends that are given."""
    start, stop = corrections.start_frame, corrections.stop_frame
    for key, frame in (("start_frame", start), ("stop_frame", stop)):
        if frame is not None and not 0 <= frame <= motion.frame_count:
            raise MotionError(
                f"{key} = {frame} lies outside the take, which has {motion.frame_count} frames",
                path=motion.source.path,
                key=key,
                remedy="correct its [[takes]] entry in ambulo.toml",
            )
    reasons = [cut.reason for cut in trim.cuts if (start if cut.stop_frame <= trim.start_frame else stop) is None]
    if start is not None and start > 0:
        reasons.append(f"the first {start} frames are cut off, as the project says")
    if stop is not None and stop < motion.frame_count:
        reasons.append(f"the last {motion.frame_count - stop} frames are cut off, as the project says")
    first = trim.start_frame if start is None else start
    last = trim.stop_frame if stop is None else stop
    if last <= first:
        raise MotionError(
            f"no frames are left between {first} and {last}",
            path=motion.source.path,
            key="start_frame",
            remedy="correct its [[takes]] entry in ambulo.toml",
        )
    return TrimReport(first, last, tuple(reasons), trim.cuts)


def _glitch_note(glitch: Glitch, start_time: float, rate: float) -> Note:
    begin, end = start_time + glitch.start_frame / rate, start_time + glitch.stop_frame / rate
    what = {
        "speed": f"{glitch.joint!r} moves at {glitch.value:.0f} m/s",
        "pop": f"{glitch.joint!r} pops for a frame ({glitch.value:.0f} degrees a second there and back)",
        "flip": f"{glitch.joint!r} turns over at {glitch.value:.0f} degrees a second",
    }[glitch.reason]
    return Note("glitch", f"{begin:.2f} to {end:.2f} s: {what}", warning=True, joint=glitch.joint)


def _check_length(motion: Motion, frame_count: int, when: str) -> None:
    duration = max(frame_count - 1, 0) / motion.rate
    if frame_count < 5 or duration < SHORTEST - 1e-6:
        raise MotionError(
            f"the take has {frame_count} frame{'s' if frame_count != 1 else ''} ({duration:.2f} s){when}, too short "
            f"to prepare",
            path=motion.source.path,
            remedy=f"exclude it in the project file; a take needs at least 5 frames and {SHORTEST:g} s",
        )


def _check_finite(motion: Motion) -> None:
    for what, array in (("position", motion.positions), ("rotation", motion.rotations)):
        if not np.isfinite(array).all():
            frame, joint = (int(i) for i in np.argwhere(~np.isfinite(array).all(axis=-1))[0])
            raise MotionError(
                f"a {what} is not a number",
                path=motion.source.path,
                joint=motion.skeleton.names[joint],
                frame=frame,
                remedy="repair the file, or read it with lenient=True where its reader offers that",
            )


def _check_roles(roles: Mapping[str, int], evidence: Mapping[str, str], motion: Motion) -> None:
    needed = ["hips", "left_upper_leg", "right_upper_leg", "left_foot", "right_foot"]
    lacking = [role for role in needed if role not in roles]
    if lacking:
        why = "; ".join(f"{role}: {evidence[role]}" for role in lacking)
        raise SkeletonError(
            f"cannot tell which joint plays {', '.join(lacking)} ({why})",
            path=motion.source.path,
            key=lacking[0],
            remedy=f"name the joints in the [roles] table of ambulo.toml; this skeleton has "
            f"{', '.join(motion.skeleton.names[:30])}",
        )
