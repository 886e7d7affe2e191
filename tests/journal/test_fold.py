"""What events come to, in the journal and in an exported record; no change of them goes unnoticed."""

from __future__ import annotations

import io
from functools import reduce
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tcptutor.base.errors import JournalError
from tcptutor.course.page_record import PREDICT, PageRecord, Response
from tcptutor.grading.evidence.timeline import timeline
from tcptutor.journal import Journal, fold, store
from tcptutor.journal.chains import export_events, read_events
from tcptutor.journal.events import (
    START,
    Enrolled,
    Hinted,
    JournalEvent,
    PredictionMeasured,
    Reset,
    Responded,
    Restored,
    RunEnded,
    RunStarted,
    StoredEvent,
    Visited,
    Withdrawn,
    chain,
    decode,
    encode,
    link,
)
from tcptutor.journal.fold import JournalRecord, fold_events
from tests.examples import examples

from .conftest import predict
from .made import EVENTS, MODULES, STEPS, many, stored


@given(EVENTS)
def test_an_event_is_read_as_it_was_written(events: list[JournalEvent]) -> None:
    assert [decode(encode(event)) for event in events] == events


@given(EVENTS)
def test_the_record_says_what_the_events_say(events: list[JournalEvent]) -> None:
    events = [event for event in events if not isinstance(event, Reset | Restored)]
    record = reduce(fold.fold, events, JournalRecord())
    visits = [event for event in events if isinstance(event, Visited)]
    assert record.position == ((visits[-1].module, visits[-1].step) if visits else None)
    for module in MODULES:
        for step in STEPS:
            here = [event for event in events if of_page(event, module, step)]
            _check_page(record, module, step, here, events)


def of_page(event: JournalEvent, module: str, step: str) -> bool:
    """Whether it says that it belongs to that page."""
    return not isinstance(event, RunEnded) and (event.module, event.step) == (module, step)


def _check_page(
    record: JournalRecord, module: str, step: str, here: list[JournalEvent], events: list[JournalEvent]
) -> None:
    page = record.page(module, step)
    assert page.visited == any(isinstance(event, Visited) for event in here)
    for id in (PREDICT, "q"):
        responses: list[Response] = []
        run_begun = False
        for event in here:
            run_begun |= isinstance(event, RunStarted)
            if isinstance(event, Responded) and event.activity == id:
                responses.append(msgspec.structs.replace(event.response, at=event.at))
            elif isinstance(event, Withdrawn) and event.activity == id and not run_begun:
                responses.clear()
        hints = [event.level for event in here if isinstance(event, Hinted) and event.activity == id]
        right = [response for response in responses if response.correct]
        activity = page.activity(id)
        assert activity.attempts == len(responses)
        assert [activity.first, activity.latest] == (
            [responses[0], responses[-1]] if responses else [None] * 2
        )
        assert activity.right == (right[0] if right else None)
        assert activity.hints == max(hints, default=0)
    begun = [event.run for event in here if isinstance(event, RunStarted)]
    ends = {run: _end(events, run) for run in begun}
    assert page.runs == len(begun)
    assert page.whole_runs == sum(end is not None and end.complete for end in ends.values())
    seeds = [
        event.seed
        for event in here
        if isinstance(event, RunStarted) and (end := ends[event.run]) and end.complete
    ]
    assert page.last_seed == max(seeds, default=None)
    with_file = [run for run, end in ends.items() if end and end.file]
    assert [run for run in record.runs if run in begun] == [
        run for run in begun if ends[run] is None or run in with_file[-1:]
    ]


def _end(events: list[JournalEvent], run: str) -> RunEnded | None:
    """The first end of that run after it had begun."""
    began = next(n for n, event in enumerate(events) if isinstance(event, RunStarted) and event.run == run)
    return next((event for event in events[began:] if isinstance(event, RunEnded) and event.run == run), None)


@given(EVENTS)
def test_an_exported_record_comes_to_the_same(events: list[JournalEvent]) -> None:
    here = fold_events(stored(events))
    assert fold_events(read_events(export_events(stored(events)))) == here
    assert here.broken == 0


@given(EVENTS, st.data())
def test_any_byte_that_is_changed_in_an_exported_record_is_found(
    events: list[JournalEvent], data: st.DataObject
) -> None:
    whole = b"".join(export_events(stored(events)))
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[at]))
    changed = whole[:at] + bytes([byte]) + whole[at + 1 :]
    number = whole[:at].count(b"\n") + 1
    expected = f"event {number} is not" if number <= len(events) else "event"
    try:
        read = list(read_events(io.BytesIO(changed)))
    except JournalError as error:
        # A broken line may also be torn in two, or look like an end; what is named is where it begins.
        assert expected in str(error) or f"after event {number - 1}" in str(error)
    else:
        # Only a blank between two lines, or between the parts of the last: no event's byte.
        assert read == stored(events)


