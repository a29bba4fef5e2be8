"""FBX: the same scene from every container, transforms against a reference of whole matrices, takes, axes, units."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from fbx_files import CUBIC, LINEAR, TICKS, USER, Bone, Key, Scene, Stack, to_bytes
from scipy.spatial.transform import Rotation

import ambulo
from ambulo.errors import FormatError
from ambulo.formats.fbx_transform import ORDERS
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion

KINDS = ("7400", "7500", "7700", "plain", "ascii")
SDK_ORDERS = ("xyz", "xzy", "yzx", "yxz", "zxy", "zyx")  # SciPy: lower case turns about fixed axes, first letter first


def load(folder: Path, scene: Scene, kind: str = "7400", **options: object) -> Motion:
    return ambulo.load(write(folder, scene, kind), **options)


def write(folder: Path, scene: Scene, kind: str = "7400", name: str = "take.fbx") -> Path:
    path = folder / name
    path.write_bytes(to_bytes(scene, kind))
    return path


def vector(rng: np.random.Generator, size: float) -> tuple[float, float, float]:
    x, y, z = rng.normal(size=3) * size
    return float(x), float(y), float(z)


def chain(rng: np.random.Generator, order: int = 0) -> Scene:
    """Four joints with every part of the transform, half of the channels animated."""
    bones = [
        Bone(
            f"joint{i}",
            f"joint{i - 1}" if i else None,
            {
                "Lcl Translation": vector(rng, 10),
                "Lcl Rotation": vector(rng, 60),
                "PreRotation": vector(rng, 60),
                "PostRotation": vector(rng, 60),
                "RotationOffset": vector(rng, 3),
                "RotationPivot": vector(rng, 3),
                "ScalingOffset": vector(rng, 3),
                "ScalingPivot": vector(rng, 3),
                "RotationOrder": (order,),
                "InheritType": (1,),
                "RotationActive": (1,),
            },
        )
        for i in range(4)
    ]
    layer = {
        (f"joint{i}", f"Lcl {name}", axis): [Key(t / 10, float(rng.normal() * 40)) for t in range(11)]
        for i in range(4)
        for name in ("Translation", "Rotation")
        for axis in "XYZ"
        if rng.random() < 0.5
    }
    return Scene(bones, [Stack("Take 001", [layer], (0.0, 1.0))], {"TimeMode": 14, "CustomFrameRate": 10.0})


def reference(scene: Scene, frame: int) -> np.ndarray:
    """World positions by products of 4 x 4 matrices, file units."""

    def move(v: tuple[float, ...]) -> np.ndarray:
        m = np.eye(4)
        m[:3, 3] = v
        return m

    def turn(v: tuple[float, ...], order: str = "xyz") -> np.ndarray:
        m = np.eye(4)
        angles = ["xyz".index(letter) for letter in order]
        m[:3, :3] = Rotation.from_euler(order, [v[a] for a in angles], degrees=True).as_matrix()
        return m

    world: dict[str, np.ndarray] = {}
    for bone in scene.bones:
        p = dict(bone.properties)
        for (name, prop, axis), keys in scene.stacks[0].layers[0].items():
            if name == bone.name:
                values = list(p[prop])
                values["XYZ".index(axis)] = np.float32(keys[frame].value)
                p[prop] = tuple(values)
        order = SDK_ORDERS[int(p["RotationOrder"][0])]
        parts = [
            move(p["Lcl Translation"]),
            move(p["RotationOffset"]),
            move(p["RotationPivot"]),
            turn(p["PreRotation"]),
            turn(p["Lcl Rotation"], order),
            np.linalg.inv(turn(p["PostRotation"])),
            np.linalg.inv(move(p["RotationPivot"])),
            move(p["ScalingOffset"]),
            move(p["ScalingPivot"]),
            np.linalg.inv(move(p["ScalingPivot"])),
        ]
        local = np.linalg.multi_dot(parts)
        world[bone.name] = world[bone.parent] @ local if bone.parent else local
    return np.array([m[:3, 3] for m in world.values()])


def test_probe_file(cases: Path) -> None:
    motion = ambulo.load(cases / "fbx_prerotation_24fps.fbx")
    assert motion.skeleton.names == ("Hips", "Hand")
    assert (motion.frame_count, motion.rate, motion.duration) == (25, 24.0, 1.0)
    assert (motion.source.unit, motion.source.unit_guessed, motion.source.up) == ("centimetre", False, "+Y")
    assert motion.source.warnings == ()
    world = forward_motion(motion).positions * 100.0
    np.testing.assert_allclose(world[0], [[0, 90, 0], [10, 90, 0]], atol=1e-4)
    np.testing.assert_allclose(world[24], [[0, 90, 0], [0, 90, 10]], atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_every_container_holds_the_same_motion(tmp_path: Path, kind: str) -> None:
    scene = chain(np.random.default_rng(1))
    first, other = load(tmp_path, scene), load(tmp_path, scene, kind)
    assert other.skeleton.names == first.skeleton.names
    np.testing.assert_array_equal(other.positions, first.positions)
    np.testing.assert_array_equal(other.rotations, first.rotations)


@pytest.mark.parametrize("order", range(6))
def test_transforms_are_those_of_whole_matrices(tmp_path: Path, order: int) -> None:
    scene = chain(np.random.default_rng(order), order)
    motion = load(tmp_path, scene, unit=1.0)
    world = forward_motion(motion).positions
    assert motion.frame_count == 11
    for frame in (0, 3, 10):
        np.testing.assert_allclose(world[frame], reference(scene, frame), atol=2e-4)


def test_orders_are_all_six_and_spheric() -> None:
    assert sorted(ORDERS[:6]) == ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]
    assert ORDERS[6] == ORDERS[0]


@pytest.mark.parametrize(
    ("inherit", "expected"),
    [
        (0, (0.0, 2 * 3 * 10.0, 0.0)),  # scales multiply axis by axis, whatever the turn between them
        (1, (0.0, 1 * 3 * 10.0, 0.0)),  # the parent's scale acts on the world's axes
        (2, (0.0, 3 * 10.0, 0.0)),  # the parent's own scale is not passed on
    ],
)
def test_scale_passes_on_as_the_inherit_type_says(
    tmp_path: Path, inherit: int, expected: tuple[float, float, float]
) -> None:
    scene = Scene(
        [
            Bone("a", None, {"Lcl Scaling": (2.0, 1.0, 1.0), "InheritType": (1,)}),
            Bone(
                "b",
                "a",
                {"Lcl Rotation": (0.0, 0.0, 90.0), "Lcl Scaling": (3.0, 1.0, 1.0), "InheritType": (inherit,)},
            ),
            Bone("c", "b", {"Lcl Translation": (10.0, 0.0, 0.0), "InheritType": (1,)}),
        ]
    )
    motion = load(tmp_path, scene, unit=1.0)
    np.testing.assert_allclose(forward_motion(motion).positions[0, 2], expected, atol=1e-5)
    assert (motion.rotations == motion.rotations[:1]).all()


def test_armature_of_scale_and_turn_is_folded_into_the_root(tmp_path: Path) -> None:
    """Blender's layout: a Null, turned by -90 degrees and scaled by 100, above bones in metres."""
    scene = Scene(
        [
            Bone("Armature", None, {"Lcl Rotation": (-90.0, 0.0, 0.0), "Lcl Scaling": (100.0,) * 3}, "Null"),
            Bone("Hips", "Armature", {"Lcl Translation": (0.0, 0.0, 1.0)}),
            Bone("Spine", "Hips", {"Lcl Translation": (0.0, 0.0, 0.5)}),
        ],
        [Stack("Take", [{("Hips", "Lcl Translation", "Y"): [Key(0.0, 0.0), Key(1.0, -0.5)]}], (0.0, 1.0))],
    )
    motion = load(tmp_path, scene)
    assert motion.skeleton.names == ("Hips", "Spine")
    world = forward_motion(motion).positions
    np.testing.assert_allclose(world[0], [[0, 1, 0], [0, 1.5, 0]], atol=1e-6)
    np.testing.assert_allclose(world[-1], [[0, 1, 0.5], [0, 1.5, 0.5]], atol=1e-6)
    np.testing.assert_allclose(motion.skeleton.rest_pose()[0], world[0], atol=1e-6)


