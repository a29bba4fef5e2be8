"""USD: what is written is what usd-core computes from it, and stages made by hand are read as they are meant."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.errors import AmbuloError, FormatError, NoMotionError
from ambulo.formats import usd_worker
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward, forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

pytest.importorskip("pxr")

STAGE = """#usda 1.0
(
    metersPerUnit = {metres}
    upAxis = "{up}"
    timeCodesPerSecond = 24
    framesPerSecond = 24
)
def Xform "world"
{{
    {xform}
    def SkelRoot "actor" (prepend apiSchemas = ["SkelBindingAPI"])
    {{
        rel skel:animationSource = </world/actor/walk>
        def Skeleton "body" (prepend apiSchemas = ["SkelBindingAPI"])
        {{
            uniform token[] joints = ["hips", "hips/spine", "hips/spine/head"]
            uniform matrix4d[] restTransforms = [{rest}]
        }}
        def SkelAnimation "walk"
        {{
            {walk}
        }}
        {more}
    }}
}}
"""
REST = ", ".join(f"((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,{y},0,1))" for y in (90, 50, 20))
WALK = """uniform token[] joints = ["hips"]
            float3[] translations.timeSamples = { 0: [(0,90,0)], 2: [(0,90,10)], 4: [(0,90,20)] }
            quatf[] rotations = [(1,0,0,0)]
            half3[] scales = [(1,1,1)]"""


def stage(
    folder: Path,
    *,
    metres: float = 0.01,
    up: str = "Y",
    xform: str = "",
    rest: str = REST,
    walk: str = WALK,
    more: str = "",
) -> Path:
    path = folder / "take.usda"
    path.write_text(STAGE.format(metres=metres, up=up, xform=xform, rest=rest, walk=walk, more=more))
    return path


def motion(frames: int = 9, seed: int = 0, rate: float = 30.0) -> Motion:
    """Random turns on a body of seven joints, some with names that USD's paths do not take."""
    random = np.random.default_rng(seed)
    names = ("Hips", "Spine", "腰", "Left Arm", "mixamorig:RightArm", "Left_Arm", "toe")
    turns = quaternions.normalize(random.normal(size=(7, 4)))
    parents = np.array([-1, 0, 1, 2, 2, 3, 0])
    skeleton = Skeleton(names, parents, random.normal(size=(7, 3)), rest_rotations=turns)
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    positions[:, 0] = random.normal(size=(frames, 3)).cumsum(axis=0)
    vectors = random.normal(scale=0.4, size=(frames, 7, 3)).cumsum(axis=0)
    rotations = quaternions.unroll(quaternions.from_scaled_angle_axis(vectors))
    return Motion(skeleton, positions, rotations, rate, "take")


def refusal(path: Path, **options: Any) -> FormatError:
    with pytest.raises(FormatError) as caught:
        ambulo.load(path, **options)
    return caught.value


def world_by_usd(path: Path, frames: int, rate: float) -> np.ndarray:
    """Joint positions in the world as usd-core itself computes them, ``[T, J, 3]``, in stage units."""
    from pxr import Usd, UsdGeom, UsdSkel

    opened = Usd.Stage.Open(str(path))
    (prim,) = (prim for prim in opened.Traverse() if prim.IsA(UsdSkel.Skeleton))
    cache = UsdSkel.Cache()
    cache.Populate(UsdSkel.Root(prim.GetParent()), Usd.PrimDefaultPredicate)
    query = cache.GetSkelQuery(UsdSkel.Skeleton(prim))
    codes = opened.GetTimeCodesPerSecond()
    rows = []
    for frame in range(frames):
        time = Usd.TimeCode(frame * codes / rate)
        local = np.array(query.ComputeJointSkelTransforms(time))
        above = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(prim))
        rows.append((local @ above)[:, 3, :3])
    return np.array(rows)


