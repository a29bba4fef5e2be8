"""A page of many short motions, each with its player: mounted when it is scrolled to, let go when it has passed.

A browser draws only so many 3D scenes at a time, so that at most a few players live at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from ambulo.export.page import POLICY, embedded_json, embedded_script, read_player, write_html
from ambulo.export.page_style import STYLE

_STYLE = """
article{margin:26px 0 0;padding:14px 16px;border:1px solid var(--edge);border-radius:10px;background:var(--panel)}
article h3{font-size:15px;margin:0 0 2px}
article p{margin:0 0 6px}
.stage{width:100%;aspect-ratio:16/7;border-radius:8px;overflow:hidden;background:var(--bg)}
.warning,.error{font-weight:600;color:var(--bad)}
.code{font-family:ui-monospace,monospace;font-size:13px}
"""
_SCRIPT = """
const shows = JSON.parse(document.getElementById("ambulo-data").textContent);
const mounted = new Map();
const watch = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const stage = entry.target;
    const old = mounted.get(stage);
    if (entry.isIntersecting && !old) {
      mounted.set(stage, AmbuloPlayer.mount(stage, shows[Number(stage.dataset.show)], {autoplay: true}));
    } else if (!entry.isIntersecting && old) {
      old.dispose();
      mounted.delete(stage);
      stage.replaceChildren();
    }
  }
}, {rootMargin: "80px"});
for (const stage of document.querySelectorAll(".stage")) watch.observe(stage);
"""


@dataclass(frozen=True)
class Show:
    """One entry of a page.

    Attributes:
        title: a heading.
        lines: HTML paragraphs below it.
        data: what the player plays; None for an entry in words alone.
    """

    title: str
    lines: Sequence[str] = ()
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class SpansPage:
    """The content of a page.

    Attributes:
        title: heading.
        subtitle: a line below it.
        facts: label -> text.
        shows: entries in order.
        before: HTML above the entries.
        after: HTML below them.
    """

    title: str
    subtitle: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    shows: Sequence[Show] = ()
    before: str = ""
    after: str = ""


def write_spans_page(page: SpansPage, path: str | Path) -> Path:
    """Write the page, self-contained. Returns its path.

    Raises:
        AmbuloError: the player has not been built.
    """
    player = embedded_script(read_player())
    data = [show.data for show in page.shows if show.data is not None]
    entries = []
    number = 0
    for show in page.shows:
        stage = ""
        if show.data is not None:
            stage = f'<div class="stage" data-show="{number}"></div>'
            number += 1
        text = "".join(f"<p>{line}</p>" for line in show.lines)
        entries.append(f"<article><h3>{escape(show.title)}</h3>{text}{stage}</article>")
    facts = "".join(f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in page.facts.items())
    document = (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(page.title)}</title><style>{STYLE}{_STYLE}</style></head>\n"
        f"<body><main><h1>{escape(page.title)}</h1>"
        f"{f'<p class=subtitle>{escape(page.subtitle)}</p>' if page.subtitle else ''}"
        f"{f'<dl>{facts}</dl>' if facts else ''}{page.before}{''.join(entries)}{page.after}</main>\n"
        f'<script type="application/json" id="ambulo-data">{embedded_json(data)}</script>\n'
        f"<script>{player}</script>\n<script>{embedded_script(_SCRIPT)}</script>\n"
        "</body></html>\n"
    )
    return write_html(path, document)
