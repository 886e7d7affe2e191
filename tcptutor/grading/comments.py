"""Comments of a teacher for a student, in a TOML file that grading begins and the teacher edits.

course = "ABCD-EFGH-2345-WXQG"
student = "ada"
by = "Dr. Ngo"

[[comment]]
page = "tcp-basics/a-larger-window"
activity = "how-much"
text = "The answer is wrong."
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from tcptutor.course.lesson_file import LessonFile
from tcptutor.grading.grade import Grade, Outcome

SUFFIX = ".comments.toml"
_COMMENTED: tuple[Outcome, ...] = ("none", "refused", "inconclusive")
"""Outcomes with a reason on which the student can act."""
_NAME_BYTES = 200
"""Bytes of a student's name in a file name: a system allows 255 in all."""


class PageComment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A comment as written in the file."""

    page: str
    """MODULE/PAGE."""
    text: str
    activity: str = ""
    """Id of the activity; empty for a comment on the page."""


class CommentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All comments for a student."""

    course: str
    """Code of the course; empty outside graded courses."""
    student: str
    by: str = ""
    """Name of the teacher, if given."""
    comment: tuple[PageComment, ...] = ()


def file_name(name: str, suffix: str, taken: Collection[str]) -> str:
    """Return a free name for a file on the student `name`, which any author may have chosen."""
    plain = re.sub(r"[^\w.@+ -]", "_", name).encode()[:_NAME_BYTES].decode(errors="ignore").strip(". ")
    numbered = (
        f"{plain or 'student'}{number}{suffix}" for number in ("", *(f"-{n}" for n in range(2, 10_000)))
    )
    return next(each for each in numbered if each not in taken)


def write_draft(grade: Grade, name: str) -> str:
    """Return the text of the file `name`: the reasons of marks that were not given, without right answers."""
    return "\n".join([*_lines(grade, name), ""])


def _lines(grade: Grade, name: str) -> Iterator[str]:
    yield "# Edit these comments, delete some, or add your own; without activity, a comment is on the whole page."
    yield f"# The student reads the file in with: tcptutor comments {_quoted(name)}"
    yield f"course = {_quoted(grade.course)}"
    yield f"student = {_quoted(grade.student)}"
    yield 'by = ""  # your name, shown with the comments'
    commented = [mark for mark in grade.marks if mark.outcome in _COMMENTED and mark.reason]
    for mark in commented:
        answer = f", answered {_quoted(mark.answers[-1].text)}" if mark.answers else ""
        yield from ("", f"# {_quoted(mark.title)}{answer}", "[[comment]]")
        yield f"page = {_quoted(f'{mark.module}/{mark.page}')}"
        yield f"activity = {_quoted(mark.activity)}"
        yield f"text = {_quoted(_sentence(mark.reason))}"
    if not commented:
        yield from ("", "# [[comment]]", '# page = "MODULE/PAGE"', '# text = "Well done."')


def read_comments(path: Path) -> CommentFile:
    """Read a file of comments. Raises ContentError with a single-line message for any other file."""
    absolute = path.absolute()
    return LessonFile(absolute, absolute.parent).read(CommentFile)


def _quoted(text: str) -> str:
    """Format a TOML string without line breaks: JSON's escapes, with DEL escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _sentence(reason: str) -> str:
    sentence = f"{reason[:1].upper()}{reason[1:]}"
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
