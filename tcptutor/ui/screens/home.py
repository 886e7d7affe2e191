"""Overview of the course: modules, progress, state of the lab."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.base.errors import JournalError
from tcptutor.course import duration
from tcptutor.course.outline import Module
from tcptutor.course.page_record import moment
from tcptutor.course.paths import PATHS, PRETEST, CoursePath
from tcptutor.journal import Progress
from tcptutor.ui import bindings, pages, words
from tcptutor.ui.bindings import FooterKey, priority
from tcptutor.ui.pages import PathProgress, few_squares, path_progress, squares
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

    BINDINGS: ClassVar[list[BindingType]] = [
        priority("p", "change_path", "path", "home.path", "follow the essentials, or everything"),
    ]
    FOOTER = (
        ("home.path", "path"),
        ("app.bench", "bench"),
        ("app.keys", "keys"),
        ("app.commands", "find"),
        ("app.quit", "quit"),
    )
    OTHER_KEYS = (("↑ ↓", "choose a module"), ("Enter", "open it where you left it"))
    _lab_text: Content | None = None
    _drawn_width = 0

    def compose(self) -> ComposeResult:
        yield TopBar()
        with Vertical(id="home"):
            yield Static(id="course", markup=False)
            yield Static(id="greeting", markup=False)
            yield Static(id="heads", markup=False)
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
            self._show_modules(self._highlighted)

    def course_read(self) -> None:
        self._show_problems()
        # Times and paths are known from now on, and damaged pages are no longer counted.
        self._show_modules(self._highlighted)

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

    def action_change_path(self) -> None:
        """Follow the other path from here on."""
        path: CoursePath = "everything" if self._path == "essential" else "essential"
        try:
            self.tutor.journal.choose_path(path)
        except JournalError as error:
            self.notify(str(error), severity="error")
        self._show_modules(self._highlighted)
        self.show_saved()

    @property
    def _path(self) -> CoursePath:
        return self.tutor.journal.record.path

    @property
    def _highlighted(self) -> int | None:
        """Index of the module under the cursor."""
        return self.query_one("#modules", OptionList).highlighted

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
        heads, *rows = _rows(modules, self._progress, here, self._drawn_width - _ROW_MARGIN, self._path)
        self.query_one("#heads", Static).update(heads if modules else "")
        listing.add_options([Option(row, id=each.id) for each, row in zip(modules, rows, strict=True)])
        if modules:
            ids = [module.id for module in modules]
            own = ids.index(here) if here else 0
            listing.highlighted = own if highlighted is None else highlighted
        else:
            self.query_one("#greeting", Static).update(WELCOME)

    def _course_line(self) -> Content:
        """Return the lines on the course: both paths with progress and time left, and the enrollment."""
        course = self.tutor.course
        lines = [Content.styled(course.title, "bold $primary"), *self._path_lines()]
        enrolment = self.tutor.journal.record.enrolment
        who = f"{enrolment.student}, in the course {enrolment.course}" if enrolment else ""
        if who and (deadline := moment(course.marks.deadline)):
            who += f", until {deadline.astimezone():%-d %B %Y %H:%M %Z}"
        if who and course.marks.path == "essential":
            who += "; the essentials count"
        return Content("\n").join([*lines, *([Content.styled(who, "$text-muted")] if who else [])])

    def _path_lines(self) -> Iterator[Content]:
        course = self.tutor.course
        for path in PATHS:
            found = [path_progress(module, self._progress[module.id], path) for module in course.modules]
            sums = _sum([each for each in found if each is not None])
            if None in found or not sums.total:
                continue
            done = f"{sums.done} of {_pages(sums.total)} done" if sums.done else _pages(sums.total)
            left = f", about {duration.in_words(sums.minutes_left)}{' left' if sums.done else ''}"
            words = f"{_HEADS[path].capitalize():<11} {done}{left if sums.minutes_left else ''}"
            if path == self._path:
                yield Content.assemble((f"▸ {words}", "bold"), ("   your path (p)", "$text-muted"))
            else:
                yield Content.styled(f"  {words}", "$text-muted")

    def _position(self) -> tuple[str, str]:
        """Return module and step where the student was; two empty strings for a new student."""
        position = self.tutor.journal.position()
        here = position is not None and any(each.id == position[0] for each in self.tutor.course.modules)
        return position if here and position else ("", "")

    def _greeting(self, module: Module) -> Content:
        """Describe the effect of Enter on a module."""
        here = self._position()[0]
        if not here:
            return Content(WELCOME)
        progress = self._progress[module.id]
        name = f"{module.number} {module.title}"
        if here == module.id:
            step = pages.resume(self.tutor.journal, module)
            where = (f"{name}, “{step.title}”" if step else name, "bold")
            return Content.assemble(
                "Enter continues where you were: ", where, _page(module, step), self._calibration()
            )
        if not self.tutor.journal.record.has_visited(module.id):
            return Content.assemble("Enter begins ", (name, "bold"), self._about(module))
        step = pages.resume(self.tutor.journal, module)
        where = (f"{name}, “{step.title}”" if step else name, "bold")
        how = "reopens" if progress.done == progress.total else "continues with"
        return Content.assemble(f"Enter {how} ", where, _page(module, step))

    def _about(self, module: Module) -> str:
        """Return ": 12 pages, about 45 min" of the student's path; empty until the pages are read."""
        of = path_progress(module, self._progress[module.id], self._path)
        if of is None or not of.total:
            return ""
        return f": {_pages(of.total)}, about {duration.in_words(of.minutes_left)}"

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
                f"{word} {counts[key].right} of {counts[key].total}"
                for key, word in reversed(words.SURENESS.items())
                if key in counts
            ]
            lines.append(f"First answers right: {', '.join(stated)}.")
        return "\n".join(lines)

    def _earlier_unfinished(self, module: Module) -> Content:
        """Recommend unfinished earlier modules before a new module."""
        if self.tutor.journal.record.has_visited(module.id):
            return Content("")
        modules = self.tutor.course.modules
        earlier = [
            f"{each.number} {each.title}"
            for each in modules[: modules.index(module)]
            if self._is_unfinished(each)
        ]
        if not earlier:
            return Content("")
        names = " and ".join(filter(None, (", ".join(earlier[:-1]), earlier[-1])))
        return Content(f"Recommended first: {names}. You can begin here anyway.")

    def _is_unfinished(self, module: Module) -> bool:
        progress = self._progress[module.id]
        of = path_progress(module, progress, self._path)
        return bool(of.minutes_left) if of else progress.done < progress.total

    def _show_problems(self) -> None:
        lines = [*filter(None, [self.tutor.journal.notice]), *self.tutor.problems]
        shown = [Content.assemble(("⚠ ", "$warning bold"), line) for line in lines[:3]]
        self.query_one("#problems", Static).update(Content("\n").join(shown))