def walk(settings: dict[str, float], turn: np.ndarray) -> Scene:
    """Two joints in the file's axes; ``turn`` leads from ours to them."""
    bones = [
        Bone("Hips", None, {"Lcl Translation": tuple(float(v) for v in turn @ [0.0, 90.0, 0.0])}),
        Bone("Hand", "Hips", {"Lcl Translation": tuple(float(v) for v in turn @ [30.0, 10.0, 5.0])}),
    ]
    return Scene(bones, settings=settings)


def test_z_up_is_converted_by_a_rotation(tmp_path: Path) -> None:
    z_up = {"UpAxis": 2, "FrontAxis": 1, "FrontAxisSign": -1}
    turn = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    motion = load(tmp_path, walk(z_up, turn))
    assert motion.source.up == "+Z"
    np.testing.assert_allclose(forward_motion(motion).positions[0], [[0, 0.9, 0], [0.3, 1.0, 0.05]], atol=1e-6)
    assert [note.code for note in motion.source.warnings] == ["rest"]


def test_front_along_x_is_turned_to_z(tmp_path: Path) -> None:
    front_x = {"FrontAxis": 0, "CoordAxis": 2, "CoordAxisSign": -1}
    turn = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    motion = load(tmp_path, walk(front_x, turn))
    np.testing.assert_allclose(forward_motion(motion).positions[0, 1], [0.3, 1.0, 0.05], atol=1e-6)


