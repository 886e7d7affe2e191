"""Runs and what-ifs of a page, found among the events about runs, the latest event first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from tcptutor.journal.events import RunEnded, RunStarted, decode

RunEvent: TypeAlias = RunStarted | RunEnded
ModuleStep: TypeAlias = tuple[str, str]
"""Module and step of a page."""


def decoded(events: Iterable[bytes]) -> Iterator[RunEvent]:
    """Decode events about runs, skipping unreadable events."""
    return (event for event in map(decode, events) if isinstance(event, RunEvent))


def files(events: Iterable[RunEvent], page: ModuleStep, number: int) -> Iterator[str]:
    """Yield the files of the page's latest `number` runs, without what-ifs."""
    ended: dict[str, str] = {}
    for event in events:
        if isinstance(event, RunEnded):
            ended[event.run] = event.file
        elif _page(event) == page and not event.changed_from:
            if number == 0:  # the others are from before a reset
                return
            number -= 1
            if file := ended.get(event.run):
                yield file


def what_ifs(events: Iterable[RunEvent], page: ModuleStep, number: int) -> Iterator[tuple[str, str]]:
    """Yield the files of what-ifs and their base runs, limited to descendants of the latest `number` runs."""
    ended: dict[str, str] = {}
    begun: list[RunStarted] = []
    for event in events:
        if isinstance(event, RunEnded):
            if event.file:
                ended[event.run] = event.file
        elif _page(event) == page:
            begun.append(event)
    own = [event.run for event in begun if not event.changed_from]
    since_reset = set(own[:number])
    for event in reversed(begun):
        if event.changed_from in since_reset:
            since_reset.add(event.run)
    for event in begun:
        run, base = event.run, event.changed_from
        if run in since_reset and run in ended and base in ended:
            yield ended[run], ended[base]


def pages(events: Iterable[RunEvent]) -> dict[str, ModuleStep]:
    """Return module and step of every run that began on a page, by the run's id."""
    return {event.run: _page(event) for event in events if isinstance(event, RunStarted)}


def _page(event: RunStarted) -> ModuleStep:
    return event.module, event.step
