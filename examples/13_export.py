"""Export motion matching as one ONNX graph, let its own script check it, and run it with nothing but onnxruntime."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime

from ambulo.export.engine.targets import export

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")


def main() -> None:
    exported = export(OUT / "small", OUT / "export", controller="mm", target="unity")
    folder = Path(exported.folder)
    print(
        f"{len(exported.files)} files, {sum(exported.files.values()) / 1e6:.0f} MB; {len(exported.operators)} operators"
    )
    checked = subprocess.run([sys.executable, folder / "verify.py"], capture_output=True, text=True, check=True)
    print("verify.py:", checked.stdout.splitlines()[-1].split(",")[0])

    # From here on as an engine would: no ambulo. Unity's axes: left-handed, the body faces +Z, its left is -X.
    manifest = json.loads((folder / "manifest.json").read_text())
    start, step = (onnxruntime.InferenceSession(folder / f"{name}.onnx") for name in ("start", "controller"))
    state = start.run(None, {"position": np.zeros((1, 3), np.float32), "facing": np.float32([[0, 0, 1]])})[0]
    asked = {"velocity": np.float32([[1.2, 0, 0]]), "facing": np.zeros((1, 3), np.float32), "dt": np.float32([1 / 60])}
    names = [output["name"] for output in manifest["outputs"]]
    for _ in range(180):
        out = dict(zip(names, step.run(None, {"state": state, **asked}), strict=True))
        state = out["state_next"]
    x = out["root_position"][0, 0]
    print(f"asked to walk to its right for 3 s, it is {x:.1f} m there: {bool(2.0 < x < 4.0)}")


if __name__ == "__main__":
    main()
