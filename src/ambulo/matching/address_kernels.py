"""Many arrays behind one: a table of addresses.

Numba spends a tenth of a microsecond on each array that Python passes to a kernel, for the tree's arrays together a
third of a search. So they are written down once, in an int64 table of addresses and sizes, and the kernel makes its
views of them. Whoever holds the table must hold the arrays too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

Array = NDArray[Any]


def address_table(arrays: Sequence[Array]) -> NDArray[np.int64]:
    """Address and up to two sizes of each array, int64 ``[n, 3]``; they must be C-contiguous."""
    table = np.zeros((len(arrays), 3), np.int64)
    for row, array in zip(table, arrays, strict=True):
        assert array.flags.carray and array.ndim in (1, 2)
        row[0] = array.ctypes.data
        row[1 : 1 + array.ndim] = array.shape
    return table


def _pointer_to(kind: Any) -> Callable[..., Any]:
    def pointer(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        pointer_type: Any = types.CPointer
        return pointer_type(kind)(types.int64), codegen

    return cast(Callable[..., Any], intrinsic(pointer))


float32_at = _pointer_to(types.float32)
float64_at = _pointer_to(types.float64)
int32_at = _pointer_to(types.int32)
int64_at = _pointer_to(types.int64)
uint8_at = _pointer_to(types.uint8)
