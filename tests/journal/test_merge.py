"""Two journals of one student become one, and it does not matter who imported from whom, when or how often."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcptutor.base.errors import JournalError, UsageError
from tcptutor.course.page_record import PREDICT, Response
from tcptutor.journal import Journal, store
from tcptutor.journal.chains import JournalChains, export_events, read_events
from tcptutor.journal.events import (
    JournalEvent,
    Noted,
    PredictionMeasured,
    Reset,
    Responded,
    RunEnded,
    RunStarted,
    StoredEvent,
    Visited,
    Withdrawn,
    chain,
    decode_carried,
    is_import,
)
from tcptutor.journal.fold import JournalFold, fold_events
from tcptutor.journal.merging import rows_to_add
from tcptutor.journal.order import is_merged, student_events
from tests.examples import examples

from .conftest import a_run, begin, finish
from .made import EVENTS

AT = "2026-01-01T00:00:{:02}.000+00:00"


class Machine:
    """A journal as rows, folded as they come."""

    def __init__(self, rows: list[StoredEvent] | None = None) -> None:
        self.rows = list(rows or ())
        self.fold = fold_events(self.rows)

    def write(self, *events: JournalEvent) -> Machine:
        self._add(list(chain(events, self.fold.serial, self.fold.hash)))
        return self

    def take(self, other: Machine, at: str = AT.format(30)) -> int:
        """Import all that the other one exports; give how many rows that added."""
        there = list(read_events(export_events(other.rows)))
        added = rows_to_add(self.rows, there, self.fold, at)
        self._add(added)
        return len(added)

    def _add(self, rows: list[StoredEvent]) -> None:
        self.rows += rows
        self.fold = fold_events(self.rows) if is_merged(rows) else fold_events(rows, self.fold)

    @property
    def work(self) -> set[bytes]:
        """Hashes of all events of the student."""
        chains = JournalChains()
        found = (chains.take(row) for row in self.rows)
        return {each.hash for each in found if each and not is_import(each.data)}


def in_step(*machines: Machine) -> None:
    """Each imports from the others until none has news."""
    for _ in range(len(machines)):
        for one, other in permutations(machines, 2):
            one.take(other)


def check_equal(*machines: Machine) -> None:
    first = machines[0]
    for each in machines:
        assert each.work == first.work
        assert each.fold.record == first.fold.record
        assert each.fold.first == first.fold.first
        assert each.fold.broken == 0
        assert each.fold == fold_events(each.rows), "folded as they came, and all at once"
        assert [(e.serial, e.hash) for e in student_events(each.rows).events] == [
            (e.serial, e.hash) for e in student_events(first.rows).events
        ]


MACHINES = 3
_machine = st.integers(0, MACHINES - 1)
SESSIONS = st.lists(st.tuples(_machine, EVENTS) | st.tuples(_machine, _machine), max_size=8)
"""What happens on the machines: one writes events, or imports from another."""


@settings(max_examples=examples(60))
@given(EVENTS, SESSIONS)
def test_all_machines_come_to_the_same(
    before: list[JournalEvent], sessions: list[tuple[int, list[JournalEvent] | int]]
) -> None:
    copied = list(chain(before))  # two of the journals begin as copies of one
    machines = [Machine(copied), Machine(copied), Machine()]
    written: set[bytes] = set().union(*(each.work for each in machines))
    for number, what in sessions:
        if isinstance(what, int):
            machines[number].take(machines[what])
        else:
            machines[number].write(*what)
        assert machines[number].fold == fold_events(machines[number].rows)
        written |= machines[number].work
    in_step(*machines)
    check_equal(*machines)
    assert machines[0].work == written, "none is lost"
    assert [one.take(other) for one, other in permutations(machines, 2)] == [0] * 6, "nothing is new any more"


@settings(max_examples=examples(30))
@given(st.tuples(EVENTS, EVENTS, EVENTS))
def test_the_order_of_imports_does_not_matter(journals: tuple[list[JournalEvent], ...]) -> None:
    def merged(order: tuple[int, ...]) -> JournalFold:
        found = Machine()
        for number in order:
            found.take(Machine().write(*journals[number]))
        return found.fold

    records = [merged(order) for order in permutations(range(3))]
    assert all((each.record, each.first) == (records[0].record, records[0].first) for each in records)


@given(EVENTS, EVENTS)
def test_each_machine_s_events_keep_their_order_whatever_its_clock_says(
    one: list[JournalEvent], other: list[JournalEvent]
) -> None:
    a, b = Machine().write(*one), Machine().write(*other)
    own = {id(machine): [row.hash for row in machine.rows] for machine in (a, b)}
    a.take(b)
    found = [each.hash for each in student_events(a.rows).events]
    for machine in (a, b):
        kept = [hash for hash in own[id(machine)] if hash in found]
        assert [hash for hash in found if hash in set(kept)] == kept


@settings(max_examples=examples(60))
@given(EVENTS, EVENTS, st.data())
def test_any_byte_that_is_changed_in_a_merged_record_is_found(
    one: list[JournalEvent], other: list[JournalEvent], data: st.DataObject
) -> None:
    a, b = Machine().write(*one), Machine().write(*other)
    a.take(b)
    a.write(Visited(AT.format(59), "m", "a"))
    whole = b"".join(export_events(a.rows))
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[at]))
    changed = whole[:at] + bytes([byte]) + whole[at + 1 :]
    try:
        read = list(read_events(changed.splitlines(keepends=True)))
    except JournalError:
        return
    assert read == a.rows


def test_a_carried_event_that_is_left_out_is_found() -> None:
    a = Machine().write(Visited(AT.format(1), "m", "a"))
    a.take(Machine().write(Visited(AT.format(2), "n", "a"), Visited(AT.format(3), "n", "b")))
    whole, carried = [*a.rows], [row.serial for row in a.rows if decode_carried(row.data)]
    assert carried == [2, 3]
    for serial in carried:
        left = [row for row in whole if row.serial != serial]
        again = [row._replace(serial=number) for number, row in enumerate(left, 1)]
        assert fold_events(again).broken, f"without row {serial}"
        with pytest.raises(JournalError):
            list(read_events(export_events(again)))


def test_to_and_fro_for_weeks_adds_one_row_for_each_import() -> None:
    a, b = Machine(), Machine()
    for day in range(1, 29):
        for number, machine in enumerate((a, b)):
            machine.write(Visited(f"2026-01-{day:02}T1{number}:00:00+00:00", "m", f"p{day}"))
            (b if number == 0 else a).take(machine, f"2026-01-{day:02}T1{number}:30:00+00:00")
    check_equal(a, b)
    assert len(a.rows) < 56 + 3 * 28


def responded(at: int, answer: str, activity: str = PREDICT) -> Responded:
    return Responded(AT.format(at), "m", "s", activity, Response(answer, None, value=float(answer)))


def test_a_prediction_that_is_withdrawn_on_one_machine_stays_on_the_other() -> None:
    a = Machine().write(responded(2, "7"), RunStarted(AT.format(9), "m", "s", "r", "m/e", ""))
    b = Machine().write(responded(1, "9"), Withdrawn(AT.format(5), "m", "s", PREDICT), responded(6, "8"))
    in_step(a, b)
    check_equal(a, b)
    found = a.fold.record.page("m", "s").activity(PREDICT)
    assert (found.attempts, found.first and found.first.answer) == (2, "7")


def test_the_complete_end_of_a_run_counts_if_a_copy_of_the_journal_ended_it_as_well() -> None:
    copied = list(chain([RunStarted(AT.format(1), "m", "s", "r", "m/e", "r.tcprun")]))
    a, b = Machine(copied), Machine(copied)
    b.write(RunEnded(AT.format(2), "r", False, "it was killed", ""))
    a.write(RunEnded(AT.format(3), "r", True, "", "r.tcprun"))
    in_step(a, b)
    check_equal(a, b)
    assert a.fold.record.page("m", "s").whole_runs == 1


def test_notes_on_a_page_from_both_machines_stay_until_they_are_written_anew() -> None:
    def note(at: int, text: str) -> Noted:
        return Noted(AT.format(at), "m", "s", text)

    a = Machine().write(note(1, "draft"), note(3, "mine, in\ntwo lines"))
    b = Machine().write(note(2, "yours"))
    in_step(a, b)
    check_equal(a, b)
    assert a.fold.record.page("m", "s").note == "yours\n\nmine, in\ntwo lines"
    b.write(note(4, "ours"))
    in_step(a, b)
    check_equal(a, b)
    assert a.fold.record.page("m", "s").note == "ours"


def test_a_reset_takes_the_earlier_work_of_both_machines_aside() -> None:
    a, b = Machine().write(responded(1, "1", "q")), Machine().write(responded(2, "2", "q"))
    a.write(Reset(AT.format(3), "m", "s"), responded(4, "3", "q"))
    b.write(PredictionMeasured(AT.format(5), "m", "s", PREDICT, 1.0))
    in_step(a, b)
    page = a.fold.record.page("m", "s")
    assert (page.activity("q").attempts, page.all_attempts("q")) == (1, 3)
    assert b.fold.record == a.fold.record


# In files


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Journal, Journal]]:
    one, other = (Journal.open(tmp_path / name / "journal.db") for name in "ab")
    yield one, other
    one.close()
    other.close()


def test_the_numbers_of_a_student_outside_a_course_are_those_of_the_first_journal(
    two: tuple[Journal, Journal],
) -> None:
    one, other = two
    one.visit("m", "a")
    first = one.identity
    time.sleep(0.002)  # times have milliseconds, and equal ones are ordered by hash
    other.visit("m", "b")
    assert other.identity != first
    assert other.merge(list(one.events())) == 1
    assert one.merge(list(other.events())) == 1
    assert one.identity == other.identity == first
    one.close()
    again = Journal.open(one._path)
    assert (again.identity, again.record) == (first, other.record)
    again.close()


def test_work_goes_on_after_an_import_and_another_program_sees_it(two: tuple[Journal, Journal]) -> None:
    one, other = two
    app = Journal.open(one._path)
    app.visit("m", "a")
    other.respond("m", "b", "q", Response(("0",), True))
    assert one.merge(list(other.events())) == 1
    assert app.page("m", "b").activity("q").attempts == 1
    app.respond("m", "b", "q", Response(("1",), True))
    assert one.page("m", "b").activity("q").attempts == 2
    assert one.merge(list(other.events())) == 0
    app.close()
    again = Journal.open(one._path)
    assert (again.notice, again.record) == ("", one.record)
    again.close()


def test_runs_are_found_on_both_machines(two: tuple[Journal, Journal]) -> None:
    one, other = two
    for journal, id in ((one, "r1"), (other, "r2"), (other, "r3")):
        begin(journal, run := a_run(id))
        run.complete = True
        finish(journal, run)
    other.begin_run(a_run("r4"), "m", "s", changed_from="r3")
    other.finish_run(a_run("r4"), other.runs.file("r4"))
    one.merge(list(other.events()))
    assert {Path(file).stem for file in one.run_files("m", "s")} == {"r1", "r2", "r3"}
    assert one.pages_of_runs() == dict.fromkeys(("r1", "r2", "r3", "r4"), ("m", "s"))
    assert [[Path(each).stem for each in pair] for pair in one.what_ifs("m", "s")] == [["r4", "r3"]]


def test_a_run_in_progress_elsewhere_is_not_ended_here(two: tuple[Journal, Journal]) -> None:
    one, other = two
    other.begin_run(a_run("r9"), "m", "s")
    one.merge(list(other.events()))
    one.close()
    again = Journal.open(one._path)
    assert not again.record.runs["r9"].ended
    other.finish_run(run := a_run("r9"), None)
    again.merge(list(other.events()))
    assert run.id not in again.record.runs
    again.close()


def test_a_damaged_carried_row_costs_itself(two: tuple[Journal, Journal]) -> None:
    one, other = two
    one.visit("m", "a")
    for step in "bcd":
        other.visit("m", step)
    one.merge(list(other.events()))
    one.visit("m", "e")
    with store.transaction(one._connection):
        (data,) = one._connection.execute("SELECT data FROM events WHERE serial = 3").fetchone()
        damaged = data.replace(b'"event"', b'"evemt"')
        one._connection.execute("UPDATE events SET data = ? WHERE serial = 3", (damaged,))
    one.close()
    again = Journal.open(one._path)
    assert "event 3 of the journal" in again.notice
    assert {step for step, page in again.record.pages["m"].items() if page.visited} == {"a", "b", "d", "e"}
    again.visit("m", "f")
    assert again.merge(list(other.events())) == 0
    again.close()


def test_two_students_do_not_merge(two: tuple[Journal, Journal]) -> None:
    one, other = two
    one.enrol("ada", "course")
    other.enrol("bob", "course")
    before = list(one.events())
    with pytest.raises(UsageError, match=r"journal of bob in the course course, and yours is of ada"):
        one.merge(list(other.events()))
    assert list(one.events()) == before
    other.enrol("ada", "course")  # a corrected name
    assert one.merge(list(other.events())) == 2
    assert one.record.enrolment == other.record.enrolment


def test_a_write_that_fails_adds_no_event(
    two: tuple[Journal, Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.visit("m", "a")
    other.visit("m", "b")
    before = one.record, list(one.events())

    def fail(connection: object, events: list[StoredEvent]) -> None:
        add(connection, events[:1])  # type: ignore[arg-type]
        raise OSError(28, "No space left on device")

    add = store.add_events
    monkeypatch.setattr(store, "add_events", fail)
    with pytest.raises(JournalError):
        one.merge(list(other.events()))
    assert (one.record, list(one.events())) == before


def test_so_many_copies_of_a_journal_are_refused() -> None:
    found = Machine()
    with pytest.raises(JournalError, match="machines or copies"):
        for number in range(20):
            found.take(Machine().write(Visited(AT.format(number), "m", "a")))
