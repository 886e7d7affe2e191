"""`tcptutor course-key` and `enrol`: set up a graded course, and take part in it."""

from __future__ import annotations

from pathlib import Path

from tcptutor.base import places
from tcptutor.commands.grade import read_course_key
from tcptutor.commands.output import print_lines, remark, warn
from tcptutor.commands.targets import check_targets
from tcptutor.course.known_courses import course_option, remember
from tcptutor.course.outline import OpenedCourse
from tcptutor.grading.evidence.keys import new_key, parse_course_code, parse_student_name, read_key, write_key
from tcptutor.grading.evidence.ownership import Ownership
from tcptutor.grading.evidence.timeline import timeline
from tcptutor.journal import opened_journal
from tcptutor.journal.locks import is_app_open


def make_key(target: str) -> int:
    """Write a new key, or report an existing key, and return the exit code. Raises TutorError."""
    path = Path(target)
    if path.is_file():
        key = read_key(path)
    else:
        check_targets([path], [], replace=False, elsewhere="give another name")
        key = new_key()
        write_key(key, path)
        print_lines([f"wrote {path}: keep a copy, and share it with nobody"])
    print_lines([f"your students type: tcptutor enrol {key.code} STUDENT"])
    remark("in a course of your own they add --course FILE, the file that you give them")
    return 0


def print_code(target: str) -> int:
    """Print the code of a key file, or check a code, and return the exit code. Raises TutorError."""
    code, _ = read_course_key(target)
    print_lines([code])
    return 0


def enrol(code: str, student: str) -> int:
    """Enrol a student and return the exit code. Raises UsageError for an invalid code or student, JournalError."""
    course, name = parse_course_code(code), parse_student_name(student)
    if (chosen := places.chosen_course()) is not None:
        remember(chosen, OpenedCourse().course)
    with opened_journal(warn) as journal:
        if (before := journal.record.enrolment) and (before.course, before.student) == (course, name):
            print_lines([f"you are already enrolled in the course {course} as {name}"])
            return 0
        journal.enrol(name, course)
        ownership = Ownership(timeline(list(journal.events())))
    lines = [f"enrolled in the course {course} as {name}: you get your own numbers and seeds from now on"]
    if is_app_open():
        lines.append("tcptutor is open: within seconds it takes your numbers, and starts its page again")
    submit = f"`tcptutor submit{course_option()}`"
    lines.append(f"{submit} writes your hand-in")
    others = [*ownership.taken_over.values(), ownership.before_enrolling]
    if any(work.total for work in others):
        lines.append(f"your work from before may not count: {submit} shows which")
    print_lines(lines)
    return 0
