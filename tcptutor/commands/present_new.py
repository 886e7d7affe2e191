"""Start of `tcptutor present`: choose the slides of a lecture, check them, or write them to a file.

A terminal that joins a lecture does not import this module, and so shows its slide sooner.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.base.files import atomic
from tcptutor.commands.output import print_files, warn
from tcptutor.commands.present_check import check_lecture
from tcptutor.commands.present_request import PresentRequest
from tcptutor.commands.targets import check_regular
from tcptutor.course.outline import OpenedCourse
from tcptutor.room.deck import default_lecture
from tcptutor.room.lecture_file import LectureMistakes, read_lecture, write_lecture
from tcptutor.room.records import OpenedLecture
from tcptutor.room.slides import Lecture
from tcptutor.room.talk import LecturePlace
from tcptutor.room.web.addresses import is_private, parse_listen, parse_public_url


def opened_lecture(request: PresentRequest) -> OpenedLecture:
    """Return the lecture to begin. Raises UsageError."""
    if request.listen:
        parse_listen(request.listen)
    if request.public_url:
        parse_public_url(request.public_url)
    lecture, begin = _lecture(request)
    if not lecture.slides:
        raise UsageError(f"{lecture.title!r} has no page that can be shown: see `tcptutor lint`")
    course = places.chosen_course()
    return OpenedLecture(
        lecture=lecture,
        begin=begin,
        started=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        backend=request.backend,
        clock=request.clock,
        course=course.given if course is not None else "",
        has_votes=not request.no_votes,
        listen=request.listen,
        public_url=request.public_url,
        with_names=request.names,
    )


def check_before(request: PresentRequest) -> int:
    """Check the lecture and return the exit code."""
    return check_lecture(
        OpenedCourse().course,
        _lecture(request)[0],
        has_votes=not request.no_votes,
        is_reachable=_is_reachable(request),
        backend=request.backend,
        clock=request.clock,
    )


def write_lecture_file(request: PresentRequest, target: Path) -> int:
    """Write the slides of a module to `target`. Raises UsageError."""
    if request.lecture is not None:
        raise UsageError("--write-lecture writes the lecture of a module: omit --lecture")
    check_regular(target)
    if target.exists():
        raise UsageError(f"{target} already exists: give another name")
    text = write_lecture(OpenedCourse().course, request.target or "")
    with atomic(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print_files([target], as_json=False)
    return 0


def _is_reachable(request: PresentRequest) -> bool:
    """Return True if other machines reach the page where students join."""
    return bool(request.public_url or (request.listen and not is_private(parse_listen(request.listen).host)))


def _lecture(request: PresentRequest) -> tuple[Lecture, LecturePlace]:
    course = OpenedCourse().course
    if request.lecture is None:
        return default_lecture(course, request.target or "")
    if request.target is not None:
        raise UsageError("--lecture has slides of its own: omit the module")
    try:
        return read_lecture(request.lecture, course), LecturePlace()
    except LectureMistakes as error:
        *others, last = error.mistakes
        for each in others:
            warn(str(each))
        raise last from None
