"""Events shared by two hand-ins: between different students, evidence of a copy.

Hand-ins of the same student have to continue each other. If two begin alike and each has events that the other lacks,
the student continued from an earlier copy of the journal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tcptutor.grading.evidence.trail import EventTrail
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.remarks import Remark, decide

_LEAST_SHARED = 3
"""Fewest shared events that prove a copy: a pair may agree on page and millisecond by chance."""
_MOST_NAMED = 5
"""Students that a remark names."""


class SharedEvents(NamedTuple):
    """Events shared by two hand-ins."""

    other: int
    """Index of the other hand-in."""
    events: int
    page: str
    """Page of the last shared event, MODULE/PAGE; empty if unknown."""


def shared_events(graded: Sequence[tuple[str, Grade]]) -> list[list[SharedEvents]]:
    """Return the events each hand-in shares with hand-ins of other students, the most events first.

    Args:
        graded: The hand-ins with their files' names.
    """
    owners = [_owner(*each) for each in graded]
    trails = [grade.trail for _, grade in graded]
    groups, group_of = _groups(trails)
    return [_shared(at, owners, trail, groups, group_of) for at, trail in enumerate(trails)]


def _owner(file: str, grade: Grade) -> Hashable:
    return (grade.course, grade.student) if grade.student else file


def _groups(trails: Sequence[EventTrail]) -> tuple[list[tuple[int, ...]], dict[int, int]]:
    """Return the distinct groups of hand-ins that share an event, and the group of each shared event.

    Groups are few: copies of a journal share a long beginning.
    """
    once: set[int] = set()
    several: set[int] = set()
    for trail in trails:
        found = set(trail.events)
        several |= once & found
        once |= found
    holders: dict[int, list[int]] = {event: [] for event in several}
    for at, trail in enumerate(trails):
        for event in several.intersection(trail.events):
            holders[event].append(at)
    numbers: dict[tuple[int, ...], int] = {}
    group_of = {event: numbers.setdefault(tuple(found), len(numbers)) for event, found in holders.items()}
    return list(numbers), group_of


def _shared(
    at: int,
    owners: Sequence[Hashable],
    trail: EventTrail,
    groups: Sequence[tuple[int, ...]],
    group_of: Mapping[int, int],
) -> list[SharedEvents]:
    events: Counter[int] = Counter()
    last: dict[int, int] = {}
    for index, event in enumerate(trail.events):
        if (group := group_of.get(event)) is not None:
            events[group] += 1
            last[group] = index
    total: Counter[int] = Counter()
    latest: dict[int, int] = {}
    for group, number in events.items():
        for other in groups[group]:
            if owners[other] != owners[at]:
                total[other] += number
                latest[other] = max(latest.get(other, 0), last[group])
    return [
        SharedEvents(other, number, trail.page_at(latest[other]))
        for other, number in total.most_common()
        if number >= _LEAST_SHARED
    ]


def remark_copies(graded: Sequence[GradedFile]) -> list[GradedFile]:
    """Return the hand-ins with remarks on shared events, and on journals that do not continue an earlier hand-in."""
    read = [(each.file, each.grade) for each in graded if each.grade is not None]
    shared = iter(shared_events(read))
    found = []
    for each in graded:
        if each.grade is None:
            found.append(each)
            continue
        remarks = [*_copies(each.grade, next(shared), read), *_forks(each, graded)]
        remarked = msgspec.structs.replace(each.grade, remarks=(*each.grade.remarks, *remarks))
        found.append(each._replace(grade=remarked))
    return found


def _copies(
    grade: Grade, shared: Sequence[SharedEvents], read: Sequence[tuple[str, Grade]]
) -> Iterator[Remark]:
    if not shared:
        return
    most = [each for each in shared if 2 * each.events >= shared[0].events]
    names = list(dict.fromkeys(read[each.other][1].student or read[each.other][0] for each in most))
    others = "another hand-in" if len(names) == 1 else f"{len(names)} other hand-ins"
    page = f", up to the page {shared[0].page}" if shared[0].page else ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    yield decide(
        f"{shared[0].events} of its {len(grade.trail.events)} events are also in {others}{page}:"
        f" {', '.join(names[:_MOST_NAMED])}{more}"
    )


def _forks(each: GradedFile, graded: Sequence[GradedFile]) -> Iterator[Remark]:
    """Yield a remark per hand-in that begins like the student's longest hand-in but ends differently."""
    if each.superseded_by:
        return
    own = [other for other in graded if other.superseded_by == each.file]
    if len(each.sources) < 2:  # not joined from the others
        own.append(each)
    trails = [(other, set(other.grade.trail.events)) for other in own if other.grade is not None]
    trails.sort(key=lambda found: -len(found[1]))
    for other, events in trails[1:]:
        longest, most = trails[0]
        missing = len(events - most)
        if missing and len(events & most) >= _LEAST_SHARED:
            lost = "1 event is" if missing == 1 else f"{missing} events are"
            yield decide(
                "two of the student's hand-ins have one begin and two ends:"
                f" {lost} in {other.file} and not in {longest.file}"
            )
