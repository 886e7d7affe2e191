"""The find box: a field, the hits below it, a line about the chosen hit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tcptutor.study.matching import Hit, IndexedEntry, PaletteEntry, moved, search
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.closing import WorkersEndFirst
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.hit_list import HitList, marked
from tcptutor.ui.workers import start_worker


class FindScreen(WorkersEndFirst, ModalScreen[PaletteEntry | None]):
    """Search of `entries`, dismissed with the chosen entry; None if closed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", "down", show=False, priority=True, id="find.down"),
        Binding("up", "move(-1)", "up", show=False, priority=True, id="find.up"),
        Binding("pagedown", "move(8)", "down a page", show=False, priority=True, id="find.page-down"),
        Binding("pageup", "move(-8)", "up a page", show=False, priority=True, id="find.page-up"),
        Binding("escape,ctrl+p", "dismiss", "close", priority=True, id="find.close"),
    ]

    def __init__(
        self,
        entries: Sequence[IndexedEntry],
        find_runs: Callable[[], Awaitable[Sequence[IndexedEntry]]],
        placeholder: str,
    ) -> None:
        """Create the box.

        Args:
            entries: Entries to search from the first key on.
            find_runs: Indexes the student's runs, which are searched once they are read.
            placeholder: Text of the empty field.
        """
        super().__init__()
        self._entries, self._find_runs, self._placeholder = [*entries], find_runs, placeholder
        self._list = HitList()
        self._hits: list[Hit] = []
        self._at = 0
        """Index of the chosen hit."""

    def compose(self) -> ComposeResult:
        with Vertical(id="find"):
            yield Input(placeholder=self._placeholder, compact=True)
            yield self._list
            yield Static(id="find-about", markup=False)
            yield KeyBar(
                FooterKey((("Enter", "enter"),), "go", is_next=True),
                FooterKey((("↑", "up"), ("↓", "down")), "choose"),
                FooterKey((("Esc", "escape"),), "close"),
            )

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._search("")
        start_worker(self, self._add_runs)

    async def _add_runs(self) -> None:
        self.add_entries(await self._find_runs())

    def add_entries(self, entries: Sequence[IndexedEntry]) -> None:
        """Search these entries too; the chosen hit stays."""
        self._entries += entries
        field = self.query_one(Input)
        if field.value:
            chosen = self._hits[self._at].entry if self._hits else None
            self._search(field.value, chosen)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._search(event.value)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        if self._hits:
            self.dismiss(self._hits[self._at].entry)

    @on(HitList.Clicked)
    def _clicked(self, event: HitList.Clicked) -> None:
        self.dismiss(self._hits[event.number].entry)

    def action_move(self, by: int) -> None:
        if self._hits:
            self._at = moved(self._at, by, len(self._hits))
            self._choose()

    def _search(self, query: str, chosen: PaletteEntry | None = None) -> None:
        self._hits = search(query, self._entries)
        self._at = next((at for at, hit in enumerate(self._hits) if hit.entry is chosen), 0)
        self._list.show(self._hits, self._at)
        self._choose()

    def _choose(self) -> None:
        self._list.move_to(self._at)
        about = Content("")
        if self._hits:
            hit = self._hits[self._at]
            about = marked(hit.about, hit.about_spans)
        self.query_one("#find-about", Static).update(about, layout=False)
