"""The file that is handed in: the same each time, and read within bounds whoever wrote it."""

from __future__ import annotations

import gzip
import json
import lzma
import tarfile
from pathlib import Path

import msgspec
import pytest

from tcptutor.base import archive
from tcptutor.base.errors import TutorError
from tcptutor.grading.evidence.hand_in import HandInManifest, open_hand_in, write_hand_in
from tcptutor.grading.evidence.timeline import timeline
from tcptutor.run import load
from tests.grading.evidence.student import RUNS, SWEPT, Student, handed_in


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return handed_in("ada", tmp_path / "ada")


def test_what_was_done_is_in_it(file: Path) -> None:
    with open_hand_in(file) as hand_in:
        line = timeline(hand_in.events)
        assert line.enrolment is not None
        assert line.enrolment.student == hand_in.manifest.student == "ada"
        # Of the challenge that which reached it; nothing is compared with the start.
        assert len(hand_in.run_ids) == 1 + len(SWEPT) + 1
        run, _ = hand_in.run(load(RUNS / "ada.tcprun").id)
        assert [*run.samples] == [*load(RUNS / "ada.tcprun").samples]
    given = [each.activity for each in line.page("small", "ran").responses]
    assert given == ["predict", "largest", "after"]
    assert hand_in.broken == ""


def test_any_tool_opens_it(file: Path) -> None:
    with tarfile.open(file) as packed:
        names = packed.getnames()
        assert names[:2] == ["hand-in.json", "journal.jsonl.gz"]
        assert names[2].startswith("runs/")
        described = packed.extractfile("hand-in.json")
        assert described is not None
        told = json.load(described)
    assert sorted(told["lessons"])[0] == "01-small/01-asked.md"
    assert told["student"] == "ada"


def test_it_says_nothing_of_the_computer_but_its_kind(file: Path) -> None:
    with open_hand_in(file) as hand_in:
        assert sorted(hand_in.manifest.machine) == ["machine", "python", "system"]


