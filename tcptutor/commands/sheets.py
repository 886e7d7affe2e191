"""`tcptutor grade --sheets`: a page for each student, with every mark and its reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.commands.output import Bar, count, remark
from tcptutor.commands.student_files import write_files
from tcptutor.course.outline import Course
from tcptutor.grading.comments import file_name
from tcptutor.grading.grade import GradedFile
from tcptutor.grading.sheet import SUFFIX, Sheet, run_verdicts, write_sheet


def write_sheets(graded: Sequence[GradedFile], course: Course, folder: Path, replace: bool) -> None:
    """Write a sheet for each student whose hand-in counts. Raises TutorError before any of them is replaced.

    Args:
        graded: The hand-ins of the class.
        course: The course, for the texts of questions.
        folder: The folder of the sheets, which is created.
        replace: Overwrite existing sheets.
    """
    texts: dict[str, str] = {}
    counted = [(each, each.grade) for each in graded if each.grade is not None and not each.superseded_by]
    with Bar("sheets", len(counted)) as bar:
        for each, grade in counted:
            verdicts = {id: said for path in each.sources for id, said in run_verdicts(path, grade).items()}
            name = file_name(grade.student or Path(each.file).stem, SUFFIX, texts)
            texts[name] = write_sheet(Sheet(grade, course, each.file, verdicts))
            bar.advance(each.file)
    write_files(texts, folder, "--sheets", replace=replace)
    remark(f"wrote {count(len(texts), 'file')} to {folder}: each is for its student alone")
