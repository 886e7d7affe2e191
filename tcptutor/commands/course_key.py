"""`tcptutor course-key` and `tcptutor enrol`: a course that grades, and who takes part in it."""

from __future__ import annotations

from pathlib import Path

from tcptutor.commands.grade import key_of
from tcptutor.commands.journal import opened_journal
from tcptutor.commands.output import print_lines
from tcptutor.commands.targets import check_targets
from tcptutor.grading.evidence.keys import course_code, new_key, read_key, student_name, write_key


def make_key(target: str) -> int:
    """The exit code. A key that is there is told of, never written over. Raises TutorError."""
    path = Path(target)
    if path.is_file():
        key = read_key(path)
    else:
        check_targets([path], [], replace=False, elsewhere="give another name")
        key = new_key()
        write_key(key, path)
        print_lines([f"wrote {path}: keep a copy, and give it to nobody"])
    print_lines([f"your students type: tcptutor enrol {key.code} STUDENT"])
    return 0


def tell_code(target: str) -> int:
    """The exit code. Prints the code of the key in that file, or that code; makes none. Raises TutorError."""
    code, _ = key_of(target)
    print_lines([code])
    return 0


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
