"""Courses in a plain .zip or .tar.gz, such as GitHub makes; only lesson files are read.

The course is the folder of the course.toml that is nearest to the top. Names that lead out of the archive, links in the
course, and files larger than a lesson are refused; other files are never read.
"""

from __future__ import annotations

import gzip
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tcptutor.base.errors import TutorError
from tcptutor.base.printable import escaped
from tcptutor.course import unpacking

_MOST_PACKED = 256 << 20
"""Bytes of an archive, also when unpacked: a repository may hold slides and pictures too."""
_MOST_MEMBERS = 50_000
_COURSE = "course.toml"
_GZIP = b"\x1f\x8b"
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    ValueError,
    EOFError,
    OSError,
)
"""Exceptions that the readers of archives raise for damaged or hostile files."""


class ArchivedCourse(NamedTuple):
    """Lesson files of a course in an archive."""

    name: str
    """Name of the course's folder; empty if the course has none in the archive."""
    lessons: dict[str, bytes]
    """Lesson files by their path in the course."""


class _Member(NamedTuple):
    path: str
    is_link: bool
    read: Callable[[int], bytes]
    """Returns the file's content, up to a number of bytes."""


def is_archive(content: bytes) -> bool:
    """Return whether these are the bytes of a zip or tar archive, compressed with gzip or not."""
    is_tar = content[257:262] == b"ustar" or content.startswith(_GZIP)
    return is_tar or content.startswith(b"PK") or zipfile.is_zipfile(BytesIO(content))


def read_archive(path: Path, content: bytes) -> ArchivedCourse:
    """Return the course in an archive.

    Args:
        path: The archive's name, for messages.
        content: Bytes of a zip archive, or of a tar archive that may be compressed with gzip.

    Raises:
        TutorError: The archive is damaged, has tricks, or holds no course.
    """
    try:
        if zipfile.is_zipfile(BytesIO(content)):
            with zipfile.ZipFile(BytesIO(content)) as archive:
                return _course(_zip_members(archive))
        with tarfile.open(fileobj=BytesIO(_decompressed(content)), mode="r:") as archive:
            return _course(_tar_members(archive))
    except _DAMAGED as error:
        reason = escaped(" ".join(str(error).split()))[:200]
        raise TutorError(f"{path} cannot be opened as a course ({reason}): make the archive again") from error


def _course(members: Sequence[_Member]) -> ArchivedCourse:
    for each in members:
        parts = each.path.split("/")
        if each.path.startswith("/") or ".." in parts or "\\" in each.path or ":" in parts[0]:
            raise ValueError(f"{each.path} leads out of the archive")
    top = _top([each.path for each in members])
    lessons: dict[str, bytes] = {}
    size = 0
    for each in members:
        name = each.path.removeprefix(top)
        if each.path.startswith(top) and each.is_link:
            raise ValueError(f"{each.path} is a link")
        if not each.path.startswith(top) or not unpacking.is_lesson(name):
            continue
        if name in lessons:
            raise ValueError(f"{each.path} is in it twice")
        most = unpacking.most_bytes(name)
        lessons[name] = each.read(most + 1)
        size += len(lessons[name])
        if len(lessons[name]) > most or size > unpacking.MOST_BYTES:
            raise ValueError(f"{each.path} is larger than any lesson")
        if len(lessons) > unpacking.MOST_FILES:
            raise ValueError(f"it has more than {unpacking.MOST_FILES} lesson files")
    return ArchivedCourse(PurePosixPath(top).name, lessons)


def _top(paths: Sequence[str]) -> str:
    """Return the course's folder with a / at its end, empty for the archive itself. Raises ValueError."""
    found = [path.removesuffix(_COURSE) for path in paths if path.rpartition("/")[2] == _COURSE]
    nearest = min((path.count("/") for path in found), default=0)
    if not found:
        raise ValueError(f"it has no {_COURSE}")
    first, *others = [path for path in found if path.count("/") == nearest]
    if others:
        raise ValueError(f"it has several courses, {first} and {others[0]}: give the folder of one")
    return first


def _zip_members(archive: zipfile.ZipFile) -> list[_Member]:
    entries = archive.infolist()
    if len(entries) > _MOST_MEMBERS:
        raise ValueError(f"it has more than {_MOST_MEMBERS} files")

    def reader(entry: zipfile.ZipInfo) -> Callable[[int], bytes]:
        def read(most: int) -> bytes:
            with archive.open(entry) as file:
                return file.read(most)

        return read

    return [
        _Member(entry.filename, stat.S_ISLNK(entry.external_attr >> 16), reader(entry))
        for entry in entries
        if not entry.is_dir()
    ]


def _tar_members(archive: tarfile.TarFile) -> list[_Member]:
    found: list[_Member] = []
    for entry in archive:
        if len(found) > _MOST_MEMBERS:
            raise ValueError(f"it has more than {_MOST_MEMBERS} files")
        if entry.isdir():
            continue

        def read(most: int, entry: tarfile.TarInfo = entry) -> bytes:
            file = archive.extractfile(entry)
            return file.read(most) if file is not None else b""

        found.append(_Member(entry.name.removeprefix("./"), not entry.isreg(), read))
    return found


def _decompressed(content: bytes) -> bytes:
    if not content.startswith(_GZIP):
        return content
    with gzip.open(BytesIO(content)) as file:
        found = file.read(_MOST_PACKED + 1)
    if len(found) > _MOST_PACKED:
        raise ValueError(f"it holds more than {_MOST_PACKED >> 20} MiB")
    return found
