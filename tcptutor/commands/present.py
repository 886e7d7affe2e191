"""`tcptutor present`: a lecture in front of a room, which outlives its terminals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from tcptutor.base.errors import TutorError, UsageError
from tcptutor.commands.output import print_lines, remark
from tcptutor.commands.present_request import PresentRequest
from tcptutor.course.outline import Course, OpenedCourse
from tcptutor.room import launch, records
from tcptutor.room.client import TerminalConnection
from tcptutor.room.protocol import EndLecture, LectureEnded, Role
from tcptutor.ui.start import TEXTUAL_OPTIONS


def present(request: PresentRequest) -> int:
    """Start or join a lecture, and return the exit code.

    Raises:
        TutorError: No lecture can be started or joined.
    """
    _check_contradictions(request)
    if request.stop:
        return _stop()
    if request.write is not None:
        from tcptutor.commands.present_new import write_lecture_file  # noqa: PLC0415

        return write_lecture_file(request, request.write)
    if request.check_first:
        from tcptutor.commands.present_new import check_before  # noqa: PLC0415

        return check_before(request)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise TutorError("a lecture is shown in a terminal: open one")
    here = launch.running()
    if request.resume and here is None:
        launch.start(_unfinished("no lecture to resume: start one with `tcptutor present`"))
    elif here is None and (request.notes or request.watch):
        raise TutorError("no lecture is running: start one with `tcptutor present` in another terminal")
    elif here is None:
        from tcptutor.commands.present_new import opened_lecture  # noqa: PLC0415

        begun = opened_lecture(request)
        _remark_unfinished()
        launch.start(records.create(begun))
    elif request.target is not None or request.lecture is not None:
        title = records.read_opened(here).lecture.title
        raise UsageError(
            f"the lecture {title!r} is running: join it with `tcptutor present --resume`, or end it with"
            " `tcptutor present --stop`"
        )
    return _show("watch" if request.watch else "notes" if request.notes else "present")


def _check_contradictions(request: PresentRequest) -> None:
    """Raise UsageError for options that exclude each other."""
    purposes = {
        "--resume": request.resume,
        "--check": request.check_first,
        "--write-lecture": request.write is not None,
        "--stop": request.stop,
    }
    chosen = [name for name, is_chosen in purposes.items() if is_chosen]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} exclude each other: omit one")
    if request.notes and request.watch:
        raise UsageError("--notes are for the speaker and --watch is for the room: omit one")
    joins = request.resume or request.notes or request.watch or request.stop
    if joins and (request.target is not None or request.lecture is not None):
        raise UsageError("a lecture that has begun has its slides: omit the module and --lecture")


def _unfinished(otherwise: str) -> Path:
    """Return the folder of the latest lecture. Raises TutorError with `otherwise` if no lecture is unfinished."""
    folder = records.latest()
    if folder is None or records.read_state(folder).is_over:
        raise TutorError(otherwise)
    return folder


def _remark_unfinished() -> None:
    folder = records.latest()
    with contextlib.suppress(TutorError):  # the latest lecture is damaged
        if folder is not None and not records.read_state(folder).is_over:
            remark(f"the lecture in {folder} was not ended; this one is new")


def _show(role: Role) -> int:
    for name, value in TEXTUAL_OPTIONS.items():
        os.environ.setdefault(name, value)
    if role == "notes":
        from tcptutor.ui.present.notes import show_notes  # noqa: PLC0415  # imports textual

        return show_notes(TerminalConnection(role))
    from tcptutor.ui.present.stage_app import show_stage  # noqa: PLC0415  # imports textual

    return show_stage(TerminalConnection(role), _course_here(), is_watching=role == "watch")


def _course_here() -> Course:
    """Return the course of the running lecture, which may differ from the course of this command."""
    folder = launch.running()
    given = records.read_opened(folder).course if folder is not None else ""
    if not given:
        return OpenedCourse().course
    from tcptutor.course.sources import course_folder  # noqa: PLC0415  # the shipped course needs none

    return OpenedCourse(course_folder(given)).course


def _stop() -> int:
    if launch.running() is None:
        launch.start(_unfinished("no lecture is running"))
    return asyncio.run(_end())


async def _end() -> int:
    async with TerminalConnection("notes") as connection:
        connection.send(EndLecture())
        async for message in connection:
            if isinstance(message, LectureEnded):
                print_lines([message.reason])
    return 0