def test_left_handed_axes_do_not_mirror(tmp_path: Path) -> None:
    path = write(tmp_path, walk({"CoordAxisSign": -1}, np.eye(3)))
    motion = ambulo.load(path)
    assert [note.code for note in motion.source.warnings] == ["axes", "rest"]
    np.testing.assert_allclose(forward_motion(motion).positions[0, 1], [0.3, 1.0, 0.05], atol=1e-6)
    with pytest.raises(FormatError, match="left-handed"):
        ambulo.load(path, strict=True)


def test_given_axis_and_unit_win(tmp_path: Path) -> None:
    motion = load(tmp_path, walk({"UnitScaleFactor": 2.54}, np.eye(3)), unit="m", up="z")
    np.testing.assert_allclose(forward_motion(motion).positions[0, 0], [0.0, 0.0, -90.0], atol=1e-5)


@pytest.mark.parametrize(
    ("scale", "unit", "metres"), [(1.0, "centimetre", 0.01), (100.0, "metre", 1.0), (2.54, "inch", 0.0254)]
)
def test_unit_of_the_file(tmp_path: Path, scale: float, unit: str, metres: float) -> None:
    motion = load(tmp_path, walk({"UnitScaleFactor": scale}, np.eye(3)))
    assert motion.source.unit == unit
    np.testing.assert_allclose(motion.positions[0, 0, 1], 90.0 * metres, rtol=1e-6)


def test_a_body_of_the_wrong_size_is_a_warning(tmp_path: Path) -> None:
    """A body in metres in a file that says centimetres: 1.7 cm tall."""
    names = [
        *(("Hips", None, (0, 1, 0)), ("Spine", "Hips", (0, 0.3, 0)), ("Head", "Spine", (0, 0.35, 0))),
        *(("LeftUpLeg", "Hips", (0.1, 0, 0)), ("LeftLeg", "LeftUpLeg", (0, -0.45, 0))),
        *(("LeftFoot", "LeftLeg", (0, -0.42, 0)), ("LeftArm", "Spine", (0.2, 0.2, 0))),
        *(("LeftHand", "LeftArm", (0.55, 0, 0)), ("LeftFingers", "LeftHand", (0.15, 0, 0))),
    ]
    bones = [Bone(n, p, {"Lcl Translation": tuple(float(v) for v in t)}) for n, p, t in names]
    motion = load(tmp_path, Scene(bones))
    assert "unit_doubt" in [note.code for note in motion.source.warnings]
    fine = load(tmp_path, Scene(bones, settings={"UnitScaleFactor": 100.0}))
    assert "unit_doubt" not in [note.code for note in fine.source.warnings]


def ramp(seconds: float, value: float, step: float = 0.0) -> list[Key]:
    """Straight from 0 to ``value``; with ``step``, a key every so many seconds."""
    if not step:
        return [Key(0.0, 0.0), Key(seconds, value)]
    count = round(seconds / step)
    return [Key(i * step, value * i / count) for i in range(count + 1)]


def single(span: tuple[float, float] | None, keys: list[Key], settings: dict[str, float]) -> Scene:
    bones = [Bone("Hips"), Bone("Spine", "Hips", {"Lcl Translation": (0.0, 10.0, 0.0)})]
    return Scene(bones, [Stack("Take 001", [{("Hips", "Lcl Translation", "X"): keys}], span)], settings)


@pytest.mark.parametrize(
    ("settings", "rate", "frames"),
    [
        ({"TimeMode": 11}, 24.0, 49),
        ({"TimeMode": 3}, 60.0, 121),
        ({"TimeMode": 9}, 30000 / 1001, 60),
        ({"TimeMode": 14, "CustomFrameRate": 12.5}, 12.5, 26),
        ({"TimeMode": 0}, 30.0, 61),
    ],
)
def test_rate_is_that_of_the_time_mode(tmp_path: Path, settings: dict[str, float], rate: float, frames: int) -> None:
    motion = load(tmp_path, single((0.0, 2.0), ramp(2.0, 200.0), settings))
    assert motion.rate == pytest.approx(rate)
    assert motion.frame_count == frames
    np.testing.assert_allclose(motion.positions[:, 0, 0], np.arange(frames) / rate, atol=1e-6)


