"""The palette: a field, the hits below it, a line about the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.matching import HEADS, Hit, PaletteEntry, search
from tcptutor.ui.widgets.bars import KeyBar


class FindScreen(ModalScreen[PaletteEntry | None]):
    """Search of `entries`, dismissed with the chosen one; None if closed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", "down", show=False, priority=True, id="find.down"),
        Binding("up", "move(-1)", "up", show=False, priority=True, id="find.up"),
        Binding("pagedown", "move(8)", "down a page", show=False, priority=True, id="find.page-down"),
        Binding("pageup", "move(-8)", "up a page", show=False, priority=True, id="find.page-up"),
        Binding("escape,ctrl+p", "dismiss", "close", priority=True, id="find.close"),
    ]

    def __init__(self, entries: Sequence[PaletteEntry]) -> None:
        super().__init__()
        self._entries = entries
        self._hits: list[Hit] = []
        self._at = 0
        """Index of the chosen hit."""

    def compose(self) -> ComposeResult:
        with Vertical(id="find"):
            yield Input(placeholder="a page, a term, an experiment, a command", compact=True)
            hits = OptionList(id="find-hits", compact=True, markup=False)
            hits.can_focus = False
            yield hits
            yield Static(id="find-about", markup=False)
            bar = KeyBar()
            bar.show_keys(
                (
                    FooterKey((("Enter", "enter"),), "go", is_next=True),
                    FooterKey((("↑", "up"), ("↓", "down")), "choose"),
                    FooterKey((("Esc", "escape"),), "close"),
                )
            )
            yield bar

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._search("")

    def on_resize(self, _event: Resize) -> None:
        self.call_after_refresh(self._draw)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._search(event.value)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        if self._hits:
            self.dismiss(self._hits[self._at].entry)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        if event.option_id:
            self.dismiss(self._hits[int(event.option_id)].entry)

    def action_move(self, by: int) -> None:
        if self._hits:
            last = len(self._hits) - 1
            wraps = abs(by) == 1
            self._at = (self._at + by) % (last + 1) if wraps else min(max(self._at + by, 0), last)
            self._choose()

    def _search(self, query: str) -> None:
        self._hits, self._at = search(query, self._entries), 0
        self._draw()

    def _draw(self) -> None:
        listing = self.query_one("#find-hits", OptionList)
        width = max(20, listing.scrollable_content_region.width or min(self.app.size.width - 8, 96))
        options: list[Option] = []
        for at, hit in enumerate(self._hits):
            if not at or hit.group != self._hits[at - 1].group:
                options.append(Option(Content.styled(HEADS[hit.group], "bold"), disabled=True))
            options.append(Option(_row(hit, width), id=str(at)))
        if not options:
            options.append(Option(Content.styled("Nothing found.", "$text-muted"), disabled=True))
        listing.clear_options()
        listing.add_options(options)
        self._choose()

    def _choose(self) -> None:
        listing = self.query_one("#find-hits", OptionList)
        about = Content("")
        if self._hits:
            index = listing.get_option_index(str(self._at))
            listing.highlighted = index
            if not self._at:
                listing.scroll_home(animate=False)  # with the head of the first group
            about = Content(" ".join(self._hits[self._at].about.split()))
        self.query_one("#find-about", Static).update(about)


def _row(hit: Hit, width: int) -> Content:
    """Return the title with its matches on the left, the kind on the right."""
    kind = hit.entry.kind
    room = width - cell_len(kind) - 4
    title = Content(hit.entry.title)
    for start, end in hit.spans:
        title = title.stylize("bold underline", start, end)
    title = title.truncate(room, ellipsis=True)
    gap = " " * max(1, width - 2 - title.cell_length - cell_len(kind))
    return Content("  ") + title + Content(gap) + Content.styled(kind, "$text-muted")
