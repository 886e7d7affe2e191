"""Home: where to continue, the modules, today's work, the last run, and the lab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus, Resize
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.base.errors import JournalError
from tcptutor.course.outline import Module
from tcptutor.course.paths import CoursePath
from tcptutor.study.lab_state import LabState
from tcptutor.ui import bindings
from tcptutor.ui.bindings import FooterKey, priority
from tcptutor.ui.screens.base import WIDE, SavingScreen
from tcptutor.ui.screens.home_room import HomeRoom
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.home.about import entering_lines, objective_lines
from tcptutor.ui.widgets.home.facts import HomeFacts, student_module
from tcptutor.ui.widgets.home.last_run import LastRun
from tcptutor.ui.widgets.home.modules import ModuleList, layout
from tcptutor.ui.widgets.home.start import StartButton
from tcptutor.ui.widgets.home.text import labeled, name_of
from tcptutor.ui.widgets.home.title import enrolment_text, title_lines
from tcptutor.ui.widgets.home.work import due_lines, due_of_module

if TYPE_CHECKING:
    from tcptutor.review import ReviewCard, Reviews

WELCOME = (
    "Each page asks you a question, runs a real TCP experiment on a Linux kernel, and compares the result with the "
    "models. Commit to a number first: being wrong is how you learn here."
)
_SAWTOOTH = (36, 3)
"""Columns and lines of the picture next to the title."""
_LESS_SAWTOOTH = 10
"""Columns that it lacks on a narrow screen."""


class HomeScreen(SavingScreen):
    """Overview of the course. Enter continues where the student was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        priority("v", "review", "review", "home.review", "questions that are due again, for two minutes"),
        priority("P", "change_path", "path", "home.path", "follow the essentials, or everything"),
    ]
    HAS_STUDY_KEYS = True
    FOOTER = (
        ("app.pages", "pages"),
        ("app.search", "find"),
        ("app.terms", "terms"),
        ("home.path", "path"),
        ("app.bench", "bench"),
        ("app.history", "runs"),
        ("app.keys", "keys"),
        ("app.quit", "quit"),
    )
    OTHER_KEYS = (("↑ ↓", "choose a module"), ("Enter", "continue, or open the module where you left it"))
    _reviews: Reviews | None = None
    """Questions to ask again; None until the visited modules are read."""
    _lab_text: Content | None = None
    _facts: HomeFacts
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
        self.call_after_refresh(self._find_reviews)

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        if self.is_current and self._drawn_size not in (None, self.app.size):
            self._show_all(self._highlighted)

    def course_read(self) -> None:
        self._show_problems()
        # Times and paths are known from now on, and damaged pages are no longer counted.
        self._show_all(self._highlighted)
        self._find_reviews()

    def goal_changed(self) -> None:
        self._facts = self.tutor.home_facts()
        self._show_work()

    def enrolment_changed(self) -> None:
        if self.is_current:  # a covered screen draws itself when it is shown again
            self._show_all(self._highlighted)

    def show_keys(self) -> None:
        super().show_keys()
        self._written = self.tutor.journal.event_count  # no save indicator on this screen
        self.show_saved()

    def footer_keys(self) -> tuple[FooterKey, ...]:
        offered = (("home.review", "review"),) if self._due else ()
        return (
            FooterKey((("Enter", "enter"),), "open" if self._in_list else self._verb.lower()),
            FooterKey((("↑", "up"), ("↓", "down")), "module"),
            *bindings.footer_entries(self, (*offered, *self.FOOTER)),
        )

    def show_lab(self) -> None:
        super().show_lab()
        machine = self.tutor.bench.machine if self.tutor.has_bench else LabState("starting")
        why = f" {machine.reason}" if machine.stage == "none" else ""
        text = labeled("Lab", f"{machine.sentence}{why}", min(self.app.size.width - 6, 90))
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
        self.query_one(LastRun).is_squeezed = not self._room.has_last_run(self._in_list)

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

    def action_review(self) -> None:
        """Ask the questions that are due, or practice others."""
        from tcptutor.ui.screens.review import ReviewScreen  # noqa: PLC0415  # not for the first frame

        if self._reviews is not None:
            self.app.push_screen(ReviewScreen(self._reviews))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "review":
            return self._reviews is not None and bool(self._reviews.cards)
        return super().check_action(action, parameters)

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

    @property
    def chosen_module(self) -> Module | None:
        return None if self._highlighted is None else self._modules[self._highlighted]

    # Content

    @property
    def _path(self) -> CoursePath:
        return self._facts.path

    @property
    def _modules(self) -> Sequence[Module]:
        return self.tutor.course.modules

    def _module(self, id: str | None) -> Module:
        return next(module for module in self._modules if module.id == id)

    @property
    def _here(self) -> Module | None:
        """The student's module, or the first; None in a course without modules."""
        return student_module(self._facts.position, self._modules)

    @property
    def _verb(self) -> str:
        return "Begin" if self._facts.position is None else "Continue"

    # Drawing

    def _show_all(self, highlighted: int | None = None) -> None:
        """Draw everything, with the cursor on the module of index `highlighted`."""
        self._facts = self.tutor.home_facts()
        self._drawn_size = self.app.size
        lines = title_lines(self.tutor.course.title, self._facts)
        self.query_one("#course", Static).update(Content("\n").join(lines))
        self._show_enrolment()
        self._show_start()
        self._place_parts()
        self._squeeze()
        self._show_modules(highlighted)
        self._show_about(None if highlighted is None else self._modules[highlighted])
        self._show_work()

    def _place_parts(self) -> None:
        # In columns, not per cent: Textual takes the height of the texts from their share of the share.
        room = self._room
        listing = room.list_columns if room.has_columns else None
        self.query_one("#listing").styles.width = listing
        self.query_one("#aside").styles.width = None if listing is None else room.columns - listing

    def _show_start(self) -> None:
        button, module = self.query_one(StartButton), self._here
        button.display = module is not None
        if module is None:
            return
        if self._facts.position is None:
            button.show("Begin", name_of(module, None), "")
        else:
            button.show("Continue", *self._facts.following)

    def _show_modules(self, highlighted: int | None) -> None:
        listing, here = self.query_one(ModuleList), self._here
        room, problems = self._room, len(self._problem_lines)
        started = self._facts.position is not None
        others = self.tutor.has_marks + problems + bool(problems)
        gap = room.gap_lines(len(self._modules), others) if room.has_columns else 0
        heads, *rows = layout(
            self._modules,
            self._facts.progress,
            here.id if here and started else "",
            room.row_columns,
            self._path,
            cards=room.has_columns,
            is_plain=self.tutor.glyphs != "all",
        )
        self.query_one("#heads", Static).update(heads)
        listing.clear_options()
        for at, (each, row) in enumerate(zip(self._modules, rows, strict=True)):
            if at and gap:
                listing.add_option(Option("\n" * (gap - 1), disabled=True))  # blank lines
            listing.add_option(Option(row, id=each.id))
        if highlighted is not None:
            listing.highlighted = listing.get_option_index(self._modules[highlighted].id)

    def _show_enrolment(self) -> None:
        line = self.query_one("#enrolment", Static)
        line.display = self.tutor.has_marks
        if self.tutor.has_marks:
            line.update(enrolment_text(self._facts.enrolment, self.tutor.course.marks))

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
        """Describe a module; if None, the course to a new student, or the student's module."""
        about = self.query_one("#about", Static)
        if module is None and self._facts.position is None:
            about.update(Content.assemble(WELCOME, ("\nPress Enter to begin.", "bold")))
            return
        shown = module or self._here
        if shown is None:
            about.update("")
            return
        lines = [Content.styled(f"{shown.number} {shown.title}", "bold")] if self._room.is_tall else []
        if module is not None:
            lines += entering_lines(self.tutor.journal, self._modules, self._facts, module)
            lines += due_of_module(self._reviews, module)
        if self._room.is_tall:
            lines += objective_lines(shown, self._room.text_columns)
        about.update(Content("\n").join(lines))

    @property
    def _room(self) -> HomeRoom:
        return HomeRoom(*self.app.size)

    # The student's work

    def _show_work(self) -> None:
        """Show the student's work next to the button, or below the modules if space is short."""
        beside, below = self.query(".work").results(Static)
        room = self._room
        shown, other = (beside, below) if room.has_columns else (below, beside)
        shown.display, other.display = True, False
        width = room.work_columns(cell_len(self.query_one(StartButton).text))
        lines = [labeled(label, text, width) for label, text in self._facts.work]
        shown.update(Content("\n").join([*due_lines(self._reviews, width), *lines]))

    @property
    def _due(self) -> Sequence[ReviewCard]:
        return self._reviews.due if self._reviews else ()

    @work(exclusive=True, group="reviews")
    async def _find_reviews(self) -> None:
        record = self.tutor.journal.record
        visited = [module for module in self._modules if record.has_visited(module.id)]
        if not visited or not all(module.is_read for module in visited):
            return  # called again once the lessons are read
        from tcptutor.study.reviews import find_now  # noqa: PLC0415  # not for the first frame

        self._reviews = await find_now(self.tutor.course, self.tutor.journal)
        if self.app.is_running:  # the app may have been left meanwhile
            self._show_work()
            self.schedule_keys()

    def _show_last_run(self) -> None:
        self.query_one(LastRun).load(self.tutor.journal, self.tutor.course)

    @property
    def _problem_lines(self) -> Sequence[Content]:
        lines = [*filter(None, [self.tutor.journal.notice]), *self.tutor.problems]
        return [Content.assemble(("⚠ ", "$warning bold"), line) for line in lines[:_MOST_PROBLEMS]]

    def _show_problems(self) -> None:
        lines, problems = self._problem_lines, self.query_one("#problems", Static)
        problems.update(Content("\n").join(lines))
        problems.display = bool(lines)


_MOST_PROBLEMS = 3
"""Problems to list: damaged files and pages."""
