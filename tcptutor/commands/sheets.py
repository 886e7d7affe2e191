"""`tcptutor grade --sheets`: a page for each student, with every mark and its reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tcptutor.commands.output import Bar, count, remark
from tcptutor.commands.student_files import write_files
from tcptutor.course.outline import Course, read_course
from tcptutor.grading.comments import file_name
from tcptutor.grading.grade import GradedFile
from tcptutor.grading.sheet import SUFFIX, Sheet, run_verdicts, write_sheet
from tcptutor.grading.sheet_language import in_language


def write_sheets(
    graded: Sequence[GradedFile], course: Course, folder: Path, replace: bool, language: str = ""
) -> None:
    """Write a sheet per student with a counting hand-in. Raises TutorError before replacing any sheet.

    Args:
        graded: The hand-ins of the class.
        course: The course, for the texts of questions.
        folder: The folder of the sheets, which is created.
        replace: Overwrite existing sheets.
        language: Translation of the course to quote pages from; empty for the original.
    """
    shown = _translated(course, language)
    texts: dict[str, str] = {}
    counted = [(each, each.grade) for each in graded if each.grade is not None and not each.superseded_by]
    with Bar("sheets", len(counted)) as bar:
        for each, grade in counted:
            verdicts = {id: said for path in each.sources for id, said in run_verdicts(path, grade).items()}
            name = file_name(grade.student or Path(each.file).stem, SUFFIX, texts)
            quoted = in_language(grade, course, shown) if language else grade
            texts[name] = write_sheet(Sheet(quoted, shown, each.file, verdicts))
            bar.advance(each.file)
    write_files(texts, folder, "--sheets", replace=replace)
    remark(f"wrote {count(len(texts), 'file')} to {folder}: each is for its student alone")


def _translated(course: Course, language: str) -> Course:
    if not language:
        return course
    whole = read_course(course.root, language)[0]
    modules = {module.id: module for module in whole.modules}
    own = tuple(modules.get(module.id, module) for module in course.modules)
    return msgspec.structs.replace(course, title=whole.title, modules=own, language=language)