def test_a_run_whose_file_is_gone_is_missing_and_said(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.does_asked_and_ran()
        for path in (one.folder / "runs").glob("*.tcprun"):
            path.unlink()

    with open_hand_in(handed_in("ada", tmp_path, do)) as hand_in:
        assert hand_in.run_ids == frozenset()
        (said,) = hand_in.manifest.missing
    assert said.startswith("small/ran: the file of the run ")
    assert said.endswith(" is missing: run it again")


def test_earlier_runs_are_in_it_where_an_answer_was_read_off_them(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.does_asked_and_ran()
        later = load(RUNS / "ada.tcprun")
        later.id = "later"
        one.runs(later)

    with open_hand_in(handed_in("ada", tmp_path, do)) as hand_in:
        assert len(hand_in.run_ids) == 2
        assert "later" in hand_in.run_ids


def test_what_is_not_printable_is_written_as_escapes(tmp_path: Path) -> None:
    path = tmp_path / "x.tcphandin"
    manifest = HandInManifest(tcptutor="1", made="", student="\x1b]52;c;x\x07", title="\u202e")
    write_hand_in(path, manifest, [], [])
    with open_hand_in(path) as hand_in:
        assert hand_in.manifest.student == "\\x1b]52;c;x\\x07"
        assert hand_in.manifest.title == "\\u202e"


MANIFEST = msgspec.json.encode(HandInManifest(tcptutor="1", made=""))
JOURNAL = gzip.compress(b'{"events":0,"hash":"' + b"00" * 32 + b'"}\n')
HEAD = archive.member("hand-in.json", MANIFEST) + archive.member("journal.jsonl.gz", JOURNAL)
HOSTILE = {
    "empty": b"",
    "text": b"hello\n" * 1000,
    "gzip": gzip.compress(HEAD),
    "no journal": archive.member("hand-in.json", MANIFEST) + archive.end(),
    "other order": archive.member("journal.jsonl.gz", JOURNAL)
    + archive.member("hand-in.json", MANIFEST)
    + archive.end(),
    "cut": HEAD[:700],
    "without an end": HEAD,
    "absolute": HEAD + archive.member("/etc/passwd", b"x") + archive.end(),
    "above": HEAD + archive.member("runs/../../x.json.xz", b"x") + archive.end(),
    "twice": HEAD + 2 * archive.member("runs/x.json.xz", b"x") + archive.end(),
    "huge": HEAD + archive.header("runs/x.json.xz", 8**11 - 1),
    "manifest of lists": archive.member("hand-in.json", b"[" * 100_000)
    + archive.member("journal.jsonl.gz", JOURNAL)
    + archive.end(),
    "manifest of another shape": archive.member("hand-in.json", b'{"format_version":1,"tcptutor":[]}')
    + archive.member("journal.jsonl.gz", JOURNAL)
    + archive.end(),
    "newer": archive.member("hand-in.json", b'{"format_version":9}')
    + archive.member("journal.jsonl.gz", JOURNAL)
    + archive.end(),
    "bomb": archive.member("hand-in.json", MANIFEST)
    + archive.member("journal.jsonl.gz", gzip.compress(bytes(200 << 20), 1))
    + archive.end(),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_hand_in_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.tcphandin"
    path.write_bytes(content)
    with pytest.raises(TutorError) as caught, open_hand_in(path):
        pass
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["x.tcphandin"]


@pytest.mark.parametrize("kind", ["SYMTYPE", "LNKTYPE", "CHRTYPE", "DIRTYPE", "FIFOTYPE"])
def test_links_and_devices_are_refused(kind: str, tmp_path: Path) -> None:
    member = tarfile.TarInfo("runs/x.json.xz")
    member.type, member.linkname = getattr(tarfile, kind), "/etc/passwd"
    path = tmp_path / "x.tcphandin"
    path.write_bytes(HEAD + member.tobuf(tarfile.USTAR_FORMAT) + archive.end())
    with pytest.raises(TutorError, match="is not a hand-in, or damaged"), open_hand_in(path):
        pass


def test_a_missing_file_and_a_device_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none", Path("/dev/zero"), tmp_path):
        with pytest.raises(TutorError, match=str(path)), open_hand_in(path):
            pass


DAMAGED = {
    "not packed": (b'{"id":"x"}', "is damaged, or not packed by tcptutor"),
    "cut": (lzma.compress(b'{"id":"x"}')[:-9], "is damaged, or not packed by tcptutor"),
    "another thing": (lzma.compress(b'{"id":"x"}'), r"runs/x\.json\.xz is not a run file, or damaged"),
    "bomb": (lzma.compress(bytes(200 << 20), preset=0), "are larger than those of any course"),
    "wants memory": (lzma.compress(b'{"id":"x"}', preset=9), "is damaged, or not packed by tcptutor"),
}


@pytest.mark.parametrize(("content", "said"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_run_is_told_where_it_is_asked_for(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tcphandin"
    path.write_bytes(HEAD + archive.member("runs/x.json.xz", content) + archive.end())
    with open_hand_in(path) as hand_in:
        assert hand_in.run_ids == {"x"}
        with pytest.raises(TutorError, match=said):
            hand_in.run("x")
        with pytest.raises(TutorError, match="the run y is not in"):
            hand_in.run("y")


def test_all_runs_together_are_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_hand_in(file) as hand_in:
        id = min(hand_in.run_ids)
        hand_in.run(id)
        monkeypatch.setattr("tcptutor.grading.evidence.hand_in._MOST_TEXTS", 1 << 20)
        with pytest.raises(TutorError, match="are larger than those of any course"):
            for _ in range(100):
                hand_in.run(id)


def test_a_run_whose_file_was_changed_is_missing_and_said(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.does_asked_and_ran()
        (path,) = (one.folder / "runs").glob("*.tcprun")
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b" "))

    with open_hand_in(handed_in("ada", tmp_path, do)) as hand_in:
        (said,) = hand_in.manifest.missing
    assert said.endswith(" was changed: run it again")


def test_another_packing_of_a_run_is_the_same_run(tmp_path: Path) -> None:
    """Other libraries and levels pack to other bytes."""

    def do(one: Student) -> None:
        one.does_asked_and_ran()
        (path,) = (one.folder / "runs").glob("*.tcprun")
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1))

    with open_hand_in(handed_in("ada", tmp_path, do)) as hand_in:
        assert hand_in.manifest.missing == ()
        assert len(hand_in.run_ids) == 1


def test_a_journal_that_does_not_hold_together_is_read_as_far_as_it_does(file: Path, tmp_path: Path) -> None:
    with open_hand_in(file) as hand_in:
        events = list(hand_in.events)
    damaged = [*events[:4], *events[5:]]
    path = tmp_path / "x.tcphandin"
    write_hand_in(path, HandInManifest(tcptutor="1", made="", events=len(damaged)), damaged, [])
    with open_hand_in(path) as hand_in:
        assert len(hand_in.events) == 4
        assert hand_in.broken == "event 5 is not as it was written, or one before it is missing"
