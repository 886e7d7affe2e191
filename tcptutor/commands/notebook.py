"""`tcptutor notebook` and `tcptutor certificate`: write the student's work to a file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tcptutor.base import places
from tcptutor.base.errors import UsageError, unknown
from tcptutor.commands.language import chosen_language
from tcptutor.commands.output import print_files, warn
from tcptutor.commands.targets import check_targets
from tcptutor.course.known_courses import course_option, other_courses
from tcptutor.course.outline import read_course
from tcptutor.journal.journal import opened_journal
from tcptutor.notebook.certificate import certify
from tcptutor.notebook.certificate import write_certificate as save_certificate
from tcptutor.notebook.content import NotebookSource, collect_notebook
from tcptutor.notebook.writer import check_name, write_notebook


def export_notebook(output: Path, replace: bool, as_json: bool) -> int:
    """Write the notebook and return the exit code. Raises TutorError."""
    check_name(output)
    check_targets([output], [], replace=replace)
    course, problems = read_course(places.lessons(), chosen_language(None))
    for problem in problems:
        warn(str(problem))
    with opened_journal(warn) as journal:
        source = NotebookSource.of(course, journal)
    notebook = collect_notebook(course, source, datetime.now(UTC).astimezone().isoformat())
    if not notebook.pages:
        raise UsageError(
            f"there is no work to write down yet: `tcptutor{course_option()}` opens the course{other_courses()}"
        )
    write_notebook(notebook, output)
    print_files([output], as_json)
    return 0


def write_certificate(module: str, output: Path, name: str, replace: bool, as_json: bool) -> int:
    """Write the certificate of a finished module and return the exit code. Raises TutorError."""
    check_targets([output], [], replace=replace)
    course, _ = read_course(places.lessons())
    found = next((each for each in course.modules if module in (each.id, str(each.number))), None)
    if found is None:
        raise UsageError(unknown("module", module, [each.id for each in course.modules]) + other_courses())
    with opened_journal(warn) as journal:
        certificate = certify(course, found, journal, name)
    save_certificate(certificate, output)
    print_files([output], as_json)
    return 0
