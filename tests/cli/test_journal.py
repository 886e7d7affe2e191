"""`tcptutor journal export` and `import`: one student on two machines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tcptutor.base import archive
from tcptutor.course.page_record import Response
from tcptutor.grading.evidence.hand_in import HandInManifest, write_hand_in
from tcptutor.journal import Journal
from tcptutor.journal.events import StoredEvent, link
from tcptutor.journal.journal_file import JournalManifest, write_journal_file
from tcptutor.run import load, save
from tests.command import here as tcptutor
from tests.grading.evidence.student import RUNS


class Machine:
    """A machine with a data folder of its own."""

    def __init__(self, data: Path, patch: pytest.MonkeyPatch) -> None:
        self._data, self._patch = data, patch
        self.state = data / "tcptutor"

    def types(self, *words: str | Path) -> tuple[int, str, str]:
        self._patch.setenv("XDG_DATA_HOME", str(self._data))
        done = tcptutor("journal", *words)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, " ".join(done.stderr.split())

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        journal = Journal.open(self.state / "journal.db")
        yield journal
        journal.close()

    def answers(self, step: str) -> None:
        with self.journal() as journal:
            journal.visit("m", step)
            journal.respond("m", step, "q", Response(("0",), True))

    def runs(self, id: str) -> Path:
        """A run of its own is on the disk; give its file."""
        with self.journal() as journal:
            run = load(RUNS / "ada.tcprun")
            run.id = id
            journal.begin_run(run, "m", "s")
            file = journal.runs.file(id)
            assert file is not None
            file.parent.mkdir(exist_ok=True)
            save(run, file)
            journal.finish_run(run, file)
        return file

    @property
    def all(self) -> tuple[object, int, list[str]]:
        """What there is: the record, the number of rows, the runs."""
        with self.journal() as journal:
            files = sorted(file.name for file in (self.state / "runs").glob("*.tcprun"))
            return journal.record, journal.event_count, files


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Machine, Machine]:
    monkeypatch.chdir(tmp_path)
    return Machine(tmp_path / "one", monkeypatch), Machine(tmp_path / "other", monkeypatch)


def test_work_goes_to_and_fro_and_neither_machine_loses_any(two: tuple[Machine, Machine]) -> None:
    one, other = two
    one.answers("a")
    one.runs("r1")
    other.answers("b")
    other.runs("r2")
    code, out, _ = one.types("export", "-o", "one.tcpjournal")
    assert (code, out.startswith("wrote one.tcpjournal, "), ": 4 events, 1 run\n" in out) == (0, True, True)
    assert Path("one.tcpjournal").stat().st_mode & 0o777 == 0o600
    assert other.types("import", "one.tcpjournal") == (
        0,
        "imported 4 events and 1 run from one.tcpjournal\n",
        "",
    )
    assert other.types("export")[0] == 0
    code, out, _ = one.types("import", "journal.tcpjournal", "--json")
    assert json.loads(out) == {"file": "journal.tcpjournal", "events": 4, "runs": 1, "damaged_runs": []}
    record, _, files = one.all
    assert files == ["r1.tcprun", "r2.tcprun"]
    assert (record, files) == (other.all[0], other.all[2])
    before = one.all, other.all
    for machine, file in ((one, "journal.tcpjournal"), (one, "one.tcpjournal"), (other, "one.tcpjournal")):
        code, out, _ = machine.types("import", file)
        assert (code, out.startswith("nothing to import")) == (0, True)
    assert (one.all, other.all) == before


def test_a_run_that_is_here_stays_and_one_that_is_missing_comes_back(two: tuple[Machine, Machine]) -> None:
    one, other = two
    kept = one.runs("r1")
    one.runs("r2")
    one.types("export")
    (other.state / "runs").mkdir(parents=True)
    there = other.state / "runs" / kept.name
    there.write_bytes(b"something else")
    assert other.types("import", "journal.tcpjournal")[0] == 0
    assert there.read_bytes() == b"something else"
    (other.state / "runs" / "r2.tcprun").unlink()
    assert other.types("import", "journal.tcpjournal")[1].startswith("imported 0 events and 1 run ")
    assert (other.state / "runs" / "r2.tcprun").stat().st_mode & 0o777 == 0o600


def test_a_damaged_run_costs_itself_and_a_line(two: tuple[Machine, Machine]) -> None:
    one, other = two
    one.answers("a")
    changed, cut = one.runs("r1"), one.runs("r2")
    one.runs("r3")
    run = load(changed)
    run.note = "changed"
    save(run, changed)
    cut.write_bytes(cut.read_bytes()[:-50])
    one.types("export")
    code, out, err = other.types("import", "journal.tcpjournal")
    assert (code, out) == (1, "imported 8 events and 1 run from journal.tcpjournal\n")
    assert err.count("left out: ") == 2
    assert other.all[2] == ["r3.tcprun"]


def test_two_students_cannot_merge(two: tuple[Machine, Machine]) -> None:
    one, other = two
    one.answers("a")
    one.runs("r1")
    for machine, name in ((one, "ada"), (other, "bob")):
        with machine.journal() as journal:
            journal.enrol(name, "COURSE")
    one.types("export")
    before = other.all
    code, out, err = other.types("import", "journal.tcpjournal")
    assert (code, out) == (2, "")
    assert "cannot import journal.tcpjournal: it is the journal of ada in the course COURSE" in err
    assert other.all == before


def _members(file: Path) -> dict[str, bytes]:
    found = {}
    with file.open("rb") as source:
        for member in archive.members(source, 1 << 30):
            at = source.tell()
            source.seek(member.start)
            found[member.name] = source.read(member.size)
            source.seek(at)
    return found


def _write(file: Path, members: dict[str, bytes]) -> None:
    content = b"".join(archive.member(name, data) for name, data in members.items())
    file.write_bytes(content + archive.end())


@pytest.mark.parametrize(
    "damage",
    [
        "nothing",
        "text",
        "hand-in",
        "cut",
        "newer",
        "no manifest",
        "broken chain",
        "cut events",
        "not packed",
        "path",
    ],
)
def test_a_file_that_is_no_whole_export_is_refused_in_one_line(
    two: tuple[Machine, Machine], damage: str
) -> None:
    one, other = two
    one.answers("a")
    one.runs("r1")
    one.types("export")
    other.answers("b")
    before = other.all
    file = Path("journal.tcpjournal")
    content, members = file.read_bytes(), _members(file)
    events = gzip.decompress(members["journal.jsonl.gz"])
    says = "is not an exported journal, or damaged"
    match damage:
        case "nothing":
            file.unlink()
            says = "no exported journal journal.tcpjournal: `tcptutor journal export` writes one"
        case "text":
            file.write_bytes(b"nothing\x1b]0;x\x07")
        case "hand-in":
            with one.journal() as journal:
                write_hand_in(file, HandInManifest(tcptutor="1", made=""), list(journal.events()), [])
        case "cut":
            file.write_bytes(content[: len(content) // 2])
        case "newer":
            manifest = msgspec.json.decode(members["journal.json"]) | {"format_version": 9}
            _write(file, {**members, "journal.json": msgspec.json.encode(manifest)})
            says = "was written by a newer tcptutor (format 9): update tcptutor to read it"
        case "no manifest":
            _write(file, {name: data for name, data in members.items() if name != "journal.json"})
        case "broken chain":
            changed = events.replace(b'"correct":true', b'"correct":null')
            _write(file, {**members, "journal.jsonl.gz": gzip.compress(changed)})
            says = "is damaged: event 2 is not as it was written, or one before it is missing"
        case "cut events":
            cut = b"".join(events.splitlines(keepends=True)[:-1])
            _write(file, {**members, "journal.jsonl.gz": gzip.compress(cut)})
            says = "is damaged: the record is cut off after event 4"
        case "not packed":
            _write(file, {**members, "journal.jsonl.gz": members["journal.jsonl.gz"][:-20]})
            says = "is not a record of an exported journal, or damaged"
        case "path":
            _write(file, {**members, "runs/../../evil.tcprun": b"x"})
    code, out, err = other.types("import", file)
    assert (code, out) == (1, "")
    assert says in err
    assert "\x1b" not in err
    assert other.all == before


def test_events_of_a_newer_version_are_brought_along(two: tuple[Machine, Machine]) -> None:
    one, other = two
    one.answers("a")
    with one.journal() as journal:
        rows = list(journal.events())
    data = b'{"kind":"of-2030","at":"2027-01-01T00:00:00+00:00","what":"\xc3\xa9"}'
    rows.append(StoredEvent(3, data, link(rows[-1].hash, data)))
    write_journal_file(Path("new.tcpjournal"), JournalManifest(tcptutor="9", made=""), rows, [])
    assert other.types("import", "new.tcpjournal")[1].startswith("imported 3 events")
    assert other.types("export")[0] == 0
    assert data in gzip.decompress(_members(Path("journal.tcpjournal"))["journal.jsonl.gz"])


def test_nothing_is_exported_from_an_empty_or_a_damaged_journal(two: tuple[Machine, Machine]) -> None:
    one, _ = two
    code, _, err = one.types("export")
    assert (code, "there is no work to export yet" in err) == (2, True)
    one.answers("a")
    with one.journal() as journal:
        journal._connection.execute("UPDATE events SET data = CAST('{}' AS BLOB) WHERE serial = 1")
    code, _, err = one.types("export")
    assert (code, "your journal is damaged and cannot be merged" in err) == (1, True)
    assert not list(Path().glob("*.tcpjournal"))


def test_an_existing_file_stays(two: tuple[Machine, Machine]) -> None:
    one, _ = two
    one.answers("a")
    assert one.types("export")[0] == 0
    code, _, err = one.types("export")
    assert (code, "journal.tcpjournal already exists" in err) == (2, True)
    assert one.types("export", "--replace")[0] == 0
    code, _, err = one.types("export", "-o", "work.zip")
    assert (code, "use one that ends in .tcpjournal" in err) == (2, True)
