"""`tcptutor comments`: read a teacher's comments into the journal, and write drafts of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tcptutor.base import places
from tcptutor.base.errors import UsageError, quoted, unknown
from tcptutor.commands.output import count, print_json, print_lines, remark, warn
from tcptutor.commands.student_files import write_files
from tcptutor.course.outline import Course, read_course
from tcptutor.course.page_record import TeacherComment
from tcptutor.course.step import Step
from tcptutor.grading.comments import (
    SUFFIX,
    CommentFile,
    PageComment,
    file_name,
    read_comments,
    write_draft,
)
from tcptutor.grading.evidence.keys import LONGEST_STUDENT
from tcptutor.grading.grade import GradedFile
from tcptutor.journal import Journal, opened_journal


def write_drafts(graded: Sequence[GradedFile], folder: Path, replace: bool) -> None:
    """Write a draft per student with a counting hand-in. Raises TutorError before replacing any draft."""
    texts: dict[str, str] = {}
    for each in graded:
        grade = each.grade
        if grade is not None and not grade.refused and not each.superseded_by:
            name = file_name(grade.student or Path(each.file).stem, SUFFIX, texts)
            texts[name] = write_draft(grade, name)
    write_files(texts, folder, "--comments", replace=replace)
    remark(f"wrote {count(len(texts), 'file')} to {folder}: edit them, and send each to its student")


def read_in(names: Sequence[str], as_json: bool) -> int:
    """Record the comments in the files, each once, and return the exit code: 1 if a comment was left out.

    Raises JournalError.
    """
    course, _ = read_course(places.lessons())
    reader = _Reader(course)
    with opened_journal(warn) as journal:
        for name in names:
            reader.read(Path(name), journal)
    if as_json:
        print_json({"new": reader.new, "pages": reader.pages})
    elif reader.new:
        print_lines(
            [f"{count(reader.new, 'new comment')}, on {', '.join(reader.pages)}: `tcptutor` shows them"]
        )
    elif not reader.problems:
        print_lines(["there are no new comments"])
    return int(reader.problems > 0)


class _Reader:
    def __init__(self, course: Course) -> None:
        self._course = course
        self.new = self.problems = 0
        self.pages: list[str] = []
        """Pages with new comments, in the order of the files."""

    def read(self, path: Path, journal: Journal) -> None:
        try:
            found = read_comments(path)
            _check_addressee(found, path, journal)
        except UsageError as error:
            self._report(str(error))
            return
        by = " ".join(found.by.split())[:LONGEST_STUDENT]
        for number, comment in enumerate(found.comment, 1):
            place = f"{path}: comment {number}"
            try:
                self._record(comment, by, place, journal)
            except UsageError as error:
                self._report(f"{place}: {error}")

    def _record(self, comment: PageComment, by: str, place: str, journal: Journal) -> None:
        module, step = self._find_page(comment.page)
        activity = comment.activity
        if activity and activity not in [each.id for each in step.activities]:
            warn(f"{place}: {comment.page} has no activity {quoted(activity)}: shown for the whole page")
            activity = ""
        if journal.comment(module, step.id, TeacherComment(comment.text.strip(), activity, by)):
            self.new += 1
            if comment.page not in self.pages:
                self.pages.append(comment.page)

    def _find_page(self, name: str) -> tuple[str, Step]:
        pages = {
            f"{module}/{step.id}": (module, step) for module, step in self._steps(name.partition("/")[0])
        }
        if name not in pages:
            raise UsageError(unknown("page", name, pages, "`tcptutor list` shows them"))
        return pages[name]

    def _steps(self, id: str) -> Iterator[tuple[str, Step]]:
        for module in self._course.modules:
            if module.id == id:
                yield from ((module.id, step) for step in module.steps)
                if module.pretest is not None:
                    yield module.id, module.pretest

    def _report(self, problem: str) -> None:
        self.problems += 1
        warn(problem)


def _check_addressee(found: CommentFile, path: Path, journal: Journal) -> None:
    """Raise UsageError if the comments address a different student or course."""
    enrolment = journal.record.enrolment
    me = (enrolment.course, enrolment.student) if enrolment else ("", "")
    if me == (found.course, found.student):
        return
    of = (
        f"{quoted(found.student)} in the course {quoted(found.course)}"
        if found.student
        else "a student without a course"
    )
    you = f"{quoted(me[1])} in {quoted(me[0])}" if enrolment else "not enrolled"
    raise UsageError(f"{path} is for {of}, and you are {you}: ask your teacher for your own")
