"""A clean take has no findings; a planted fault is found at exactly its frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.maths import quaternions
from ambulo.motion.motion import Motion, Note, Source
from ambulo.prepare.quality.check import check_motion
from ambulo.prepare.quality.finding import CODES, Finding, TakeCheck, joined_spans
from ambulo.synthesis.performance import synthesize


@pytest.fixture(scope="module")
def takes() -> list[Motion]:
    return [performance.motion for performance in synthesize(seed=3, minutes=2.0)]


@pytest.fixture(scope="module")
def stroll(takes: list[Motion]) -> Motion:
    """The take with the most steps."""
    return max((m for m in takes if "walk" in m.name), key=lambda m: m.frame_count)


def worth(findings: list[Finding], *codes: str) -> list[Finding]:
    return [f for f in findings if f.severity != "note" and (not codes or f.code in codes)]


def edited(motion: Motion, **parts: np.ndarray) -> Motion:
    return replace(motion, **parts)


def turned(motion: Motion, joint: int, frames: slice, degrees: float) -> Motion:
    rotations = motion.rotations.copy()
    turn = quaternions.from_angle_axis(np.radians(degrees), np.array([1.0, 0.0, 0.0]))
    rotations[frames, joint] = quaternions.multiply(rotations[frames, joint], turn)
    return edited(motion, rotations=quaternions.unroll(rotations))


def test_clean_takes_have_no_findings(takes):
    for take in takes:
        assert worth(check_motion(take.with_roles({}))) == [], take.name


def test_every_code_of_a_finding_is_explained(stroll):
    spoiled = turned(stroll, stroll.skeleton.role("chest"), slice(40, 41), 90.0)
    assert {f.code for f in check_motion(spoiled)} <= CODES.keys()


@pytest.mark.parametrize("degrees", [40.0, 90.0, -120.0])
def test_a_pop_is_found_in_its_frame(stroll, degrees):
    joint = stroll.skeleton.role("chest")
    (found,) = worth(check_motion(turned(stroll, joint, slice(71, 72), degrees)), "pop")
    assert (found.start_frame, found.stop_frame, found.joint) == (71, 72, stroll.skeleton.names[joint])
    assert found.start == pytest.approx(71 / stroll.rate, abs=1e-5)
    assert found.proposal.skip_frames == ((71, 72),)


def test_a_flip_is_found_at_both_of_its_ends(stroll):
    joint = stroll.skeleton.role("left_upper_arm")
    found = worth(check_motion(turned(stroll, joint, slice(100, 160), 150.0)), "flip", "speed")
    frames = sorted({(f.start_frame, f.stop_frame) for f in found})
    assert frames[0][0] == 99 and frames[-1][1] == 161


def test_a_jump_of_the_body_is_found(stroll):
    positions = stroll.positions.copy()
    positions[150:, 0, 2] += 1.0
    (found,) = worth(check_motion(edited(stroll, positions=positions)), "speed")
    assert (found.start_frame, found.stop_frame) == (149, 151)
    assert found.value == pytest.approx(stroll.rate, rel=0.1)


@pytest.mark.parametrize(("factor", "wrong"), [(2.0, "120"), (4.0, "240")])
def test_a_rate_that_is_too_high_is_found(stroll, factor, wrong):
    lying = edited(stroll, rate=stroll.rate * factor)
    (found,) = worth(check_motion(lying), "rate")
    assert (found.start_frame, found.stop_frame) == (0, stroll.frame_count)
    assert found.proposal.rate == stroll.rate
    assert f"{stroll.rate * factor:g}" in found.message


def test_slow_motion_is_found(stroll):
    (found,) = worth(check_motion(edited(stroll, rate=stroll.rate / 4)), "rate")
    assert found.proposal.rate in (stroll.rate / 2, stroll.rate)


def test_what_depends_on_time_is_counted_at_the_rate_that_seems_true(stroll):
    lying = edited(stroll, rate=2 * stroll.rate)
    assert {f.code for f in worth(check_motion(lying))} == {"rate"}


def test_repeated_frames_are_found(stroll):
    twice = np.repeat(np.arange(stroll.frame_count), 2)
    doubled = edited(stroll, positions=stroll.positions[twice], rotations=stroll.rotations[twice], rate=2 * stroll.rate)
    (found,) = worth(check_motion(doubled), "repeats")
    assert found.value == 2.0
    assert f"{stroll.rate:g} frames a second" in found.message


def test_a_stopped_stream_is_found_at_its_frames(stroll):
    rotations, positions = stroll.rotations.copy(), stroll.positions.copy()
    rotations[60:101], positions[60:101] = rotations[60], positions[60]
    (found,) = worth(check_motion(edited(stroll, rotations=rotations, positions=positions)), "frozen")
    assert (found.start_frame, found.stop_frame) == (60, 101)
    assert found.value == pytest.approx(40 / stroll.rate, abs=1e-6)


def test_lost_tracking_is_found_at_its_frames(stroll):
    rotations, positions = stroll.rotations.copy(), stroll.positions.copy()
    rotations[80:90, 1:] = quaternions.IDENTITY
    positions[80:90, 0] = positions[80, 0]
    (found,) = worth(check_motion(edited(stroll, rotations=rotations, positions=positions)), "all_zero")
    assert (found.start_frame, found.stop_frame) == (80, 90)


@pytest.mark.parametrize("height", [-0.2, -0.08, 0.08, 0.5])
def test_the_height_of_the_floor_is_found(stroll, height):
    positions = stroll.positions.copy()
    positions[:, 0, 1] += height
    (found,) = worth(check_motion(edited(stroll, positions=positions)), "sunk", "floating")
    assert found.code == ("sunk" if height < 0 else "floating")
    assert found.proposal.lift == pytest.approx(-height, abs=0.02)
    assert found.value == pytest.approx(abs(height), abs=0.02)


def test_hovering_is_found(stroll):
    positions = stroll.positions.copy()
    frames = slice(60, 60 + round(1.5 * stroll.rate))
    ramp = np.minimum(np.arange(frames.stop - frames.start), np.arange(frames.stop - frames.start)[::-1]) / 6.0
    positions[frames, 0, 1] += 0.4 * np.clip(ramp, 0.0, 1.0)
    found = [f for f in worth(check_motion(edited(stroll, positions=positions)), "floating") if f.start_frame > 0]
    assert len(found) == 1
    assert 60 <= found[0].start_frame <= 66 and frames.stop - 6 <= found[0].stop_frame <= frames.stop


def test_gliding_feet_are_found(stroll):
    positions = stroll.positions.copy()
    drift = np.zeros(stroll.frame_count)
    drift[60:90] = 1.0 / stroll.rate
    positions[:, 0, 0] += np.cumsum(drift)
    found = [f for f in worth(check_motion(edited(stroll, positions=positions)), "sliding") if f.unit == "m"]
    assert found and all(f.start_frame >= 55 and f.stop_frame <= 95 for f in found)
    assert sum(f.value for f in found) == pytest.approx(0.5, abs=0.25)


def test_a_bone_that_stretches_is_found(stroll):
    joint = stroll.skeleton.role("left_lower_leg")
    positions = stroll.positions.copy()
    positions[30:40, joint] *= 1.2
    (found,) = worth(check_motion(edited(stroll, positions=positions)), "bone_length")
    assert (found.start_frame, found.stop_frame, found.joint) == (30, 40, stroll.skeleton.names[joint])


def test_a_body_of_the_wrong_unit_is_found(stroll):
    skeleton = replace(
        stroll.skeleton, offsets=stroll.skeleton.offsets * 100, end_offsets=stroll.skeleton.end_offsets * 100
    )
    giant = edited(stroll, skeleton=skeleton, positions=stroll.positions * 100)
    (found,) = worth(check_motion(giant), "unit")
    assert found.proposal.unit == "centimetre"


def test_a_t_pose_at_the_start_is_found(stroll):
    skeleton = stroll.skeleton
    held = round(0.5 * stroll.rate)
    rotations = np.concatenate([np.tile(quaternions.IDENTITY, (held, skeleton.joint_count, 1)), stroll.rotations])
    positions = np.concatenate([np.tile(skeleton.offsets, (held, 1, 1)), stroll.positions])
    positions[:held, 0] = stroll.positions[0, 0] + [3.0, 0.0, 0.0]
    found = worth(check_motion(edited(stroll, rotations=rotations, positions=positions)), "t_pose", "head_jump")
    assert {f.code for f in found} == {"t_pose", "head_jump"}
    assert all((f.start_frame, f.stop_frame) == (0, held) for f in found)
    assert all(f.proposal.start_frame == held for f in found)


def test_values_that_are_no_numbers_are_found(stroll):
    rotations = stroll.rotations.copy()
    rotations[12:15, 4] = np.nan
    found = worth(check_motion(edited(stroll, rotations=rotations)))
    assert [(f.code, f.severity, f.start_frame, f.stop_frame) for f in found] == [("nan", "error", 12, 15)]
    assert found[0].joint == stroll.skeleton.names[4]


def test_warnings_of_the_reader_are_findings(stroll):
    source = Source(notes=(Note("frame_count", "5 frames are declared, 3 rows are found", warning=True, line=17),))
    (found,) = worth(check_motion(edited(stroll, source=source)))
    assert found.code == "frame_count"
    assert "line 17" in found.message


@pytest.mark.parametrize("frames", [0, 1, 4])
def test_short_takes_are_told_and_do_no_harm(stroll, frames):
    assert worth(check_motion(stroll.slice(0, frames)), "short")


def test_a_turned_world_changes_nothing(stroll):
    spoiled = turned(stroll, stroll.skeleton.role("chest"), slice(71, 72), 60.0)
    turn = quaternions.from_yaw(np.array(1.1))
    positions, rotations = spoiled.positions.copy(), spoiled.rotations.copy()
    positions[:, 0] = quaternions.rotate(turn, positions[:, 0])
    rotations[:, 0] = quaternions.multiply(turn, rotations[:, 0])
    other = check_motion(edited(spoiled, positions=positions, rotations=rotations))
    assert [(f.code, f.start_frame, f.stop_frame) for f in other] == [
        (f.code, f.start_frame, f.stop_frame) for f in check_motion(spoiled)
    ]


def test_the_proposals_of_a_take_are_put_together(stroll):
    spoiled = turned(stroll, stroll.skeleton.role("chest"), slice(71, 72), 60.0)
    spoiled = turned(spoiled, stroll.skeleton.role("chest"), slice(90, 91), 60.0)
    positions = spoiled.positions.copy()
    positions[:, 0, 1] += 0.3
    found = check_motion(edited(spoiled, positions=positions))
    take = TakeCheck(file="a", name="a", frame_count=stroll.frame_count, rate=60.0, findings=tuple(found))
    assert take.worst == "warning"
    # The arms fly: the frames around the pops are too fast as well, and join them.
    assert take.proposal.skip_frames == ((70, 73), (89, 92))
    assert take.proposal.lift == pytest.approx(-0.3, abs=0.02)


def test_spans_that_touch_are_joined():
    assert joined_spans([(1, 3), (3, 5), (7, 9), (8, 12)]) == ((1, 5), (7, 12))


@pytest.mark.parametrize("code", ["unit_doubt", "unit_guess"])
def test_a_doubtful_unit_is_told_once(stroll, code):
    note = Note(code, "the body measures 100 times a person", warning=True)
    other = Note("negative_scale", "a joint is scaled by a negative number", warning=True)
    noted = replace(stroll, source=replace(stroll.source, notes=(note, other)))
    assert [f.message for f in check_motion(noted) if f.code == "reader"] == [note.message, other.message]
    scale = np.float32(100.0)
    skeleton = replace(noted.skeleton, offsets=noted.skeleton.offsets * scale)
    giant = replace(noted, skeleton=skeleton, positions=noted.positions * scale)
    found = check_motion(giant)
    assert [f.code for f in found if f.code in ("unit", "reader") and f.message != other.message] == ["unit"]
    assert [f.message for f in found if f.code == "reader"] == [other.message]
