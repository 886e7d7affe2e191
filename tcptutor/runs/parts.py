"""Write-ahead file of a run in progress, `ID.tcprun.part`: a line for the experiment, then a line per event.

Each line reaches the kernel before the call returns, so a killed program loses no event. The writer holds a
lock that ends with its process: a part that can be locked has lost its writer, and the next start converts it
to a run file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec
from msgspec.structs import replace

from tcptutor.backends.events import add, cut, tables_of
from tcptutor.base import decoding, files
from tcptutor.base.errors import TutorError
from tcptutor.base.places import STATE_ELSEWHERE
from tcptutor.base.printable import escaped
from tcptutor.run import FORMAT_VERSION, Environment, Run, save
from tcptutor.run.bounds import LONGEST
from tcptutor.run.check import RowsCheck, check_frame, check_interface
from tcptutor.runs import packets
from tcptutor.spec import Experiment
from tcptutor.wire import protocol
from tcptutor.wire.protocol import CapturedPackets, Event, Samples

SUFFIX = ".part"
DAMAGED = ".damaged"
ENDED = "tcptutor ended during it"
"""Note of a run that was cut short by the end of its program."""
_MAX_LINE = 1 << 24
"""Longest line read, bytes. An event covers a fifth of a second: about a megabyte for 256 flows."""
_MAX_BYTES = 1 << 30
"""Most bytes read of all lines, as for a run file."""


class DamagedPart(Exception):
    """A part without recoverable data; the message is the reason in a few words."""


class PartHead(msgspec.Struct):
    """First line of a part: a run without results."""

    id: str
    experiment: Experiment
    environment: Environment
    started: str
    format_version: int = FORMAT_VERSION


class Part:
    """Writes the part of a run, next to `file`, the path of the finished run.

    Never raises: on a full disk the part ends early, and the run continues.
    """

    def __init__(self, file: Path, run: Run) -> None:
        self._path = file.with_name(file.name + SUFFIX)
        self._fd: int | None = None
        self._length = 0
        self._full = False
        with contextlib.suppress(OSError):
            files.make_private(file.parent)
            self._fd = _open_locked(self._path)
        self._write(
            msgspec.json.encode(PartHead(run.id, run.experiment, run.environment, run.started)) + b"\n"
        )

    def take(self, event: Event) -> None:
        """Append an event."""
        self._write(protocol.line(event))

    def _write(self, line: bytes) -> None:
        if self._fd is None or self._full:
            return
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._fd, left) :]
            self._length += len(line)
        except OSError:
            # An incomplete line would make all later lines unreadable.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._length)
            # Keep the lock: the run goes on, and no other program may recover it.
            self._full = True

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def remove(self) -> None:
        """Remove the part: the run is saved or empty."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self._close()


def _open_locked(path: Path) -> int:
    while True:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, files.PRIVATE)
        # On a file system without locks no program can lock the part, so none recovers it too early.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return fd
        os.close(fd)  # another program removed it as empty before we locked it


def _ignore(_: str) -> None:
    pass


