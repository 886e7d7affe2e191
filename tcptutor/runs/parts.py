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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from tcptutor.base import files
from tcptutor.base.errors import TutorError
from tcptutor.base.places import STATE_ELSEWHERE
from tcptutor.base.printable import escaped
from tcptutor.run import Run, save
from tcptutor.runs import packets
from tcptutor.runs.part_text import ENDED, DamagedPart, PartHead, read_part
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event

__all__ = ["DAMAGED", "ENDED", "SUFFIX", "Part", "recover"]

SUFFIX = ".part"
DAMAGED = ".damaged"


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
