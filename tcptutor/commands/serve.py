"""`tcptutor serve`: the app in browsers."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import ImageDamaged, MissingTool, UsageError, quoted
from tcptutor.base.places import SERVE, chosen_course, pip_install
from tcptutor.commands.output import print_lines, remark, warn

if TYPE_CHECKING:
    from tcptutor.serve.students import Student

_DURATION = re.compile(r"(\d{1,6})(s|m|h)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class ServeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `tcptutor serve`."""

    listen: str = "127.0.0.1:8787"
    public_url: str = ""
    students: Path | None = None
    """A list of students."""
    open_to: int | None = None
    """Number of students without names."""
    new_links: Sequence[str] = ()
    """Students to make new links for, in place of serving."""
    sessions: int = 30
    keep: str = "10m"
    idle: str = "1h"
    labs: int | None = None
    """Number of labs that run at a time."""
    backend: str = "auto"


def serve(request: ServeRequest) -> int:
    """Serve until ^C, and return the exit code. Raises TutorError."""
    if importlib.util.find_spec("textual_serve") is None or importlib.util.find_spec("aiohttp") is None:
        raise MissingTool(f"tcptutor serve needs textual-serve and aiohttp: run {pip_install(*SERVE)}")
    from tcptutor.serve.app_forks import AppForks  # noqa: PLC0415
    from tcptutor.serve.guard import parse_address  # noqa: PLC0415  # imports aiohttp
    from tcptutor.serve.lab_queue import LabQueue, usual_labs  # noqa: PLC0415
    from tcptutor.serve.logins import Logins  # noqa: PLC0415
    from tcptutor.serve.server import CourseServer  # noqa: PLC0415
    from tcptutor.serve.sessions import SessionLimits, Sessions  # noqa: PLC0415
    from tcptutor.serve.students import owner, server_folder  # noqa: PLC0415

    address = parse_address(request.listen, request.public_url)
    limits = SessionLimits(
        sessions=request.sessions,
        keep_s=parse_duration(request.keep, "--keep"),
        idle_s=parse_duration(request.idle, "--idle"),
    )
    students = _students(request)
    backend = _backend(request.backend, is_for_others=not students[0].is_owner)
    # -P: nothing is imported from the working folder.
    program = [
        sys.executable,
        "-P",
        "-m",
        "tcptutor.commands.browser_app",
        "--backend",
        backend,
        *_course_option(),
    ]
    forks = AppForks(program, owner().environment(os.environ))
    logins = Logins(server_folder() / "logins.json")

    labs = LabQueue(server_folder(), request.labs or usual_labs())
    shares_labs = not students[0].is_owner and backend != "replay"

    names = {student.name for student in students}
    if unknown_names := [name for name in request.new_links if name not in names]:
        raise UsageError(
            f"no student {quoted(unknown_names[0])}: name one of {request.students or 'the seats'}"
        )
    server = CourseServer(
        address,
        {student.name: student for student in students},
        logins,
        Sessions(limits, forks.start_session, {**os.environ, **(labs.environment if shares_labs else {})}),
    )

    def print_links(port: int, wanted: Sequence[str]) -> None:
        url = address.url(port)
        links = [(name, f"{url}/#{logins.make_link(name)}") for name in wanted]
        print_lines(f"{name}\t{link}" if len(students) > 1 else link for name, link in links)

    if request.new_links:
        print_links(address.port, request.new_links)
        return 0
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("aiohttp").setLevel(logging.ERROR)
    if not (address.is_loopback or address.is_secure):
        warn("logins travel unencrypted: put a proxy with TLS in front, see assets/documentation/serve.md")

    async def run() -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stopped.set)
        try:
            async with labs if shares_labs else contextlib.nullcontext(), server.listen() as port:
                forks.start()
                print_links(
                    port,
                    [each.name for each in students if each.is_owner or not logins.has_access(each.name)],
                )
                remark(f"serving {address.url(port)} until ^C; each link works once")
                await stopped.wait()
                remark("ending the sessions; everything is saved")
        finally:
            await forks.close()

    asyncio.run(run())
    return 0


def _students(request: ServeRequest) -> tuple[Student, ...]:
    from tcptutor.serve.students import numbered, owner, read_students  # noqa: PLC0415

    if request.students is not None and request.open_to is not None:
        raise UsageError("--students names the students, --open-to counts them: give one of the two")
    if request.students is not None:
        return read_students(request.students)
    return numbered(request.open_to) if request.open_to is not None else (owner(),)


def parse_duration(text: str, option: str) -> float:
    """Return the seconds of a duration such as 90s, 10m or 2h. Raises UsageError."""
    if (match := _DURATION.fullmatch(text)) is None or not int(match[1]):
        raise UsageError(f"{option} takes a duration such as 90s, 10m or 2h, not {quoted(text)}")
    return int(match[1]) * _SECONDS[match[2]]


def _backend(asked: str, *, is_for_others: bool) -> str:
    """Return the backend of the apps. Other people's shells open in guests alone, where they reach no file of ours."""
    if not is_for_others:
        return asked
    if asked == "host":
        raise UsageError(
            "on the host backend students' shells could read this machine's files: use --backend guest or replay"
        )
    if asked == "auto":
        try:
            Snapshots().manifest("virtual")
        except ImageDamaged as error:
            warn(f"experiments are replayed: {error}")
            return "replay"
        return "guest"
    return asked


def _course_option() -> tuple[str, ...]:
    course = chosen_course()
    return ("--course", str(course.given.absolute())) if course is not None else ()
