"""Rules of a graded course in sentences for students: marks and deductions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from tcptutor.course.known_courses import course_option
from tcptutor.course.marks import MarkScheme
from tcptutor.course.page_record import moment

_SHARES = {1.0: "all", 0.5: "half", 0.25: "a quarter", 0.2: "a fifth", 0.1: "a tenth"}


def _share(share: float) -> str:
    return _SHARES.get(round(share, 6), f"{share:.0%}")


def _earned(factor: float) -> str:
    return _share(factor) if factor else "nothing"


def hint_cost(scheme: MarkScheme) -> str:
    """Return the share of an activity's marks that a hint costs: "a fifth"; empty if hints are free."""
    return _share(1 - scheme.hint) if scheme.hint < 1 else ""


def activity_rule(scheme: MarkScheme, table: str) -> str:
    """Describe the marks of an activity, by its lesson-file table, and their deductions; empty without marks."""
    earned = _earned_by(scheme, table)
    if not earned:
        return ""
    wrong = _wrong_try(scheme) if table == "question" else ""
    hint = (
        f"a hint takes {cost}" if (cost := hint_cost(scheme)) and table not in ("experiment", "sweep") else ""
    )
    return "; ".join(filter(None, (earned, wrong, hint)))


def _earned_by(scheme: MarkScheme, table: str) -> str:
    worth = scheme.worth(table)
    condition = {
        "predict": ", however far off",
        "experiment": " for a complete run",
        "sweep": ", in shares for its points",
        "shell": " for all goals",
    }.get(table, "")
    return f"{worth:g} mark{'' if worth == 1 else 's'}{condition}" if worth else ""


def _wrong_try(scheme: MarkScheme) -> str:
    if scheme.retry == 0.5:
        return "each wrong try halves it"
    if scheme.retry == 0:
        return "only the first try counts"
    return f"each wrong try takes {_share(1 - scheme.retry)}" if scheme.retry < 1 else ""


def deadline_rule(scheme: MarkScheme, now: datetime | None = None) -> str:
    """Describe the deadline in local time, the grace period and the marks of late work; empty without a deadline."""
    deadline = moment(scheme.deadline)
    if deadline is None:
        return ""
    verb = "was due" if deadline < (now or datetime.now(UTC)) else "due"
    grace = f" plus {scheme.grace_hours:g} h" if scheme.grace_hours else ""
    late = "" if scheme.late == 1 else f"; later work earns {_earned(scheme.late)}"
    return f"{verb} {deadline.astimezone():%-d %B %Y %H:%M %Z}{grace}{late}"


def pages_rule(scheme: MarkScheme) -> str:
    """Return which pages count."""
    return "only essential pages count" if scheme.path == "essential" else "all pages count"


def rules(scheme: MarkScheme) -> Iterator[tuple[str, str]]:
    """Yield subject and sentence of each rule."""
    for name, table in (
        ("question", "question"),
        ("prediction", "predict"),
        ("run", "experiment"),
        ("sweep", "sweep"),
        ("challenge", "challenge"),
        ("work by hand", "shell"),
    ):
        wrong = _wrong_try(scheme) if table == "question" else ""
        yield name, "; ".join(filter(None, (_earned_by(scheme, table) or "no marks", wrong)))
    cost = hint_cost(scheme)
    yield "hint", f"takes {cost} of what an activity can earn" if cost else "costs nothing"
    yield "pages", pages_rule(scheme)
    if deadline := deadline_rule(scheme):
        yield "deadline", deadline
    if scheme.before_enrolling < 1:
        earned = _earned(scheme.before_enrolling)
        yield "before enrolling", f"runs, hand work and drawn numbers earn {earned}"
    yield "no marks", "replayed recordings, reviews, what-ifs, the bench, tcptutor run"
    yield "hand-in", f"tcptutor submit{course_option()} writes it, and says its marks"
