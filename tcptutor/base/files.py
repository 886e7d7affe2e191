"""Files that somebody else may have written, opened within bounds; and files that are written whole or not at all.

Everything goes in pieces: one call of zlib or of the decoder holds up other threads for a few milliseconds at most.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO, Any

import msgspec

from tcptutor.base.errors import TutorError, refused
from tcptutor.base.printable import escaped

PIECE = 1 << 16
"""Bytes that are read, inflated or decoded in one call."""

_SAID = 200
"""Characters that are told of what is wrong with a file: some of it is the file's own text."""
_NUMBERS = tuple(f"-{number}" for number in range(2, 1000))
_PREFIX = 60
"""Characters of a file's name that are in the name of what becomes it: the longest name leaves room for no more."""
PRIVATE = 0o600
"""The mode of a file that is its owner's alone."""

_SMALL = 1 << 18
"""Bytes of a small file."""
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"


class FileKind(msgspec.Struct, frozen=True, kw_only=True):
    """What a file is to be, for its bounds and for the sentences of its errors."""

    name: str
    """Such as "run file"."""
    most: int
    """Bytes, unpacked, that are read of one; a larger one is refused."""
    missing: str
    """What to do when there is none."""
    unreadable: str
    """What to do when it cannot be read."""
    damaged: str
    """What to do when it is something else, or damaged."""
    large: str
    """What to do when it is larger than that."""
    plain: int = 0
    """Bytes, unpacked, that are read of any file where `times` is given."""
    times: int = 0
    """How many times as large as a file itself what it holds may be, above `plain`; 0 for any times."""

    def bound(self, size: int) -> int:
        """Bytes, unpacked, that are read of a file of that size."""
        return min(self.most, max(self.plain, self.times * size)) if self.times else self.most


def small_kind(name: str, remedy: str = "") -> FileKind:
    """A small file of ours, for which there is one remedy, whatever is wrong with it."""
    return FileKind(name=name, most=_SMALL, missing=remedy, unreadable=remedy, damaged=remedy, large=remedy)


@contextlib.contextmanager
def opened(
    path: Path, kind: FileKind, *, cut: bool = False, content: bytes | None = None
) -> Iterator[bytearray]:
    """The bytes of a regular file, unpacked if it is gzip or bzip2; with `cut` also of one whose end is missing or
    wrong, as far as it goes. `content`: what stands in it, of one that is part of another file.

    Raises TutorError, one line, when it is missing, larger than `kind.bound`, cannot be read or unpacked; and when the
    block raises ValueError, OverflowError, RecursionError or an error of msgspec, which say that it is damaged.
    """
    most = kind.most
    try:
        with regular(path) if content is None else BytesIO(content) as file:
            most = kind.bound(file.seek(0, os.SEEK_END))
            file.seek(0)
            data = _within(file, most, cut)
        yield data
    except FileNotFoundError:
        raise TutorError(f"no {kind.name} {path}: {kind.missing}") from None
    except _TooLarge:
        raise TutorError(f"{path} is larger than {most >> 20} MiB unpacked: {kind.large}") from None
    except OSError as error:
        if error.errno is None:  # gzip's own
            raise _damaged(path, kind, error) from error
        raise TutorError(f"cannot read {path}: {error.strerror}: {kind.unreadable}") from error
    except (EOFError, zlib.error, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise _damaged(path, kind, error) from error


def plain(path: Path, most: int) -> bytes:
    """The bytes of a regular file as they stand. Raises OSError, also for one of more than `most` bytes."""
    with regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 10} KiB")
    return data


NOT_A_FILE = frozenset({errno.EFBIG, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENXIO})
"""What `plain` says of what is no file of its kind, whoever reads it: too large, a pipe, a folder, a loop, a socket."""


def beginning(path: Path, length: int = 64) -> bytes:
    """Enough of the file to tell what it is; nothing of one that cannot be read."""
    try:
        with regular(path) as file:
            return file.read(length)
    except OSError:
        return b""


def check_version(text: bytes, newest: int, path: Path) -> None:
    """Raise TutorError when the JSON object `text` has a `format_version` above `newest`, or msgspec's error without.

    `path` is the file that it is from.
    """
    version = msgspec.json.decode(text, type=_Versioned).format_version
    if version > newest:
        raise TutorError(
            f"{path} was written by a newer tcptutor (format {version}): update tcptutor to read it"
        )


def lines(file: IO[bytes], longest: int) -> Iterator[bytes]:
    """The whole lines of a file, with their newline, up to the first that does not end or is longer than `longest`."""
    while (line := file.readline(longest)).endswith(b"\n"):
        yield line


