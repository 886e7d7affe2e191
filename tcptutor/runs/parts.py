"""A run's file while the run goes on: `ID.tcprun.part`, a line for what is run, then one for each event as it arrives.

A line is with the kernel when the call returns, so a program that is killed loses nothing that had arrived. The writer
holds a lock that ends with its process: a part that can be locked has lost its writer, and the next start makes a run
file of it.
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
    """Writes the part of one run, beside `file`, where the whole run will be.

    Never raises: on a full disk the part ends where the space did, and the run goes on.
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
        """Add what has arrived."""
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
            # Half a line would hide all that came after it.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._length)
            # The lock is held on: the run goes on, and nobody may take the part for left behind.
            self._full = True

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def remove(self) -> None:
        """The run is where it belongs, or there is nothing to keep."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self._close()


def _open_locked(path: Path) -> int:
    while True:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, files.PRIVATE)
        # A file system without locks: nobody can lock the part then, so nobody takes it for left behind.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return fd
        os.close(fd)  # another start found it empty and unlocked, just before


def _ignore(_: str) -> None:
    pass


def recover(folder: Path, tell: Callable[[str], None] = _ignore) -> list[Run]:
    """Make run files of the parts in `folder` whose writer is gone, and give those runs. Never raises.

    A run whose end had arrived is whole, any other is marked as cut short. What cannot be written now stays for
    the next start; the part of a run that goes on in another program is left alone. A damaged part is set aside as
    `NAME.part.damaged`: of its run there is what was before the damage. `tell` is told so in one line, once.
    """
    runs = []
    with contextlib.suppress(OSError):
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            try:
                with contextlib.suppress(BlockingIOError), _locked(path) as part:
                    if os.fstat(part.fileno()).st_nlink and (run := _recover(path, part, tell)):
                        runs.append(run)
            except DamagedPart as error:
                _set_aside(path, str(error), tell)
            except (OSError, TutorError):
                continue  # it cannot be written now
    return runs


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """The part, which is ours alone then. Raises BlockingIOError while its writer lives, DamagedPart for no part."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would wait for its writer
    except PermissionError:
        raise DamagedPart("it may not be read") from None
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.ENXIO, errno.ELOOP):
            raise
        raise DamagedPart("it is no file") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise DamagedPart("it is no file")
    with os.fdopen(fd, "r+b") as part:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield part


def _set_aside(path: Path, why: str, tell: Callable[[str], None]) -> None:
    """Give a damaged part another name, beside others that were damaged."""
    names = (f"{path.name}{DAMAGED}{number or ''}" for number in range(1000))
    aside = next((each for each in map(path.with_name, names) if not os.path.lexists(each)), None)
    if aside is not None:
        with contextlib.suppress(OSError):
            path.rename(aside)
            tell(
                escaped(
                    f"{path.name}, what a killed program had kept of a run, is damaged ({why}): it is {aside} now"
                )
            )


def _recover(path: Path, part: IO[bytes], tell: Callable[[str], None]) -> Run | None:
    """The run of a part that is ours now; None when nothing had arrived, or all of it was in place already.

    Raises DamagedPart when nothing can be recovered, TutorError when it cannot be written.
    """
    file = path.with_name(path.name.removesuffix(SUFFIX))
    for half in path.parent.glob(f".{glob.escape(file.name)}.*"):
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
    told = None if file.exists() else read_part(part, path)
    if told is None or not (told.run.sampled_until > 0 or told.run.complete):
        if told is not None and told.damage:
            raise DamagedPart(told.damage)
        path.unlink()
        return None
    save(told.run, file, private=True)
    if told.captured:
        with contextlib.suppress(TutorError):
            packets.save(told.run, told.captured, file, STATE_ELSEWHERE)
    if told.damage:
        _set_aside(path, f"{told.damage}; the run up to there is kept", tell)
    else:
        path.unlink()
    return told.run
