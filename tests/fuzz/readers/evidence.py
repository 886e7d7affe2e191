"""Hand-ins and keys of courses, which those who grade are given, and the comments that they send back."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcptutor.base import archive
from tcptutor.base.errors import UsageError
from tcptutor.base.printable import is_printable
from tcptutor.course.outline import Course
from tcptutor.course.page_record import TeacherComment
from tcptutor.grading.class_page import class_page
from tcptutor.grading.comments import read_comments, write_draft
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.evidence.keys import read_key
from tcptutor.grading.formats import FORMATS, format_grades
from tcptutor.grading.grade import GradedFile
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.sheet import Sheet, run_verdicts, write_sheet
from tcptutor.grading.survey import survey
from tcptutor.journal import Journal
from tcptutor.journal.chains import export_events
from tcptutor.journal.events import START, RunEnded, StoredEvent, chain, decode, link
from tcptutor.run import load
from tests.fuzz.reader import Reader
from tests.grading.evidence.student import KEY, RUNS, STUDENTS, Student, course, handed_in


@cache
def _hand_ins() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return [handed_in(name, Path(folder, name)).read_bytes() for name in STUDENTS]


@cache
def _course() -> Course:
    return course()


def _hand_in(path: Path) -> None:
    with open_hand_in(path) as hand_in:
        found = grade_hand_in(hand_in, _course())
    assert is_printable(msgspec.json.encode(found).decode(), lines=True)
    for kind in FORMATS:
        text = format_grades([GradedFile(path.name, found)], kind)
        assert is_printable(text, lines=True), f"{kind} is not printable"
    assert 0 <= found.total <= found.of
    sheet = write_sheet(Sheet(found, _course(), path.name, run_verdicts(path, found)))
    assert is_printable(sheet, lines=True)
    path.write_text(write_draft(found, path.name), encoding="utf-8")
    _comments(path)
    told = survey([GradedFile(path.name, found)], _course())
    assert is_printable(class_page(told), lines=True)
    assert is_printable(msgspec.json.encode(told).decode(), lines=True)


class _Parts(NamedTuple):
    """What a good hand-in is made of."""

    manifest: bytes
    journal: bytes
    """Lines, not packed."""
    events: bytes
    """Those of the journal, a line each; where one is changed all are chained anew."""
    run: bytes


@cache
def _run_id() -> str:
    return load(RUNS / "ada.tcprun").id


@lru_cache(2)
def _packed(run: bytes) -> bytes:
    return lzma.compress(run, preset=0)


@cache
def _parts() -> _Parts:
    with tempfile.TemporaryDirectory() as folder:
        path = handed_in("ada", Path(folder), _does_all_and_reports)
        with open_hand_in(path) as hand_in:
            manifest, stored = hand_in.manifest, list(hand_in.events)
    # Without the digest of the run's file, what is changed in it is looked at.
    events = [decode(each.data) for each in stored]
    open_ended = [
        msgspec.structs.replace(each, digest="") if isinstance(each, RunEnded) else each
        for each in events
        if each is not None
    ]
    stored = list(chain(open_ended))
    journal = b"".join(export_events(stored))
    lines = b"\n".join(each.data for each in stored)
    run = gzip.decompress((RUNS / "ada.tcprun").read_bytes())
    return _Parts(msgspec.json.encode(manifest), journal, lines, run)


def _does_all_and_reports(one: Student) -> None:
    one.does_all()
    one.journal.report("small", "asked", "The question has no unit.")


def _of_part(name: str) -> Reader:
    """Changes one part alone, so that what is behind the archive is reached."""

    def read(path: Path) -> None:
        parts = _parts()._replace(**{name: path.read_bytes()})
        if name == "events":
            parts = parts._replace(journal=b"".join(export_events(_chained(parts.events.split(b"\n")))))
        contents = {
            "hand-in.json": parts.manifest,
            "journal.jsonl.gz": gzip.compress(parts.journal, 1),
            f"runs/{_run_id()}.json.xz": _packed(parts.run),
        }
        with path.open("wb") as file:
            for member, content in contents.items():
                file.write(archive.member(member, content))
            file.write(archive.end())
        _hand_in(path)

    return Reader(f"hand-in-{name}", ".tcphandin", lambda: [getattr(_parts(), name)], read)


def _chained(lines: Sequence[bytes]) -> Iterator[StoredEvent]:
    hash = START
    for serial, data in enumerate(lines, 1):
        hash = link(hash, data)
        yield StoredEvent(serial, data, hash)


def _keys() -> Sequence[bytes]:
    return [msgspec.json.format(msgspec.json.encode(KEY), indent=1)]


def _key(path: Path) -> None:
    assert is_printable(read_key(path).code)


_DRAFT = b"""course = "ABCD-EFGH-2345-WXQG"
student = "ada"
by = "Dr. Ngo"  # your name

[[comment]]
page = "small/asked"
activity = "which"
text = \"\"\"
Look at the unit:
it is not \\u00b5s.\"\"\"

[[comment]]
page = "small/ran"
text = "Well done."
"""


def _comments(path: Path) -> None:
    found = read_comments(path)
    assert is_printable(msgspec.json.encode(found).decode(), lines=True)
    with contextlib.closing(Journal.in_memory()) as journal:
        for each in found.comment:
            with contextlib.suppress(UsageError):
                journal.comment("m", "p", TeacherComment(each.text, each.activity, found.by))
        assert is_printable("".join(each.text for each in journal.page("m", "p").comments), lines=True)


READERS = (
    Reader("hand-in", ".tcphandin", _hand_ins, _hand_in),
    *(_of_part(name) for name in _Parts._fields),
    Reader("course-key", ".key", _keys, _key),
    Reader("comments", ".toml", lambda: [_DRAFT], _comments),
)