@given(EVENTS, st.data())
def test_an_event_changed_in_the_journal_is_named(events: list[JournalEvent], data: st.DataObject) -> None:
    assume(events)
    chained = stored(events)
    number = data.draw(st.integers(0, len(events) - 1))
    old = chained[number]
    at = data.draw(st.integers(0, len(old.data) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != old.data[at]))
    changed = old._replace(data=old.data[:at] + bytes([byte]) + old.data[at + 1 :])
    assert fold_events([*chained[:number], changed, *chained[number + 1 :]]).broken == number + 1


@given(EVENTS, st.data())
def test_an_event_that_is_left_out_moved_or_cut_off_is_found(
    events: list[JournalEvent], data: st.DataObject
) -> None:
    assume(len(events) > 1)
    lines = list(export_events(stored(events)))
    number = data.draw(st.integers(0, len(events) - 2))
    swapped = [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]
    for told, broken in [
        (f"event {number + 1} is not", [*lines[:number], *lines[number + 1 :]]),
        (f"event {number + 1} is not", swapped),
        (f"cut off after event {number}", lines[:number]),
        (f"ends after event {number}, but claims {len(events)} events", [*lines[:number], lines[-1]]),
        (f"continues after its end, event {len(events)}", [*lines, lines[number]]),
    ]:
        with pytest.raises(JournalError, match=told):
            list(read_events(broken))


