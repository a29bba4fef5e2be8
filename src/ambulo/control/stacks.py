"""What is inside a stack: wrappers around a controller, and their states around its state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any


def innermost(controller: Any, state: Any) -> tuple[Any, Any]:
    """The controller that a stack is wrapped around, and its state."""
    while hasattr(controller, "inner"):
        controller, state = controller.inner, state.inner
    return controller, state


def with_innermost(state: Any, change: Callable[[Any], Any]) -> Any:
    """A stack's state with that of its innermost controller changed; all around it stays as it is."""
    if not hasattr(state, "inner"):
        return change(state)
    return replace(state, inner=with_innermost(state.inner, change))
