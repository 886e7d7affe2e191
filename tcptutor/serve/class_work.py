"""Enrollment and hand-ins of a graded course on a server, by commands run in each student's environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tcptutor.base.errors import TutorError
from tcptutor.base.files import PRIVATE, make_private
from tcptutor.base.printable import escaped
from tcptutor.grading.evidence.hand_in import SUFFIX
from tcptutor.serve.students import Student

_LONGEST_S = 900.0
"""Timeout of a command in seconds: `submit` grades a complete course while it writes a hand-in."""


def enrol(student: Student, code: str, options: Sequence[str]) -> None:
    """Enroll a student in the course with this code, unless already enrolled. Raises TutorError.

    Args:
        student: The student, who keeps the same name in the course.
        code: Code of the graded course.
        options: The option --course and its value, or empty.
    """
    done = student.folder / "enrolled"
    if done.is_file() and done.read_text() == code:
        return
    _run(student, "enrol", *options, "--", code, student.name)
    done.write_text(code)


def collect(students: Sequence[Student], folder: Path, options: Sequence[str]) -> Iterator[str]:
    """Write each student's hand-in into `folder`, and yield a status line per student. Raises TutorError."""
    try:
        make_private(folder)
    except OSError as error:
        raise TutorError(f"cannot write {folder}: {error.strerror}") from error
    for student in students:
        name = escaped(student.name)
        if not (student.folder / "data").is_dir():
            yield f"{name}\tno work"
            continue
        file = folder.absolute() / f"{student.folder.name}{SUFFIX}"
        try:
            _run(student, "submit", *options, "--replace", "-o", str(file))
        except TutorError as error:
            yield f"{name}\t{error}"
        else:
            file.chmod(PRIVATE)
            yield f"{name}\t{file}"


def _run(student: Student, *arguments: str) -> None:
    make_private(student.files)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "tcptutor", *arguments], env=student.environment(os.environ),
            cwd=student.files, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LONGEST_S, check=False,
            umask=0o077,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TutorError(f"{arguments[0]} failed: {escaped(str(error))}") from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise TutorError(escaped(last.removeprefix("tcptutor: ")) or f"{arguments[0]} failed")
