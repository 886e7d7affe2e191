"""Start and shutdown of the dialogue, with its greeting, journal and lab."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tcptutor.backends.lab import Lab
from tcptutor.base import places
from tcptutor.base.errors import JournalError, TutorError, UsageError, unknown
from tcptutor.course import OpenedCourse
from tcptutor.course.outline import Module
from tcptutor.journal import Journal
from tcptutor.journal.locks import app_is_open
from tcptutor.plain.choice import columns
from tcptutor.plain.console import Console, EndOfInput, InputLines, Output
from tcptutor.plain.front import Front
from tcptutor.plain.letters import encoding_of_terminal
from tcptutor.plain.prose import sentence
from tcptutor.plain.runs import Runs
from tcptutor.plain.sitting import Sitting
from tcptutor.study.own_course import OwnCourse, enrolment_in

_PATIENCE = 0.1
"""Seconds to wait for other processes that write to the journal; later writes are retried."""


def run_plain(
    why: str, module: str | None = None, make_lab: Callable[[], Lab] = Lab, language: str = ""
) -> int:
    """Run the dialogue until the student leaves, and return the exit code.

    Args:
        why: Reason to use the dialogue instead of the app, from `choice.reason`.
        module: Id or number of the module to resume; None for home.
        make_lab: Creates the lab for the runs.
        language: Translation of the lessons to show; empty for the original.

    Raises:
        UsageError: The module does not exist.
        TutorError: Some work could not be saved.
    """
    opened = OpenedCourse(language=language)
    first = _module(opened, module)
    journal = open_journal()
    encoding = encoding_of_terminal()
    console = Console(InputLines(sys.stdin.fileno(), encoding), Output(encoding), columns, encoding)
    try:
        with app_is_open():
            code = asyncio.run(_run(opened, journal, console, make_lab(), why, first))
    finally:
        journal.close()
    if journal.unsaved:
        raise TutorError(f"some of your work could not be saved: {journal.unsaved}")
    return code


def _module(opened: OpenedCourse, wanted: str | None) -> str:
    modules = {word: each.id for each in opened.course.modules for word in (str(each.number), each.id)}
    if wanted is not None and wanted not in modules:
        raise UsageError(unknown("module", wanted, modules.values()))
    return modules[wanted] if wanted is not None else ""


def open_journal() -> Journal:
    """Open the student's journal, or an in-memory journal that retries opening the file."""
    path: Path = places.state() / "journal.db"
    try:
        return Journal.open(path, patience=_PATIENCE)
    except JournalError as error:
        return Journal.in_memory_until(path, f"nothing is saved so far: {error}", patience=_PATIENCE)


async def _run(
    opened: OpenedCourse, journal: Journal, console: Console, lab: Lab, why: str, module: str
) -> int:
    runs = Runs(lab, journal, console)
    sitting = Sitting(OwnCourse(opened.course, journal, enrolment_in(journal)), journal, console, runs)
    first = next((each for each in sitting.course.modules if each.id == module), None)
    holding = asyncio.create_task(hold(sitting, greeting(why, opened, journal), first))
    code = 0

    def end(number: int) -> None:
        nonlocal code
        code = code or 128 + number
        holding.cancel()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt, sitting)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            loop.add_signal_handler(number, end, number)
    try:
        await asyncio.wait([holding])
    finally:
        await runs.close()
    if not holding.cancelled():
        holding.result()
    return code


async def hold(sitting: Sitting, greeting: Iterator[str], module: Module | None = None) -> None:
    """Run the dialogue; the end of the input works like `quit`."""
    try:
        await Front(sitting, greeting).hold(module)
    except EndOfInput:
        sitting.console.say("", f"The input has ended. {sitting.farewell}")


def interrupt(sitting: Sitting) -> None:
    """Stop the run in progress; without a run, print how to leave."""
    if not sitting.runs.stop():
        sitting.console.say("", "Nothing is running. quit leaves.")
        sitting.console.prompt_again()


def greeting(why: str, opened: OpenedCourse, journal: Journal) -> Iterator[str]:
    """Yield the first lines: the reason for plain text, how to leave, and problems of the course or journal."""
    yield (
        f"tcptutor as plain text, because of {why}. Type quit to leave, ? for help. `tcptutor --no-plain` opens the"
        " screen app."
    )
    yield from (sentence(str(each)) for each in opened.own_problems)
    with contextlib.suppress(JournalError):
        if journal.notice:
            yield sentence(journal.notice)