def test_given_rate_samples_the_same_movement_at_other_steps(tmp_path: Path) -> None:
    motion = load(tmp_path, single((0.0, 2.0), ramp(2.0, 200.0), {"TimeMode": 11}), rate=10.0)
    assert (motion.rate, motion.frame_count, motion.duration) == (10.0, 21, 2.0)
    np.testing.assert_allclose(motion.positions[:, 0, 0], np.arange(21) / 10.0, atol=1e-6)


def test_open_rate_is_taken_from_the_keys(tmp_path: Path) -> None:
    motion = load(tmp_path, single((0.0, 1.0), ramp(1.0, 100.0, 1 / 120), {"TimeMode": 0}))
    assert (motion.rate, motion.frame_count) == (120.0, 121)


def test_keys_denser_than_the_rate_are_a_warning(tmp_path: Path) -> None:
    motion = load(tmp_path, single((0.0, 1.0), ramp(1.0, 100.0, 1 / 120), {"TimeMode": 6}))
    assert (motion.rate, motion.frame_count) == (30.0, 31)
    (note,) = motion.source.warnings
    assert note.code == "rate" and "rate=120" in note.message


def test_span_of_the_take_decides_and_values_hold_outside_the_keys(tmp_path: Path) -> None:
    motion = load(tmp_path, single((0.5, 3.0), ramp(2.0, 200.0), {"TimeMode": 14, "CustomFrameRate": 2.0}))
    np.testing.assert_allclose(motion.positions[:, 0, 0], [0.5, 1.0, 1.5, 2.0, 2.0, 2.0], atol=1e-6)


def test_without_a_span_the_keys_decide(tmp_path: Path) -> None:
    keys = [Key(1.0, 0.0), Key(2.0, 100.0)]
    motion = load(tmp_path, single(None, keys, {"TimeMode": 14, "CustomFrameRate": 4.0}))
    np.testing.assert_allclose(motion.positions[:, 0, 0], [0, 0.25, 0.5, 0.75, 1], atol=1e-6)


def test_several_takes_are_several_motions(tmp_path: Path) -> None:
    scene = single((0.0, 1.0), ramp(1.0, 100.0), {})
    scene.stacks.append(Stack("run", [{("Hips", "Lcl Translation", "X"): ramp(0.5, 300.0)}], (0.0, 0.5)))
    scene.stacks.append(Stack("empty", [{}], (0.0, 1.0)))
    path = write(tmp_path, scene)
    motions = ambulo.load_all(path)
    assert [(m.name, m.frame_count) for m in motions] == [("Take 001", 31), ("run", 16)]
    with pytest.raises(FormatError, match="2 "):
        ambulo.load(path)


def test_a_take_of_constants_counts_only_where_nothing_moves(tmp_path: Path) -> None:
    still = Stack("still", [{("Hips", "Lcl Translation", "X"): []}], (0.0, 1.0))
    scene = single((0.0, 1.0), ramp(1.0, 100.0), {})
    scene.bones[0].properties["Lcl Translation"] = (50.0, 0.0, 0.0)
    scene.stacks.append(still)
    assert [motion.name for motion in ambulo.load_all(write(tmp_path, scene))] == ["take"]
    scene.stacks = [still]
    motion = load(tmp_path, scene)
    assert motion.frame_count == 31 and (motion.positions[:, 0, 0] == np.float32(0.5)).all()


def test_layers_add_and_override(tmp_path: Path) -> None:
    base, above = (
        {("Hips", "Lcl Translation", "X"): ramp(1.0, 100.0)},
        {("Hips", "Lcl Translation", "X"): ramp(1.0, 50.0)},
    )
    expected = {(0, 40.0): 1.2, (1, 40.0): 0.5, (2, 40.0): 0.8}
    for (mode, weight), last in expected.items():
        scene = single((0.0, 1.0), [], {})
        properties = [{}, {"BlendMode": (mode,), "Weight": (weight,)}]
        scene.stacks = [Stack("Take", [base, above], (0.0, 1.0), properties)]
        np.testing.assert_allclose(load(tmp_path, scene).positions[-1, 0, 0], last, atol=1e-6)
    muted = single((0.0, 1.0), [], {})
    muted.stacks = [Stack("Take", [base, above], (0.0, 1.0), [{}, {"Mute": (1,)}])]
    np.testing.assert_allclose(load(tmp_path, muted).positions[-1, 0, 0], 1.0, atol=1e-6)


