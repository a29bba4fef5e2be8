"""Check an exported controller: files, layout, and a recording that is replayed. Needs NumPy and onnxruntime only.

Run it beside the files that it checks: ``python verify.py [FOLDER]``. Exit code 0 where all agrees; else 2, and a line
that names the file and the field.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

FORMAT, VERSION = "ambulo controller", 1
MOST_TOLERANCE = 0.5
"""Of any output, in its unit: contacts are 0 or 1."""

LISTED = ("controller.onnx", "start.onnx", "golden.npz", "golden.bin", "golden.json", "verify.py")
NETWORKS = ("decompressor.onnx", "stepper.onnx", "projector.onnx")
START_TOLERANCE = 1e-4
"""Metres, radians: what the graph of the first state may be off."""

_NEEDED = ("format", "version", "opset", "operators", "characters", "rate", "inputs", "outputs", "state", "files",
           "fields")  # fmt: skip


class Mismatch(Exception):
    """A file, a field of it, and what is wrong with it."""

    def __init__(self, file: str, field: str, reason: str) -> None:
        super().__init__(f"{file}: {field}: {reason}")
        self.file, self.field, self.reason = file, field, reason


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, with every field that is needed."""
    path = folder / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise Mismatch("manifest.json", "file", f"cannot be read: {error}") from None
    for field in _NEEDED:
        if not isinstance(manifest, dict) or field not in manifest:
            raise Mismatch("manifest.json", field, "is missing")
    if manifest["format"] != FORMAT:
        raise Mismatch("manifest.json", "format", f"is {manifest['format']!r}, not {FORMAT!r}")
    if manifest["version"] != VERSION:
        raise Mismatch("manifest.json", "version", f"is {manifest['version']!r}, this script knows {VERSION}")
    return manifest


def check_files(folder: Path, manifest: dict[str, Any]) -> None:
    """Every file's hash."""
    if not isinstance(manifest["files"], dict):
        raise Mismatch("manifest.json", "files", "is no table of hashes by name")
    for name, digest in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            raise Mismatch("manifest.json", f"files.{name}", "the file is missing")
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise Mismatch("manifest.json", f"files.{name}", "the file's SHA-256 is another one")
    learned = str(manifest.get("controller", "")).startswith("learned")
    for name in LISTED + (NETWORKS if learned else ()):
        if name not in manifest["files"]:
            raise Mismatch("manifest.json", f"files.{name}", "is not listed")


def check_opset(folder: Path, manifest: dict[str, Any]) -> None:
    """The operator set and the kinds of operators, read from the graph itself."""
    data = (folder / "controller.onnx").read_bytes()
    try:
        found, operators = opset_of(data), operators_of(data)
    except (IndexError, TypeError, ValueError) as error:
        raise Mismatch("controller.onnx", "graph", f"is no ONNX model: {error!r}") from None
    if not operators:
        raise Mismatch("controller.onnx", "graph", "is no ONNX model: it has no operators")
    if found != manifest["opset"] or type(manifest["opset"]) is not int:
        raise Mismatch("manifest.json", "opset", f"is {manifest['opset']!r}, the graph's is {found!r}")
    if operators != manifest["operators"]:
        other = sorted(set(operators) ^ set(manifest["operators"]))
        raise Mismatch("manifest.json", "operators", f"are not the graph's: {', '.join(other) or 'their order'}")


def check_fields(manifest: dict[str, Any]) -> None:
    """Every field's own hash: what no graph tells, as axes, licences or the list of files, is as it was exported."""
    told = manifest["fields"]
    for name in sorted(set(told) | set(manifest) - {"fields"}):
        if name not in manifest:
            raise Mismatch("manifest.json", name, "is missing")
        if told.get(name) != digest_of(manifest[name]):
            raise Mismatch("manifest.json", name, "is not what was exported: its SHA-256 is another one")


