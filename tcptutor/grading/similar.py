"""Pairs of hand-ins that are more alike than chance explains.

Three signs count. Events in both journals: see `copies`. Runs with equal samples: a graded course gives each student's
runs their own seeds, so no two runs are equal. Shared wrong answers: the number of questions that both students first
answered wrong in the same way, and the probability that at least as many agree if each student picks wrong answers as
often as the class does. A pair reports this probability, and how many pairs of the class would be as alike by chance.

This is a fact about two files, not a verdict: friends who study in a group share their mistakes as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

import msgspec

from tcptutor.course.page_record import moment
from tcptutor.grading.copies import SharedEvents, shared_events
from tcptutor.grading.grade import Grade

_BY_CHANCE = 0.01
"""Report a pair if the class would have fewer pairs as alike by chance."""
_MIN_EQUAL = 3
"""Fewest wrong answers that have to agree."""
_SIMULTANEOUS_SECONDS = 20.0
"""Seconds within which two answers to a question count as simultaneous."""

_Question = tuple[str, str, str]


class SimilarPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two hand-ins that are alike."""

    one: str
    other: str
    """The two students, or their files without an enrollment."""
    events: int = 0
    """Events of the first journal that are in the second as well."""
    page: str = ""
    """Page of the last such event, MODULE/PAGE; empty if unknown."""
    runs: tuple[str, ...] = ()
    """Ids of the first student's runs with the same samples as a run of the second student."""
    both_wrong: int = 0
    """Questions that both first answered wrongly."""
    same_wrong: int = 0
    """Questions with the same wrong answer from both."""
    probability: float = 1.0
    """Probability that at least `same_wrong` answers of a pair agree by chance."""
    pairs: float = 0.0
    """Expected number of pairs in this class that are as alike by chance."""
    together: int = 0
    """Questions that both first answered within 20 s of each other."""
    answered: int = 0
    """Questions that both answered."""


class _Student:
    """The answers and runs of a hand-in, for comparison."""

    def __init__(self, file: str, grade: Grade) -> None:
        self.name = grade.student or file
        self.enrolled = grade.student
        self.samples: dict[str, str] = {digest: run for run, digest in grade.samples.items()}
        self.wrong: dict[_Question, str] = {}
        """Wrong first answers to questions that are the same for all students."""
        self.at: dict[_Question, float] = {}
        """Time of each question's first answer, seconds since 1970."""
        for mark in grade.marks:
            if mark.kind != "question" or not mark.answers:
                continue
            first, question = mark.answers[0], (mark.module, mark.page, mark.activity)
            if (when := moment(first.at)) is not None:
                self.at[question] = when.timestamp()
            if first.correct is False and not first.drawn:
                self.wrong[question] = first.identity


def similar_pairs(graded: Sequence[tuple[str, Grade]]) -> Iterator[SimilarPair]:
    """Yield the similar pairs among hand-ins with their files' names, the least probable first."""
    students = [_Student(*each) for each in graded]
    found = [*_alike(students, _copied(shared_events(graded)))]
    yield from sorted(found, key=lambda pair: (-pair.events, not pair.runs, pair.pairs, pair.one, pair.other))


def _copied(shared: Sequence[Sequence[SharedEvents]]) -> dict[tuple[int, int], SharedEvents]:
    """Pair each hand-in with the hand-in that shares most events with it: forty copies are 39 pairs."""
    found: dict[tuple[int, int], SharedEvents] = {}
    for at, others in enumerate(shared):
        if others:
            found[min(at, others[0].other), max(at, others[0].other)] = others[0]
    return found


def _alike(
    students: Sequence[_Student], copied: Mapping[tuple[int, int], SharedEvents]
) -> Iterator[SimilarPair]:
    chances = {question: _agreement(given) for question, given in _wrong_counts(students).items()}
    bits = {each: 1 << number for number, each in enumerate(_answers(students))}
    same = [sum(bits[each] for each in student.wrong.items()) for student in students]
    pairs = len(students) * (len(students) - 1) / 2
    least = _fewest_equal(min(chances.values(), default=1.0), pairs)
    for one, other in combinations(range(len(students)), 2):
        runs = _equal_runs(students[one], students[other])
        agree = (same[one] & same[other]).bit_count()
        events = copied.get((one, other))
        if not runs and not events and agree < least:
            continue
        pair = _compare(students[one], students[other], agree, chances)
        by_chance = pair.probability * pairs
        if runs or events or by_chance <= _BY_CHANCE:
            pair = msgspec.structs.replace(pair, runs=runs, pairs=by_chance)
            yield msgspec.structs.replace(pair, events=events.events, page=events.page) if events else pair


def _answers(students: Sequence[_Student]) -> list[tuple[_Question, str]]:
    return list(dict.fromkeys(each for student in students for each in student.wrong.items()))


def _fewest_equal(chance: float, pairs: float) -> int:
    """Return the fewest equal answers that make a pair improbable; `chance` is the least probable agreement."""
    if chance >= 1 or not pairs:
        return _MIN_EQUAL
    return max(_MIN_EQUAL, math.ceil(math.log(_BY_CHANCE / pairs) / math.log(chance)))


def _wrong_counts(students: Sequence[_Student]) -> Mapping[_Question, Counter[str]]:
    found: dict[_Question, Counter[str]] = {}
    for student in students:
        for question, text in student.wrong.items():
            found.setdefault(question, Counter())[text] += 1
    return found


def _equal_runs(one: _Student, other: _Student) -> tuple[str, ...]:
    # Without an enrolment all students have the same seeds, and the lab then makes equal runs.
    if not one.enrolled or not other.enrolled or one.enrolled == other.enrolled:
        return ()
    return tuple(one.samples[digest] for digest in one.samples.keys() & other.samples.keys())


def _compare(one: _Student, other: _Student, agree: int, chances: Mapping[_Question, float]) -> SimilarPair:
    both = one.wrong.keys() & other.wrong.keys()
    common = one.at.keys() & other.at.keys()
    return SimilarPair(
        one=one.name,
        other=other.name,
        both_wrong=len(both),
        same_wrong=agree,
        probability=_at_least(agree, tuple(chances[question] for question in sorted(both))),
        together=sum(abs(one.at[each] - other.at[each]) < _SIMULTANEOUS_SECONDS for each in common),
        answered=len(common),
    )


def _agreement(given: Counter[str]) -> float:
    """Return the probability that two wrong students gave the same answer, by the class's frequencies.

    Each count is increased by 1 (Laplace smoothing): a few students prove little.
    """
    smoothed = [number + 1 for number in given.values()] + [1]
    return sum(number**2 for number in smoothed) / sum(smoothed) ** 2


@lru_cache(maxsize=4096)
def _at_least(number: int, chances: tuple[float, ...]) -> float:
    """Return the probability of at least `number` independent events (Poisson binomial distribution)."""
    # found[k] is the probability of k events so far.
    found = [1.0]
    for chance in chances:
        found = [
            (found[at] if at < len(found) else 0.0) * (1 - chance) + (found[at - 1] * chance if at else 0.0)
            for at in range(len(found) + 1)
        ]
    return min(1.0, sum(found[number:]))
