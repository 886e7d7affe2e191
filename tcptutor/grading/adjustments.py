"""Grades after the teacher's decisions: excuses, overrides, accepted work, and students' other ids.

Extensions are decisions too, but marking applies them itself (`decisions.extended_scheme`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from tcptutor.base.errors import near, quoted, unknown
from tcptutor.course.marks import MarkScheme
from tcptutor.course.outline import Course
from tcptutor.grading.decisions import Decision, DecisionsByStudent, fold_id
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile, Outcome
from tcptutor.grading.remarks import Remark


def adjust(
    graded: Sequence[GradedFile],
    decisions: Sequence[Decision],
    course: Course,
    roster: Sequence[Collection[str]] = (),
    modules: Sequence[str] = (),
) -> tuple[list[GradedFile], list[str]]:
    """Apply the decisions in their order.

    Args:
        graded: The hand-ins of the class.
        decisions: The teacher's decisions.
        course: The course with all modules, for the pages that decisions name.
        roster: The ids of each student, who may have no hand-in.
        modules: Ids of the modules that were graded, empty for all: marks for the course are shared with the others.

    Returns:
        The hand-ins, also of students with marks or excuses but without a file, and a line per decision without effect.
    """
    lines: list[str] = []
    usable: list[Decision] = []
    part = course.select(modules)
    graded_modules = {module.id for module in part.modules}
    others = tuple(module for module in course.modules if module.id not in graded_modules)
    rest = replace(course, modules=others)
    for number, each in enumerate(decisions, 1):
        if problem := place_problem(each, course):
            lines.append(f"decision {number}: {problem}")
        elif each.page.partition("/")[0] in ("", *graded_modules):
            usable.append(each)
    # A single hand-in is graded by its course's system, which has the decisions on all students.
    is_class = len(graded) > 1 or bool(roster)
    own = DecisionsByStudent(usable, roster)
    if is_class and (lost := [*_without_file(usable, graded, own)]):
        lines += (f"no hand-in {each.file} of {each.student}" for each in lost)
        usable = [each for each in usable if each not in lost]
        own = DecisionsByStudent(usable, roster)
    found = [*graded]
    used = {id(each) for file in graded if file.grade for each in own.of(file.grade.student, file.file)}
    for student in dict.fromkeys(each.student for each in usable if id(each) not in used):
        decided = own.of(student, "")
        if not used.isdisjoint(map(id, decided)):
            continue  # by another id of the student
        used.update(map(id, decided))
        if fold_id(student) not in {fold_id(id) for ids in roster for id in ids}:
            if is_class:
                names = [each.grade.student for each in graded if each.grade is not None]
                similar = near(student, [*names, *(id for ids in roster for id in ids)])
                lines.append(
                    f"no hand-in of {quoted(student)}, of whom you decided{similar and f': {similar}'}"
                )
        elif any(each.kind in ("marks", "excuse") for each in decided):
            found.append(GradedFile("", _without_work(part, student)))
        elif any(each.kind == "accept" for each in decided):
            lines.append(f"no hand-in of {quoted(student)} to accept")
    adjusted = [_adjusted(each, own, rest, lines) for each in found]
    return adjusted, list(dict.fromkeys(lines))


def settle(graded: Sequence[GradedFile]) -> list[GradedFile]:
    """Let the hand-ins count that the teacher named, and turn remarks that the teacher accepted into notes.

    Args:
        graded: The adjusted hand-ins, with all remarks, and marked which of several counts.
    """
    files = {
        each.grade.student: each.file
        for each in graded
        if each.grade is not None and any(own.file == each.file for own in each.grade.decisions)
    }
    return [
        _settled(
            each._replace(
                superseded_by="" if each.file == files[each.grade.student] else files[each.grade.student]
            )
            if each.grade is not None and each.grade.student in files
            else each
        )
        for each in graded
    ]


def place_problem(decision: Decision, course: Course) -> str:
    """Return why the course has no such page or activity; empty if it does."""
    if not decision.page:
        return ""
    id, _, page = decision.page.partition("/")
    module = next((each for each in course.modules if each.id == id), None)
    if module is None or (page and page not in module.step_ids):
        pages = (f"{each.id}/{step}" for each in course.modules for step in each.step_ids)
        return unknown("page", decision.page, pages, "`tcptutor list` shows them")
    if not decision.activity:
        return ""
    activities = [each.id for step in module.steps if step.id == page for each in step.activities]
    if decision.activity not in activities:
        return f"{decision.page}: {unknown('activity', decision.activity, activities)}"
    return ""


def worth(decision: Decision, course: Course) -> float:
    """Return the marks of all activities of the course that the decision concerns."""
    return sum(
        of
        for module in course.modules
        if decision.page.partition("/")[0] in ("", module.id)
        for step in module.steps
        if step.is_on(course.marks.path)
        for activity in step.activities
        if decision.concerns(module.id, step.id, activity.id)
        and (of := course.marks.worth(activity.table)) is not None
    )


def _without_file(
    decisions: Sequence[Decision], graded: Sequence[GradedFile], own: DecisionsByStudent
) -> Iterator[Decision]:
    """Yield the decisions on a file that is not among the hand-ins of their student."""
    named = [each for each in decisions if each.file]
    files: dict[int, set[str]] = {}
    for each in graded if named else ():
        for decision in own.of(each.grade.student, each.file) if each.grade else ():
            files.setdefault(id(decision), set()).add(each.file)
    yield from (each for each in named if each.file not in files.get(id(each), ()))


def _without_work(course: Course, student: str) -> Grade:
    marks = tuple(
        ActivityMark(
            module=module.id,
            page=step.id,
            title=step.title,
            activity=activity.id,
            kind=activity.table,
            marks=0.0,
            of=of,
            outcome="missing",
            reason="nothing was handed in",
        )
        for module in course.modules
        for step in module.steps
        if step.is_on(course.marks.path)
        for activity in step.activities
        if (of := course.marks.worth(activity.table)) is not None
    )
    return Grade(student=student, course="", title=course.title, made="", marks=marks)


def _adjusted(
    graded: GradedFile, decisions: DecisionsByStudent, rest: Course, lines: list[str]
) -> GradedFile:
    """Return the adjusted hand-in; `rest` has the modules of the course that are not graded."""
    grade, scheme = graded.grade, rest.marks
    if grade is None:
        return graded
    for each in decisions.of(grade.student, graded.file):
        applied = each
        if each.kind == "same_as":
            enrolled_as = grade.enrolled_as or grade.student
            grade = replace(grade, student=each.same_as, enrolled_as=enrolled_as)
        elif each.kind == "accept" and not each.page:
            if each.file in ("", graded.file):
                grade = replace(grade, refused="")
        elif not each.is_extension:
            chosen = [mark for mark in grade.marks if each.concerns(mark.module, mark.page, mark.activity)]
            most = sum(mark.of for mark in chosen) + worth(each, rest)
            new = _decided(chosen, each, scheme, most)
            changed = {id(mark): decided for mark, decided in zip(chosen, new, strict=True)}
            who = grade.student or graded.file
            if all(changed[id(mark)] is mark for mark in chosen):
                lines.append(f"{who}: “{each}” changes no mark")
            if (each.marks or 0.0) > most:
                count = "1 mark counts" if most == 1 else f"{most:g} marks count"
                lines.append(f"{who}: “{each}” gives more than there are: {count}")
                applied = replace(each, marks=most)
            grade = replace(grade, marks=tuple(changed.get(id(mark), mark) for mark in grade.marks))
        elif each.kind == "hours" and not scheme.deadline:
            lines.append(
                f"{grade.student or graded.file}: “{each}” changes nothing: the course has no deadline"
            )
        grade = replace(grade, decisions=(*grade.decisions, applied))
    return graded._replace(grade=grade)


def _settled(graded: GradedFile) -> GradedFile:
    grade = graded.grade
    if grade is None:
        return graded
    for each in grade.decisions:
        if each.kind == "accept" and not each.page and each.file in ("", graded.file):
            remarks = tuple(_accepted(remark, each) for remark in grade.remarks)
            grade = replace(grade, remarks=remarks)
    return graded._replace(grade=grade)


def _accepted(remark: Remark, decision: Decision) -> Remark:
    if remark.level == "note":
        return remark
    return replace(remark, level="note", text=f"{remark.text}; accepted: {decision.grounds}")


def _decided(
    marks: Sequence[ActivityMark], decision: Decision, scheme: MarkScheme, of: float
) -> Iterator[ActivityMark]:
    for mark in marks:
        match decision.kind:
            case "excuse":
                yield _with(mark, 0.0, decision, "excused")
            case "marks":
                share = min(1.0, (decision.marks or 0.0) / of) if of else 0.0
                yield _with(mark, mark.of * share, decision)
            case _ if mark.outcome in ("refused", "inconclusive"):
                yield _with(mark, mark.of * _share_if_accepted(mark, scheme), decision)
            case _:
                yield mark


def _with(
    mark: ActivityMark, marks: float, decision: Decision, outcome: Outcome | None = None
) -> ActivityMark:
    before = f"computed: {mark.marks:.3g} of {mark.of:.3g}" + (f", {mark.reason}" if mark.reason else "")
    return replace(
        mark,
        marks=marks,
        outcome=outcome or ("full" if marks >= mark.of else "part" if marks else "none"),
        reason=f"{decision.grounds}; {before}",
        decision=decision.grounds,
    )


def _share_if_accepted(mark: ActivityMark, scheme: MarkScheme) -> float:
    """Return the share of the marks as if the evidence held: an answer still has to be right."""
    if mark.kind != "question":
        return 1.0
    right = next((at for at, each in enumerate(mark.answers) if each.correct), None)
    return scheme.remaining_share(right, 0, None) if right is not None else 0.0
