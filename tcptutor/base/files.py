"""Bounded reading of files that others may have written, and atomic writing.

All work is done in pieces, so that a call of zlib or of the decoder blocks other threads for a few
milliseconds at most.
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

from tcptutor.base import decoding
from tcptutor.base.errors import TutorError, refused
from tcptutor.base.printable import escaped

PIECE = 1 << 16
"""Bytes read, inflated or decoded per call."""

_ERROR_LENGTH = 200
"""Characters of an error that a message repeats: part of it is the file's own text."""
_NUMBERS = tuple(f"-{number}" for number in range(2, 1000))
_PREFIX = 60
"""Characters of a file's name that go into the name of its temporary file, within the longest name allowed."""
PRIVATE = 0o600
"""File mode: readable and writable by the owner only."""

_SMALL = 1 << 18
"""Bytes of a small file."""
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"


class FileKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of file: its size limits and the remedies for its error messages."""

    name: str
    """Noun for messages, e.g. "run file"."""
    most: int
    """Largest size in bytes, unpacked; a larger file is refused."""
    missing: str
    """Remedy when the file does not exist."""
    unreadable: str
    """Remedy when it cannot be read."""
    damaged: str
    """Remedy when it is damaged or of a different kind."""
    large: str
    """Remedy when it is too large."""
    plain: int = 0
    """Bytes, unpacked, that any file may have where `times` is set."""
    times: int = 0
    """Largest ratio of unpacked to packed size, above `plain`; 0 for no limit."""

    def bound(self, size: int) -> int:
        """Return the largest unpacked size, bytes, of a file of `size` bytes."""
        return min(self.most, max(self.plain, self.times * size)) if self.times else self.most


def small_kind(name: str, remedy: str = "") -> FileKind:
    """Return the kind of a small file with the same remedy for every error."""
    return FileKind(name=name, most=_SMALL, missing=remedy, unreadable=remedy, damaged=remedy, large=remedy)


@contextlib.contextmanager
def open_bounded(
    path: Path, kind: FileKind, *, cut: bool = False, content: bytes | None = None
) -> Iterator[bytearray]:
    """Open a regular file within the bounds of its kind and yield its bytes, unpacked from gzip or bzip2.

    Args:
        path: The file.
        kind: Its size limits and remedies.
        cut: Accept a packed file with a missing or wrong end, up to the damage.
        content: Its bytes, for a file inside an archive.

    Raises:
        TutorError: It is missing, too large or unreadable; or the block raised ValueError, OverflowError,
            RecursionError or an error of msgspec, which mean damage.
    """
    most = kind.most
    try:
        with open_regular(path) if content is None else BytesIO(content) as file:
            most = kind.bound(file.seek(0, os.SEEK_END))
            file.seek(0)
            data = _unpacked(file, most, cut)
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


def read_plain(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file as stored. Raises OSError, also above `most` bytes."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 10} KiB")
    return data


NOT_A_FILE = frozenset({errno.EFBIG, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENXIO})
"""Error numbers of `read_plain` for a path of the wrong type: too large, a pipe, a folder, a loop, a socket."""


def head(path: Path, length: int = 64) -> bytes:
    """Return the first bytes of a file, enough to identify it; empty if it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(length)
    except OSError:
        return b""


def check_version(text: bytes | memoryview, version: int, path: Path) -> None:
    """Raise TutorError unless the JSON object `text`, from the file `path`, has this `format_version`.

    Raises msgspec's error when it has none.
    """
    written = decoding.decode_json(text, _Versioned).format_version
    if written != version:
        is_newer = written > version
        writer = "a newer tcptutor" if is_newer else "an older tcptutor"
        remedy = "update tcptutor to read it" if is_newer else "make it again"
        raise TutorError(f"{path} was written by {writer} (format {written}): {remedy}")