@pytest.mark.parametrize("extension", ["usda", "usdc", "usd"])
@pytest.mark.parametrize(("unit", "metres"), [("metre", 1.0), ("centimetre", 0.01)])
@pytest.mark.parametrize("up", ["+Y", "+Z"])
def test_usd_core_computes_the_same_positions(
    tmp_path: Path, extension: str, unit: str, metres: float, up: str
) -> None:
    original = motion()
    path = tmp_path / f"take.{extension}"
    ambulo.save(original, path, unit=unit, up=up)
    expected = forward_motion(original).positions
    theirs = world_by_usd(path, original.frame_count, original.rate) * metres
    if up == "+Z":
        theirs = theirs[..., [0, 2, 1]] * [1, 1, -1]
    np.testing.assert_allclose(theirs, expected, atol=1e-4)
    again = ambulo.load(path)
    assert again.skeleton.names == original.skeleton.names
    assert (again.rate, again.name) == (30.0, "take")
    assert (again.source.unit, again.source.up) == (unit, up)
    assert not again.source.notes
    np.testing.assert_allclose(forward_motion(again).positions, expected, atol=1e-5)
    np.testing.assert_allclose(again.skeleton.offsets, original.skeleton.offsets, atol=1e-6)
    np.testing.assert_allclose(again.skeleton.rest_positions(), original.skeleton.rest_positions(), atol=1e-5)
    assert quaternions.angle_between(again.skeleton.rest_rotations, original.skeleton.rest_rotations).max() < 1e-5
    assert quaternions.angle_between(again.rotations, original.rotations).max() < 1e-5


def test_a_second_reader_sees_the_same_numbers(tmp_path: Path) -> None:
    lightusd = pytest.importorskip("lightusd")
    original = motion()
    for extension in ("usda", "usdc"):
        path = tmp_path / f"take.{extension}"
        ambulo.save(original, path)
        opened = lightusd.load(str(path))
        assert (opened.meters_per_unit, opened.time_codes_per_second) == (1.0, 30.0)
        (take,) = opened.prims_of_type("SkelAnimation")
        moves, turns = take.attribute("translations"), take.attribute("rotations")
        assert len(moves.timesamples) == len(turns.timesamples) == original.frame_count
        times = range(original.frame_count)
        positions = np.array([np.asarray(moves.eval(float(time))) for time in times])
        rotations = np.array([np.asarray(turns.eval(float(time)))[:, [1, 2, 3, 0]] for time in times])
        theirs = forward(positions, rotations, original.skeleton.parents).positions
        np.testing.assert_allclose(theirs, forward_motion(original).positions, atol=1e-4)


def test_several_motions_are_several_skeletons(tmp_path: Path) -> None:
    first, second = motion(seed=1), motion(frames=21, seed=2, rate=60.0)
    path = tmp_path / "both.usdc"
    ambulo.save([first, second], path)
    with pytest.raises(FormatError, match="load_all"):
        ambulo.load(path)
    for original, again in zip((first, second), ambulo.load_all(path), strict=True):
        assert again.rate == pytest.approx(original.rate)
        np.testing.assert_allclose(forward_motion(again).positions, forward_motion(original).positions, atol=1e-5)


def test_a_package_is_read(tmp_path: Path) -> None:
    from pxr import Sdf, UsdUtils

    original = motion()
    ambulo.save(original, tmp_path / "take.usdc")
    assert UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(tmp_path / "take.usdc")), str(tmp_path / "take.usdz"))
    again = ambulo.load(tmp_path / "take.usdz")
    np.testing.assert_array_equal(again.positions, ambulo.load(tmp_path / "take.usdc").positions)
    with pytest.raises(FormatError, match="cannot be written"):
        ambulo.save(original, tmp_path / "other.usdz")


def test_joints_that_the_animation_leaves_out_are_at_rest(tmp_path: Path) -> None:
    read = ambulo.load(stage(tmp_path))
    assert read.skeleton.names == ("hips", "spine", "head")
    assert (read.frame_count, read.rate, read.duration) == (3, 12.0, 4 / 24)
    expected = [[[0, 0.9, z], [0, 1.4, z], [0, 1.6, z]] for z in (0.0, 0.1, 0.2)]
    np.testing.assert_allclose(forward_motion(read).positions, expected, atol=1e-6)


def test_transforms_above_the_skeleton_are_folded_in(tmp_path: Path) -> None:
    xform = """float3 xformOp:scale = (0.01, 0.01, 0.01)
    float xformOp:rotateX = -90
    double3 xformOp:translate = (0, 0, 5)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX", "xformOp:scale"]"""
    read = ambulo.load(stage(tmp_path, metres=1.0, xform=xform))
    np.testing.assert_allclose(forward_motion(read).positions[0], [[0, 0, 4.1], [0, 0, 3.6], [0, 0, 3.4]], atol=1e-5)
    np.testing.assert_allclose(read.skeleton.offsets[1:], [[0, 0.5, 0], [0, 0.2, 0]], atol=1e-6)
    np.testing.assert_allclose(read.skeleton.rest_positions(), forward_motion(read).positions[0], atol=1e-5)
    # The same by usd-core.
    np.testing.assert_allclose(forward_motion(read).positions, world_by_usd(tmp_path / "take.usda", 3, 12.0), atol=1e-5)


