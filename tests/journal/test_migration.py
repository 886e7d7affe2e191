"""Journals of versions before this one tell what they told, and are kept as they were beside what they become."""

from __future__ import annotations

import contextlib
import errno
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base.errors import JournalError
from tcptutor.base.printable import escaped
from tcptutor.course.page_record import PREDICT, Response
from tcptutor.journal import Journal, fold, schema, store
from tcptutor.journal.events import (
    Hinted,
    JournalEvent,
    Responded,
    RunBegun,
    RunEnded,
    Visited,
    decode,
    export_events,
    read_events,
)
from tcptutor.journal.fold import JournalFold, fold_events

from .conftest import happened, latest_run

FILES = Path(__file__).parent / "files"


@pytest.fixture
def old(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A journal as commit bcc46b6 wrote it, with its run files, and all that this commit told of it.

    Four pages; a prediction of a number, of none and of zero; answers by choice, choices, number and text; hints; a run
    that was cut short, one that nothing came of, two whole ones and one whose program was killed; a page seen again.
    """
    shutil.copytree(FILES / "version-1", tmp_path / "state")
    told = json.loads((tmp_path / "state" / "told.json").read_text(encoding="utf-8"))
    return tmp_path / "state" / "journal.db", told


PAGES = [
    ("parallel-streams", "why"),
    ("parallel-streams", "one-lossy-flow"),
    ("window", "limited"),
    ("window", "buffers"),
]


def test_every_answer_prediction_and_hint_is_there_with_its_time(old: tuple[Path, dict[str, Any]]) -> None:
    path, told = old
    journal = Journal.open(path)
    assert journal.notice == ""
    events = happened(journal)
    for module, step in PAGES:
        page, before = journal.page(module, step), told[f"{module}/{step}"]
        locked = page.activity(PREDICT).first
        assert (locked and [locked.given, locked.value, locked.at]) == before["prediction"]
        answers = [
            [event.activity, _as_json(event.response), event.response.correct, event.at]
            for event in events
            if isinstance(event, Responded) and (event.module, event.step) == (module, step)
            if event.activity != PREDICT
        ]
        assert answers == before["answers"]
        assert {id: each.hints for id, each in page.activities.items() if each.hints} == before["hints"]
    hints = [event for event in events if isinstance(event, Hinted)]
    assert [[*_page(each), each.activity, each.level, each.at] for each in hints] == told["hints"]
    assert len(list(read_events(export_events(journal.events())))) == len(events)
    journal.close()


def test_the_student_goes_on_where_the_position_was(old: tuple[Path, dict[str, Any]]) -> None:
    path, told = old
    journal = Journal.open(path)
    assert journal.position() == tuple(told["position"])
    *visits, again = [[*_page(each), each.at] for each in happened(journal) if isinstance(each, Visited)]
    assert visits == told["visits"]
    assert again in visits, "seen again, at a time that was not written down"
    journal.close()


def test_every_run_is_there_and_one_whose_program_was_killed_is_ended(
    old: tuple[Path, dict[str, Any]],
) -> None:
    path, told = old
    journal = Journal.open(path)
    events = happened(journal)
    ends = {event.run: event for event in events if isinstance(event, RunEnded)}
    begun = [event for event in events if isinstance(event, RunBegun)]
    for event, run in zip(begun, told["runs"], strict=True):
        id, module, step, experiment, started, finished, complete, note, file = run
        assert (event.run, *_page(event), event.experiment, event.at) == (
            id,
            module,
            step,
            experiment,
            started,
        )
        end = ends[id]
        if finished:
            assert (end.at, end.complete, end.note, end.file) == (finished, bool(complete), note, file)
        else:
            assert (end.complete, end.note) == (False, "tcptutor ended during it")
    for module, step in PAGES:
        run = latest_run(journal, module, step)
        before = told[f"{module}/{step}"]["latest_run"]
        # The killed run had no file yet; now it has, as when the version before was started again.
        assert (run and run.id) == (before or {("window", "limited"): "20261122-killed"}.get((module, step)))
    assert (journal.page(*PAGES[1]).runs, journal.page(*PAGES[1]).whole_runs) == (3, 1)
    journal.close()


def test_the_events_are_in_the_order_of_their_times(old: tuple[Path, dict[str, Any]]) -> None:
    path, _ = old
    connection, _notice = store.open_store(path)
    *events, last = [decode(stored.data) for stored in store.events_after(connection, 0)]
    connection.close()
    times = [event.at for event in events if event is not None]
    # A run's start was written in whole seconds, cut off: it stands after what was done before it in that second.
    assert [at[:19] for at in times] == sorted(at[:19] for at in times)
    predicted = next(event for event in events if isinstance(event, Responded))
    began = next(event for event in events if isinstance(event, RunBegun))
    assert events.index(predicted) < events.index(began)
    assert isinstance(last, Visited)


def test_the_old_journal_is_kept_beside_the_new_one(old: tuple[Path, dict[str, Any]]) -> None:
    path, told = old
    before = _tables(path)
    Journal.open(path).close()
    (copy,) = path.parent.glob("journal.version-1-*")
    assert copy.suffix == ".db"
    assert _tables(copy) == before
    assert len(before["answers"]) == sum(len(told["/".join(page)]["answers"]) for page in PAGES)
    Journal.open(path).close()
    assert len(list(path.parent.glob("journal*.db"))) == 2, "and once only"


def test_a_new_journal_has_no_copy(path: Path) -> None:
    Journal.open(path).close()
    assert [file.name for file in path.parent.glob("journal*")] == ["journal.db"]


@pytest.mark.parametrize("fails", ["chain", "copy"])
def test_a_journal_that_cannot_be_brought_up_stays_as_it_was(
    old: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    path, _ = old
    before = _tables(path)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    def full_of_files(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        if fails == "chain":
            patched.setattr(schema, "chain", full)
        else:
            patched.setattr(Path, "replace", full_of_files)
        with pytest.raises(JournalError, match="free some space"):
            Journal.open(path)
    assert _tables(path) == before
    assert not list(path.parent.glob("*.part"))
    journal = Journal.open(path)
    assert journal.page(*PAGES[1]).activity("limit").right is not None
    journal.close()


# Rows of version 1 as they may be: times in any zone, clocks that were set back, ends that are missing.
_AT = st.builds(
    "2026-01-01T{:02}:00:0{}.{:03}+0{}:00".format, st.integers(0, 23), *[st.integers(0, 9)] * 2, st.integers(0, 9)
)  # fmt: skip
_STARTED = st.builds("2026-01-01T{:02}:00:0{}+00:00".format, st.integers(0, 23), st.integers(0, 9))
_PAGE = st.tuples(st.sampled_from("mn"), st.sampled_from("ab"))
_ANSWER = st.lists(st.integers(0, 9), max_size=3) | st.text(st.characters(codec="utf-8"), max_size=5).map(
    escaped
)
_ROWS = st.fixed_dictionaries(
    {
        "visits": st.dictionaries(_PAGE, _AT, max_size=4),
        "order": st.randoms(use_true_random=False),
        "predictions": st.dictionaries(_PAGE, st.tuples(_AT, st.text("7x", max_size=3), st.none() | st.floats(0, 9))),
        "answers": st.lists(st.tuples(_PAGE, st.sampled_from("qr"), _AT, _ANSWER, st.booleans()), max_size=8),
        "hints": st.dictionaries(st.tuples(_PAGE, st.sampled_from("qr"), st.integers(1, 2)), _AT, max_size=4),
        "runs": st.lists(st.tuples(_PAGE, _STARTED, st.none() | _AT, st.booleans()), max_size=4),
    }
)  # fmt: skip


@given(_ROWS)
def test_whatever_version_1_held_is_kept(rows: dict[str, Any]) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    serials = list(range(1, len(rows["visits"]) + 1))
    rows["order"].shuffle(serials)
    _fill(connection, rows, serials)
    schema.migrate(connection, lambda _version: None)
    events: list[JournalEvent] = []
    for stored in store.events_after(connection, 0):
        event = decode(stored.data)
        assert event is not None
        events.append(event)
    whole = fold_events(store.events_after(connection, 0))
    connection.close()

    assert whole.broken == 0
    answers = [event for event in events if isinstance(event, Responded) and event.activity != PREDICT]
    assert [(_page(e), e.activity, e.at, _as_json(e.response), e.response.correct) for e in answers] == rows[
        "answers"
    ]
    predictions = [event for event in events if isinstance(event, Responded) and event.activity == PREDICT]
    assert {_page(e): (e.at, e.response.given, e.response.value) for e in predictions} == rows["predictions"]
    hints = {(_page(e), e.activity, e.level): e.at for e in events if isinstance(e, Hinted)}
    assert hints == rows["hints"]
    visits = [event for event in events if isinstance(event, Visited)]
    assert {_page(event): event.at for event in visits} == rows["visits"]
    by_serial = dict(zip(serials, rows["visits"], strict=True))
    assert whole.record.position == (by_serial[max(serials)] if serials else None)
    begun = [event for event in events if isinstance(event, RunBegun)]
    assert [(e.run, _page(e), e.at) for e in begun] == [
        (str(n), run[0], run[1]) for n, run in enumerate(rows["runs"])
    ]
    ends = {event.run: event for event in events if isinstance(event, RunEnded)}
    for number, (page, _, finished, complete) in enumerate(rows["runs"]):
        end = ends.get(str(number))
        assert (end and (end.at, end.complete, end.file)) == (
            finished and (finished, complete, f"{number}.tcprun")
        )
        if end:
            assert events.index(end) > events.index(begun[number])
        assert whole.record.page(*page).whole_runs == sum(
            bool(each[2]) and each[3] for each in rows["runs"] if each[0] == page
        )


def _fill(connection: sqlite3.Connection, rows: dict[str, Any], serials: list[int]) -> None:
    for statement in schema.MIGRATIONS[0]:
        assert isinstance(statement, str)
        connection.execute(statement)
    connection.execute("PRAGMA user_version = 1")
    for serial, ((module, step), at) in zip(serials, rows["visits"].items(), strict=True):
        connection.execute("INSERT INTO visits VALUES (?, ?, ?, ?)", (module, step, at, serial))
    for (module, step), values in rows["predictions"].items():
        connection.execute("INSERT INTO predictions VALUES (?, ?, ?, ?, ?)", (module, step, *values))
    for page, question, at, answer, correct in rows["answers"]:
        connection.execute(
            "INSERT INTO answers (module, step, question, at, answer, correct) VALUES (?, ?, ?, ?, ?, ?)",
            (*page, question, at, json.dumps(answer), int(correct)),
        )
    for (page, target, level), at in rows["hints"].items():
        connection.execute("INSERT INTO hints VALUES (?, ?, ?, ?, ?)", (*page, target, level, at))
    for number, (page, started, finished, complete) in enumerate(rows["runs"]):
        connection.execute(
            "INSERT INTO runs VALUES (?, ?, ?, 'm/e', ?, ?, ?, '', ?)",
            (str(number), *page, started, finished, int(complete), f"/home/student/runs/{number}.tcprun"),
        )


def test_a_fold_that_this_version_kept_is_what_it_makes_of_the_events() -> None:
    """Fails where `fold` comes to something else and fold.VERSION was not raised: kept folds would go on being used.

    Where it was raised, the file is to be made again: the journal of version 1 above, opened, given a response with
    drawn numbers and a prediction that a run answered, and closed.
    """
    with contextlib.closing(
        sqlite3.connect(f"file:{FILES / 'version-2.db'}?immutable=1", uri=True)
    ) as connection:
        assert connection.execute("SELECT version FROM folded").fetchone() == (fold.VERSION,)
        kept = store.load_fold(connection)
        assert kept != JournalFold()
        assert kept == fold_events(store.events_after(connection, 0))


def _tables(path: Path) -> dict[str, list[Any]]:
    """Every row of every table, and the version."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        rows = {name: connection.execute(f"SELECT rowid, * FROM {name}").fetchall() for name in names}
        return rows | {"version": connection.execute("PRAGMA user_version").fetchall()}


def _page(event: Visited | Hinted | Responded | RunBegun) -> tuple[str, str]:
    return event.module, event.step


def _as_json(response: Response) -> object:
    return list(response.given) if isinstance(response.given, tuple) else response.given