def recover(folder: Path, report: Callable[[str], None] = _ignore) -> list[Run]:
    """Convert the parts of dead writers in `folder` to run files. Never raises.

    A run is complete if its last event had arrived, any other is marked as cut short. A run that cannot be
    written now stays for the next start, and the part of a running program is skipped. A damaged part is
    renamed to `NAME.part.damaged`, and the events before the damage are recovered.

    Args:
        folder: The folder of run files.
        report: Called with a line for each damaged part.

    Returns:
        The recovered runs.
    """
    runs = []
    with contextlib.suppress(OSError):
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            try:
                with contextlib.suppress(BlockingIOError), _locked(path) as part:
                    if os.fstat(part.fileno()).st_nlink and (run := _recover(path, part, report)):
                        runs.append(run)
            except DamagedPart as error:
                _set_aside(path, str(error), report)
            except (OSError, TutorError):
                continue  # it cannot be written now
    return runs


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """Lock a part and yield it. Raises BlockingIOError while its writer lives, DamagedPart if it is not a file."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would wait for its writer
    except PermissionError:
        raise DamagedPart("no permission to read it") from None
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.ENXIO, errno.ELOOP):
            raise
        raise DamagedPart("not a regular file") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise DamagedPart("not a regular file")
    with os.fdopen(fd, "r+b") as part:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield part


def _set_aside(path: Path, why: str, report: Callable[[str], None]) -> None:
    names = (f"{path.name}{DAMAGED}{number or ''}" for number in range(1000))
    free_path = next((each for each in map(path.with_name, names) if not os.path.lexists(each)), None)
    if free_path is not None:
        with contextlib.suppress(OSError):
            path.rename(free_path)
            report(
                escaped(
                    f"{path.name}, the unfinished run of a killed program, is damaged ({why}): renamed to {free_path}"
                )
            )


def _recover(path: Path, part: IO[bytes], report: Callable[[str], None]) -> Run | None:
    """Convert a locked part to a run file; None when it has no data, or the run file exists already.

    Raises:
        DamagedPart: The part has no recoverable data.
        TutorError: The run cannot be written.
    """
    file = path.with_name(path.name.removesuffix(SUFFIX))
    for half in path.parent.glob(f".{glob.escape(file.name)}.*"):
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
    recovered = None if file.exists() else read_part(part, path)
    if recovered is None or not (recovered.run.sampled_until > 0 or recovered.run.complete):
        if recovered is not None and recovered.damage:
            raise DamagedPart(recovered.damage)
        path.unlink()
        return None
    save(recovered.run, file, private=True)
    if recovered.captured:
        with contextlib.suppress(TutorError):
            packets.save(recovered.run, recovered.captured, file, STATE_ELSEWHERE)
    if recovered.damage:
        _set_aside(path, f"{recovered.damage}; the run before the damage is saved", report)
    else:
        path.unlink()
    return recovered.run


class PartText(msgspec.Struct):
    """A run recovered from a part."""

    run: Run
    captured: list[CapturedPackets]
    damage: str = ""
    """The damage that ends the part early, in a few words, or empty. An unfinished last line is no damage."""


_BROKEN = (ValueError, OverflowError, RecursionError, msgspec.MsgspecError)


def read_part(part: IO[bytes], path: Path) -> PartText | None:
    """Read the part in `path`; None when its first line was never finished.

    Raises:
        DamagedPart: The first line is not that of a part.
        TutorError: The part has a newer format.
    """
    lines = files.lines(part, _MAX_LINE)
    first = next(lines, b"")
    if not first:
        part.seek(0)
        _check_unfinished(part.read(64), os.fstat(part.fileno()).st_size)
        return None
    try:
        files.check_version(first, FORMAT_VERSION, path)
        head = decoding.decode_json(first, PartHead)
        run = Run(id=head.id, experiment=head.experiment, environment=head.environment, started=head.started)
        check_frame(run)
    except _BROKEN as error:
        raise DamagedPart(f"its first line: {_message(error)}") from error
    replayed = _Replayed(run)
    damage = replayed.take(lines)
    if (
        not damage
        and part.tell() < os.fstat(part.fileno()).st_size
        and len(part.read(_MAX_LINE)) == _MAX_LINE
    ):
        damage = "a line without an end"
    run = replayed.run
    if not run.complete:
        cut(run, run.note or ENDED)
    # Lines are written as events arrive, so the file's mtime is the time of the last event.
    last = datetime.fromtimestamp(os.fstat(part.fileno()).st_mtime, UTC)
    run.wall_s = min(max(0.0, (last - datetime.fromisoformat(head.started)).total_seconds()), 1e9)
    return PartText(run, replayed.captured, damage)


def _check_unfinished(start: bytes, size: int) -> None:
    """Raise DamagedPart when these bytes cannot be the unfinished first line of a part."""
    expected = b'{"id":"'
    if not (start.startswith(expected) or expected.startswith(start)) or size > _MAX_LINE:
        raise DamagedPart("its first line: not the beginning of a run")


class _Replayed:
    """Applies the events of a part to a run. Owns that run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.captured: list[CapturedPackets] = []
        self._rows = RowsCheck(run.experiment)
        self._left = _MAX_BYTES

    def take(self, lines: Iterable[bytes]) -> str:
        """Add the events of the lines up to the first damaged line; return the damage, or "" for none."""
        for number, line in enumerate(lines, 2):
            self._left -= len(line)
            try:
                if self._left < 0:
                    raise ValueError("more bytes than a run may have")
                self._add(protocol.event_decoder.decode(line))
            except _BROKEN as error:
                return f"line {number}: {_message(error)}"
        return ""

    def _add(self, event: Event) -> None:
        """Add an event. Raises ValueError, OverflowError or an error of msgspec, and then leaves the run unchanged."""
        changed = replace(self.run)
        if isinstance(event, Samples):
            if not 0.0 <= event.t <= LONGEST:
                raise ValueError("t is out of bounds")
            for name, table in tables_of(event).items():
                self._rows.check(name, table)
            add(self.run, event)
            return
        add(changed, event)
        check_frame(changed)
        if changed.experiment != self.run.experiment:
            self._rows = RowsCheck(changed.experiment)
        self.run = changed
        if isinstance(event, CapturedPackets):
            check_interface(event.interface)
            if not 0 <= event.began < 1 << 63:
                raise ValueError("began is out of bounds")
            self.captured.append(event)


def _message(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
