"""Courses that the student has worked in, by a note next to each course's journal."""

from __future__ import annotations

import contextlib
import shlex
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tcptutor.base import decoding, files, places
from tcptutor.base.errors import TutorError
from tcptutor.base.places import ChosenCourse
from tcptutor.course.lesson_file import is_slug
from tcptutor.course.outline import Course

FORMAT_VERSION = 1
_NOTE = "course.json"
_KIND = files.small_kind("note of a course", "open the course with --course to write it again")


class KnownCourse(msgspec.Struct, frozen=True, kw_only=True):
    """A course that the student has worked in."""

    id: str
    title: str
    version: str = ""
    given: str
    """Argument of `--course`: the path of a folder or file, or the address of a repository."""
    opened_at: str
    """ISO 8601, of the last time."""
    format_version: int = FORMAT_VERSION


def known_courses() -> list[KnownCourse]:
    """Return the courses with a note, the most recently opened first. Damaged notes are skipped."""
    found = []
    for note in _folder().glob(f"*/{_NOTE}"):
        with contextlib.suppress(TutorError, msgspec.MsgspecError), files.open_bounded(note, _KIND) as text:
            known = decoding.decode_json(text, KnownCourse)
            if known.id == note.parent.name and is_slug(known.id):
                found.append(known)
    return sorted(found, key=lambda each: each.opened_at, reverse=True)


def remember(chosen: ChosenCourse, course: Course) -> None:
    """Write the note of a course that is opened now. A failure is ignored: the list then lacks the course."""
    note = KnownCourse(
        id=chosen.id,
        title=course.title,
        version=course.version,
        given=chosen.given,
        opened_at=datetime.now(UTC).astimezone().isoformat("T", "milliseconds"),
    )
    if chosen.id == places.SHIPPED_ID:  # another version of the shipped course shares its journal
        return
    with (
        contextlib.suppress(TutorError, OSError),
        files.atomic(_folder() / chosen.id / _NOTE, private=True) as path,
    ):
        path.write_bytes(msgspec.json.encode(note))


def course_option() -> str:
    """Return the option that selects the current course, such as " --course ID"; empty for the shipped course."""
    chosen = places.chosen_course()
    if chosen is None:
        return ""
    is_known = any(each.id == chosen.id for each in known_courses())
    return f" --course {chosen.id if is_known else shlex.quote(chosen.given)}"


def other_courses() -> str:
    """Return the end of an error that suggests --course for other known courses; empty if not applicable."""
    others = [each.id for each in known_courses()] if places.chosen_course() is None else []
    return f"; for another course add --course {' or '.join(others[:_MOST_NAMED])}" if others else ""


_MOST_NAMED = 3
"""Courses that an error names."""


def _folder() -> Path:
    return places.data() / "courses"
