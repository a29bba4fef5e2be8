"""A page that plays an exported character with no server: the front-end's script, the graph and its weights inside."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.database.licences import LicenceUse
from ambulo.errors import AmbuloError
from ambulo.export.engine.controller_graph import Stack
from ambulo.export.engine.web_graph import web_graph
from ambulo.export.page import POLICY, embedded_json, embedded_script
from ambulo.export.player_data import skeleton_data

if TYPE_CHECKING:
    import onnx

LIVE = Path(__file__).parent.parent / "static" / "live.js"


def read_live() -> str:
    """The script of exported pages.

    Raises:
        AmbuloError: the front-end has not been built.
    """
    try:
        return LIVE.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AmbuloError(
            "the web script that goes into exported pages has not been built",
            path=LIVE,
            remedy="run `python web/build.py` in the source folder, or install ambulo from a wheel",
        ) from None


def live_data(
    stack: Stack, model: onnx.ModelProto, state: NDArray[np.float32], title: str, subtitle: str, top_speed: float
) -> dict[str, Any]:
    """What the page's script is given; see ``web/src/live/index.ts``."""
    graph, weights = web_graph(model)
    return {
        "format": "ambulo-live",
        "version": 1,
        "title": title,
        "subtitle": subtitle,
        "rate": 60.0,
        "top_speed": float(top_speed),
        "skeleton": skeleton_data(stack.whole.skeleton),
        "state": [float(value) for value in state.reshape(-1)],
        "graph": graph,
        "weights": base64.b64encode(weights.astype("<f4").tobytes()).decode(),
    }


def web_page(data: dict[str, Any], licences: Sequence[LicenceUse]) -> bytes:
    """The page ``index.html``; it asks for nothing, and its policy forbids it to."""
    credit = "".join(f"<!-- licence: {escape(use.text).replace('--', '- -')} -->\n" for use in licences)
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(data['title'])}</title></head>\n{credit}"
        '<body><div id="character"></div>\n'
        f'<script type="application/json" id="ambulo-data">{embedded_json(data)}</script>\n'
        f"<script>{embedded_script(read_live())}</script>\n"
        '<script>window.ambulo = AmbuloLive.mount(document.getElementById("character"), '
        'JSON.parse(document.getElementById("ambulo-data").textContent));</script>\n'
        "</body></html>\n"
    ).encode()
