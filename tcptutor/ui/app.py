"""The application: owns course, journal and bench, and forwards messages to the screens."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen

from tcptutor.base import places
from tcptutor.base.errors import JournalError, LabUnavailable, TutorError, UsageError
from tcptutor.course.outline import Course, Module
from tcptutor.journal import Journal
from tcptutor.journal.saved import Benches
from tcptutor.ui.app_keys import BINDINGS, STUDY_ACTIONS
from tcptutor.ui.frame import SCREEN_STYLES, START_STYLES
from tcptutor.ui.messages import (
    GoalsUpdated,
    LabChanged,
    LabWanted,
    RunFinished,
    RunUpdated,
    SessionUpdated,
    ShellUpdated,
    SweepEnded,
    SweepUpdated,
)
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.screens.home import HomeScreen
from tcptutor.ui.study_app import StudyApp
from tcptutor.ui.widgets.home.facts import HomeCopy, HomeFacts, gather
from tcptutor.ui.workers import start_worker

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab
    from tcptutor.course.glossary import Term
    from tcptutor.course.known_courses import KnownCourse
    from tcptutor.course.step import Step
    from tcptutor.study.course_switch import CourseSwitch
    from tcptutor.ui.bench import Bench
    from tcptutor.ui.find_index import FindIndex
    from tcptutor.ui.history_state import HistoryState
    from tcptutor.ui.screens.lesson import LessonScreen
    from tcptutor.ui.workbench import Workbench

_UNTIL_CLICKED_S = 3600.0
"""Seconds for which a notice waits for a student who is away."""
_LOOK_AGAIN = 3.0
"""Seconds between retries of unsaved events, and between checks for an enrollment by other programs."""


def _import_page_modules() -> None:
    from tcptutor.ui.screens import history, lesson  # noqa: F401, PLC0415


class TutorApp(StudyApp):
    """The tcptutor application.

    `make_lab` makes the lab, after the first frame. `problems` reads all lessons and returns their problems, a line
    each. `copied_facts` are facts of the journal, which is read after the first frame.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = [START_STYLES]
    BINDINGS: ClassVar[list[BindingType]] = BINDINGS

    def __init__(
        self,
        course: Course,
        journal: Journal,
        make_lab: Callable[[], Lab],
        *,
        problems: Callable[[], Iterable[object]] = tuple,
        copied_facts: HomeFacts | None = None,
        module: str | None = None,
    ) -> None:
        super().__init__(course, journal, (copied_facts or journal.record).enrolment)
        self._find_problems, self.problems = problems, tuple[str, ...]()
        self._make_lab = make_lab
        self._home_copy, self._copied_facts = HomeCopy(journal, course), copied_facts
        self._first_module, self._is_course_read = module, False
        self.workbench: Workbench | None = None
        self.run_history: HistoryState | None = None
        self._index: FindIndex | None = None
        self.course_switch: CourseSwitch | None = None
        """The student's other courses; None if the app can show no other."""

    @cached_property
    def bench(self) -> Bench:
        """The bench, made after the first frame: it needs a third of our modules."""
        from tcptutor.ui.bench import Bench  # noqa: PLC0415

        return Bench(self._make_lab(), self.journal, self.post_message)

    @property
    def has_bench(self) -> bool:
        return "bench" in self.__dict__

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent):
            self._complete_start()
        await super().on_event(event)

    def change_course(self, course: KnownCourse) -> None:
        """Switch to a different course of the student."""
        assert self.course_switch is not None
        try:
            self.course_switch.choose(course)
        except TutorError as error:
            self.notify(str(error), severity="error", timeout=15)
        else:
            self.exit()

    def prepare_exit(self) -> None:
        if self.has_bench:
            self.bench.stop_for_exit()  # exiting may take seconds, in which a run would go on unseen
        super().prepare_exit()

    def get_default_screen(self) -> Screen[None]:
        return HomeScreen()

    def on_mount(self) -> None:
        if self._first_module:
            self._complete_start()
            self.open_module(self._first_module)
            # The page covers the home screen, which also shows the notice.
            if self.journal.notice:
                self.notify(self.journal.notice, severity="warning", timeout=30, markup=False)
        # The first frame does not wait for the lab or for imports.
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        gc.enable()  # disabled by `start.run_app` until the first frame
        self._complete_start()
        start_worker(self, self._start_lab, group="lab")
        self.run_worker(_import_page_modules, thread=True, group="preload")
        start_worker(self, self._read_lessons, group="course")
        self.set_interval(_LOOK_AGAIN, self._look_again)

    def _complete_start(self) -> None:
        """Load data that the first frame does not need, before the first key: other screens' styles, the journal."""
        if not self.stylesheet.has_source(str(SCREEN_STYLES)):
            self.stylesheet.read(SCREEN_STYLES)
        if self._copied_facts is not None:
            self._copied_facts = None
            try:
                self.journal.read()
            except JournalError as error:
                self._home_copy.remove()  # the next start reads the journal first, and works without it
                self.exit(return_code=1, message=f"tcptutor: {error}; start tcptutor again")

    def home_facts(self) -> HomeFacts:
        if self._copied_facts is not None:
            return self._copied_facts
        return gather(self.journal, self.course, self.settings.daily_minutes)

    def keep_home_facts(self) -> None:
        """Keep the facts of the home screen for the next start, if all pages are read."""
        if self._is_course_read and self.is_saved:
            self._home_copy.save(self.home_facts(), self.settings.daily_minutes)

    def _look_again(self) -> None:
        self._save_again()
        if not (self.has_bench and self.bench.busy):
            self.follow_enrolment()

    def _take_enrolment(self) -> str:
        line = super()._take_enrolment()
        if line:
            self._index = self.run_history = None
        return line

    def action_show_rules(self) -> None:
        """Show how marks are given."""
        from tcptutor.ui.screens.rules import RulesScreen  # noqa: PLC0415  # seldom needed

        self.push_screen(RulesScreen(self._own_course.enrolment, self.course.marks))

    async def _read_lessons(self) -> None:
        self.problems = tuple(map(str, await asyncio.to_thread(self._find_problems)))
        self._is_course_read = True
        if self._first_module and self.problems:
            self.notify("\n".join(_shorten(self.problems)), severity="warning", timeout=30, markup=False)
        for screen in self.mounted_screens():
            screen.course_read()
        await self._index_course()
        from tcptutor.study.background import freeze_gc  # noqa: PLC0415  # not for the first frame

        freeze_gc()

    async def _start_lab(self) -> None:
        # The bench reports the failure; pages and questions work without a lab.
        with contextlib.suppress(LabUnavailable):
            await self.bench.warm()

    # Screens

    def make_page(self, module: Module, step: Step, notice: str) -> LessonScreen:
        """Return the screen of a page; `notice` is a line to show once the page is complete."""
        from tcptutor.ui.screens.lesson import LessonScreen  # noqa: PLC0415  # Markdown is slow to import

        return LessonScreen(self, module, step, notice)

    def action_open_bench(self, experiment: str = "") -> None:
        """Open the bench with that experiment, the settings of the current run, or as the student left it."""
        if not isinstance(self.screen, TutorScreen):
            return
        if self.workbench is None:
            from tcptutor.course.experiments import Catalogue  # noqa: PLC0415  # not for the first frame
            from tcptutor.ui.workbench import Workbench  # noqa: PLC0415

            self.workbench = Workbench(Catalogue(self.course.root or places.lessons()))
        start = self.screen.bench_experiment
        try:
            if experiment:
                self.workbench.use_experiment(experiment)
            elif start is not None:
                self.workbench.start_from(start)
        except TutorError as error:
            self.notify(str(error), severity="warning", timeout=10, markup=False)
        if not experiment and self.screen.bench_waits_for_prediction:
            self.notify(
                "Predict first: the bench would show the forecast for this page's settings.", timeout=8
            )
        try:
            if not self.workbench.ready:
                self.workbench.begin()
        except UsageError as error:
            self.notify(str(error), severity="error", timeout=10)
            return
        from tcptutor.ui.screens.workbench import WorkbenchScreen  # noqa: PLC0415  # not for the first frame

        folder = self.journal.run_folder
        self.push_screen(WorkbenchScreen(self.workbench, Benches(folder.parent if folder else None)))

    def action_open_history(self) -> None:
        """Open the list of the student's runs."""
        folder = self.journal.run_folder
        if not isinstance(self.screen, TutorScreen):
            return
        if folder is None:
            self.notify(
                "No run is saved in this session: the journal could not be opened.", severity="warning"
            )
            return
        from tcptutor.ui.history_state import HistoryState  # noqa: PLC0415  # not for the first frame
        from tcptutor.ui.screens.history import HistoryScreen  # noqa: PLC0415

        if not any(isinstance(screen, HistoryScreen) for screen in self.screen_stack):
            if self.run_history is None:
                self.run_history = HistoryState(folder, self.course.root or places.lessons(), self.course)
            self.push_screen(HistoryScreen(self.run_history))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "what_if" and not self._can_change_one_thing:
            return False
        if action == "show_rules" and not self.has_marks:
            return False
        if action in STUDY_ACTIONS or (action == "find" and parameters):
            screen = self.screen
            return isinstance(screen, TutorScreen) and screen.HAS_STUDY_KEYS and not screen.takes_text
        return super().check_action(action, parameters)

    @property
    def _can_change_one_thing(self) -> bool:
        screen = self.screen
        return isinstance(screen, TutorScreen) and screen.what_if_base is not None

    def action_what_if(self) -> None:
        """Ask which setting of the current run to change, and run it again."""
        base = self.screen.what_if_base if isinstance(self.screen, TutorScreen) else None
        if base is not None:
            from tcptutor.ui.screens.what_if import ask  # noqa: PLC0415  # not for the first frame

            ask(self, self.bench, base)

    def action_open_map(self) -> None:
        """Open the map of the current page's module, or of the student's."""
        from tcptutor.ui.screens.map import MapScreen  # noqa: PLC0415  # not for the first frame

        if isinstance(self.screen, TutorScreen) and self.course.modules:
            here = self._open_page
            module = here.module if here else self.screen.chosen_module or self._module_here
            self.push_screen(MapScreen(module, here))

    def action_open_glossary(self) -> None:
        self.open_glossary()

    def open_glossary(self, term: Term | None = None) -> None:
        """Open the glossary at a term, or at the first term of the current page."""
        from tcptutor.course.glossary import readable_glossary, terms_in  # noqa: PLC0415  # not for the first frame
        from tcptutor.ui.screens.glossary import GlossaryScreen  # noqa: PLC0415

        terms = readable_glossary(self.course.root, self.course.language)
        here, of_page = self._open_page, []
        if here is not None:
            has_run = here.step.has_run(self.journal.page(here.module.id, here.step.id))
            of_page = terms_in(terms, f"{here.step.prose} {here.step.after_run if has_run else ''}")
        if terms:
            self.push_screen(GlossaryScreen(terms, of_page, term))
        else:
            self.notify("This course has no glossary.")

    def open_bench_with(self, experiment: str) -> None:
        """Open the bench with an experiment of the course, by its full name."""
        self.action_open_bench(experiment)

    def action_find(self, with_commands: bool = True) -> None:
        """Open the find box, with the commands of the screen and settings or without."""
        if isinstance(self.screen, TutorScreen):
            from tcptutor.ui.finding import open_find_box  # noqa: PLC0415  # not for the first frame

            index = self._find_index().update(self.journal.record)
            open_find_box(self.screen, index, with_commands=with_commands)

    def _find_index(self) -> FindIndex:
        from tcptutor.ui.find_index import FindIndex  # noqa: PLC0415  # not for the first frame

        if self._index is None:
            self._index = FindIndex(self)
        return self._index

    async def _index_course(self) -> None:
        """Index the course before it is searched, unless its pages would have to be read for it."""
        if not all(module.is_read for module in self.course.modules):
            return
        with contextlib.suppress(JournalError):  # the box indexes it when it opens
            record = self.journal.record
            await asyncio.to_thread(lambda: self._find_index().update(record))

    async def action_write_notebook(self) -> None:
        """Write the notebook, in a thread: its charts take seconds."""
        from tcptutor.ui.written_notebook import write_in_home  # noqa: PLC0415  # loads the analysis

        self.notify("Writing your notebook …", timeout=3)
        try:
            message = await write_in_home(self.course, self.journal)
        except TutorError as error:
            self.notify(f"{error}, with `tcptutor notebook -o FILE`", severity="error", timeout=15)
        else:
            self.notify(message, timeout=15)

    # Messages from widgets and bench

    @on(LabChanged)
    def _lab_changed(self) -> None:
        for screen in self.mounted_screens():
            screen.show_lab()

    @on(RunUpdated)
    @on(SweepUpdated)
    def _update_top_screen(self, message: Message) -> None:
        live, sweep = self.bench.live, self.bench.sweep
        if sweep and sweep.state == "running":
            self.window.show_progress(sweep.done / max(1, sweep.total))
        elif live and live.state == "running":
            self.window.show_progress(live.run.experiment_s / live.run.experiment.seconds)
        # A covered screen would lay itself out and redraw every line.
        if isinstance(self.screen, TutorScreen):
            self.screen.bench_changed(message)

    @on(RunFinished)
    @on(SweepEnded)
    @on(GoalsUpdated)
    @on(ShellUpdated)
    def _update_screens(self, message: Message) -> None:
        if isinstance(message, RunFinished | SweepEnded):
            self.window.end_progress(rings=self.settings.bell)
        for screen in self.mounted_screens():
            screen.bench_changed(message)

    def on_session_updated(self, message: SessionUpdated) -> None:
        if message.event is None and not self.bench.session.in_progress:
            self._notify_session_ended()
        self._update_screens(message)

    def on_lab_wanted(self, message: LabWanted) -> None:
        waiting = "A student waits" if message.waiting == 1 else f"{message.waiting} students wait"
        self.notify(
            f"{waiting} for a lab. Your terminal closes in {message.closes_in:.0f} s: a key in it keeps it open.",
            severity="warning",
            timeout=message.closes_in,
            markup=False,
        )

    def _notify_session_ended(self) -> None:
        session = self.bench.session
        if session.problem:
            # A student who has been away finds it later.
            timeout = _UNTIL_CLICKED_S if session.gave_way else 15
            self.notify(session.problem, severity="error", timeout=timeout, markup=False)
        if session.files_left_out:
            files = ", ".join(session.files_left_out)
            message = f"not saved from ~, too large or too many: {files}"
            self.notify(message, severity="warning", timeout=15, markup=False)


def _shorten(problems: Sequence[str]) -> Iterable[str]:
    yield from problems[:2]
    if len(problems) > 2:
        yield f"and {len(problems) - 2} more: `tcptutor lint` lists them"
