"""The certificate of a finished module, as HTML, with the evidence behind it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from tcptutor.base.errors import UsageError
from tcptutor.base.files import atomic
from tcptutor.course.outline import Course, Module
from tcptutor.journal import Journal
from tcptutor.journal.events import RunEnded, RunStarted, decode
from tcptutor.journal.order import student_events
from tcptutor.notebook.html import document
from tcptutor.notebook.module_summary import ModuleSummary, summarize
from tcptutor.notebook.sentences import day

_DIGITS = 16
"""Digits of a digest to print."""


class CertifiedRun(NamedTuple):
    """A complete run of a page of the module."""

    page: str
    at: str
    """End, ISO 8601."""
    digest: str
    """SHA-256 of the run file's text, in hexadecimal."""


class Certificate(NamedTuple):
    """A finished module with its evidence."""

    course: str
    module: Module
    student: str
    finished: str
    """Time of the last event on the module's pages, ISO 8601."""
    pages: int
    summary: ModuleSummary
    runs: tuple[CertifiedRun, ...]
    events: int
    """Events of the journal."""
    hash: str
    """Hash of the journal's last event, in hexadecimal."""


def certify(course: Course, module: Module, journal: Journal, student: str) -> Certificate:
    """Return the certificate of a module.

    Args:
        course: The course.
        module: The module.
        journal: The student's journal.
        student: The name to print; an enrolled student's is used instead.

    Raises:
        UsageError: The module is not finished on the student's path; the message counts the remaining pages.
        JournalError: The journal cannot be read.
    """
    record = journal.record
    wanted = [step for step in module.steps if step.is_on(record.path)]
    left = [step for step in wanted if not step.is_done(record.page(module.id, step.id))]
    if left:
        pages = f"1 page is left, {left[0].title!r}" if len(left) == 1 else f"{len(left)} pages are left"
        raise UsageError(f"{module.title} isn't finished: {pages}")
    titles = {step.id: step.title for step in module.steps}
    runs: list[CertifiedRun] = []
    begun: dict[str, str] = {}
    finished = ""
    stored = list(journal.events())
    for event in (decode(each.data) for each in student_events(stored).events):
        if isinstance(event, RunStarted) and event.module == module.id:
            begun[event.run] = titles.get(event.step, event.step)
        if isinstance(event, RunEnded) and event.complete and event.run in begun:
            runs.append(CertifiedRun(begun[event.run], event.at, event.digest))
        if getattr(event, "module", "") == module.id:
            finished = event.at if event is not None else finished
    return Certificate(
        course.title,
        module,
        record.enrolment.student if record.enrolment else student,
        finished,
        len(wanted),
        summarize(record, module),
        tuple(runs),
        len(stored),
        stored[-1].hash.hex() if stored else "",
    )


def write_certificate(certificate: Certificate, target: Path) -> None:
    """Write the certificate as a page of HTML, replacing an existing file.

    Raises:
        UsageError: The name's ending is unknown.
        TutorError: The file cannot be written.
    """
    if target.suffix.lower() != ".html":
        raise UsageError(f"{target}: a certificate's name ends in .html")
    lines = document(f"{certificate.module.title}: finished", _body(certificate))
    with atomic(target) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _body(certificate: Certificate) -> Iterator[str]:
    module, summary = certificate.module, certificate.summary
    yield f'<p class="dim">{escape(certificate.course)}</p>'
    yield f"<h1>{escape(f'{module.number} {module.title}')}</h1>"
    yield (
        f"<p>Finished by <strong>{escape(certificate.student) or '________________'}</strong>"
        f" on {escape(day(certificate.finished))}, with {certificate.pages} pages,"
        f" {summary.runs} complete runs, and {summary.answers} questions right,"
        f" {summary.first_tries} of them at the first try.</p>"
    )
    if module.objectives:
        yield f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in module.objectives)}</ul>"
    if summary.predictions:
        yield "<h2>Predictions</h2>"
        yield "<table><thead><tr><th>page<th>said<th>measured<th>error</tr></thead><tbody>"
        for each in summary.predictions:
            cells = (each.page, each.said, each.measured, each.error)
            yield f"<tr>{''.join(f'<td>{escape(cell)}' for cell in cells)}</tr>"
        yield "</tbody></table>"
    yield "<h2>Evidence</h2>"
    yield (
        f"<p>Journal of {certificate.events} events; hash of the last:"
        f" <code>{certificate.hash}</code>. The hand-in of <code>tcptutor submit</code> holds the journal, and"
        " <code>tcptutor grade</code> checks it.</p>"
    )
    if certificate.runs:
        yield "<table><thead><tr><th>run of page<th>ended<th>SHA-256</tr></thead><tbody>"
        for run in certificate.runs:
            digest = f"<code>{escape(run.digest[:_DIGITS])}…</code>" if run.digest else "no file"
            yield f"<tr><td>{escape(run.page)}<td>{escape(run.at)}<td>{digest}</tr>"
        yield "</tbody></table>"
