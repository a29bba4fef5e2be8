"""Which dimensions of a query come from the predicted trajectory, from the feature schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.control.kernel_arrays import QueryLayout

if TYPE_CHECKING:
    from ambulo.matching.schema import FeatureSchema

_COMPONENTS = {("trajectory_position", 0): 0, ("trajectory_position", 1): 1, ("trajectory_direction", 0): 2,
               ("trajectory_direction", 1): 3, ("trajectory_height", 0): 4, ("trajectory_velocity", 0): 5,
               ("trajectory_velocity", 1): 6}  # fmt: skip


def query_layout(schema: FeatureSchema) -> QueryLayout:
    """The layout of a schema's queries."""
    times = sorted({time for group in schema.groups for time in group.times})
    slots = []
    for group in schema.groups:
        width = group.size // max(len(group.times), 1)
        for step, time in enumerate(group.times):
            for axis in range(width):
                dimension = group.start + step * width + axis
                slots.append((dimension, times.index(time), _COMPONENTS[group.kind, axis]))
    return QueryLayout(np.array(times, np.float64), np.array(slots, np.int32).reshape(-1, 3))
