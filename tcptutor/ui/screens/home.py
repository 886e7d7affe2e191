"""Overview of the course: modules, progress, state of the lab."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.course.outline import Module
from tcptutor.course.page_record import moment
from tcptutor.journal import Progress
from tcptutor.ui import bindings, pages, words
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.pages import few_squares, squares
from tcptutor.ui.screens.base import SavingScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar

if TYPE_CHECKING:
    from tcptutor.course.step import Step

WELCOME = (
    "Each page asks you a question, runs a real TCP experiment on a Linux kernel, and compares the result with the "
    "models. Commit to a number first: being wrong is how you learn here. Press Enter to begin."
)


class HomeScreen(SavingScreen):
    """List of modules; Enter continues where the student was."""

    FOOTER = (("app.bench", "bench"), ("app.keys", "keys"), ("app.commands", "find"), ("app.quit", "quit"))
    OTHER_KEYS = (("↑ ↓", "choose a module"), ("Enter", "open it where you left it"))
    _lab_text: Content | None = None
    _drawn_width = 0

    def compose(self) -> ComposeResult:
        yield TopBar()
        with Vertical(id="home"):
            yield Static(id="course", markup=False)
            yield Static(id="greeting", markup=False)
            yield OptionList(id="modules", compact=True)
            yield Static(id="before", markup=False)
            yield Static(id="objectives", markup=False)
            yield Static(id="lab", markup=False)
            yield Static(id="problems", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self._show_problems()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._show_modules()
        self.query_one(OptionList).focus()

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        if self.is_current and self._drawn_width != self.app.size.width:
            self._show_modules(self.query_one(OptionList).highlighted)

    def course_read(self) -> None:
        self._show_problems()
        if self.tutor.problems:
            # Damaged pages were counted until now.
            self._show_modules(self.query_one(OptionList).highlighted)

    def show_keys(self) -> None:
        super().show_keys()
        self._written = self.tutor.journal.event_count  # no save indicator on this screen
        self.show_saved()

    def footer_keys(self) -> tuple[FooterKey, ...]:
        return (
            FooterKey((("↑", "up"), ("↓", "down")), "module"),
            FooterKey((("Enter", "enter"),), "open"),
            *bindings.footer_entries(self, self.FOOTER),
        )

    def show_lab(self) -> None:
        super().show_lab()
        machine = self.tutor.bench.machine
        lines = [machine.sentence, *([machine.reason] if machine.reason else [])]
        text = Content.assemble(("Lab  ", "bold"), "\n     ".join(lines))
        # Called for every event of a run: redraw only on change, or even a covered screen would lay itself
        # out.
        if text != self._lab_text:
            self._lab_text = text
            self.query_one("#lab", Static).update(text)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        module = self._module(event.option_id)
        objectives = [Content(f"· {objective}") for objective in module.objectives]
        self.query_one("#greeting", Static).update(self._greeting(module))
        self.query_one("#before", Static).update(self._earlier_unfinished(module))
        self.query_one("#objectives", Static).update(
            Content("\n").join([Content.styled("You will", "bold"), *objectives]) if objectives else ""
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.tutor.open_module(self._module(event.option_id).id)

    def _module(self, id: str | None) -> Module:
        return next(module for module in self.tutor.course.modules if module.id == id)

    def _show_modules(self, highlighted: int | None = None) -> None:
        """List the modules, with the cursor on index `highlighted` or on the student's module."""
        modules = self.tutor.course.modules
        self._progress = self.tutor.journal.progress(self.tutor.course)
        self.query_one("#course", Static).update(self._course_line())
        here = self._position()[0]
        listing = self.query_one(OptionList)
        listing.clear_options()
        self._drawn_width = self.app.size.width
        rows = _rows(modules, self._progress, here, self._drawn_width - _ROW_MARGIN)
        listing.add_options([Option(row, id=each.id) for each, row in zip(modules, rows, strict=True)])
        if modules:
            ids = [module.id for module in modules]
            own = ids.index(here) if here else 0
            listing.highlighted = own if highlighted is None else highlighted
        else:
            self.query_one("#greeting", Static).update(WELCOME)

    def _course_line(self) -> Content:
        """Return the line on the course: progress, time left, enrollment."""
        course, progress = self.tutor.course, self._progress
        done, pages = (sum(getattr(each, name) for each in progress.values()) for name in ("done", "total"))
        left = sum(_minutes_left(module, progress[module.id]) for module in course.modules)
        progress_text = f"{done} of {_pages(pages)} done" if done else _pages(pages)
        progress_text += f", about {_duration(left)}{' left' if done else ''}" if left else ""
        enrolment = self.tutor.journal.record.enrolment
        who = f"\n{enrolment.student}, in the course {enrolment.course}" if enrolment else ""
        if who and (deadline := moment(course.marks.deadline)):
            who += f", until {deadline.astimezone():%-d %B %Y %H:%M %Z}"
        return Content.assemble((course.title, "bold $primary"), (f"   {progress_text}{who}", "$text-muted"))

    def _position(self) -> tuple[str, str]:
        """Return module and step where the student was; two empty strings for a new student."""
        position = self.tutor.journal.position()
        here = position is not None and any(each.id == position[0] for each in self.tutor.course.modules)
        return position if here and position else ("", "")

    def _greeting(self, module: Module) -> Content:
        """Describe the effect of Enter on a module."""
        here, step_id = self._position()
        if not here:
            return Content(WELCOME)
        progress = self._progress[module.id]
        name = f"{module.number} {module.title}"
        if here == module.id:
            step = next((step for step in module.steps if step.id == step_id), None)
            where = (f"{name}, “{step.title}”" if step else name, "bold")
            return Content.assemble(
                "Enter continues where you were: ", where, _page(module, step), self._calibration()
            )
        if not self.tutor.journal.record.has_visited(module.id):
            about = f": {_pages(progress.total)}, about {_duration(module.minutes)}"
            return Content.assemble("Enter begins ", (name, "bold"), about)
        step = pages.resume(self.tutor.journal, module)
        where = (f"{name}, “{step.title}”" if step else name, "bold")
        how = "reopens" if progress.done == progress.total else "continues with"
        return Content.assemble(f"Enter {how} ", where, _page(module, step))

    def _calibration(self) -> str:
        lines = [""]
        found = self.tutor.journal.calibration()
        if found is not None:
            off = words.off_by(found.factor)
            lines.append(
                f"Your {found.predictions} predictions that runs have answered were {off} in the median."
            )
        counts = self.tutor.journal.sureness_counts()
        if counts:
            stated = [
                f"{word}: {counts[key].right} of {counts[key].total} right"
                for key, word in words.SURENESS.items()
                if key in counts
            ]
            lines.append(f"Your first answers, by how sure you were: {', '.join(stated)}.")
        return "\n".join(lines)

    def _earlier_unfinished(self, module: Module) -> Content:
        """Recommend unfinished earlier modules before a new module."""
        if self.tutor.journal.record.has_visited(module.id):
            return Content("")
        modules = self.tutor.course.modules
        earlier = [
            f"{each.number} {each.title}"
            for each in modules[: modules.index(module)]
            if self._progress[each.id].done < self._progress[each.id].total
        ]
        if not earlier:
            return Content("")
        names = " and ".join(filter(None, (", ".join(earlier[:-1]), earlier[-1])))
        return Content(f"Recommended first: {names}. You can begin here anyway.")

    def _show_problems(self) -> None:
        lines = [*filter(None, [self.tutor.journal.notice]), *self.tutor.problems]
        shown = [Content.assemble(("⚠ ", "$warning bold"), line) for line in lines[:3]]
        self.query_one("#problems", Static).update(Content("\n").join(shown))


