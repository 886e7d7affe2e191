"""Hand-ins that are more alike than chance makes them.

Two things are looked at. Runs of two students with equal samples: in a course, where each student's runs have seeds of
their own, no two are equal. And wrong answers: how many questions both first answered wrongly in the same way, and how
probable it is that so many, or more, agree when each student takes a wrong answer as often as the class does. That
probability is told for a pair, and how many pairs of a class would be so much alike by chance.

It is a fact about two files, and no verdict: friends who learned together share their mistakes as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from tcptutor.course.page_record import moment
from tcptutor.grading.grade import Grade

_BY_CHANCE = 0.01
"""Pairs of the class that may be so much alike by chance, for a pair to be told."""
_LEAST = 3
"""Wrong answers that have to agree."""
_TOGETHER = 20.0
"""Seconds within which two answers to a question are told to be of one time."""

_Question = tuple[str, str, str]


class Similar(msgspec.Struct, frozen=True, kw_only=True):
    """Two hand-ins."""

    one: str
    other: str
    """The students, or the files of who is not enrolled."""
    runs: tuple[str, ...] = ()
    """Ids of the first one's runs whose samples are those of a run of the other."""
    both_wrong: int = 0
    """Questions that both first answered wrongly."""
    same_wrong: int = 0
    """Of them, those with the same answer."""
    probability: float = 1.0
    """That so many or more of them agree by chance, for one pair."""
    pairs: float = 0.0
    """Pairs of this class that would be so much alike by chance."""
    together: int = 0
    """Questions whose first answers are less than 20 s apart."""
    answered: int = 0
    """Questions that both answered."""


class _Student:
    """What is compared of a hand-in."""

    def __init__(self, file: str, grade: Grade) -> None:
        self.name = grade.student or file
        self.enrolled = grade.student
        self.samples: dict[str, str] = {digest: run for run, digest in grade.samples.items()}
        self.wrong: dict[_Question, str] = {}
        """First answers to questions that are the same for all, by what was chosen."""
        self.at: dict[_Question, float] = {}
        """When each question was first answered, s."""
        for mark in grade.marks:
            if mark.kind != "question" or not mark.answers:
                continue
            first, question = mark.answers[0], (mark.module, mark.page, mark.activity)
            if (when := moment(first.at)) is not None:
                self.at[question] = when.timestamp()
            if first.correct is False and not first.drawn:
                self.wrong[question] = first.text


def similar_pairs(graded: Sequence[tuple[str, Grade]]) -> Iterator[Similar]:
    """Of hand-ins with their files' names; the least probable first."""
    students = [_Student(*each) for each in graded]
    found = [*_told(students)]
    yield from sorted(found, key=lambda pair: (not pair.runs, pair.pairs, pair.one, pair.other))


def _told(students: Sequence[_Student]) -> Iterator[Similar]:
    chances = {question: _agreement(given) for question, given in _given(students).items()}
    bits = {each: 1 << number for number, each in enumerate(_answers(students))}
    same = [sum(bits[each] for each in student.wrong.items()) for student in students]
    pairs = len(students) * (len(students) - 1) / 2
    least = _least(min(chances.values(), default=1.0), pairs)
    for one, other in combinations(range(len(students)), 2):
        runs = _equal_runs(students[one], students[other])
        agree = (same[one] & same[other]).bit_count()
        if not runs and agree < least:
            continue
        told = _compared(students[one], students[other], agree, chances)
        by_chance = told.probability * pairs
        if runs or by_chance <= _BY_CHANCE:
            yield msgspec.structs.replace(told, runs=runs, pairs=by_chance)


def _answers(students: Sequence[_Student]) -> list[tuple[_Question, str]]:
    return list(dict.fromkeys(each for student in students for each in student.wrong.items()))


def _least(chance: float, pairs: float) -> int:
    """So many have to agree for a pair to be told at all, where each agreement has at least that `chance`."""
    if chance >= 1 or not pairs:
        return _LEAST
    return max(_LEAST, math.ceil(math.log(_BY_CHANCE / pairs) / math.log(chance)))


def _given(students: Sequence[_Student]) -> Mapping[_Question, Counter[str]]:
    """How often each wrong answer was given, by question."""
    found: dict[_Question, Counter[str]] = {}
    for student in students:
        for question, text in student.wrong.items():
            found.setdefault(question, Counter())[text] += 1
    return found


def _equal_runs(one: _Student, other: _Student) -> tuple[str, ...]:
    # Who is in no course has the seeds that everybody has: equal runs are then what the lab promises.
    if not one.enrolled or not other.enrolled or one.enrolled == other.enrolled:
        return ()
    return tuple(one.samples[digest] for digest in one.samples.keys() & other.samples.keys())


def _compared(one: _Student, other: _Student, agree: int, chances: Mapping[_Question, float]) -> Similar:
    both = one.wrong.keys() & other.wrong.keys()
    common = one.at.keys() & other.at.keys()
    return Similar(
        one=one.name,
        other=other.name,
        both_wrong=len(both),
        same_wrong=agree,
        probability=_at_least(agree, [chances[question] for question in sorted(both)]),
        together=sum(abs(one.at[each] - other.at[each]) < _TOGETHER for each in common),
        answered=len(common),
    )


def _agreement(given: Counter[str]) -> float:
    """The probability that two students who are both wrong gave the same answer, as the class gives them.

    One of each is added to what was counted: with few students nothing is certain.
    """
    smoothed = [number + 1 for number in given.values()] + [1]
    return sum(number**2 for number in smoothed) / sum(smoothed) ** 2


def _at_least(number: int, chances: Sequence[float]) -> float:
    """The probability that at least so many of independent events with these `chances` come."""
    # By their number so far: the Poisson binomial distribution.
    found = [1.0]
    for chance in chances:
        found = [
            (found[at] if at < len(found) else 0.0) * (1 - chance) + (found[at - 1] * chance if at else 0.0)
            for at in range(len(found) + 1)
        ]
    return min(1.0, sum(found[number:]))
