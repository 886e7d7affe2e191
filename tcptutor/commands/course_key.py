"""`tcptutor course-key` and `tcptutor enrol`: a course that grades, and who takes part in it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tcptutor.commands.journal import opened_journal
from tcptutor.commands.output import print_lines
from tcptutor.commands.targets import check_targets
from tcptutor.errors import UsageError
from tcptutor.evidence.keys import course_code, new_key, read_key, student_name, write_key


def tell_key(target: str, code_alone: bool) -> int:
    """The exit code. A key that is there is told of, never written over. Raises TutorError."""
    code = _code(Path(target), code_alone)
    print_lines([code if code_alone else f"your students type: tcptutor enrol {code} STUDENT"])
    return 0


def _code(path: Path, code_alone: bool) -> str:
    with suppress(UsageError):
        return course_code(str(path))
    if path.is_file():
        return read_key(path).code
    check_targets([path], [], replace=False, elsewhere="give another name")
    key = new_key()
    write_key(key, path)
    if not code_alone:
        print_lines([f"wrote {path}: keep a copy, and give it to nobody"])
    return key.code


def enrol(code: str, student: str) -> int:
    """The exit code. Raises UsageError for what is no code or no student, JournalError."""
    course, name = course_code(code), student_name(student)
    with opened_journal() as journal:
        if (before := journal.record.enrolment) and (before.course, before.student) == (course, name):
            print_lines([f"you are {name} in the course {course} already"])
            return 0
        journal.enrol(name, course)
    print_lines(
        [
            f"you are {name} in the course {course}: from here on numbers and seeds are your own",
            "`tcptutor submit` writes what you hand in",
        ]
    )
    return 0