@settings(max_examples=examples(15))
@given(st.lists(st.booleans(), max_size=20))
@example([True, False] * 8)
def test_two_programs_make_one_chain_and_see_each_other(
    tmp_path_factory: pytest.TempPathFactory, turns: list[bool]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.db"
    one, two = Journal.open(path), Journal.open(path)
    for number, turn in enumerate(turns):
        (one if turn else two).respond("m", "s", "q", Response((f"{number}",), False))
        assert one.page("m", "s") == two.page("m", "s")
        assert one.page("m", "s").activity("q").attempts == number + 1
    whole = fold_events(read_events(export_events(one.events())))
    assert (whole.serial, whole.record) == (len(turns), two.record)
    one.close()
    two.close()
    again = Journal.open(path)
    assert again.record == whole.record
    again.close()


def test_an_event_of_a_newer_kind_is_kept_and_skipped(path: Path) -> None:
    journal = Journal.open(path)
    journal.visit("m", "s")
    before = journal.record
    data = b'{"kind":"noted","at":"2027-01-01T00:00:00+00:00","text":"\xc3\xa9"}'
    (last,) = journal.events()
    store.add_events(journal._connection, [StoredEvent(2, data, link(last.hash, data))])
    assert journal.record == before
    journal.hint("m", "s", "q", 1)
    journal.close()
    again = Journal.open(path)
    assert [event.data for event in again.events()][1] == data
    assert [event.serial for event in read_events(export_events(again.events()))] == [1, 2, 3]
    assert (again.notice, again.page("m", "s").activity("q").hints) == ("", 1)
    again.close()


def test_an_event_has_the_hash_that_its_description_says() -> None:
    first, second = stored([Visited("t", "m", "s"), Visited("u", "m", "s")])
    assert first.data == b'{"kind":"visited","at":"t","module":"m","step":"s"}'
    assert (first.hash, second.hash) == (link(START, first.data), link(first.hash, second.data))
    # echo -n with 32 zero bytes before it, through sha256sum.
    assert first.hash.hex() == "cb62499ebd21a138ff9bb6bcd65ef8720769a235b6328caf3a377dd178e9f98c"


def test_the_fold_grows_with_the_pages_and_not_with_the_events() -> None:
    few, more = (len(msgspec.json.encode(fold_events(many(number)))) for number in (2_000, 10_000))
    assert more < few * 1.05
    assert [b.serial - a.serial for a, b in pairwise(many(10))] == [1] * 9


def test_predictions_are_compared_with_what_the_first_run_after_them_measured(journal: Journal) -> None:
    for step, value in {"a": 9e6, "b": 20e6, "c": 5e6}.items():
        assert journal.calibration() is None
        predict(journal, f"{value}", value, step=step)
        journal.record_measurement("m", step, PREDICT, 10e6)
        journal.record_measurement("m", step, PREDICT, 99e6)
    predict(journal, "", None, step="d")
    found = journal.calibration()
    assert found is not None
    assert (found.predictions, found.factor) == (3, 2)


def test_sure_answers_are_counted_by_the_first_try(journal: Journal) -> None:
    for number, right in enumerate((True, False, True)):
        assert journal.sureness_counts() == {}
        journal.respond("m", "a", f"q{number}", Response(("0",), right, sureness="sure"))
        journal.respond("m", "a", f"q{number}", Response(("0",), True, sureness="guessing"))
    journal.respond("m", "a", "q9", Response(("0",), False))
    journal.respond("m", "b", PREDICT, Response("11 Mbit/s", None, value=11e6, sureness="fairly"))
    journal.record_measurement("m", "b", PREDICT, 10e6)
    assert journal.sureness_counts() == {"sure": (2, 3), "fairly": (1, 1)}
    error = journal.page("m", "a").activity("q1").sure_error
    assert error is not None
    assert (error.answer, error.correct) == (("0",), False)


def test_another_enrolment_begins_the_seeds_anew_and_the_same_once_more_does_not() -> None:
    def events(*students: str) -> list[JournalEvent]:
        return [
            each
            for number, student in enumerate(students, 7)
            for each in (
                Enrolled("", student, "c"),
                RunStarted("", "m", "s", f"r{number}", "m/e", "", seed=number),
                RunEnded("", f"r{number}", complete=True, note="", file=""),
            )
        ]

    assert reduce(fold.fold, events("a", "a"), JournalRecord()).page("m", "s").last_seed == 8
    once_more = [*events("a", "a"), Enrolled("", "b", "c")]
    page = reduce(fold.fold, once_more, JournalRecord()).page("m", "s")
    assert (page.last_seed, page.whole_runs) == (None, 2)


def test_seeds_go_round() -> None:
    page = PageRecord().with_run(True, 2**32 - 1).with_run(True, 0)
    assert page.last_seed == 0
    assert page.with_run(True, 2**32 - 1).last_seed == 0, "it was repeated"


def test_what_was_locked_can_be_taken_back_until_a_run_has_begun() -> None:
    def prediction(text: str) -> Responded:
        return Responded("", "m", "s", PREDICT, Response(text, None, value=1.0))

    back = Withdrawn("", "m", "s", PREDICT)
    begun = RunStarted("", "m", "s", "r", "m/e", "")
    asked = [prediction("10000"), Hinted("", "m", "s", PREDICT, 2), back]
    page = reduce(fold.fold, asked, JournalRecord()).page("m", "s").activity(PREDICT)
    assert (page.first, page.attempts, page.hints) == (None, 0, 2)
    again = reduce(fold.fold, [*asked, prediction("10"), begun, back], JournalRecord()).page("m", "s")
    assert again.activity(PREDICT).first.answer == "10"  # type: ignore[union-attr]


def test_a_timeline_has_what_was_locked_last_before_the_run() -> None:
    def prediction(text: str) -> Responded:
        return Responded("", "m", "s", PREDICT, Response(text, None, value=1.0))

    back = Withdrawn("", "m", "s", PREDICT)
    begun = RunStarted("", "m", "s", "r", "m/e", "")
    line = timeline(chain([prediction("10000"), back, prediction("10"), begun, back]))
    assert [each.response.answer for each in line.page("m", "s").responses_to(PREDICT)] == ["10"]


def test_a_days_work_leaves_out_pauses_and_other_days() -> None:
    record = JournalRecord()
    for at, step in (
        ("2026-01-01T23:00:00+00:00", "a"),
        ("2026-01-03T10:00:00+00:00", "a"),
        ("2026-01-03T10:06:00+00:00", "b"),
        ("2026-01-03T12:00:00+00:00", "b"),
        ("2026-01-03T12:03:00+00:00", "c"),
        ("2026-01-01T00:00:00+00:00", "d"),
        ("0001-01-01T00:00:00+00:00", "d"),
    ):
        record = fold.fold(record, Visited(at, "m", step))
    assert record.today.minutes == 9
    later = fold.fold(record, Visited("2026-01-05T08:00:00+00:00", "m", "c"))
    later = fold.fold(later, Visited("2026-01-05T08:02:00+00:00", "m", "d"))
    assert (later.today.minutes, later.seconds) == (2, 11 * 60)
    assert {step for _, step in record.today.pages} == {"a", "b", "c"}


def test_a_prediction_within_ten_percent_counts_as_close_on_its_day() -> None:
    record, at = JournalRecord(), "2026-01-03T10:00:00+00:00"
    for step, value in (("a", 9e6), ("b", 8e6)):
        record = fold.fold(record, Responded(at, "m", step, PREDICT, Response("x", None, value=value)))
        for _ in range(2):
            record = fold.fold(record, PredictionMeasured(at, "m", step, PREDICT, 10e6))
    assert (record.today.predictions, record.today.close) == (2, 1)
