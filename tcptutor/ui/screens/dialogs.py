"""Small dialogs: a confirmation, an equivalent command line, the list of keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tcptutor.course.outline import Module
from tcptutor.figures.kinds.network import NetworkFigure
from tcptutor.ui import bindings
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.page_map import MapPage
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.chart import strips
from tcptutor.ui.widgets.page.text import hanging
from tcptutor.ui.widgets.page.track import LEGEND, PageTrack
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.widgets.prose.network import NetworkView

_FOLLOW_INTERVAL_S = 0.5
"""Seconds between two looks at the state of an open session."""


class ConfirmScreen(ModalScreen[bool]):
    """A question before an action that cannot be undone. Enter means no, since it is often pressed unread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "yes", id="confirm.yes"),
        Binding("escape,n,enter", "dismiss(False)", "no", id="confirm.no"),
    ]

    def __init__(self, question: str, reason: str, yes: str) -> None:
        super().__init__()
        self._question, self._reason, self._yes = question, reason, yes

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm") as box:
            box.border_title = self._question
            yield Static(self._reason, markup=False)
            yield KeyBar(
                FooterKey((("y", "y"),), self._yes),
                FooterKey((("Esc", "escape"), ("Enter", "enter")), "go back"),
            )


ResetChoice = Literal["page", "module", "restore"]


class ResetScreen(ModalScreen[ResetChoice]):
    """Dialog to choose what to reset, or to restore the work before the latest reset. Enter means no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "choose('page')", "this page", id="reset.page"),
        Binding("m", "choose('module')", "the module", id="reset.module"),
        Binding("u", "choose('restore')", "bring back", id="reset.restore"),
        Binding("escape,n,enter", "dismiss(None)", "go back", id="reset.no"),
    ]

    def __init__(self, module: Module, page: MapPage) -> None:
        super().__init__()
        self._module, self._page = module, page

    def compose(self) -> ComposeResult:
        keys = [
            FooterKey((("y", "y"),), "this page"),
            FooterKey((("m", "m"),), f"module {self._module.number}"),
        ]
        if self._page.can_restore:
            keys.insert(0, FooterKey((("u", "u"),), "bring back"))
        with Vertical(id="confirm") as box:
            box.border_title = f"Reset “{self._page.step.title}”?"
            yield Static(
                "Its answers, predictions and runs go to the archive, and the page opens as new. Nothing is deleted: "
                "run files stay, marks still count everything you did, and u here brings the work back until you "
                "do something new on the page.",
                markup=False,
            )
            yield KeyBar(*keys, FooterKey((("Esc", "escape"),), "go back"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return parameters != ("restore",) or self._page.can_restore

    def action_choose(self, choice: ResetChoice) -> None:
        self.dismiss(choice)


def confirm_terminal_close() -> ConfirmScreen:
    """Return the question before a run while a different page's terminal is open."""
    return ConfirmScreen(
        "Close the terminal of the other page?",
        "It is using the lab, so nothing else can run. Its runs are saved.",
        "close it",
    )


def confirm_hint(number: int, of: int, cost: str) -> ConfirmScreen:
    """Return the question before hint `number` of an activity; `cost` is the share of its marks."""
    return ConfirmScreen(
        f"Take hint {number} of {of}?",
        f"It takes {cost} of what you can still earn here.",
        "take it",
    )


def confirm_run_without_prediction() -> ConfirmScreen:
    return ConfirmScreen(
        "Run without a prediction?",
        "You can't predict this run afterwards, and a prediction helps most before you see the result.",
        "run without",
    )


class CommandLineScreen(ModalScreen[None]):
    """The shell command equivalent to the screen. Enter copies it by OSC 52, which some terminals ignore."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,c", "copy", "copy", id="command.copy"),
        Binding("escape,space,a", "dismiss", "close", id="command.close"),
    ]

    def __init__(self, line: str, remark: str = "") -> None:
        super().__init__()
        self._line, self._remark = line, remark

    def compose(self) -> ComposeResult:
        with Vertical(id="command") as box:
            box.border_title = "As a command"
            with VerticalScroll():
                yield Static(Content(self._line), id="command-line", markup=False)
            yield Static(self._remark, id="command-said", markup=False)
            yield KeyBar(FooterKey((("Enter", "enter"),), "copy"), FooterKey((("Esc", "escape"),), "back"))

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._line)
        self.query_one("#command-said", Static).update(
            "Sent to your terminal's clipboard. If it did not arrive, select the line with the mouse."
        )


class NetworkScreen(ModalScreen[None]):
    """The network of a page, over it; `network` returns its state, which is followed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,space,n", "dismiss", "close", id="network.close")
    ]

    def __init__(self, network: Callable[[], NetworkFigure | None]) -> None:
        super().__init__()
        self._network = network

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="network") as box:
            box.border_title = "Network"
            box.border_subtitle = "Esc closes"
            network = self._network()
            if network is not None:
                yield NetworkView(network)

    def on_mount(self) -> None:
        self.set_interval(_FOLLOW_INTERVAL_S, self._follow)

    def _follow(self) -> None:
        for view in self.query(NetworkView):
            view.show_network(self._network())


SIGNS = (
    (strips.LOST, "losses: a sender slows because of a loss"),
    (strips.MARKED, "losses: a sender slows because of an ECN mark"),
    (strips.DROPPED, "losses: the bottleneck's queue drops packets"),
    ("▇", "full strip: throughput: the link, or twice the expected"),
    ("", "RTT: the path's and a full queue's; queue: its buffer"),
    ("┈", "chart: limits of the path and of the hosts"),
    ("◂ ◃ ◆", "chart, right edge: measured mean, expected mean, you"),
    ("▲", "chart: the height of a peak that the axis cuts off"),
    ("✓ ✗ –", "models: within the tolerance ±, outside, no verdict"),
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
        defaults = below.tutor.configuration.default_names
        rows = [
            (
                " ".join(key.keys),
                f"{key.long} (default: {defaults[key.id]})" if key.id in defaults else key.long,
            )
            for key in bindings.working_keys(below).values()
        ]
        if defaults:
            rows.insert(
                0,
                ("", "config.toml changes some keys; the course's texts name the defaults"),
            )
        rows = [*below.OTHER_KEYS, *(row for row in rows if row[1])]
        if below.query(PageTrack):
            rows += LEGEND
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
            lines += hanging(Content.assemble((f"{key:>{column}}", "bold"), "  "), what, room)
        self.query_one(Static).update(Content("\n").join(lines))
