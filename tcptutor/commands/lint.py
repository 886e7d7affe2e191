"""`tcptutor lint`: what is wrong in a course's files."""

from __future__ import annotations

from pathlib import Path

from tcptutor import course, places
from tcptutor.commands.output import print_lines
from tcptutor.commands.words import count


def lint_course(folder: Path | None) -> int:
    """The exit code: 1 when something is wrong."""
    problems = course.lint(folder or places.lessons())
    print_lines(map(str, problems))
    print_lines([count(len(problems), "problem") if problems else "the course is well-formed"])
    return 1 if problems else 0