def set_aside(path: Path, what: str = "damaged") -> Path:
    """Rename what stands at `path`, whatever it is, so that another can take its place; gives its new name.

    It is that of nothing else, such as "journal.damaged-20250131-120000.db". Raises OSError.
    """
    aside = beside(path, what)
    path.rename(aside)
    return aside


def beside(path: Path, what: str) -> Path:
    """A free name beside `path` that says what stands there and since when."""
    stamp = datetime.now(UTC).astimezone().strftime("%Y%m%d-%H%M%S")
    names = (f"{path.stem}.{what}-{stamp}{number}{path.suffix}" for number in ("", *_NUMBERS))
    return next(free for name in names if not os.path.lexists(free := path.with_name(name)))


@contextlib.contextmanager
def whole(path: Path, elsewhere: str = "give another place", *, private: bool = False) -> Iterator[Path]:
    """A name beside `path`, in a folder that is there, to write to: the file becomes `path` when the block ends, and
    is gone when the block raises. A pipe or device is refused.

    `elsewhere` says in the error how the user would give another place. A `private` file is its owner's alone, also
    where one that others could read is there. Raises TutorError, one line, when it cannot be written.
    """
    beside = None
    try:
        if path.is_dir():
            raise _is_folder()
        if path.exists() and not path.is_file():
            raise _not_regular()
        if private:
            make_private(path.parent)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
        # A link that leads nowhere, to itself for one, is replaced.
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        beside = _made_beside(target, PRIVATE if private else 0o666)
        yield beside
        with contextlib.suppress(OSError):
            beside.chmod(PRIVATE if private else stat.S_IMODE(target.stat().st_mode))
        beside.replace(target)
    except OSError as error:
        raise TutorError(f"cannot write {path}: {refused(error, elsewhere)}") from error
    finally:
        if beside is not None:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)


def make_private(folder: Path) -> None:
    """Make `folder` and those above it that are missing, for their owner alone. Raises OSError."""
    for each in (*reversed(folder.parents), folder):
        if not os.path.isdir(each):  # noqa: PTH112  # Path raises where a name is too long
            each.mkdir(0o700, exist_ok=True)


def close_to_others(folder: Path) -> None:
    """Take from a folder what lets others into it: older files in it may be readable for all. Never raises."""
    with contextlib.suppress(OSError):
        if (mode := stat.S_IMODE(folder.stat().st_mode)) & 0o077:
            folder.chmod(mode & 0o700)


def _made_beside(target: Path, mode: int) -> Path:
    """An empty file of that mode, less the umask, beside `target`. Raises OSError.

    It is made by us and nobody else: where others can write as well, a link could stand under a name that they guess.
    """
    start = target.with_name(f".{target.name[:_PREFIX]}.{os.getpid()}")
    for number in ("", *_NUMBERS):
        free = start.with_name(start.name + number)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(free, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
            return free
    raise OSError(errno.EBUSY, "too many unfinished files are beside it")


class _Versioned(msgspec.Struct):
    format_version: int


class _TooLarge(Exception):
    """More bytes than the kind of file may have."""


def _damaged(path: Path, kind: FileKind, error: Exception) -> TutorError:
    said = escaped(" ".join(str(error).split()))[:_SAID]
    return TutorError(f"{path} is not a {kind.name}, or damaged ({said}): {kind.damaged}")


def regular(path: Path) -> BufferedReader:
    """The file for reading. Raises OSError; a pipe or device, which may never end, is refused."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would wait for its writer
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    raise _is_folder() if stat.S_ISDIR(mode) else _not_regular()


def _is_folder() -> OSError:
    return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def _not_regular() -> OSError:
    return OSError(errno.EINVAL, "not a regular file")


def _within(file: BufferedReader | BytesIO, most: int, cut: bool) -> bytearray:
    """What is in `file`, unpacked. Raises _TooLarge, OSError, EOFError, and what zlib and bz2 raise."""
    begins = file.read(len(_BZIP2))
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    data = bytearray()
    packed: Any = file
    if not begins.startswith((_GZIP, _BZIP2)) and size > most:
        raise _TooLarge
    if begins.startswith(_GZIP):
        packed = gzip.GzipFile(fileobj=file)
    elif begins == _BZIP2:
        import bz2  # noqa: PLC0415  # the guest's Python need not have it

        packed = bz2.BZ2File(file)
    try:
        while piece := packed.read1(PIECE):
            data += piece
            if len(data) > most:
                raise _TooLarge
    except (EOFError, gzip.BadGzipFile):
        if not (cut and data):
            raise
    return data