def test_rotations_of_layers_follow_each_other(tmp_path: Path) -> None:
    scene = single((0.0, 1.0), [], {})
    base = {("Hips", "Lcl Rotation", "Z"): [Key(0.0, 90.0), Key(1.0, 90.0)]}
    above = {("Hips", "Lcl Rotation", "X"): [Key(0.0, 90.0), Key(1.0, 90.0)]}
    scene.stacks = [Stack("Take", [base, above], (0.0, 1.0))]
    motion = load(tmp_path, scene)
    np.testing.assert_allclose(forward_motion(motion).positions[0, 1], [0.0, 0.0, 0.1], atol=1e-6)
    turned = Rotation.from_quat(motion.rotations[0, 0]).as_matrix()
    expected = (Rotation.from_euler("z", 90, degrees=True) * Rotation.from_euler("x", 90, degrees=True)).as_matrix()
    np.testing.assert_allclose(turned, expected, atol=1e-6)


def test_steps_over_180_degrees_stay_as_they_are(tmp_path: Path) -> None:
    """Two keys that turn by 720 degrees: every frame on the way is there, and no extra key."""
    scene = single((0.0, 1.0), [], {"TimeMode": 14, "CustomFrameRate": 8.0})
    scene.stacks = [Stack("Take", [{("Hips", "Lcl Rotation", "Z"): [Key(0.0, 0.0), Key(1.0, 720.0)]}], (0.0, 1.0))]
    tip = forward_motion(load(tmp_path, scene)).positions[:, 1]
    angles = np.radians(90.0 * np.arange(9))
    np.testing.assert_allclose(tip[:, :2], 0.1 * np.stack([-np.sin(angles), np.cos(angles)], axis=1), atol=1e-6)


def test_tangents_reach_the_motion_in_text_and_binary(tmp_path: Path) -> None:
    keys = [Key(0.0, 0.0, CUBIC | USER, (300.0, 0.0, 0, 0.0)), Key(1.0, 100.0, LINEAR)]
    t = np.arange(31) / 30
    hermite = (t**3 - 2 * t**2 + t) * 3.0 + (3 * t**2 - 2 * t**3)
    for kind in ("7400", "ascii"):
        motion = load(tmp_path, single((0.0, 1.0), keys, {}), kind)
        np.testing.assert_allclose(motion.positions[:, 0, 0], hermite, atol=1e-6)


def test_frames_are_at_exact_times_far_from_zero(tmp_path: Path) -> None:
    """A day of time code before the take costs no precision."""
    hour = 3600.0 * 12
    keys = [Key(hour, 0.0), Key(hour + 1.0, 100.0)]
    motion = load(tmp_path, single((hour, hour + 1.0), keys, {"TimeMode": 1}))
    assert motion.frame_count == 121
    np.testing.assert_allclose(motion.positions[:, 0, 0], np.arange(121) / 120.0, atol=1e-6)
    assert round(hour * TICKS) < 2**52


THREE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "three"


def test_threejs_reads_the_same_positions(tmp_path: Path) -> None:
    """A second reader that others wrote: three.js' FBXLoader, in Node."""
    if shutil.which("node") is None or not (THREE / "examples" / "jsm" / "loaders" / "FBXLoader.js").is_file():
        pytest.skip("node or three.js is not installed (npm install in web/)")
    rng = np.random.default_rng(5)
    scene = chain(rng, 4)
    for bone in scene.bones:  # three.js knows no pivots
        for name in ("RotationOffset", "RotationPivot", "ScalingOffset", "ScalingPivot"):
            del bone.properties[name]
    scene.stacks[0].layers[0] = {
        (bone.name, "Lcl Rotation", axis): [Key(t / 10, float(30 * np.sin(t + phase))) for t in range(11)]
        for bone, phase in zip(scene.bones, rng.uniform(0, 6, 4), strict=True)
        for axis in "XYZ"
    }
    path = write(tmp_path, scene)
    motion = ambulo.load(path, unit=1.0)
    script = Path(__file__).with_name("read_fbx.mjs")
    frames = [0, 4, 9]
    run = subprocess.run(
        ["node", str(script), str(THREE), str(path), json.dumps([frame / motion.rate for frame in frames])],
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = json.loads(run.stdout)
    ours = forward_motion(motion).positions
    for frame, positions in zip(frames, theirs, strict=True):
        np.testing.assert_allclose(ours[frame], [positions[name] for name in motion.skeleton.names], atol=1e-3)
