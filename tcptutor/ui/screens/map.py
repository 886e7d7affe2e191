"""The map: all pages of a module with their states, to filter, open, skip, bookmark and reset."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.base.errors import JournalError
from tcptutor.course.outline import Module
from tcptutor.study import pages
from tcptutor.study.pages import ModulePage
from tcptutor.ui import bindings
from tcptutor.ui.bindings import FooterKey, priority
from tcptutor.ui.page_map import FILTERS, MapPage, map_pages
from tcptutor.ui.screens.base import SavingScreen
from tcptutor.ui.screens.dialogs import ResetChoice, ResetScreen
from tcptutor.ui.screens.filtered_list import FilteredListScreen
from tcptutor.ui.widgets import page_rows as rows
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.workers import start_worker

_WITHOUT_FIELD = ("turn", "keep", "type", "skip", "bookmark", "reset")
"""Actions with keys that the focused field takes as text."""
_BINDINGS: list[BindingType] = [
    priority("enter", "open_chosen", "open", "map.open", "open the page"),
    Binding("up", "move(-1)", show=False, priority=True, id="map.up"),
    Binding("down", "move(1)", show=False, priority=True, id="map.down"),
    Binding("pageup", "move(-10)", show=False, priority=True, id="map.far-up"),
    Binding("pagedown", "move(10)", show=False, priority=True, id="map.far-down"),
    priority("left", "turn(-1)", "module", "map.previous", "the previous module"),
    priority("right", "turn(1)", "module", "map.next", "the next module"),
    *(
        Binding(f"{number}", f"keep({number - 1})", show=False, priority=True, id=f"map.filter-{number}")
        for number in range(1, len(FILTERS) + 1)
    ),
    priority("slash", "type", "filter", "map.type", "type words of a title to list"),
    priority("x", "skip", "skip", "map.skip", "mark the page to skip, or take the mark back"),
    priority("b", "bookmark", "mark", "map.bookmark", "set a bookmark, or remove it"),
    priority("D", "reset", "reset", "map.reset", "reset the page or the module, or bring its work back"),
    Binding("p", "back", show=False, id="map.close"),
    priority("escape", "back", "back", "map.back", "back; from the filter, to the list"),
]


class MapScreen(FilteredListScreen[MapPage], SavingScreen):
    """Pages of a module. `here` is the page that the map covers."""

    BINDINGS: ClassVar[list[BindingType]] = _BINDINGS
    FOOTER = (
        ("map.open", "open"),
        ("map.previous map.next", "module"),
        ("map.type", "filter"),
        ("map.skip", "skip"),
        ("map.bookmark", "mark"),
        ("map.reset", "reset"),
        ("map.back", "back"),
        ("app.keys", "keys"),
    )
    OTHER_KEYS = (
        ("↑ ↓", "choose a page"),
        (f"1-{len(FILTERS)}", "list pages: " + ", ".join(each.name for each in FILTERS)),
        (" ".join(sign for sign, _ in rows.SIGNS.values()), ", ".join(rows.SIGNS)),
        (rows.DEEPER, "a page that goes deeper than the essentials"),
    )

    def __init__(self, module: Module, here: ModulePage | None) -> None:
        super().__init__("words of a title", "open")
        self._module, self._here = module, here
        self._all: list[MapPage] = []
        """Pages of the module."""
        self._kept = 0
        """Index of the filter in FILTERS."""
        self._is_changed = False
        """True if a page was skipped or reset: the page below shows it when it is opened again."""
        self._due: frozenset[tuple[str, str]] = frozenset()
        """Module and step of the pages with a question to review."""

    def compose(self) -> ComposeResult:
        yield TopBar()
        with Vertical(id="map"):
            yield Static(id="map-modules", markup=False)
            yield Static(id="map-left", markup=False)
            yield Static(id="map-filters", markup=False)
            yield self._words
            listing = OptionList(id="map-pages", compact=True, markup=False)
            listing.can_focus = False
            yield listing
            yield Static(id="map-about", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self._written = self.tutor.journal.event_count
        self._read()
        self._filter(self._first_page())
        start_worker(self, self._find_due)

    async def _find_due(self) -> None:
        from tcptutor.study.reviews import find_now  # noqa: PLC0415  # the map is shown before

        found = await find_now(self.tutor.course, self.tutor.journal)
        self._due = frozenset((card.id.module, card.id.step) for card in found.due)
        if self._due:
            self._read()
            self._filter(self._chosen)

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        self.call_after_refresh(self._draw)

    def footer_keys(self) -> tuple[FooterKey, ...]:
        if self._is_typing:
            return self._typing_keys
        return bindings.footer_entries(self, self.FOOTER, "map.open")

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return not (self._is_typing and action in _WITHOUT_FIELD)

    def action_open_chosen(self) -> None:
        if (page := self._chosen) is not None:
            self._leave(ModulePage(self._module, page.step))

    def _close(self) -> None:
        self._leave(self._here if self._is_changed else None)

    def _leave(self, target: ModulePage | None) -> None:
        """Close the map, and open the given page, if any."""
        self.dismiss()
        if target is not None:
            self.app.call_later(self.tutor.open_step, *target)

    def action_turn(self, by: int) -> None:
        modules = self.tutor.course.modules
        at = [each.id for each in modules].index(self._module.id)
        self._module = modules[(at + by) % len(modules)]
        self._read()
        self._filter(self._first_page())

    def action_keep(self, number: int) -> None:
        self._kept = 0 if number == self._kept else number
        self._filter(self._chosen)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self._at = int(event.option_id or 0)
        self.action_open_chosen()

    def action_skip(self) -> None:
        page = self._chosen
        if page is None or not page.number:
            return
        if page.state == "done":
            self.notify("This page is done: there is nothing to skip.")
            return
        self._record(lambda: self.tutor.journal.skip(*self._key(page), on=page.state != "skipped"))
        self._is_changed = True

    def action_bookmark(self) -> None:
        if (page := self._chosen) is not None:
            self._record(lambda: self.tutor.journal.bookmark(*self._key(page), on=not page.is_bookmarked))

    def action_reset(self) -> None:
        page = self._chosen
        if page is None:
            return
        if self.tutor.bench.busy or self.tutor.bench.session.in_progress:
            self.notify("A run or a terminal is open: end it first.", severity="warning")
        else:
            self.app.push_screen(ResetScreen(self._module, page), self._reset)

    def _reset(self, choice: ResetChoice | None) -> None:
        journal, page = self.tutor.journal, self._chosen
        if page is None or choice is None:
            return
        for each in self._all if choice == "module" else [page]:
            if choice == "restore":
                self._record(partial(journal.restore, *self._key(each)))
            elif journal.page(*self._key(each)).is_touched:
                self._record(partial(journal.reset, *self._key(each)))
        self._is_changed = True

    def _record(self, store: Callable[[], None]) -> None:
        try:
            store()
        except JournalError as error:
            self.notify(str(error), severity="error", markup=False)
        chosen = self._chosen
        self._read()
        self._filter(chosen)
        self.show_saved()

    def _key(self, page: MapPage) -> tuple[str, str]:
        return self._module.id, page.step.id

    # The list

    def _read(self) -> None:
        self._all = map_pages(self.tutor.journal.record, self._module, self._due)

    def _first_page(self) -> MapPage | None:
        """Return the page that the map covers, or the page to resume."""
        is_here = self._here is not None and self._here.module.id == self._module.id
        step = self._here.step if self._here and is_here else pages.resume(self.tutor.journal, self._module)
        return next((page for page in self._all if step and page.step.id == step.id), None)

    def _filter(self, wanted: MapPage | None) -> None:
        """Filter the pages, with the cursor on `wanted` or on the next page that is listed."""
        words = self._words.value
        keeps = FILTERS[self._kept].keeps
        self._shown = [page for page in self._all if keeps(page) and page.is_about(words)]
        number = wanted.number if wanted else 0
        self._at = next((at for at, page in enumerate(self._shown) if page.number >= number), 0)
        self._draw()

    def _draw(self) -> None:
        width = self.query_one("#map-pages").scrollable_content_region.width
        modules = [
            (each.number, each.title, each.id == self._module.id) for each in self.tutor.course.modules
        ]
        self.query_one(TopBar).show_place("pages")
        self.query_one("#map-modules", Static).update(rows.module_line(modules, width))
        self.query_one("#map-left", Static).update(rows.left_line(self._all, width))
        self.query_one("#map-filters", Static).update(rows.filter_line(self._all, self._kept, width))
        here = self._here.step.id if self._here and self._here.module.id == self._module.id else ""
        listing = self.query_one("#map-pages", OptionList)
        listing.clear_options()
        listing.add_options(
            [
                Option(rows.page_row(page, width, is_here=page.step.id == here), id=str(at))
                for at, page in enumerate(self._shown)
            ]
            or [
                Option(Content.styled("No page of this module is listed here.", "$text-muted"), disabled=True)
            ]
        )
        self._choose()

    def _choose(self) -> None:
        page = self._chosen
        self.query_one("#map-pages", OptionList).highlighted = None if page is None else self._at
        self.query_one("#map-about", Static).update(rows.about(page) if page else "")