def test_scaled_joints_keep_their_place_in_the_world(tmp_path: Path) -> None:
    walk = """uniform token[] joints = ["hips", "hips/spine", "hips/spine/head"]
            float3[] translations = [(0,90,0), (0,50,0), (0,20,0)]
            quatf[] rotations.timeSamples = { 0: [(0.8,0.6,0,0), (1,0,0,0), (1,0,0,0)],
                                             1: [(1,0,0,0), (0.6,0,0,0.8), (1,0,0,0)] }
            half3[] scales = [(1,2,1), (1.5,1.5,1.5), (1,1,1)]"""
    read = ambulo.load(stage(tmp_path, metres=1.0, walk=walk))
    assert any(note.code == "scales" for note in read.source.notes)
    np.testing.assert_allclose(
        forward_motion(read).positions, world_by_usd(tmp_path / "take.usda", 2, 24.0), rtol=1e-4, atol=1e-3
    )


def test_z_up_is_turned(tmp_path: Path) -> None:
    walk = WALK.replace("(0,90,0)", "(0,0,90)").replace("(0,90,10)", "(0,-10,90)").replace("(0,90,20)", "(0,-20,90)")
    read = ambulo.load(stage(tmp_path, up="Z", walk=walk))
    np.testing.assert_allclose(read.positions[:, 0], [[0, 0.9, 0], [0, 0.9, 0.1], [0, 0.9, 0.2]], atol=1e-6)


def test_uneven_keys_are_sampled_at_the_stages_rate(tmp_path: Path) -> None:
    walk = WALK.replace("2: [(0,90,10)], 4:", "6: [(0,90,10)], 24:")
    read = ambulo.load(stage(tmp_path, walk=walk))
    assert (read.frame_count, read.rate) == (25, 24.0)
    np.testing.assert_allclose(read.positions[[3, 6, 15], 0, 2], [0.05, 0.1, 0.15], atol=1e-6)
    assert any(note.code == "resampled" for note in read.source.notes)


def test_even_keys_far_apart_are_no_frames(tmp_path: Path) -> None:
    """Three keys set by hand, one a half second: not two frames a second."""
    for last, rate, frames in ((6, 8.0, 3), (8, 24.0, 9), (24, 24.0, 25)):
        walk = WALK.replace("2: [(0,90,10)], 4:", f"{last // 2}: [(0,90,10)], {last}:")
        read = ambulo.load(stage(tmp_path, walk=walk))
        assert (read.frame_count, read.rate) == (frames, rate)
        np.testing.assert_allclose(read.positions[:, 0, 2], np.linspace(0.0, 0.2, frames), atol=1e-6)
    slow = motion(rate=2.0)
    ambulo.save(slow, tmp_path / "slow.usda")
    assert (ambulo.load(tmp_path / "slow.usda").rate, slow.frame_count) == (2.0, 9)


def test_animations_bound_to_nothing_count_too(tmp_path: Path) -> None:
    more = f'def SkelAnimation "run"\n        {{\n            {WALK.replace("90,20", "90,40")}\n        }}'
    motions = ambulo.load_all(stage(tmp_path, more=more))
    assert [found.name for found in motions] == ["walk", "run"]
    np.testing.assert_allclose([found.positions[2, 0, 2] for found in motions], [0.2, 0.4], atol=1e-6)
    foreign = more.replace('["hips"]', '["wheel"]')
    assert ambulo.load(stage(tmp_path, more=foreign)).name == "take"


def test_a_skeleton_alone_is_its_rest_pose(tmp_path: Path) -> None:
    path = stage(tmp_path)
    path.write_text(
        path.read_text()
        .replace("rel skel:animationSource", "rel other")
        .replace('def SkelAnimation "walk"', 'def Scope "x"')
    )
    read = ambulo.load(path)
    assert read.frame_count == 1
    np.testing.assert_allclose(forward_motion(read).positions[0], [[0, 0.9, 0], [0, 1.4, 0], [0, 1.6, 0]], atol=1e-6)
    assert read.source.warnings
    refusal(path, strict=True)


