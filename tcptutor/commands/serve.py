"""`tcptutor serve`: the app in browsers."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import re
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import ImageDamaged, MissingTool, UsageError, quoted, unknown
from tcptutor.base.files import atomic
from tcptutor.base.places import SERVE, chosen_course, pip_install
from tcptutor.commands.grade import read_course_key
from tcptutor.commands.output import print_lines, remark, warn
from tcptutor.serve.app_forks import AppForks
from tcptutor.serve.class_work import collect, enrol
from tcptutor.serve.lab_queue import LabQueue, usual_labs
from tcptutor.serve.logins import Logins
from tcptutor.serve.students import OWNER, Student, numbered, owner, read_students, server_folder

if TYPE_CHECKING:
    from tcptutor.serve.guard import ServerAddress
    from tcptutor.serve.sessions import SessionLimits

_DURATION = re.compile(r"(\d{1,6})(s|m|h)")
_OPEN_FILES = 8192
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
    enrol: str | None = None
    """Code or key of the graded course in which the students are enrolled."""
    collect: Path | None = None
    """Folder for the students' hand-ins, in place of serving."""
    sessions: int = 30
    keep: str = "10m"
    idle: str = "1h"
    labs: int | None = None
    """Number of labs that run at a time."""
    shell_idle: str = "5m"
    """Time without a key press after which a terminal's lab is released while other students wait."""
    backend: str = "auto"


def serve(request: ServeRequest) -> int:
    """Serve until ^C, or make links or hand-ins, and return the exit code. Raises TutorError."""
    if importlib.util.find_spec("textual_serve") is None or importlib.util.find_spec("aiohttp") is None:
        raise MissingTool(f"tcptutor serve needs textual-serve and aiohttp: run {pip_install(*SERVE)}")
    from tcptutor.serve.guard import parse_address  # noqa: PLC0415  # imports aiohttp
    from tcptutor.serve.sessions import SessionLimits  # noqa: PLC0415

    address = parse_address(request.listen, request.public_url)
    limits = SessionLimits(
        sessions=request.sessions,
        keep_s=parse_duration(request.keep, "--keep"),
        idle_s=parse_duration(request.idle, "--idle"),
    )
    students = _students(request)
    code, _ = read_course_key(request.enrol)
    if (code or request.collect) and students[0].is_owner:
        raise UsageError("--enrol and --collect are for a class: add --students")
    if request.collect is not None:
        print_lines(collect(students, request.collect, _course_option()))
        return 0
    logins = Logins(server_folder() / "logins.json")
    if request.new_links:
        running = _url_file().read_text() if _url_file().exists() else ""
        _print_links(logins, _named(request, students), running or address.url(address.port))
        return 0
    if not (address.is_loopback or address.is_secure):
        warn("logins travel unencrypted: put a proxy with TLS in front, see assets/documentation/serve.md")
    backend = _backend(request.backend, is_for_others=not students[0].is_owner)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("aiohttp").setLevel(logging.ERROR)
    labs = LabQueue(
        server_folder(), request.labs or usual_labs(), parse_duration(request.shell_idle, "--shell-idle")
    )
    asyncio.run(_serve(address, students, logins, limits, backend, code, labs))
    return 0


async def _serve(
    address: ServerAddress,
    students: Sequence[Student],
    logins: Logins,
    limits: SessionLimits,
    backend: str,
    code: str,
    labs: LabQueue,
) -> None:
    from tcptutor.serve.server import CourseServer  # noqa: PLC0415
    from tcptutor.serve.sessions import Sessions  # noqa: PLC0415

    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    loop.set_exception_handler(_report)
    _raise_open_files()
    course = _course_option()
    # -P: nothing is imported from the working folder.
    program = (sys.executable, "-P", "-m", "tcptutor.commands.browser_app", "--backend", backend, *course)
    forks = AppForks(program, owner().environment(os.environ))
    shares_labs = not students[0].is_owner and backend != "replay"
    environment = {**os.environ, **(labs.environment if shares_labs else {})}

    def prepare(student: Student) -> None:
        if code:
            enrol(student, code, course)

    sessions = Sessions(limits, forks.start_session, environment, prepare)
    server = CourseServer(address, {each.name: each for each in students}, logins, sessions)
    try:
        async with labs if shares_labs else contextlib.nullcontext(), server.listen() as port:
            forks.start()
            new = [each.name for each in students if each.is_owner or not logins.has_access(each.name)]
            _print_links(logins, new, address.url(port))
            with atomic(_url_file(), private=True) as part:
                part.write_text(address.url(port))
            remark(f"serving {address.url(port)} until ^C; each link works once")
            await stopped.wait()
            remark("ending the sessions; everything is saved")
    finally:
        _url_file().unlink(missing_ok=True)
        await forks.close()


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an error of the loop, unless a browser went away while aiohttp compressed a frame for it."""
    if not isinstance(context.get("exception"), ConnectionError):
        loop.default_exception_handler(context)


def _url_file() -> Path:
    """Return the file with the URL of the running server, read by processes that make links."""
    return server_folder() / "url"


def _raise_open_files() -> None:
    """Let the server have as many connections as it takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _OPEN_FILES:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, _OPEN_FILES), hard))


def _named(request: ServeRequest, students: Sequence[Student]) -> Sequence[str]:
    """Return the students who get new links. Raises UsageError."""
    names = {student.name for student in students}
    for name in request.new_links:
        if name not in names:
            raise UsageError(
                unknown("student", name, names, f"{request.students or 'the seats'} has the names")
            )
    return request.new_links


def _print_links(logins: Logins, names: Sequence[str], url: str) -> None:
    """Print a new link for each name; the server's own user has no name."""
    for name in names:
        link = f"{url}/#{logins.make_link(name)}"
        print_lines([link if name == OWNER else f"{name}\t{link}"])


def _students(request: ServeRequest) -> tuple[Student, ...]:
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
    """Return the backend of the apps. Other people's shells open only in guests, which isolate the host's files."""
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
    return ("--course", str(course.local)) if course is not None else ()
