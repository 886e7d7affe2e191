"""Grades a hand-in: marks of all pages, remarks and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tcptutor.course.outline import Course
from tcptutor.course.paths import PRETEST
from tcptutor.grading import pace
from tcptutor.grading.decisions import Decision, extended_scheme, fold_id
from tcptutor.grading.evidence import plausibility
from tcptutor.grading.evidence.hand_in import HandIn
from tcptutor.grading.evidence.honesty import RunChecks
from tcptutor.grading.evidence.ownership import Ownership
from tcptutor.grading.evidence.timeline import Timeline, timeline
from tcptutor.grading.evidence.trail import event_trail
from tcptutor.grading.grade import Grade, ReportedLine, printable
from tcptutor.grading.page_marking import PageMarker
from tcptutor.grading.versions import changed_lessons, check_course
from tcptutor.journal.texts import LONGEST_REPORT


def grade_hand_in(
    hand_in: HandIn, course: Course, code: str = "", decisions: Sequence[Decision] = ()
) -> Grade:
    """Grade a hand-in for a course.

    Args:
        hand_in: An open hand-in.
        course: The course with its marking scheme.
        code: Grade only students of the course with this code; empty for all.
        decisions: Extended deadlines of the student, and equivalent ids.

    Raises:
        TutorError: The hand-in is of another course.
    """
    check_course(hand_in, course)
    line = timeline(hand_in.events)
    enrolment = line.enrolment
    refused = ""
    if code and (enrolment is None or enrolment.course != code):
        where = f"in the course {enrolment.course}" if enrolment else "in no course"
        refused = f"the student is enrolled {where}, not in {code}"
    same = {fold_id(id) for each in decisions if each.same_as for id in (each.student, each.same_as)}
    same_ids = {each.student for _, each in line.enrolments if fold_id(each.student) in same}
    checks, ownership = RunChecks(hand_in), Ownership(line, same_ids)
    foreign_share = course.marks.before_enrolling if code else 1.0
    marks = [
        mark
        for module in course.modules
        for step in module.steps
        if step.is_on(course.marks.path)
        for scheme in [extended_scheme(course.marks, decisions, module.id, step.id)]
        for mark in PageMarker(module, step, line, checks, scheme, ownership, foreign_share).marks()
    ]
    # Before enrolling, all students have the same seeds, and the lab then makes equal runs.
    own = {run.id for page in line.pages.values() for run in page.runs if line.enrolled_at(run.begun)}
    changes = changed_lessons(hand_in.manifest, course)
    grade = Grade(
        student=enrolment.student if enrolment else "",
        course=enrolment.course if enrolment else "",
        title=course.title,
        made=hand_in.manifest.made,
        other_version=changes.version if changes.pages else None,
        marks=tuple(marks),
        remarks=(
            *plausibility.remarks(hand_in, line, ownership, course.marks),
            *changes.remarks(marks),
            *pace.remarks(marks),
        ),
        refused=refused,
        is_damaged=hand_in.is_damaged,
        reports=tuple(_reports(course, line)),
        samples={id: digest for id, digest in checks.samples.items() if id in own},
        trail=event_trail(hand_in.events),
    )
    return printable(grade)


_MOST_REPORTS = 20
"""Reports of a page that are read from a hand-in."""


def _reports(course: Course, line: Timeline) -> Iterator[ReportedLine]:
    for module in course.modules:
        pages = (PRETEST, *(step.id for step in module.steps))
        for page in pages:
            for report in line.page(module.id, page).reports[:_MOST_REPORTS]:
                text = " ".join(report.text.split())[:LONGEST_REPORT]
                yield ReportedLine(module=module.id, page=page, at=report.at, text=text)
