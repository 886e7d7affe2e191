"""The order in which tests are given out: the longest first, so that no worker is left with one at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TypeVar

T = TypeVar("T")


def ordered(
    items: Iterable[T], seconds: Callable[[T], float], file: Callable[[T], str], lab: Callable[[T], str]
) -> list[T]:
    """Sort tests so that two or more workers, each taking the next one, end at the same time.

    Tests of one file stay together, for they share fixtures. Those that need the lab for themselves come last, with
    short tests without a lab between them, so that nobody waits.

    Args:
        items: The tests.
        seconds: How long a test takes.
        file: Where it is.
        lab: "alone", "shared", or empty for a test without a lab.
    """
    by_lab: dict[str, list[T]] = {"alone": [], "shared": [], "": []}
    for item in items:
        by_lab[lab(item)].append(item)
    alone = sorted(by_lab["alone"], key=seconds, reverse=True)
    files = _files(by_lab[""], seconds, file)
    beside: list[list[T]] = []
    wanted = sum(map(seconds, alone))
    while files and wanted > 0:
        beside.append(files.pop())
        wanted -= sum(map(seconds, beside[-1]))
    first = sorted(
        [*files, *_files(by_lab["shared"], seconds, file)], key=lambda one: seconds(one[0]), reverse=True
    )
    return [*chain(*first), *_between(alone, [*chain(*reversed(beside))], seconds)]


def _files(items: Sequence[T], seconds: Callable[[T], float], file: Callable[[T], str]) -> list[list[T]]:
    """The tests of each file, longest first, beginning with the file that has the longest test."""
    found: dict[str, list[T]] = {}
    for item in items:
        found.setdefault(file(item), []).append(item)
    sorted_ = [sorted(each, key=seconds, reverse=True) for each in found.values()]
    return sorted(sorted_, key=lambda one: seconds(one[0]), reverse=True)


def _between(alone: Sequence[T], others: Sequence[T], seconds: Callable[[T], float]) -> list[T]:
    """After each test that is alone, others that take as long."""
    found: list[T] = []
    left, room = iter(others), 0.0
    for item in alone:
        found.append(item)
        room += seconds(item)
        while room > 0 and (other := next(left, None)) is not None:
            found.append(other)
            room -= seconds(other)
    return [*found, *left]
