"""Files of the user's own that are damaged: used, mended or set aside, with one line, and everything else goes on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tcptutor.base.errors import JournalError
from tcptutor.base.printable import is_printable
from tcptutor.course.goals.goal import GoalBoard
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
from tcptutor.journal.events import Responded, decode
from tcptutor.journal.goals import GoalFile, open_pages
from tcptutor.journal.saved import Benches, SavedBench
from tcptutor.ui.start import open_journal
from tests.command import here

from .damage import CHANGED_EVENTS, DAMAGES, JOURNAL_DAMAGES, Damage

EVENTS = 30
CLIPBOARD = "\x1b]52;c;c3RvbGVu\x07"
"""Sets the clipboard of a terminal that is shown it."""


@pytest.fixture
def journal_file(without_state: Path) -> Path:
    """A small journal, closed, where commands and the app look for it."""
    path = without_state / "tcptutor" / "journal.db"
    journal = Journal.open(path)
    for number in range(EVENTS - 1):
        journal.respond("m", "s", "q" * 300, Response((f"{number}",), False))
    journal.visit("m", "s")
    journal.close()
    return path


def one_line(text: str) -> None:
    assert text
    assert is_printable(text)
    assert len(text) < 1000


@pytest.mark.parametrize("damage", JOURNAL_DAMAGES.values(), ids=JOURNAL_DAMAGES)
def test_a_damaged_journal_is_said_once_and_another_begun(journal_file: Path, damage: Damage) -> None:
    damage(journal_file)
    began = time.monotonic()
    first = open_journal()
    assert time.monotonic() - began < 5
    assert first.is_persistent, first.notice
    silent = damage in (JOURNAL_DAMAGES["ten bytes less"], JOURNAL_DAMAGES["a log of zeros"])
    if first.notice or not silent:
        one_line(first.notice)
    first.visit("m", "other")
    assert first.position() == ("m", "other")
    first.close()
    again = open_journal()
    assert again.is_persistent
    if "one before it is missing" not in again.notice:
        assert again.notice == ""
    assert again.position() == ("m", "other")
    again.close()


@pytest.mark.parametrize(
    "name",
    [
        "a view", "a trigger", "tables but no version", "a version that was never released",
        "a journal beside that is a folder",
    ],
)  # fmt: skip
def test_what_is_there_is_carried_over(journal_file: Path, name: str) -> None:
    JOURNAL_DAMAGES[name](journal_file)
    journal = open_journal()
    one_line(journal.notice)
    assert journal.position() == ("m", "s")
    assert len(list(journal.events())) == EVENTS
    journal.close()


def test_damaged_journals_do_not_take_each_others_place(journal_file: Path) -> None:
    for number in range(3):
        journal_file.write_bytes(b"damaged %d" % number * 1000)
        open_journal().close()
    asides = journal_file.parent.glob("journal.damaged-*.db")
    assert sorted(aside.read_bytes()[:9] for aside in asides) == [b"damaged 0", b"damaged 1", b"damaged 2"]


@pytest.mark.parametrize("damage", CHANGED_EVENTS.values(), ids=CHANGED_EVENTS)
def test_events_that_are_not_as_they_were_written_are_told_of(journal_file: Path, damage: Damage) -> None:
    damage(journal_file)
    began = time.monotonic()
    journal = open_journal()
    assert time.monotonic() - began < 5
    one_line(journal.notice)
    assert "what can be read is used" in journal.notice
    assert journal.position() == ("m", "s")
    journal.visit("m", "other")
    assert list(journal.run_files("m", "s")) == []
    journal.close()


@pytest.mark.parametrize("command", ["runs", "check tcp-basics/full-and-no-wait", "list"])
@pytest.mark.parametrize(
    "name", ["text", "a folder", "a pipe", "a loop", "no table of events", "flipped bits"]
)
def test_commands_survive_a_damaged_journal(journal_file: Path, name: str, command: str) -> None:
    JOURNAL_DAMAGES[name](journal_file)
    done = here(*command.split())
    lines = done.stderr.splitlines()
    if command == "list":
        assert (lines, done.returncode) == ([], 0)
    else:
        assert [line for line in lines if "the journal was damaged" in line], done.stderr
        assert done.returncode in (0, 1, 2)
    for line in lines:
        one_line(line)
    assert here(*command.split()).stderr.count("damaged") == 0


def bench(name: str = "mine") -> SavedBench:
    return SavedBench(name=name, experiment="parallel-streams/random-loss", settings={"loss": "1 %"}, seed=1)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_benches_are_set_aside_and_others_kept(tmp_path: Path, damage: Damage) -> None:
    benches = Benches(tmp_path)
    benches.save(bench())
    damage(tmp_path / "benches.json")
    with pytest.raises(JournalError) as caught:
        benches.all()
    one_line(str(caught.value))
    assert "it is kept as" in str(caught.value)
    assert benches.all() == ()
    damage_again = tmp_path / "benches.json"
    damage_again.write_bytes(b"{")
    benches.save(bench("another"))
    assert [each.name for each in benches.all()] == ["another"]
    assert len(list(tmp_path.glob("benches.damaged-*"))) == 2


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_board_of_goals_tells_nothing_until_it_is_written_anew(
    without_state: Path, damage: Damage
) -> None:
    board = GoalBoard(goals=())
    page, other = GoalFile("m", "s"), GoalFile("m", "other")
    page.write(board)
    other.write(board)
    file = without_state / "tcptutor" / "goals" / "m.s.json"
    damage(file)
    assert [each.step for each in open_pages()] == ["other"]
    here("check")
    page.close()
    other.close()


def test_a_lock_that_is_a_pipe_or_a_folder_is_not_waited_for(without_state: Path) -> None:
    folder = without_state / "tcptutor" / "goals"
    folder.mkdir(parents=True)
    for name, damage in (("pipe", DAMAGES["a pipe"]), ("folder", DAMAGES["a folder"])):
        (folder / f"m.{name}.json").write_text("{}")
        lock = folder / f"m.{name}.lock"
        lock.write_text("")
        damage(lock)
        began = time.monotonic()
        assert list(open_pages()) == []
        GoalFile("m", name).close()
        assert time.monotonic() - began < 2


def test_nothing_that_a_terminal_obeys_comes_out_of_state_files(without_state: Path) -> None:
    state = without_state / "tcptutor"
    journal = Journal.open(state / "journal.db")
    journal.respond("m", "s", "q", Response(f"5{CLIPBOARD}\u202e", None, draw={"window": "\x9b2J"}))
    journal.visit(f"m{CLIPBOARD}", f"s{CLIPBOARD}")
    (event, visit) = [decode(stored.data) for stored in journal.events()]
    assert isinstance(event, Responded)
    assert event.response.answer == r"5\x1b]52;c;c3RvbGVu\x07\u202e"
    assert event.response.draw == {"window": r"\x9b2J"}
    position = journal.position()
    journal.close()
    again = Journal.open(state / "journal.db")
    assert again.position() == position == (r"m\x1b]52;c;c3RvbGVu\x07", r"s\x1b]52;c;c3RvbGVu\x07")
    assert (again.notice, visit is None) == ("", False)
    again.close()
    benches = Benches(state)
    benches._write([bench(f"mine{CLIPBOARD}"), bench("good")])
    assert [each.name for each in benches.all()] == ["good"]
    for command in ("runs", "list", "runs --json", "check"):
        done = here(*command.split())
        assert "\x1b]" not in done.stdout + done.stderr
        assert "\x9b" not in done.stdout + done.stderr
