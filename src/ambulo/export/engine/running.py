"""Running a graph in onnxruntime, on one thread."""

from __future__ import annotations

from typing import Any

from ambulo.errors import AmbuloError


def session_of(model: bytes) -> Any:
    """A session of a model's bytes.

    Raises:
        AmbuloError: onnxruntime is not installed.
    """
    try:
        import onnxruntime
    except ImportError:
        raise AmbuloError(
            "checking an exported graph needs the package `onnxruntime`",
            key="export",
            remedy='pip install "ambulo[learn]"',
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
