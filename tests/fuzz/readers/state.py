"""What the user has beside run files: the journal, benches, boards of goals, sweeps; and what is typed of settings."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache, partial
from pathlib import Path

import msgspec
import pytest

from tcptutor import spec
from tcptutor.base import places
from tcptutor.base.printable import escape_tree, is_printable
from tcptutor.commands.sweep import document, lines
from tcptutor.course.experiments import Catalogue
from tcptutor.course.goals.goal import GoalBoard, GoalState
from tcptutor.course.page_record import PREDICT, Response
from tcptutor.journal import Journal
from tcptutor.journal.chains import export_events, read_events
from tcptutor.journal.fold import fold_events
from tcptutor.journal.goals import GoalFile, open_pages
from tcptutor.journal.journal_file import JournalManifest, open_journal_file, write_journal_file
from tcptutor.journal.saved import Benches, Drafts, SavedBench, Settings
from tcptutor.sweep import figure
from tcptutor.sweep.grid import cells, read_axes
from tcptutor.sweep.results_file import Store, load
from tests.fuzz.reader import Reader
from tests.sweep.made import NAME, cells_of, definition_of, row_of

_AXES = (("loss=0.1%,1%", "streams=1,2"), ("rtt=10ms..100ms/3", "seed=1..2/2"))


def _sweeps() -> Sequence[bytes]:
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for number, axes in enumerate(_AXES):
            path = Path(folder, f"{number}.tcpsweep")
            with Store(path, definition_of(*axes)) as store:
                for cell in cells_of(*axes):
                    store.add(row_of(cell, 1e6 * (1 + cell.index)))
            made.append(path.read_bytes())
    return made


def _sweep(path: Path) -> None:
    table = load(path)
    for line in lines(table):
        assert is_printable(line), "a line of a sweep is not printable"
    assert is_printable(json.dumps(document(table, str(path)), allow_nan=False))
    x = table.definition.axes[0].name if table.definition.axes else None
    figure.draw(table, x, path.with_suffix(".svg"))


def _tame(whole: msgspec.Struct) -> bool:
    """Whether all its texts are printable."""
    known = msgspec.json.decode(msgspec.json.encode(whole))
    return bool(escape_tree(known) == known)


def _fill(journal: Journal) -> None:
    for module, step in (("m", "one"), ("m", "two"), ("n", "one")):
        journal.visit(module, step)
        journal.respond(module, step, PREDICT, Response("10 Mbit/s", None, value=1e7))
        journal.respond(module, step, "q", Response(("1",), True, draw={"window": "64 KiB"}))
        journal.hint(module, step, "q", 1)
        journal.record_measurement(module, step, PREDICT, 9e6)


def _journals() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path, merged = Path(folder, "journal.db"), Path(folder, "merged.db")
        journal = Journal.open(path)
        _fill(journal)
        journal.close()
        with closing(Journal.open(merged)) as journal:
            _merge(journal)
        return [path.read_bytes(), merged.read_bytes()]


def _merge(journal: Journal) -> None:
    """It has work of two machines."""
    with closing(Journal.in_memory()) as other:
        _fill(other)
        _fill(journal)
        journal.merge(list(other.events()))
        journal.visit("m", "two")


def _journal(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        there = Path(shutil.copy(path, Path(folder, "journal.db")))
        for _ in range(2):
            with closing(Journal.open(there)) as journal:
                assert is_printable(journal.notice), "a notice is not one printable line"
                assert _tame(journal.record), "a text of a journal is not printable"
                journal.calibration()
                list(journal.run_files("m", "one"))
                list(journal.what_ifs("m", "one"))
                journal.visit("m", "one")
                assert journal.position() == ("m", "one")


def _records() -> Sequence[bytes]:
    found = []
    for fill in (_fill, _merge):
        with closing(Journal.in_memory()) as journal:
            fill(journal)
            found.append(b"".join(export_events(journal.events())))
    return found


def _record(path: Path) -> None:
    fold_events(read_events(path.read_bytes().splitlines(keepends=True)))


def _exported_journals() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as folder, closing(Journal.in_memory()) as journal:
        _merge(journal)
        path = Path(folder, "journal.tcpjournal")
        manifest = JournalManifest(
            tcptutor="1.0", made="2026-01-01T00:00:00+00:00", events=journal.event_count
        )
        write_journal_file(path, manifest, list(journal.events()), [])
        return [path.read_bytes()]


def _exported_journal(path: Path) -> None:
    with open_journal_file(path) as found, closing(Journal.in_memory()) as journal:
        journal.merge(found.events)
        assert _tame(journal.record), "a text of an imported journal is not printable"


def _drafts_file() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        Drafts(Path(folder)).save(
            "m", "s", {"predict": "12 Mbit/s", "q": ["two", "one"], "challenge": {"window": "64 KiB"}}
        )
        return [Path(folder, "drafts.json").read_bytes()]


def _drafts(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder, "drafts.json"))
        drafts = Drafts(Path(folder))
        drafts.page("m", "s")
        drafts.save("m", "s", {"q": ["one"]})


def _settings_file() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        Settings(Path(folder)).set_motion(False)
        return [Path(folder, "settings.json").read_bytes()]


def _settings(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder, "settings.json"))
        settings = Settings(Path(folder))
        settings.set_motion(not settings.motion)


def _benches_file() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        benches = Benches(Path(folder))
        for name in ("mine", "another"):
            settings = {"loss": "1 %", "rate": "10 Mbit/s"}
            benches.save(SavedBench(name=name, experiment=NAME, settings=settings, seed=3))
        return [Path(folder, "benches.json").read_bytes()]


def _benches(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder, "benches.json"))
        try:
            for bench in Benches(Path(folder)).all():
                _catalogue().build(bench.experiment, bench.settings, bench.seed, bench.scale)
        finally:
            Benches(Path(folder)).save(SavedBench(name="new", experiment=NAME, settings={}, seed=1))


def _goals_file() -> Sequence[bytes]:
    goals = (GoalState(id="a", text="The rate is 5 Mbit/s", ticked=True), GoalState(id="b", text="It runs"))
    board = msgspec.to_builtins(GoalBoard(goals=goals))
    return [json.dumps({"module": "m", "step": "s", "board": board}).encode()]


def _goals(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_DATA_HOME", folder)
        with closing(GoalFile("m", "s")) as page:
            page.write(GoalBoard(goals=()))
            shutil.copy(path, places.state() / "goals" / "m.s.json")
            for found in open_pages():
                assert _tame(found), "a board of goals is not printable"
                assert len(found.board.reached) <= len(found.board.goals)


@cache
def _catalogue() -> Catalogue:
    return Catalogue(places.lessons())


_SETTINGS = b"""rate=100Mbit/s
delay=20ms
loss=0.1%
queue=2BDP
streams=8
algorithm=cubic
window=64KiB
changes=2s rate=5Mbit/s; 3s link=down; 4s link=up
tcp_rmem=4096 131072 6291456
duration=10s
mtu=1500
jitter=1ms""".splitlines()
_GRIDS = b"""loss=0.01%,0.1%,1%
rtt=10ms..100ms/10
loss=0.01%..1%/x5
seed=1..5/5
queue=0.5BDP,1BDP,2BDP
algorithm=reno,cubic
tcp_sack=0,1""".splitlines()


def _typed(read: Callable[[str], object]) -> Callable[[Path], None]:
    return lambda path: void(read(path.read_bytes().decode(errors="replace")))


def void(_: object) -> None:
    """Nothing of it is wanted."""


def _set(text: str) -> None:
    name, _, value = text.partition("=")
    spec.settings(_catalogue().build(NAME, {name: value}))


def _grid(text: str) -> None:
    axes = read_axes([text])
    if len(axes[0].values) > 50:
        return
    cells(partial(_catalogue().build, NAME), {}, axes, None)


READERS: tuple[Reader, ...] = (
    Reader("sweep", ".tcpsweep", cache(_sweeps), _sweep),
    Reader("journal", ".db", cache(_journals), _journal),
    Reader("record", ".jsonl", cache(_records), _record),
    Reader("exported journal", ".tcpjournal", cache(_exported_journals), _exported_journal),
    Reader("benches", ".json", cache(_benches_file), _benches),
    Reader("drafts", ".json", cache(_drafts_file), _drafts),
    Reader("settings", ".json", cache(_settings_file), _settings),
    Reader("goals", ".json", cache(_goals_file), _goals),
    Reader("setting", ".txt", lambda: _SETTINGS, _typed(_set)),
    Reader("grid", ".txt", lambda: _GRIDS, _typed(_grid)),
)