def digest_of(value: Any) -> str:
    """SHA-256 of a field of the manifest."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def operators_of(data: bytes) -> list[str]:
    """Kinds of operators of a graph, sorted: field 7 of a ModelProto, field 1 of that, field 4 of that."""
    nodes = (node for field, graph in _fields(data) if field == 7 for kind, node in _fields(graph) if kind == 1)
    return sorted({bytes(value).decode() for node in nodes for field, value in _fields(node) if field == 4})


def opset_of(data: bytes) -> int:
    """Version of the default operator set: field 8 of a ModelProto, field 2 of that."""
    for field, value in _fields(data):
        if field == 8 and isinstance(value, bytes):
            parts = dict(_fields(value))
            if not parts.get(1):
                return int(parts.get(2, 0))
    return 0


def _fields(data: bytes) -> Any:
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            yield key >> 3, data[place : place + size]
            place += size
        else:
            size = 8 if key & 7 == 1 else 4
            yield key >> 3, data[place : place + size]
            place += size


def check_layout(manifest: dict[str, Any], session: Any) -> None:
    """Names and shapes of the graph, and the slots of the state."""
    for kind, tensors in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
        told = {entry["name"]: list(entry["shape"]) for entry in manifest[kind]}
        real = {tensor.name: list(tensor.shape) for tensor in tensors}
        for name in sorted(set(told) | set(real)):
            if told.get(name) != real.get(name):
                raise Mismatch(
                    "manifest.json", f"{kind}.{name}", f"is {told.get(name)}, the graph's is {real.get(name)}"
                )
    width = next(entry["shape"][1] for entry in manifest["inputs"] if entry["name"] == "state")
    place = 0
    for slot in manifest["state"]:
        start, stop = slot["columns"]
        if start != place or stop - start != int(np.prod(slot["shape"], dtype=np.int64)):
            raise Mismatch("manifest.json", f"state.{slot['name']}", f"has columns {start} to {stop}, not from {place}")
        place = stop
    if place != width:
        raise Mismatch("manifest.json", "state", f"describes {place} columns, the graph's state has {width}")


def read_recording_note(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """``golden.json``: at least a frame, and a tolerance of every output."""
    try:
        told = json.loads((folder / "golden.json").read_text("utf-8"))
        steps, limits = told["frames"], told["tolerances"]
        names = {entry["name"] for entry in manifest["outputs"]} - {"state_next"}
        unbounded = [name for name in sorted(names) if not 0.0 <= limits.get(name, -1.0) <= MOST_TOLERANCE]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Mismatch("golden.json", "file", f"cannot be read: {error!r}") from None
    if type(steps) is not int or steps < 1:
        raise Mismatch("golden.json", "frames", f"is {steps!r}; nothing would be compared")
    if unbounded or set(limits) != names:
        name = (unbounded or sorted(set(limits) ^ names))[0]
        raise Mismatch("golden.json", f"tolerances.{name}", f"is {limits.get(name)!r}; an output needs a small number")
    return dict(told)


def read_recording(folder: Path) -> dict[str, Any]:
    """The arrays of ``golden.npz``."""
    try:
        with np.load(folder / "golden.npz", allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise Mismatch("golden.npz", "file", f"cannot be read: {error}") from None


def check_plain(folder: Path, manifest: dict[str, Any]) -> None:
    """``golden.bin`` holds the same numbers, where ``golden.json`` says."""
    data, golden = (folder / "golden.bin").read_bytes(), read_recording(folder)
    places = read_recording_note(folder, manifest).get("arrays")
    if not isinstance(places, dict) or set(places) != set(golden):
        raise Mismatch("golden.json", "arrays", "are not those of golden.npz")
    end = 0
    for name, array in golden.items():
        if places[name] != {"shape": list(array.shape), "offset": end}:
            raise Mismatch("golden.json", f"arrays.{name}", f"is not {list(array.shape)} from {end}")
        start, end = end, end + array.size
        if data[4 * start : 4 * end] != np.ascontiguousarray(array, "<f4").tobytes():
            raise Mismatch("golden.bin", name, "is not as in golden.npz")
    if len(data) != 4 * end:
        raise Mismatch("golden.bin", "file", f"has {len(data)} bytes, not {4 * end}")


def check_start(folder: Path) -> None:
    """``start.onnx`` makes the first state of the recording."""
    golden, session = read_recording(folder), open_graph(folder, "start.onnx")
    given = [tensor.name for tensor in session.get_inputs()]
    for name in (*given, "state"):
        if name not in golden:
            raise Mismatch("golden.npz", name, "is missing")
    try:
        found = session.run(None, {name: golden[name] for name in given})[0]
    except Exception as error:  # its own kinds of errors have no common base
        raise Mismatch("start.onnx", "graph", f"cannot be run: {error}") from None
    difference = distance("state", found, golden["state"])
    if not difference <= START_TOLERANCE:
        raise Mismatch("start.onnx", "state", f"differs by {difference:.3g} from the first of the recording")


def open_graph(folder: Path, name: str) -> Any:
    """A graph, ready to run on one thread."""
    try:
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise Mismatch("verify.py", "onnxruntime", "is not installed: pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own kinds of errors have no common base
        raise Mismatch(name, "graph", f"cannot be run: {error}") from None


def replay(folder: Path, manifest: dict[str, Any], session: Any) -> dict[str, float]:
    """Run the recording again from its first state. Returns the largest difference of each output."""
    told, golden = read_recording_note(folder, manifest), read_recording(folder)
    wanted = ["state", *(f"out_{name}" for name in told["tolerances"])]
    for name in wanted:
        if name not in golden or (name != "state" and len(golden[name]) != told["frames"]):
            raise Mismatch("golden.npz", name, f"is missing or does not have {told['frames']} frames")
    worst = dict.fromkeys(told["tolerances"], 0.0)
    state, steps = golden["state"], told["frames"]
    names = [tensor.name for tensor in session.get_outputs()]
    given = [tensor.name for tensor in session.get_inputs() if tensor.name != "state"]
    for name in given:
        if f"in_{name}" not in golden or len(golden[f"in_{name}"]) != steps:
            raise Mismatch("golden.npz", f"in_{name}", f"does not have {steps} frames")
    for step in range(steps):
        feeds = {name: golden[f"in_{name}"][step] for name in given}
        outputs = dict(zip(names, session.run(None, {"state": state, **feeds}), strict=True))
        state = outputs["state_next"]
        for name, limit in told["tolerances"].items():
            difference = distance(name, outputs[name], golden[f"out_{name}"][step])
            worst[name] = max(worst[name], difference)
            if not difference <= limit:
                raise Mismatch(
                    "golden.npz", f"out_{name}", f"differs by {difference:.3g} in frame {step}, more than {limit:g}"
                )
    return worst


def distance(name: str, found: Any, wanted: Any) -> float:
    """The largest difference; of rotations without their sign."""
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    if found.shape != wanted.shape:
        return float("inf")
    if name.endswith(("rotation", "rotations")):
        same = np.abs(found - wanted).max(axis=-1)
        return float(np.minimum(same, np.abs(found + wanted).max(axis=-1)).max())
    return float(np.abs(found - wanted).max())


def verify(folder: Path) -> dict[str, Any]:
    """Check a bundle; raises Mismatch at the first thing that is not as the manifest says."""
    manifest = read_manifest(folder)
    try:
        return _verify(folder, manifest)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, StopIteration, RecursionError) as error:
        raise Mismatch("manifest.json", "layout", f"is not as this script knows it: {error!r}") from None


def _verify(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    check_files(folder, manifest)
    check_opset(folder, manifest)
    session = open_graph(folder, "controller.onnx")
    check_layout(manifest, session)
    check_fields(manifest)
    check_plain(folder, manifest)
    check_start(folder)
    began = time.perf_counter()
    worst = replay(folder, manifest, session)
    return {"differences": worst, "seconds": time.perf_counter() - began, "licences": manifest.get("licences", [])}


def main() -> int:
    """Verify the folder that is named, or that this file lies in."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    try:
        result = verify(folder)
    except Mismatch as error:
        print(f"verify: {error}", file=sys.stderr)
        return 2
    for name, value in result["differences"].items():
        print(f"{name}: at most {value:.2g} off")
    if not result["licences"]:
        print("licence: unknown")
    for licence in result["licences"]:
        flag = " [NON-COMMERCIAL]" if licence.get("non_commercial") else ""
        print(f"licence: {licence.get('licence') or 'unknown'}{flag}, {licence.get('attribution', '')}")
    print(f"agrees, in {result['seconds']:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
