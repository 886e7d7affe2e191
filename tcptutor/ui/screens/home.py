"""Home: where to continue, the modules, today's work, the last run, and the lab."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus, Resize
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.base.errors import JournalError
from tcptutor.course import duration
from tcptutor.course.outline import Module
from tcptutor.course.page_record import PREDICT, moment
from tcptutor.course.paths import PATHS, PRETEST, CoursePath
from tcptutor.ui import bindings, pages, words
from tcptutor.ui.bindings import FooterKey, priority
from tcptutor.ui.pages import PathProgress, path_progress
from tcptutor.ui.screens.base import TALL, WIDE, SavingScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.home.last_run import LABEL, LastRun
from tcptutor.ui.widgets.home.modules import HEADS, ModuleList, layout
from tcptutor.ui.widgets.home.start import StartButton
from tcptutor.ui.widgets.page.text import hanging

if TYPE_CHECKING:
    from tcptutor.course.step import Step

WELCOME = (
    "Each page asks you a question, runs a real TCP experiment on a Linux kernel, and compares the result with the "
    "models. Commit to a number first: being wrong is how you learn here."
)
_SAWTOOTH = (36, 3)
"""Columns and lines of the picture next to the title."""
_LESS_SAWTOOTH = 10
"""Columns that it lacks on a narrow screen."""
_SHOWN_UNFINISHED = 3
"""Unfinished pages to name."""


class HomeScreen(SavingScreen):
    """Overview of the course. Enter continues where the student was."""

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
    OTHER_KEYS = (("↑ ↓", "choose a module"), ("Enter", "continue, or open the module where you left it"))
    _lab_text: Content | None = None
    _drawn_size: tuple[int, int] | None = None

    def compose(self) -> ComposeResult:
        yield TopBar()
        with Vertical(id="home"):
            with Horizontal(id="title"):
                yield Static(id="course", markup=False)
                yield Static(id="sawtooth", markup=False)
            yield Static(id="enrolment", markup=False)
            with Container(id="begin"):
                yield StartButton()
                yield Static(classes="work", markup=False)
            with Container(id="overview"):
                with Vertical(id="listing"):
                    yield Static(id="heads", markup=False)
                    yield ModuleList()
                with Vertical(id="aside"):
                    yield Static(id="about", markup=False)
                    yield Static(classes="work", markup=False)
                    yield LastRun()
            yield Static(id="lab", markup=False)
            yield Static(id="problems", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self._show_problems()
        self.call_after_refresh(self._draw_sawtooth)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._show_all()
        self.set_focus(self.query_one(StartButton), scroll_visible=False)
        self.call_after_refresh(self._show_last_run)

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        if self.is_current and self._drawn_size not in (None, self.app.size):
            self._show_all(self._highlighted)

    def course_read(self) -> None:
        self._show_problems()
        # Times and paths are known from now on, and damaged pages are no longer counted.
        self._show_all(self._highlighted)

    def show_keys(self) -> None:
        super().show_keys()
        self._written = self.tutor.journal.event_count  # no save indicator on this screen
        self.show_saved()

    def footer_keys(self) -> tuple[FooterKey, ...]:
        return (
            FooterKey((("Enter", "enter"),), "open" if self._in_list else self._verb.lower()),
            FooterKey((("↑", "up"), ("↓", "down")), "module"),
            *bindings.footer_entries(self, self.FOOTER),
        )

    def show_lab(self) -> None:
        super().show_lab()
        machine = self.tutor.bench.machine
        why = f" {machine.reason}" if machine.stage == "none" else ""
        text = _labeled("Lab", f"{machine.sentence}{why}", min(self.app.size.width - 6, 90))
        # Called for every event of a run: redraw only on change, or even a covered screen would lay itself
        # out.
        if text != self._lab_text:
            self._lab_text = text
            self.query_one("#lab", Static).update(text)

    # Moving

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        if isinstance(event.widget, StartButton):
            self.query_one(ModuleList).highlighted = None
            self._show_about(None)
        self._squeeze()
        self.schedule_keys()

    def _squeeze(self) -> None:
        """Hide the last run where the objectives need its lines."""
        height = self.app.size.height
        self.query_one(LastRun).is_squeezed = self._has_columns and (
            height < _LEAST_FOR_RUN or (self._in_list and height < _HIGH)
        )

    @on(StartButton.Left)
    def _enter_list(self, event: StartButton.Left) -> None:
        listing = self.query_one(ModuleList)
        if listing.option_count:
            self.set_focus(listing, scroll_visible=False)
            listing.highlighted = 0 if event.by > 0 else listing.option_count - 1

    @on(ModuleList.Left)
    def _leave_list(self) -> None:
        self.set_focus(self.query_one(StartButton), scroll_visible=False)

    @on(StartButton.Pressed)
    def _continue(self) -> None:
        if (module := self._here) is not None:
            self.tutor.open_module(module.id)

    @on(OptionList.OptionHighlighted)
    def _module_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._show_about(self._module(event.option_id))

    @on(OptionList.OptionSelected)
    def _module_selected(self, event: OptionList.OptionSelected) -> None:
        self.tutor.open_module(self._module(event.option_id).id)

    def action_change_path(self) -> None:
        """Follow the other path from here on."""
        path: CoursePath = "everything" if self._path == "essential" else "essential"
        try:
            self.tutor.journal.choose_path(path)
        except JournalError as error:
            self.notify(str(error), severity="error")
        self._show_all(self._highlighted)
        self.show_saved()

    @property
    def _in_list(self) -> bool:
        return isinstance(self.focused, ModuleList)

    @property
    def _highlighted(self) -> int | None:
        """Index of the module under the cursor; None while the button has the focus."""
        option = self.query_one(ModuleList).highlighted_option
        if option is None or not self._in_list:
            return None
        return [each.id for each in self._modules].index(option.id or "")

    # What there is to show

    @property
    def _path(self) -> CoursePath:
        return self.tutor.journal.record.path

    @property
    def _modules(self) -> Sequence[Module]:
        return self.tutor.course.modules

    def _module(self, id: str | None) -> Module:
        return next(module for module in self._modules if module.id == id)

    @property
    def _here(self) -> Module | None:
        """The student's module, or the first; None in a course without modules."""
        position = self.tutor.journal.position()
        visited = next((each for each in self._modules if position and each.id == position[0]), None)
        return visited or next(iter(self._modules), None)

    @property
    def _verb(self) -> str:
        return "Begin" if self.tutor.journal.position() is None else "Continue"

    # Drawing

    def _show_all(self, highlighted: int | None = None) -> None:
        """Draw everything, with the cursor on the module of index `highlighted`."""
        self._progress = self.tutor.journal.progress(self.tutor.course)
        self._drawn_size = self.app.size
        self.query_one("#course", Static).update(Content("\n").join(self._course_lines()))
        self._show_enrolment()
        self._show_start()
        self._place_parts()
        self._squeeze()
        self._show_modules(highlighted)
        self._show_about(None if highlighted is None else self._modules[highlighted])
        self._show_work()

    def _place_parts(self) -> None:
        above = max(1, (self.app.size.height - _LEAST_FOR_RUN) // 3)
        self.query_one("#home").styles.padding = (above, 3, 0, 3)
        # In columns, not per cent: Textual takes the height of the texts from their share of the share.
        listing = self._list_share if self._has_columns else None
        self.query_one("#listing").styles.width = listing
        self.query_one("#aside").styles.width = None if listing is None else self._room - listing

    def _show_start(self) -> None:
        button, module = self.query_one(StartButton), self._here
        button.display = module is not None
        if module is None:
            return
        if self.tutor.journal.position() is None:
            button.show("Begin", f"{module.number} {module.title}", "")
            return
        step = pages.resume(self.tutor.journal, module)
        button.show("Continue", _place(module, step), f"{duration.minutes(step)} min" if step else "")

    def _show_modules(self, highlighted: int | None) -> None:
        listing, here = self.query_one(ModuleList), self._here
        cards = self._has_columns
        started = self.tutor.journal.position() is not None
        heads, *rows = layout(
            self._modules,
            self._progress,
            here.id if here and started else "",
            (self._list_share if cards else self._room) - _CURSOR_COLUMNS,
            self._path,
            cards=cards,
            is_plain=self.tutor.glyphs != "all",
        )
        self.query_one("#heads", Static).update(heads)
        listing.clear_options()
        for at, (each, row) in enumerate(zip(self._modules, rows, strict=True)):
            if at and cards:
                listing.add_option(Option("", disabled=True))  # a blank line
            listing.add_option(Option(row, id=each.id))
        if highlighted is not None:
            listing.highlighted = listing.get_option_index(self._modules[highlighted].id)

    def _course_lines(self) -> Iterator[Content]:
        """Yield the title, and both paths with progress and time left."""
        course = self.tutor.course
        yield Content.styled(course.title, "bold $primary")
        for path in PATHS:
            found = [path_progress(module, self._progress[module.id], path) for module in course.modules]
            sums = _sum([each for each in found if each is not None])
            if None in found or not sums.total:
                continue
            done = f"{sums.done} of {_pages(sums.total)}" if sums.done else _pages(sums.total)
            left = f", {duration.in_words(sums.minutes_left)}{' left' if sums.done else ''}"
            line = f"{HEADS[path].capitalize():<11} {done}{left if sums.minutes_left else ''}"
            if path == self._path:
                yield Content.styled(f"▸ {line}", "bold")
            else:
                yield Content.styled(f"  {line}", "$text-muted")

    def _show_enrolment(self) -> None:
        course, enrolment = self.tutor.course, self.tutor.journal.record.enrolment
        line = self.query_one("#enrolment", Static)
        line.display = enrolment is not None
        if enrolment is None:
            return
        who = f"{enrolment.student}, in the course {enrolment.course}"
        if deadline := moment(course.marks.deadline):
            who += f", until {deadline.astimezone():%-d %B %Y %H:%M %Z}"
        if course.marks.path == "essential":
            who += "; the essentials count"
        line.update(who)

    def _draw_sawtooth(self) -> None:
        # Not for the first frame: theory and drawing take a tenth of a second to import.
        from tcptutor.ui.widgets.home.pictures import sawtooth  # noqa: PLC0415

        if self.is_attached:
            columns, lines = _SAWTOOTH
            columns -= 0 if self.app.size.width >= WIDE else _LESS_SAWTOOTH
            picture = self.query_one("#sawtooth", Static)
            picture.styles.width = columns
            picture.update(sawtooth(columns, lines))

    def _show_about(self, module: Module | None) -> None:
        """Describe a module; without one, the course to a new student, or the student's module."""
        about = self.query_one("#about", Static)
        if module is None and self.tutor.journal.position() is None:
            about.update(Content.assemble(WELCOME, ("\nPress Enter to begin.", "bold")))
            return
        shown = module or self._here
        if shown is None:
            about.update("")
            return
        lines = [Content.styled(f"{shown.number} {shown.title}", "bold $primary")] if self._is_roomy else []
        if module is not None:
            lines.append(self._effect_of_enter(module))
            lines += self._earlier_unfinished(module)
        if self._is_roomy and shown.objectives:
            lines += [Content.styled("You will", "$text-muted"), *self._objectives(shown)]
        about.update(Content("\n").join(lines))

    def _objectives(self, module: Module) -> Iterator[Content]:
        for objective in module.objectives:
            yield from hanging(Content.styled("· ", "$primary"), objective, self._text_columns)

    @property
    def _is_roomy(self) -> bool:
        return self.app.size.height >= TALL

    @property
    def _has_columns(self) -> bool:
        """True if the facts are next to the modules."""
        return self._is_roomy and self.app.size.width >= WIDE

    @property
    def _room(self) -> int:
        """Columns between the margins."""
        return min(self.app.size.width, _MOST_COLUMNS) - 6

    @property
    def _list_share(self) -> int:
        """Columns of the modules if the facts are next to them."""
        return self._room * _LIST_SHARE // 100

    @property
    def _text_columns(self) -> int:
        """Columns of a line of facts."""
        return min(self._room * (100 - _LIST_SHARE) // 100 - 4 if self._has_columns else self._room, 90)

    def _effect_of_enter(self, module: Module) -> Content:
        progress = self._progress[module.id]
        name = f"{module.number} {module.title}"
        if not self.tutor.journal.record.has_visited(module.id):
            return Content.assemble("Enter begins ", (name, "bold"), self._size_of(module))
        step = pages.resume(self.tutor.journal, module)
        how = "reopens" if progress.done == progress.total else "continues with"
        return Content.assemble(f"Enter {how} ", (_place(module, step), "bold"))

    def _size_of(self, module: Module) -> str:
        """Return ": 12 pages, about 45 min" of the student's path; empty until the pages are read."""
        of = path_progress(module, self._progress[module.id], self._path)
        if of is None or not of.total:
            return ""
        return f": {_pages(of.total)}, about {duration.in_words(of.minutes_left)}"

    def _earlier_unfinished(self, module: Module) -> Iterator[Content]:
        """Recommend unfinished earlier modules before a new module."""
        if self.tutor.journal.record.has_visited(module.id):
            return
        earlier = [
            f"{each.number} {each.title}"
            for each in self._modules[: self._modules.index(module)]
            if self._is_unfinished(each)
        ]
        if earlier:
            names = " and ".join(filter(None, (", ".join(earlier[:-1]), earlier[-1])))
            yield Content.styled(f"Recommended first: {names}. You can begin here anyway.", "$text-muted")

    def _is_unfinished(self, module: Module) -> bool:
        progress = self._progress[module.id]
        of = path_progress(module, progress, self._path)
        return bool(of.minutes_left) if of else progress.done < progress.total

    # The student's work

    @property
    def _work_columns(self) -> int:
        """Columns next to the button, or of a line of facts."""
        if not self._has_columns:
            return self._text_columns
        button = cell_len(self.query_one(StartButton).text) + 6
        return max(self._room - min(button, self._room * 60 // 100) - 5, LABEL + 10)

    def _show_work(self) -> None:
        """Show the student's work next to the button, or where there is no room, below the modules."""
        beside, below = self.query(".work").results(Static)
        shown, other = (beside, below) if self._has_columns else (below, beside)
        shown.display, other.display = True, False
        shown.update(Content("\n").join(self._work_lines()))

    def _work_lines(self) -> Iterator[Content]:
        journal, width = self.tutor.journal, self._work_columns
        today = journal.record.today
        is_today = today.day == date.today()
        if is_today and today.pages:
            yield _labeled(
                "Today", f"{duration.in_words(max(1, today.minutes))}, {_pages(len(today.pages))}", width
            )
        accuracy = []
        if is_today and today.predictions:
            accuracy.append(f"{today.close} of {today.predictions} within 10 % today")
        if (found := journal.calibration()) is not None:
            accuracy.append(f"{found.predictions} so far, {words.off_by(found.factor)} in the median")
        if accuracy:
            yield _labeled("Predictions", "; ".join(accuracy), width)
        if unfinished := [*self._unfinished_pages()]:
            shown, more = unfinished[:_SHOWN_UNFINISHED], len(unfinished) - _SHOWN_UNFINISHED
            text = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
            yield _labeled("Unfinished", text, width)
        if counts := journal.sureness_counts():
            stated = [
                f"{word} {counts[key].right} of {counts[key].total}"
                for key, word in reversed(words.SURENESS.items())
                if key in counts
            ]
            yield _labeled("First tries", f"right when {', '.join(stated)}", width)

    def _unfinished_pages(self) -> Iterator[str]:
        """Yield the numbers of pages that the student opened and did not finish, without the page to continue."""
        record = self.tutor.journal.record
        for module in self._modules:
            opened = record.pages.get(module.id, {})
            if not module.is_read or not opened:
                continue
            for at, (step, done) in enumerate(
                zip(module.steps, self._progress[module.id].pages, strict=True), start=1
            ):
                is_open = step.id in opened and opened[step.id].visited and not done
                if is_open and (module.id, step.id) != record.position:
                    yield f"{module.number}.{at}"

    def _show_last_run(self) -> None:
        runs = [run for run in self.tutor.journal.record.runs.values() if run.ended and run.file]
        if not runs:
            return
        last, record = runs[-1], self.tutor.journal.record
        target = pages.find_page(self.tutor.course, f"{last.module}/{last.step}")
        folder = self.tutor.journal.runs.folder
        if target is None or folder is None:
            return
        prediction = record.page(last.module, last.step).activity(PREDICT)
        self.query_one(LastRun).load(
            _place(*target), last.module, last.step, folder / last.file, prediction.factor
        )

    def _show_problems(self) -> None:
        lines = [*filter(None, [self.tutor.journal.notice]), *self.tutor.problems]
        shown = [Content.assemble(("⚠ ", "$warning bold"), line) for line in lines[:3]]
        problems = self.query_one("#problems", Static)
        problems.update(Content("\n").join(shown))
        problems.display = bool(shown)


_LEAST_FOR_RUN = 36
"""Lines of a screen that shows the last run below the objectives of the student's module."""
_HIGH = 44
"""Lines of a screen that shows a module's objectives and the last run at the same time."""
_MOST_COLUMNS = 156
"""Columns of the screen's contents at most: wider lines are hard to read."""
_CURSOR_COLUMNS = 2
"""Columns of a row that its cursor takes."""
_LIST_SHARE = 60
"""Percentage of the columns for the modules next to the facts about them."""


def _labeled(label: str, text: str, width: int) -> Content:
    return Content("\n").join(hanging(Content.styled(f"{label:<{LABEL}}", "$text-muted"), text, width))


def _place(module: Module, step: Step | None) -> str:
    """Return "1.9 More than the pipe holds"."""
    if step is None:
        return f"{module.number} {module.title}"
    if step.id == PRETEST:
        return f"{module.number} {module.title}, pre-test"
    return f"{module.number}.{module.steps.index(step) + 1} {step.title}"


def _pages(number: int) -> str:
    return f"{number} page" if number == 1 else f"{number} pages"


def _sum(parts: Sequence[PathProgress]) -> PathProgress:
    return PathProgress(
        sum(each.done for each in parts),
        sum(each.total for each in parts),
        sum(each.minutes_left for each in parts),
    )
