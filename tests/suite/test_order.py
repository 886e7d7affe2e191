"""Tests are given out so that nobody waits at the end, nor for a test that needs the lab for itself."""

from __future__ import annotations

from typing import NamedTuple

from tests.order import ordered


class Item(NamedTuple):
    file: str
    seconds: float
    lab: str = ""


def order(*items: Item) -> list[Item]:
    return ordered(items, lambda item: item.seconds, lambda item: item.file, lambda item: item.lab)


def test_the_file_with_the_longest_test_comes_first_and_files_stay_together() -> None:
    a, b, c, d = Item("a", 1), Item("b", 3), Item("b", 0.5), Item("c", 2, "shared")
    assert order(a, c, b, d) == [b, c, d, a]


def test_tests_that_are_alone_come_last_with_others_that_take_as_long_between_them() -> None:
    alone = [Item("host", 2, "alone"), Item("host", 4, "alone")]
    shared = Item("guest", 9, "shared")
    short = [Item(f"short {number}", 1) for number in range(8)]
    long = Item("long", 20)
    found = order(*alone, *short, shared, long)
    assert found[:2] == [long, shared]
    assert [item.seconds for item in found[2:]] == [1, 1, 4, 1, 1, 1, 1, 2, 1, 1]
    assert sorted(found) == sorted([*alone, *short, shared, long])


def test_without_short_tests_those_that_are_alone_follow_each_other() -> None:
    alone = [Item("host", 2, "alone"), Item("host", 4, "alone")]
    assert order(*alone) == [alone[1], alone[0]]
