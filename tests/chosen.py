"""Choices by their places in a lesson file, from 0: easier to read in a test than their ids."""

from __future__ import annotations

from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given


def chosen(activity: Activity, *places: int) -> tuple[str, ...]:
    """The response that chooses the entries at these places."""
    return tuple(activity.entry_ids[place] for place in places)


def places(activity: Activity, given: Given) -> tuple[int, ...]:
    """Where the entries of a response are."""
    return activity.entry_indexes(given, "a choice")
