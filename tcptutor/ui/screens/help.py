"""List of the keys of the screen below, and the symbols of a run's chart."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tcptutor.ui import bindings, words
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.chart import strips
from tcptutor.ui.widgets.panel.panel import RunPanel

SIGNS = (
    (strips.LOST, "losses: a sender slows because of a loss"),
    (strips.MARKED, "losses: a sender slows because of an ECN mark"),
    (strips.DROPPED, "losses: the bottleneck's queue drops packets"),
    ("▇", "full strip: throughput: the link, or twice the expected"),
    ("", "RTT: the path's and a full queue's; queue: its buffer"),
    ("┈ ═ ─", "chart: limits, expected mean, measured mean"),
    ("━ ━", "chart: the window for the throughput that you predict"),
    ("", "figures on the right, after a run: without the warm-up"),
)
"""(symbol, meaning) in a run's panel."""


class HelpScreen(ModalScreen[None]):
    """List of keys. Any of its own keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,question_mark,f1,space", "dismiss", "close", id="help.close")
    ]

    def __init__(self, below: TutorScreen) -> None:
        super().__init__()
        rows = [(" ".join(key.keys), key.long) for key in bindings.working_keys(below).values()]
        rows = [row for row in rows if row[1]] + list(below.OTHER_KEYS)
        if below.query(RunPanel):
            rows += SIGNS
        self._rows = rows

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Keys"
            box.border_subtitle = "Esc closes"
            yield Static()

    def on_resize(self) -> None:
        """Lay out keys and descriptions in two columns."""
        room = self.query_one(VerticalScroll).scrollable_content_region.width
        column = max(len(key) for key, _ in self._rows)
        lines = []
        for key, what in self._rows:
            first, *others = words.wrapped(what, room - column - 2) or [""]
            lines.append(Content.assemble((f"{key:>{column}}", "bold $primary"), f"  {first}"))
            lines += [Content(" " * (column + 2) + other) for other in others]
        self.query_one(Static).update(Content("\n").join(lines))
