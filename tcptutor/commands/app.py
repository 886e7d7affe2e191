"""`tcptutor`: open the app in this terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.commands.ending import end, exit_despite_threads
from tcptutor.commands.language import chosen_language
from tcptutor.plain.choice import reason
from tcptutor.ui import run_app

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab


def open_alone() -> NoReturn:
    """Run the app as `tcptutor` does without arguments, and exit with its code.

    The command line is imported only for an error: that takes a tenth of the time to the first frame.
    """
    with exit_despite_threads():
        try:
            end(open_app, None, "auto", "auto", None, None)
        except (Exception, KeyboardInterrupt):
            from tcptutor.commands.exits import errors_in_one_line  # noqa: PLC0415

            with errors_in_one_line():
                raise


def open_app(module: str | None, backend: str, clock: str, plain: bool | None, language: str | None) -> int:
    """Run the app, or the dialogue in its place, and return its exit code.

    Args:
        module: Module to open, by id or number.
        backend: Backend of the lab.
        clock: Clock of the lab.
        plain: True for the dialogue, False for the app, None to choose by the terminal.
        language: Language of the lessons; None to use the configuration file or the locale.

    Raises:
        TutorError: The app has no terminal.
        UsageError: The course has no pages in that language.
    """
    translation = chosen_language(language)
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if has_terminal and backend == "auto" and not places.cache().exists() and not places.state().exists():
        from tcptutor.commands.first_start import offer_setup  # noqa: PLC0415

        offer_setup()

    def make_lab() -> Lab:
        from tcptutor.backends.lab import Lab  # noqa: PLC0415  # not for the first frame

        return Lab(backend, clock)

    _remember_course()
    if why := reason(plain):
        from tcptutor.plain.start import run_plain  # noqa: PLC0415  # not for the first frame

        return run_plain(why, module, make_lab, translation)
    if not has_terminal:
        raise TutorError(
            "the app needs a terminal: open one, or use `tcptutor --plain` for the course as lines of text"
        )
    from tcptutor.study.course_switch import CourseSwitch  # noqa: PLC0415

    switch = CourseSwitch()
    code = run_app(module, make_lab, language=translation, switch=switch)
    if switch.chosen is not None:
        _start_again(switch.chosen.given, backend, clock)
    return code


def _start_again(course: str, backend: str, clock: str) -> NoReturn:
    """Restart the program in the course `course`; empty for the shipped course."""
    os.environ.pop("TCPTUTOR_COURSE", None)
    given = ["--course", course] if course else []
    command = [sys.executable, "-m", "tcptutor", *given, "--backend", backend, "--clock", clock, "--no-plain"]
    sys.stdout.flush()
    os.execv(sys.executable, command)  # noqa: S606  # our own interpreter


def _remember_course() -> None:
    """Remember the source of the course, so that its id is enough to open it later."""
    if (chosen := places.chosen_course()) is not None:
        from tcptutor.course.known_courses import remember  # noqa: PLC0415  # the shipped course needs none
        from tcptutor.course.outline import OpenedCourse  # noqa: PLC0415

        remember(chosen, OpenedCourse().course)