def test_stages_without_a_skeleton_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.usda"
    path.write_text("#usda 1.0\n")
    with pytest.raises(NoMotionError, match="no skeleton"):
        ambulo.load(path)
    good = stage(tmp_path)
    text = good.read_text()
    for old, new, words in (
        ("def Xform", "def {", "parse error"),
        ('"hips/spine/head"', '"hips/spine"', "lists a joint twice"),
        ("[(0,90,10)]", "[(0,90,10), (1,1,1)]", "2 translations for 1 joints"),
        ("[(0,90,10)]", "[(0,nan,10)]", "not finite"),
        ("timeCodesPerSecond = 24", "timeCodesPerSecond = 0", "time codes a second"),
        ("4: [(0,90,20)]", "24000000: [(0,90,20)]", "spread over"),
        ("metersPerUnit = 0.01", "metersPerUnit = 0", "unit"),
        ("(0,50,0,1)", "(0,1e300,0,1)", "too large"),
        ('upAxis = "Y"', 'upAxis = "up"', "no up axis 'up'"),
    ):
        assert old in text
        good.write_text(text.replace(old, new))
        error = refusal(good)
        assert words in str(error), error
        assert error.path == good
    ambulo.save(motion(), tmp_path / "cut.usdc")
    whole = (tmp_path / "cut.usdc").read_bytes()
    (tmp_path / "cut.usdc").write_bytes(whole[: len(whole) // 2])
    assert "corrupt" in str(refusal(tmp_path / "cut.usdc"))


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_file_that_ends_the_reader_does_not_end_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stage(tmp_path)
    ambulo.load(path)
    client = usd_worker._CLIENT
    assert client is not None
    # As a wild address would: the worker dies while it is asked.
    os.kill(client.process.pid, signal.SIGSTOP)
    killer = usd_worker.threading.Timer(0.2, os.kill, (client.process.pid, signal.SIGSEGV))
    continued = usd_worker.threading.Timer(0.3, os.kill, (client.process.pid, signal.SIGCONT))
    killer.start()
    continued.start()
    error = refusal(path)
    assert "SIGSEGV" in str(error)
    killer.join()
    continued.join()
    assert ambulo.load(path).frame_count == 3
    # And one that takes too long.
    monkeypatch.setattr(usd_worker, "WALL_SECONDS", 0.2)
    again = usd_worker._CLIENT
    assert again is not None
    os.kill(again.process.pid, signal.SIGSTOP)
    assert "too long" in str(refusal(path))
    monkeypatch.undo()
    assert ambulo.load(path).frame_count == 3


def test_an_interrupted_question_leaves_no_answer_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stage(tmp_path)
    ambulo.load(path)
    client = usd_worker._CLIENT
    assert client is not None

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "_answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ambulo.load(path)
    monkeypatch.undo()
    (tmp_path / "other.usda").write_text("#usda 1.0\n")
    with pytest.raises(NoMotionError):
        ambulo.load(tmp_path / "other.usda")


def test_without_usd_core_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stage(tmp_path)
    if usd_worker._CLIENT is not None:
        usd_worker._CLIENT.close()
    (tmp_path / "lib" / "pxr").mkdir(parents=True)
    (tmp_path / "lib" / "pxr" / "__init__.py").write_text("raise ImportError('no pxr here')\n")
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    with pytest.raises(AmbuloError, match=r"no pxr here.*ambulo\[formats\]"):
        ambulo.load(path)
    monkeypatch.undo()
    assert ambulo.load(path).frame_count == 3


def test_what_usd_cannot_hold_is_not_written(tmp_path: Path) -> None:
    original = motion()
    with pytest.raises(FormatError, match="no option 'order'"):
        ambulo.save(original, tmp_path / "take.usda", order="XYZ")
    with pytest.raises(FormatError, match="no up axis"):
        ambulo.save(original, tmp_path / "take.usda", up="x")
    broken = original.positions.copy()
    broken[3, 2] = np.nan
    with pytest.raises(FormatError) as caught:
        ambulo.save(Motion(original.skeleton, broken, original.rotations, 30.0), tmp_path / "take.usda")
    assert (caught.value.frame, caught.value.joint) == (3, "腰")
    assert not (tmp_path / "take.usda").exists()
