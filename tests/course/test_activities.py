"""What holds for every kind of activity, and for every one of the course."""

from __future__ import annotations

import pytest

from tcptutor.course import Activity, MarkContext, load
from tcptutor.course.activities import front_matter
from tcptutor.course.activity import NO_RUN, Place
from tcptutor.course.record import ActivityRecord, PageRecord, Response
from tcptutor.errors import UsageError

from .conftest import whole_run

SHIPPED = [activity for module in load().modules for step in module.steps for activity in step.activities]
EVERY = SHIPPED
RUN = MarkContext(run=whole_run())


def named(activity: Activity) -> str:
    return f"{activity.table}-{activity.id}"


@pytest.mark.parametrize("activity", EVERY, ids=named)
def test_it_takes_its_own_right_response_and_not_its_empty_one(activity: Activity) -> None:
    reference = activity.reference(RUN)
    assert reference.right is not None
    wanted = {Place.BEFORE_RUN: None}.get(activity.place, True)
    assert activity.mark(reference.right, RUN).correct == wanted
    if activity.place is Place.RUN:
        assert not activity.mark(reference.empty, NO_RUN).correct
    elif activity.place is Place.AFTER_RUN:
        with pytest.raises(UsageError):
            activity.mark(reference.empty, RUN)


@pytest.mark.parametrize("activity", EVERY, ids=named)
def test_it_is_done_when_it_was_done(activity: Activity) -> None:
    assert not activity.is_done(PageRecord(visited=True))
    mark = activity.mark(activity.reference(RUN).right or (), RUN)
    record = ActivityRecord().responded(Response((), mark.correct))
    assert activity.is_done(PageRecord(visited=True, runs=1, whole_runs=1, activities={activity.id: record}))


@pytest.mark.parametrize("activity", EVERY, ids=named)
def test_a_response_of_the_wrong_kind_is_no_attempt(activity: Activity) -> None:
    if activity.place is not Place.RUN:
        wrong = (0,) if isinstance(activity.reference(RUN).right, str) else "1 Mbit/s"
        with pytest.raises(UsageError):
            activity.mark(wrong, RUN)


def test_a_run_counts_when_it_is_whole_only() -> None:
    run = next(activity for activity in SHIPPED if activity.place is Place.RUN)
    assert not run.is_done(PageRecord(visited=True, runs=2))


def test_a_page_asks_before_the_run_runs_and_asks_after_it() -> None:
    assert [name for name, *_ in front_matter()][:3] == ["predict", "experiment", "question"]
    for module in load().modules:
        for step in module.steps:
            places = [activity.place for activity in step.activities]
            assert places == sorted(places)
