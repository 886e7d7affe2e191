"""The glossary: the terms of a page or of the course, each with its page and an experiment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.course.glossary import Term
from tcptutor.study.pages import ModulePage, find_page, page_of_experiment
from tcptutor.ui import bindings
from tcptutor.ui.bindings import FooterKey, priority
from tcptutor.ui.screens.filtered_list import FilteredListScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.page.text import hanging, paragraphs

_WITHOUT_FIELD = ("experiment", "scope", "type")
"""Actions whose keys go to the field while it has the focus."""


class GlossaryScreen(FilteredListScreen[Term]):
    """List of terms, next to the definition of the chosen term."""

    BINDINGS: ClassVar[list[BindingType]] = [
        priority("enter", "open_chosen", "read", "glossary.read", "the page that explains the term"),
        priority("r", "experiment", "see it", "glossary.experiment", "an experiment that shows it"),
        priority("up", "move(-1)", "term", "glossary.up", "the term above"),
        priority("down", "move(1)", "term", "glossary.down", "the term below"),
        Binding("left", "move(-1)", show=False, id="glossary.previous"),
        Binding("right", "move(1)", show=False, id="glossary.next"),
        Binding("pageup", "move(-10)", show=False, priority=True, id="glossary.far-up"),
        Binding("pagedown", "move(10)", show=False, priority=True, id="glossary.far-down"),
        priority("tab", "scope", "page or all", "glossary.scope", "the terms of this page, or all"),
        priority("slash", "type", "filter", "glossary.type", "type words of a term"),
        Binding("d", "back", show=False, id="glossary.close"),
        priority("escape", "back", "back", "glossary.back", "back; from the filter, to the list"),
    ]
    FOOTER = (
        ("glossary.read", "read"),
        ("glossary.experiment", "see it"),
        ("glossary.up glossary.down", "term"),
        ("glossary.scope", "page or all"),
        ("glossary.type", "filter"),
        ("glossary.back", "back"),
        ("app.keys", "keys"),
    )
    OTHER_KEYS = (("← →", "the previous and the next term"),)

    def __init__(
        self, terms: Sequence[Term], of_page: Sequence[Term] = (), chosen: Term | None = None
    ) -> None:
        """Create the screen.

        Args:
            terms: All terms.
            of_page: Terms of the current page, in the order of its text.
            chosen: Term to show; by default the first of the page.
        """
        super().__init__("words of a term", "read")
        self._all = sorted(terms, key=lambda term: term.word.casefold())
        self._of_page = of_page
        self._is_all = not of_page or (chosen is not None and chosen not in of_page)
        self._first = chosen

    def compose(self) -> ComposeResult:
        yield TopBar()
        with Vertical(id="glossary"):
            yield Static(id="glossary-scope", markup=False)
            yield self._words
            with Horizontal():
                listing = OptionList(id="glossary-terms", compact=True, markup=False)
                listing.can_focus = False
                yield listing
                with VerticalScroll(id="glossary-entry", can_focus=False):
                    yield Static(markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(TopBar).show_place("terms")
        self._filter(self._first)

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        self.call_after_refresh(self._choose)

    def footer_keys(self) -> tuple[FooterKey, ...]:
        if self._is_typing:
            return self._typing_keys
        return bindings.footer_entries(self, self.FOOTER, "glossary.read")

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        if self._is_typing and action in _WITHOUT_FIELD:
            return False
        if action == "experiment":
            return bool(self._chosen and self._chosen.experiment) and not self._is_shown_where_explained
        return action != "scope" or bool(self._of_page)

    def action_open_chosen(self) -> None:
        if (term := self._chosen) is not None:
            self.dismiss()
            self.app.call_later(self.tutor.action_open_page, term.page)

    def action_experiment(self) -> None:
        term = self._chosen
        if term is None:
            return
        self.dismiss()
        if (place := self._place_of_experiment(term)) is not None:
            self.app.call_later(self.tutor.action_open_page, f"{place.module.id}/{place.step.id}")
        else:
            self.app.call_later(self.tutor.open_bench_with, term.experiment)

    def _close(self) -> None:
        self.dismiss()

    def action_scope(self) -> None:
        self._is_all = not self._is_all
        self._filter(self._chosen)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self._at = int(event.option_id or 0)
        self._choose()

    # The list and the entry

    def _filter(self, wanted: Term | None) -> None:
        """List the terms that match the typed words, matches in names first."""
        words = self._words.value.split()
        terms = self._all if self._is_all or words else self._of_page
        by_name = [term for term in terms if _has(words, " ".join(term.forms))]
        others = [term for term in terms if term not in by_name and _has(words, term.text)]
        self._shown = [*by_name, *others]
        self._at = self._shown.index(wanted) if wanted in self._shown and not words else 0
        listing = self.query_one("#glossary-terms", OptionList)
        listing.clear_options()
        listing.add_options(
            [Option(f" {term.title}", id=str(at)) for at, term in enumerate(self._shown)]
            or [Option(Content.styled(" No term found.", "$text-muted"), disabled=True)]
        )
        self.query_one("#glossary-scope", Static).update(self._scope_line(bool(words)))
        self._choose()

    def _scope_line(self, has_words: bool) -> Content:
        chips = [("all", len(self._all), self._is_all or has_words)]
        if self._of_page:
            chips.insert(0, ("on this page", len(self._of_page), not self._is_all and not has_words))
        return Content(" ").join(
            Content.styled(f" {name} ({count}) ", "bold reverse $secondary" if is_chosen else "$text-muted")
            for name, count, is_chosen in chips
        )

    def _choose(self) -> None:
        self.query_one("#glossary-terms", OptionList).highlighted = self._at if self._shown else None
        term = self._chosen
        entry = self.query_one("#glossary-entry", VerticalScroll)
        entry.scroll_home(animate=False)
        entry.query_one(Static).update(Content("\n").join(self._entry(term)) if term else "")
        self.refresh_bindings()
        self.schedule_keys()

    def _entry(self, term: Term) -> Iterator[Content]:
        yield Content.styled(term.title, "bold")
        if term.other_words:
            yield Content.styled(f"also {', '.join(term.other_words)}", "$text-muted")
        yield Content("")
        yield paragraphs(term.text)
        yield Content("")
        width = self.query_one("#glossary-entry > Static").size.width or 40
        place, is_same = self._place_of_experiment(term), self._is_shown_where_explained
        if (found := find_page(self.tutor.course, term.page)) is not None:
            words = "explained, with a run, on " if is_same else "explained on "
            yield from _link("Enter", words, ModulePage(*found).title, width)
        if not term.experiment or is_same:
            return
        if place is not None:
            yield from _link("r", "see it on ", place.title, width)
        else:
            yield from _link("r", "see it on the bench: ", term.experiment.partition("/")[2], width)

    @property
    def _is_shown_where_explained(self) -> bool:
        """True if the page that explains the chosen term runs its experiment."""
        term = self._chosen
        place = self._place_of_experiment(term) if term else None
        return bool(term and place and f"{place.module.id}/{place.step.id}" == term.page)

    def _place_of_experiment(self, term: Term) -> ModulePage | None:
        return page_of_experiment(self.tutor.course, term.experiment, first=term.page)


def _link(key: str, words: str, target: str, width: int) -> list[Content]:
    """Return a line about a key, or two: the target below the words if both do not fit."""
    start = Content.assemble((f"{key:5}", "bold"), "  ", (words, "$text-muted"))
    if start.cell_length + cell_len(target) <= width:
        return [start + target]
    return [start, *hanging(Content(" " * 7), target, width)]


def _has(words: Sequence[str], text: str) -> bool:
    """Return True if all words begin words of the text."""
    return all(re.search(rf"(?<!\w){re.escape(word)}", text, re.IGNORECASE) for word in words)