def lines(file: IO[bytes], longest: int) -> Iterator[bytes]:
    """Yield the complete lines of a file with their newline, up to the first of more than `longest` bytes."""
    while (line := file.readline(longest)).endswith(b"\n"):
        yield line


def set_aside(path: Path, label: str = "damaged") -> Path:
    """Rename `path` to a free name such as "journal.damaged-20250131-120000.db" and return it. Raises OSError."""
    aside = labeled_name(path, label)
    path.rename(aside)
    return aside


def labeled_name(path: Path, label: str) -> Path:
    """Return a free name in the folder of `path`, such as "journal.damaged-20250131-120000.db"."""
    stamp = datetime.now(UTC).astimezone().strftime("%Y%m%d-%H%M%S")
    names = (f"{path.stem}.{label}-{stamp}{number}{path.suffix}" for number in ("", *_NUMBERS))
    return next(free for name in names if not os.path.lexists(free := path.with_name(name)))


@contextlib.contextmanager
def atomic(path: Path, elsewhere: str = "give another place", *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to, which becomes `path` when the block ends without an error.

    The temporary file is in the folder of `path` and is removed when the block raises. A pipe or device is
    refused.

    Args:
        path: The file to write or replace.
        elsewhere: How the user can choose a different place, for the error.
        private: Make the file readable by its owner only, also when it replaces a public file.

    Raises:
        TutorError: It cannot be written.
    """
    temporary = None
    try:
        if path.is_dir():
            raise _is_folder()
        if path.exists() and not path.is_file():
            raise _not_regular()
        if private:
            make_private(path.parent)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
        # A dangling or circular link is replaced.
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        temporary = _temporary_file(target, PRIVATE if private else 0o666)
        yield temporary
        with contextlib.suppress(OSError):
            temporary.chmod(PRIVATE if private else stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except OSError as error:
        raise TutorError(f"cannot write {path}: {refused(error, elsewhere)}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def make_private(folder: Path) -> None:
    """Create `folder` and its missing parents with mode 0700. Raises OSError."""
    for each in (*reversed(folder.parents), folder):
        if not os.path.isdir(each):  # noqa: PTH112  # Path raises where a name is too long
            each.mkdir(0o700, exist_ok=True)


def close_to_others(folder: Path) -> None:
    """Remove the access of group and others to a folder: older files in it may be public. Never raises."""
    with contextlib.suppress(OSError):
        if (mode := stat.S_IMODE(folder.stat().st_mode)) & 0o077:
            folder.chmod(mode & 0o700)


def _temporary_file(target: Path, mode: int) -> Path:
    """Create an empty temporary file next to `target`, with `mode` less the umask. Raises OSError.

    O_EXCL: in a folder that others can write, an attacker could place a link under a guessed name.
    """
    start = target.with_name(f".{target.name[:_PREFIX]}.{os.getpid()}")
    for number in ("", *_NUMBERS):
        free = start.with_name(start.name + number)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(free, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
            return free
    raise OSError(errno.EBUSY, "too many unfinished files in its folder")


class _Versioned(msgspec.Struct):
    format_version: int


class _TooLarge(Exception):
    """A file with more bytes than its kind may have."""


def _damaged(path: Path, kind: FileKind, error: Exception) -> TutorError:
    reason = escaped(" ".join(str(error).split()))[:_ERROR_LENGTH]
    return TutorError(f"{path} is not a {kind.name}, or damaged ({reason}): {kind.damaged}")


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading. Raises OSError, also for a pipe or device, which may never end."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # opening a pipe would wait for its writer
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    raise _is_folder() if stat.S_ISDIR(mode) else _not_regular()


def _is_folder() -> OSError:
    return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def _not_regular() -> OSError:
    return OSError(errno.EINVAL, "not a regular file")


def _unpacked(file: BufferedReader | BytesIO, most: int, cut: bool) -> bytearray:
    """Return the unpacked content of `file`. Raises _TooLarge, OSError, EOFError, and the errors of zlib and bz2."""
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
