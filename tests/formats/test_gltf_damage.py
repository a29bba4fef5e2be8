"""Damaged glTF files are refused with the place of the damage, quickly and within little memory."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import struct
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.errors import AmbuloError, FormatError

_spec = importlib.util.spec_from_file_location(
    "ambulo_test_gltf_damage_files", Path(__file__).with_name("gltf_files.py")
)
assert _spec is not None and _spec.loader is not None
files = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = files
_spec.loader.exec_module(files)


def sound(frames: int = 5) -> Any:
    """Accessor 0: times; 1: translations of joint_0; 2: times; 3: rotations of joint_1."""
    gltf = files.Gltf(files.chain(3), [0, 1, 2])
    times = np.arange(frames) / 30.0
    gltf.channel(0, "translation", times, [[t, 1, 0] for t in times], animation="walk")
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (frames, 1))
    gltf.channel(1, "rotation", times, turns, animation="walk")
    return gltf


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(FormatError) as caught:
        ambulo.load_all(path, **options)
    assert caught.value.path == path
    assert caught.value.remedy
    return str(caught.value)


def edit(change: Callable[[Any], object]) -> Any:
    gltf = sound()
    change(gltf.root)
    return gltf


FAULTS: dict[str, tuple[Callable[[Any], object], str]] = {
    "accessor that does not exist": (
        lambda root: root["animations"][0]["samplers"][1].update(output=99),
        r"animation 'walk', sampler 1: accessor 99 does not exist, there are 4",
    ),
    "view that does not exist": (
        lambda root: root["accessors"][3].update(bufferView=77),
        r"animation 'walk', sampler 1: accessor 3 names bufferView 77, there are 4",
    ),
    "accessor that is longer than its view": (
        lambda root: root["accessors"][3].update(count=6),
        r"accessor 3 needs 96 bytes of bufferView 3, which has 80",
    ),
    "accessor that begins beyond its view": (
        lambda root: root["accessors"][1].update(byteOffset=4),
        r"accessor 1 needs 64 bytes of bufferView 1, which has 60",
    ),
    "view that is longer than its buffer": (
        lambda root: root["bufferViews"][3].update(byteLength=10**6),
        r"bufferView 3 ends at byte \d+ of buffer 0",
    ),
    "buffer that does not exist": (
        lambda root: root["bufferViews"][0].update(buffer=3),
        r"buffer 3 does not exist",
    ),
    "count beyond all measure": (
        lambda root: root["accessors"][3].update(count=2**31),
        r"accessor 3 needs \d+ bytes",
    ),
    "count beyond all measure without data": (
        lambda root: (root["accessors"][3].update(count=2**31), root["accessors"][3].pop("bufferView")),
        r"accessor 3 stands for 2147483648 elements, far more than the file holds",
    ),
    "count that is negative": (
        lambda root: root["accessors"][0].update(count=-1),
        r"`int` >= 0 at `\$\.accessors\[0\]\.count`",
    ),
    "offset that is no number": (
        lambda root: root["bufferViews"][2].update(byteOffset="far"),
        r"at `\$\.bufferViews\[2\]\.byteOffset`",
    ),
    "width that no rotation has": (
        lambda root: root["accessors"][3].update(type="VEC3"),
        r"sampler 1 of node 1 \('joint_1'\): its values, accessor 3, have 3 numbers each, not 4",
    ),
    "type that no animation has": (
        lambda root: root["accessors"][3].update(type="MAT4"),
        r"accessor 3 has type 'MAT4'",
    ),
    "times that are vectors": (
        lambda root: root["animations"][0]["samplers"][0].update(input=1),
        r"sampler 0 of node 0 \('joint_0'\): its times, accessor 1, are no scalars",
    ),
    "fewer values than keys": (
        lambda root: root["accessors"][3].update(count=4),
        r"animation 'walk', sampler 1: 4 values for 5 keys .*node 1 \('joint_1'\)",
    ),
    "a cubic without tangents": (
        lambda root: root["animations"][0]["samplers"][0].update(interpolation="CUBICSPLINE"),
        r"sampler 0: 5 values for 5 keys \(CUBICSPLINE needs three a key\)",
    ),
    "unknown interpolation": (
        lambda root: root["animations"][0]["samplers"][0].update(interpolation="LINAER"),
        r"'LINAER'; did you mean 'LINEAR'",
    ),
    "unknown path": (
        lambda root: root["animations"][0]["channels"][0]["target"].update(path="rotate"),
        r"moves 'rotate'; did you mean 'rotation'",
    ),
    "sampler that does not exist": (
        lambda root: root["animations"][0]["channels"][0].update(sampler=9),
        r"channel 0 names sampler 9, there are 2",
    ),
    "node that does not exist": (
        lambda root: root["animations"][0]["channels"][0]["target"].update(node=9),
        r"sampler 0 moves node 9, there are 3",
    ),
    "joint that does not exist": (
        lambda root: root["skins"][0]["joints"].append(12),
        r"skin 0 names node 12, there are 3",
    ),
    "child that does not exist": (
        lambda root: root["nodes"][2].update(children=[5]),
        r"node 2 \('joint_2'\) has the child 5, there are 3",
    ),
    "cycle": (
        lambda root: root["nodes"][2].update(children=[0]),
        r"node 0 \('joint_0'\) is in a cycle",
    ),
    "two parents": (
        lambda root: root["nodes"][0].update(children=[1, 2]),
        r"node 2 \('joint_2'\) has two parents, 0 and 1",
    ),
    "transform beyond all measure": (
        lambda root: root["nodes"][1].update(translation=[0, 1e30, 0]),
        r"the transform of node 1 \('joint_1'\) is not finite",
    ),
    "scales that multiply beyond all measure": (
        lambda root: [node.update(scale=[1e12] * 3, translation=[0, 1e12, 0]) for node in root["nodes"]],
        r"not finite \(joint 'joint_0'\)",
    ),
    "version 1": (lambda root: root["asset"].update(version="1.0"), r"glTF version '1.0' is not read"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("extension", [".glb", ".gltf"])
def test_a_fault_is_refused_with_its_place(tmp_path: Path, fault: str, extension: str) -> None:
    change, message = FAULTS[fault]
    error = refused(edit(change).save(tmp_path / f"a{extension}"))
    assert re.search(message, error), error


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
def test_numbers_that_are_not_finite_are_named(tmp_path: Path, value: float) -> None:
    gltf = sound()
    start = gltf.root["bufferViews"][3]["byteOffset"]
    gltf.data[start + 2 * 16 : start + 2 * 16 + 4] = struct.pack("<f", value)
    error = refused(gltf.save(tmp_path / "a.glb"))
    assert "animation 'walk', sampler 1: the value is not finite at key 2 (node 1 ('joint_1'), accessor 3)" in error
    gltf = sound()
    start = gltf.root["bufferViews"][0]["byteOffset"]
    gltf.data[start + 12 : start + 16] = struct.pack("<f", value)
    error = refused(gltf.save(tmp_path / "b.glb"))
    assert "animation 'walk', sampler 0: the time" in error
    assert "key 3" in error or "key 4" in error  # 1e30 is finite: the key after it does not increase


def test_a_rotation_of_no_length_is_named(tmp_path: Path) -> None:
    gltf = sound()
    start = gltf.root["bufferViews"][3]["byteOffset"]
    gltf.data[start + 16 : start + 32] = bytes(16)
    assert "the rotation has no length at key 1" in refused(gltf.save(tmp_path / "a.glb"))


def test_a_time_far_away_is_not_sampled_into_memory(tmp_path: Path) -> None:
    gltf = sound()
    start = gltf.root["bufferViews"][0]["byteOffset"]
    gltf.data[start + 16 : start + 20] = struct.pack("<f", 1e9)
    path = gltf.save(tmp_path / "a.glb")
    tracemalloc.start()
    error = refused(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "animation 'walk' lasts" in error
    assert peak < 2_000_000


def test_containers_that_are_cut_or_broken(tmp_path: Path) -> None:
    whole = sound().glb()
    for size in (4, 12, 19, 24, 100, len(whole) - 40, len(whole) - 4):
        path = tmp_path / f"cut_{size}.glb"
        path.write_bytes(whole[:size])
        refused(path)
    path = tmp_path / "a.glb"
    path.write_bytes(whole[:4] + struct.pack("<I", 1) + whole[8:])
    assert "version 1 of GLB" in refused(path)
    path.write_bytes(whole + b"more")
    assert [note.code for note in ambulo.load(path).source.warnings] == ["length"]
    text = sound().json()
    path = tmp_path / "a.gltf"
    path.write_bytes(text[: len(text) // 2])
    assert "the JSON is broken" in refused(path)
    path.write_bytes(text.replace(b'"name"', b'\n"name', 1))
    assert refused(path).startswith(f"{path}:2: the JSON is broken")
    path.write_bytes(b'{"asset": ' + b"[" * 100_000)
    assert "the JSON" in refused(path)
    root = json.loads(text)
    root["buffers"][0]["uri"] = root["buffers"][0]["uri"][:-9] + "*"
    path.write_text(json.dumps(root))
    assert "no base64" in refused(path)
    root["buffers"][0]["uri"] = "data:application/octet-stream;base64,AAAA"
    path.write_text(json.dumps(root))
    assert "declares 180 bytes, 3 are there" in refused(path)


@pytest.mark.parametrize(
    "uri", ["/etc/hostname", "https://example.org/a.bin", "file:///etc/hostname", "absent.bin", "."]
)
def test_only_buffers_beside_the_file_are_read(tmp_path: Path, uri: str) -> None:
    root = json.loads(sound().json(uri=False))
    root["buffers"][0]["uri"] = uri
    path = tmp_path / "a.gltf"
    path.write_text(json.dumps(root))
    assert "buffer 0" in refused(path)


def test_a_file_of_another_kind_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "a.gltf"
    path.write_bytes(sound().glb())
    assert "looks like glb" in refused(path)
    path = tmp_path / "a.glb"
    path.write_bytes(b"something else entirely")
    refused(path)
    path.write_bytes(b"")
    assert "empty" in refused(path)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One of the usual accidents: flipped bytes, a cut, a hole, a number or a character replaced."""
    result = bytearray(data)
    kind = rng.randrange(5)
    if kind == 0:
        for _ in range(rng.choice([1, 1, 4, 16])):
            result[rng.randrange(len(result))] = rng.randrange(256)
    elif kind == 1:
        del result[rng.randrange(len(result)) :]
    elif kind == 2:
        start = rng.randrange(len(result))
        del result[start : start + rng.randrange(1, 64)]
    elif kind == 3:
        numbers = list(re.finditer(rb"\d+", data))
        where = rng.choice(numbers)
        odd = [b"0", b"-1", b"4294967295", b"99999999999", b"1e30", b"3", b"1e999", b"null", b"65535", b"[]"]
        result[where.start() : where.end()] = rng.choice(odd)
    else:
        for _ in range(4):
            result[rng.randrange(len(result))] = rng.choice(b'{}[],:"0123456789 -e.')
    return bytes(result)


@pytest.mark.parametrize("extension", [".glb", ".gltf"])
def test_mutated_files_load_or_are_refused(tmp_path: Path, extension: str) -> None:
    rng = random.Random(7)
    gltf = sound(20)
    gltf.channel(2, "scale", 0, np.ones((20, 3)), animation="grow")
    gltf.channel(2, "rotation", [0, 1], np.tile([0, 0, 0, 1.0], (6, 1)), "CUBICSPLINE", animation="grow")
    data = gltf.glb() if extension == ".glb" else gltf.json()
    path = tmp_path / f"a{extension}"
    loaded = 0
    tracemalloc.start()
    for number in range(500):
        path.write_bytes(mutate(data, rng))
        try:
            motions = ambulo.load_all(path, lenient=bool(number % 3))
        except AmbuloError:
            continue
        loaded += 1
        for motion in motions:
            assert np.isfinite(motion.positions).all()
            np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0, atol=1e-4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded > 20
    assert peak < 50_000_000
