"""A graded course on a server: students are enrolled and their work is handed in by commands with their environment."""

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
"""Longest time for one student: a hand-in of a whole course is graded as it is written."""


def enrol(student: Student, code: str, options: Sequence[str]) -> None:
    """Enrol a student in the course of this code, unless that was done. Raises TutorError.

    Args:
        student: Its name becomes the name in the course.
        code: Code of the graded course.
        options: The option --course and its value, or nothing.
    """
    done = student.folder / "enrolled"
    if done.is_file() and done.read_text() == code:
        return
    _run(student, "enrol", *options, "--", code, student.name)
    done.write_text(code)


def collect(students: Sequence[Student], folder: Path, options: Sequence[str]) -> Iterator[str]:
    """Write the hand-in of each student with work into `folder`, and yield a line for each. Raises TutorError."""
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