_ROW_MARGIN = 8
"""Columns of the screen not available to a row."""
_HEADS = {"essential": "essentials", "everything": "everything"}
_LEAST_SQUARES = 8
"""Fewest squares worth drawing."""


def _rows(
    modules: Sequence[Module],
    progress: Mapping[str, Progress],
    here: str,
    width: int,
    path: CoursePath = "everything",
) -> list[Content]:
    """Lay out a row of heads and a row per module: marker, number, title, both progresses, squares.

    If `width` is too small, progress has fewer squares than pages, or none. The student's path is bold.
    """
    found = [progress[module.id] for module in modules]
    names = _padded(
        ["", *(f"{'▸' if each.id == here else ' '} {each.number}  {each.title}" for each in modules)]
    )
    columns = {
        each: _padded(
            [_HEADS[each], *(_cell(module, of, each) for module, of in zip(modules, found, strict=True))]
        )
        for each in PATHS
    }
    rows = []
    room = width - cell_len(names[0]) - sum(3 + cell_len(cells[0]) for cells in columns.values()) - 3
    most = max((of.total for of in found), default=0)
    for at, name in enumerate(names):
        row = Content(name)
        for each, cells in columns.items():
            row += Content.assemble("   ", (cells[at], "bold" if each == path else ""))
        if at and room >= min(most, _LEAST_SQUARES):
            of = found[at - 1]
            row += Content(
                "   " + (squares(of) if most <= room else few_squares(of, max(2, of.total * room // most)))
            )
        rows.append(row)
    return rows


def _padded(cells: Sequence[str]) -> list[str]:
    width = max(map(cell_len, cells), default=0)
    return [cell + " " * (width - cell_len(cell)) for cell in cells]


def _cell(module: Module, progress: Progress, path: CoursePath) -> str:
    """Return "5/12  45 min", "12/12 done"; without the time until the pages are read."""
    of = path_progress(module, progress, path)
    if of is None:
        return f"{progress.done:>2}/{progress.total:<2}" if path == "everything" else ""
    if not of.total:
        return ""
    left = duration.in_words(of.minutes_left) if of.minutes_left else "done"
    return f"{of.done:>2}/{of.total:<2}  {left}"


def _pages(number: int) -> str:
    return f"{number} page" if number == 1 else f"{number} pages"


def _page(module: Module, step: Step | None) -> str:
    return f", page {module.steps.index(step) + 1}" if step and step.id != PRETEST else ""


def _sum(parts: Sequence[PathProgress]) -> PathProgress:
    return PathProgress(
        sum(each.done for each in parts),
        sum(each.total for each in parts),
        sum(each.minutes_left for each in parts),
    )
