"""Remarks on the journal of a hand-in: damage, enrollments, and dates that cannot be right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from tcptutor.course.marks import MarkScheme
from tcptutor.course.page_record import moment
from tcptutor.grading.evidence.hand_in import HandIn
from tcptutor.grading.evidence.ownership import LITTLE_WORK, Ownership
from tcptutor.grading.evidence.timeline import Timeline
from tcptutor.grading.remarks import Remark, decide, note
from tcptutor.journal.second_record import RecordDoubts

_CLOCK_STEP = 120.0
"""Seconds by which a clock may step back without a remark: computers correct it by themselves."""
_FIRST_COURSE = datetime(2025, 1, 1, tzinfo=UTC)
"""Time before the first release of tcptutor."""
_MOST_MISSING, _LONGEST_REMARK = 50, 200
_MOST_NAMED = 5
"""Items of a kind that a remark names."""


def remarks(hand_in: HandIn, line: Timeline, ownership: Ownership, scheme: MarkScheme) -> Iterator[Remark]:
    """Yield the remarks on a hand-in's journal."""
    if hand_in.broken:
        yield decide(f"the journal is broken: {hand_in.broken}", shown=True)
    if hand_in.manifest.events != len(hand_in.events):
        yield decide(f"it claims {hand_in.manifest.events} events, but has {len(hand_in.events)}", shown=True)
    steps = [step for step in line.backward if step.seconds > _CLOCK_STEP]
    for serial, seconds in steps[:_MOST_NAMED]:
        yield decide(f"the clock was put back by {seconds:.0f} s before event {serial}")
    if len(steps) > _MOST_NAMED:
        yield decide(f"and {len(steps) - _MOST_NAMED} more times")
    yield from _second_record(hand_in.manifest.second_record)
    yield from _dates(hand_in, line, scheme)
    yield from _enrolments(line, ownership)
    if line.left_out:
        yield decide(
            f"{line.left_out} events of another machine belong to another student or course, and do not count"
        )
    if line.unknown_events:
        yield note(f"{line.unknown_events} of its events are of a newer tcptutor, or invalid", shown=True)
    yield from (note(line[:_LONGEST_REMARK], shown=True) for line in hand_in.manifest.missing[:_MOST_MISSING])


def _second_record(doubts: RecordDoubts) -> Iterator[Remark]:
    if doubts.lost > 0:
        lost = "1 answer or hint is" if doubts.lost == 1 else f"{doubts.lost} answers and hints are"
        yield decide(
            f"{lost} missing that the student's computer has on record: a copy of the journal was put back, or there is"
            " a second one"
        )
    if doubts.set_back > 0:
        yield decide(f"the clock was put back by {doubts.set_back:.0f} s between two answers")


def _dates(hand_in: HandIn, line: Timeline, scheme: MarkScheme) -> Iterator[Remark]:
    opened = moment(scheme.opens)
    since = max(_FIRST_COURSE, opened) if opened else _FIRST_COURSE
    early = [at for at in line.times if at < since]
    if early:
        when = "the course opened" if since == opened else "there was any tcptutor"
        yield decide(
            f"{_events(early)} dated before {when}, the first on {min(early):%Y-%m-%d}: was the clock set back?"
        )
    made = moment(hand_in.manifest.made)
    late = [at for at in line.times if made and at - made > timedelta(seconds=_CLOCK_STEP)]
    if late:
        yield decide(
            f"{_events(late)} dated after the hand-in, the last on {max(late):%Y-%m-%d}: was the clock set back?"
        )


def _events(times: Sequence[datetime]) -> str:
    return "1 event is" if len(times) == 1 else f"{len(times)} events are"


def _enrolments(line: Timeline, ownership: Ownership) -> Iterator[Remark]:
    enrolment = line.enrolment
    if enrolment is None:
        return
    before = ownership.before_enrolling
    if before.total:
        remark = decide if before.total > LITTLE_WORK else note
        yield remark(f"{before} made before enrolling", shown=True)
    corrected = [f"{each.student} ({each.course})" for each in ownership.corrected]
    if corrected:
        yield note(f"the enrollment was corrected: it was {_first_few(corrected)}")
    taken_over = ownership.taken_over
    for other in list(taken_over)[:_MOST_NAMED]:
        course = f" in the course {other.course}" if other.course != enrolment.course else ""
        yield decide(
            f"work was taken over from another id: {taken_over[other]} made as {other.student}{course}"
        )
    if len(taken_over) > _MOST_NAMED:
        yield decide(f"and from {len(taken_over) - _MOST_NAMED} more ids")


def _first_few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"
