"""Folder of a lecture: its slides, and a log of records from which a killed lecture process resumes."""

from __future__ import annotations

import contextlib
import os
import re
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

import msgspec

from tcptutor.base import decoding, files, places
from tcptutor.base.errors import TutorError, refused
from tcptutor.room.lecture_state import LectureRecord, LectureState, clamped, fold
from tcptutor.room.slides import Lecture
from tcptutor.room.talk import LecturePlace

OPENED, LOG = "lecture.json", "lecture.jsonl"
_FORMAT = 1
_LARGEST = 64 << 20
"""Bytes of the longest log: a lecture writes a hundred bytes every ten seconds."""
_KIND = files.FileKind(
    name="lecture",
    most=_LARGEST,
    missing="start it with `tcptutor present`",
    unreadable="start a new one with `tcptutor present`",
    damaged="start a new one with `tcptutor present`",
    large="start a new one with `tcptutor present`",
)


class OpenedLecture(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a lecture, written once before its process starts."""

    lecture: Lecture
    begin: LecturePlace = LecturePlace()
    started: str
    """ISO 8601 with time zone."""
    backend: str = "auto"
    clock: str = "auto"
    course: str = ""
    """Path or address of the course, as chosen with --course; empty for the shipped course."""
    has_votes: bool = True
    listen: str = ""
    """ADDRESS:PORT of the page where students join; empty for the default."""
    public_url: str = ""
    """URL of that page behind a proxy."""
    with_names: bool = False
    """True if that page asks for names; otherwise votes are anonymous."""
    format_version: int = _FORMAT


def lectures() -> Path:
    """Return the folder of the user's lectures of this course. It may not exist yet."""
    return places.state() / "lectures"


def create(opened: OpenedLecture) -> Path:
    """Create the folder of a new lecture and return it. Raises TutorError if it cannot be written."""
    words = "-".join(re.findall(r"[a-z0-9]+", opened.lecture.title.lower()))[:40].strip("-")
    stamp = datetime.now(UTC).astimezone().strftime("%Y%m%d-%H%M%S-%f")
    folder = lectures() / "-".join(filter(None, [stamp, words]))
    with files.atomic(folder / OPENED, places.STATE_ELSEWHERE, private=True) as part:
        part.write_bytes(msgspec.json.encode(opened))
    return folder


def read_opened(folder: Path) -> OpenedLecture:
    """Return the options of the lecture in `folder`. Raises TutorError if they are missing or damaged."""
    with files.open_bounded(folder / OPENED, _KIND) as text:
        files.check_version(bytes(text), _FORMAT, folder / OPENED)
        return decoding.decode_json(text, OpenedLecture)


def latest() -> Path | None:
    """Return the folder of the latest lecture; None without lectures."""
    found = sorted(lectures().glob(f"*/{OPENED}"))
    return found[-1].parent if found else None


def read_state(folder: Path) -> LectureState:
    """Return the state of the lecture in `folder`. Raises TutorError if its log cannot be read."""
    return LectureLog(folder, read_opened(folder)).state


class LectureLog:
    """Records of a lecture, and the state derived from them.

    Damaged records are skipped. On a full disk the lecture continues: the records wait for the next append.
    """

    def __init__(self, folder: Path, opened: OpenedLecture) -> None:
        self._path = folder / LOG
        self.damaged = 0
        """Number of records that could not be read."""
        self.problem = ""
        """Reason why the latest records are not on the disk; empty when all are."""
        self._waiting = b""
        first = LectureState(place=clamped(opened.lecture, opened.begin))
        folded = reduce(fold, self._read(), first)
        self.state = msgspec.structs.replace(folded, place=clamped(opened.lecture, folded.place))

    def append(self, record: LectureRecord) -> None:
        """Write a record to the disk, then apply it. Never raises; `problem` reports a failed write."""
        self._waiting += msgspec.json.encode(record) + b"\n"
        try:
            self._write()
        except OSError as error:
            self.problem = f"the lecture is not saved: {refused(error, places.STATE_ELSEWHERE)}"
        self.state = fold(self.state, record)

    def _read(self) -> list[LectureRecord]:
        try:
            with files.open_bounded(self._path, _KIND) as text:
                lines = text.splitlines()
        except TutorError:
            if os.path.lexists(self._path):
                raise
            return []
        records = []
        for line in lines:
            try:
                records.append(decoding.decode_json(line, LectureRecord))
            except (ValueError, RecursionError, msgspec.MsgspecError):
                self.damaged += 1
        return records

    def _write(self) -> None:
        fd = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, files.PRIVATE)
        try:
            end = os.lseek(fd, 0, os.SEEK_END)
            # A killed process may have left half a line.
            text = self._waiting if not end or os.pread(fd, 1, end - 1) == b"\n" else b"\n" + self._waiting
            left = memoryview(text)
            try:
                while left:
                    left = left[os.write(fd, left) :]
                os.fsync(fd)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, end)
                raise
        finally:
            os.close(fd)
        self._waiting, self.problem = b"", ""
