"""An independent reader of BVH after Blender's rules, for the tests.

Blender's importer takes a joint's position channels *in place of* its OFFSET, and rotations one after another in the
order of the channels, each about the axes that the ones before it have turned. Nothing here is shared with ambulo.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation


def read_blender(path: Path) -> tuple[list[str], np.ndarray]:
    """Joint names in the file's order and world positions ``[T, J, 3]`` in the file's units."""
    words = path.read_text(encoding="utf-8").split("MOTION")
    names: list[str] = []
    parents: list[int] = []
    offsets: list[list[float]] = []
    channels: list[list[str]] = []
    stack: list[int] = []
    for line in words[0].splitlines():
        part = line.split()
        if not part or part[0] in ("HIERARCHY", "{"):
            continue
        if part[0] in ("ROOT", "JOINT"):
            parents.append(next((j for j in reversed(stack) if j >= 0), -1))
            names.append(line.strip().split(None, 1)[1])
            stack.append(len(names) - 1)
            channels.append([])
        elif part[0] == "End":
            stack.append(-1)
        elif part[0] == "OFFSET" and stack[-1] >= 0:
            offsets.append([float(word) for word in part[1:]])
        elif part[0] == "CHANNELS":
            channels[stack[-1]] = part[2:]
        elif part[0] == "}":
            stack.pop()
    rows = [line for line in words[1].splitlines() if line.strip()][2:]
    values = np.array([row.split() for row in rows], float)
    frames = len(values)
    positions = np.zeros((frames, len(names), 3))
    turns: list[Rotation] = []
    column = 0
    for joint, parent in enumerate(parents):
        local = np.tile(offsets[joint], (frames, 1))
        turn = Rotation.identity(frames)
        for channel in channels[joint]:
            axis = "XYZ".index(channel[0])
            if channel.endswith("position"):
                local[:, axis] = values[:, column]
            else:
                turn = turn * Rotation.from_euler("xyz"[axis], values[:, [column]], degrees=True)
            column += 1
        if parent >= 0:
            positions[:, joint] = positions[:, parent] + turns[parent].apply(local)
            turn = turns[parent] * turn
        else:
            positions[:, joint] = local
        turns.append(turn)
    assert column == values.shape[1]
    return names, positions
