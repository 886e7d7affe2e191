"""What reads a kind of file, for the fuzzer, and what it may not do."""

from __future__ import annotations

import gc
import random
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tcptutor.base.errors import TutorError
from tcptutor.base.printable import is_printable
from tests.fuzz.mutate import mutated

SECONDS = 5.0
"""Longer than this no file may take, of the processor."""
WAITING = 60.0
"""Nor longer than this by the wall's clock, which on a busy machine goes on while others have the processor."""
MEMORY = 300 << 20
"""Bytes that a file may take above what the program has."""


class Reader(NamedTuple):
    name: str
    suffix: str
    """Of the file's name, such as ".tcprun"."""
    seeds: Callable[[], Sequence[bytes]]
    """Good files."""
    read: Callable[[Path], object]
    """Reads one, and does with it what the program does. Raises TutorError only."""


class _Hung(BaseException):
    """Took too long."""


def failures(reader: Reader, numbers: Sequence[int]) -> Iterator[str]:
    """A sentence for each of the mutated files of `numbers` that the reader does not stand."""
    seeds = reader.seeds()
    assert seeds, f"{reader.name} has no files to begin with"
    with tempfile.TemporaryDirectory(prefix="tcptutor-fuzz-") as folder:
        for number in numbers:
            chance = random.Random(f"{reader.name} {number}")
            path = Path(folder, f"{number}{reader.suffix}")
            path.write_bytes(mutated(chance.choice(seeds), chance))
            if said := failure(reader, path):
                yield f"{reader.name} {number}: {said}"
            for left in Path(folder).iterdir():
                if left.is_file() or left.is_symlink():
                    left.unlink()


def failure(reader: Reader, path: Path) -> str:
    """What the reader does with the file that it may not do; empty when nothing."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the most
    before = _memory("VmRSS")
    began = time.monotonic()
    said = ""
    try:
        with _at_most(SECONDS):
            reader.read(path)
    except TutorError as error:
        if not is_printable(str(error)):
            said = f"says what is not one printable line: {str(error)!r}"
    except _Hung:
        said = f"takes longer than {SECONDS:g} s"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {str(error)[:200]!r}"
    if not said and (took := _memory("VmHWM") - before) > MEMORY:
        said = f"takes {took >> 20} MB"
    if time.monotonic() - began > 1:
        gc.collect()
    return said


def refusal(reader: Reader, path: Path) -> str:
    """The one line with which the reader refuses the file; fails where it takes it, or does what it may not do."""
    said: list[str] = []

    def read(path: Path) -> object:
        try:
            return reader.read(path)
        except TutorError as error:
            said.append(str(error))
            raise

    assert failure(reader._replace(read=read), path) == ""
    (line,) = said
    return line


def _memory(name: str) -> int:
    """Bytes of this process by the kernel: of now (VmRSS), or the most since the last reset (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) << 10


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Ends the block by an exception when it takes longer, or waits for ever."""
    worked, began = time.process_time(), time.monotonic()

    def end(*_: object) -> None:
        left = seconds - (time.process_time() - worked)
        if left <= 0 or time.monotonic() - began > WAITING:
            raise _Hung
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.05))

    usual = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