_ROW_MARGIN = 8
"""Columns of the screen not available to a row."""


def _rows(
    modules: Sequence[Module], progress: Mapping[str, Progress], here: str, width: int
) -> list[Content]:
    """Lay out a row per module: marker, number, title, time, progress.

    If `width` is too small, progress has fewer squares than pages.
    """
    titles = _padded([module.title for module in modules])
    times = _padded([_time_text(module, progress[module.id]) for module in modules])
    heads = [
        f"{'▸' if module.id == here else ' '} {module.number}  {title}   {time}   "
        for module, title, time in zip(modules, titles, times, strict=True)
    ]
    found = [progress[module.id] for module in modules]
    counts = [f" {of.done}/{of.total}{' ✓' if of.total and of.done == of.total else ''}" for of in found]
    room = width - max(map(len, heads), default=0) - max(map(len, counts), default=0)
    most = max((of.total for of in found), default=0)
    rows = []
    for head, of, count in zip(heads, found, counts, strict=True):
        signs = squares(of) if most <= room else few_squares(of, max(2, of.total * room // most))
        rows.append(Content.assemble(head, signs, count))
    return rows


def _padded(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells), default=0)
    return [cell.ljust(width) for cell in cells]


def _time_text(module: Module, progress: Progress) -> str:
    """Return "90 min", "25 min left" or "done"; empty if no page of the module can be read."""
    left = _minutes_left(module, progress)
    if not left:
        return "done" if progress.total else ""
    return f"{left:>2} min{' left' if progress.done else ''}"


def _minutes_left(module: Module, progress: Progress) -> int:
    """Return the time for the unfinished share of the pages, rounded up to 5 min."""
    if not progress.total:
        return 0
    share = 1 - progress.done / progress.total
    return module.minutes if share == 1 else 5 * math.ceil(module.minutes * share / 5)


def _duration(minutes: int) -> str:
    """Return "45 minutes", "5 h 40 min"."""
    if minutes <= 90:
        return f"{minutes} minutes"
    hours, rest = divmod(10 * round(minutes / 10), 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def _pages(number: int) -> str:
    return f"{number} page" if number == 1 else f"{number} pages"


def _page(module: Module, step: Step | None) -> str:
    return f", page {module.steps.index(step) + 1}" if step else ""
