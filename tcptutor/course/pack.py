"""Course pack: a file NAME.tcpcourse, which a teacher packs and students open with --course.

It is a zip archive without compression: `course-pack.json`, the description, and then the lesson files by their path.
Equal lessons give equal bytes. A pack is unpacked once, into the cache.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import msgspec

from tcptutor import __version__
from tcptutor.base import decoding, files, printable
from tcptutor.base.errors import TutorError
from tcptutor.course import lesson_file, unpacking
from tcptutor.course.languages import translation_folders
from tcptutor.course.outline import Course, load
from tcptutor.course.unpacking import lessons_digest

SUFFIX = ".tcpcourse"
FORMAT_VERSION = 1
_DESCRIPTION = "course-pack.json"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""Time of every member: the earliest that zip can hold."""
_HIDDEN = re.compile(r"(?:^|/)\.")
"""Hidden files, such as git's, which are no lessons."""
_ASK = "ask your teacher for it again"


class PackDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A pack's description of itself."""

    title: str
    id: str
    version: str
    tcptutor: str
    """Version that wrote the file."""
    sha256: str
    """Digest of the lesson files: equal for equal lessons."""
    files: dict[str, str]
    """SHA-256 of each lesson file, by path."""
    format_version: int = FORMAT_VERSION


def lesson_hashes(course: Course) -> dict[str, str]:
    """Return the SHA-256 of each lesson file, by path; translations are excluded, as they do not affect marks."""
    if course.root is None:
        return {}
    translated = {path.name for path in translation_folders(course.root)}
    return {
        name: digest for name, digest in _hashes(course.root).items() if name.split("/")[0] not in translated
    }


def _hashes(root: Path) -> dict[str, str]:
    traces = (each for each in root.glob("[0-9][0-9]-*/experiments/*") if each.is_file())
    named = {each.relative_to(root).as_posix(): each for each in traces}
    found = {name: each for name, each in named.items() if unpacking.is_trace(name)}
    for ending in ("*.md", "*.toml"):
        found |= {each.relative_to(root).as_posix(): each for each in root.rglob(ending)}
    return {name: _digest(found[name]) for name in sorted(found) if not _HIDDEN.search(name)}


def write_pack(folder: Path, target: Path) -> PackDescription:
    """Write the course in `folder` to a pack, atomically.

    Raises:
        ContentError: A page cannot be read.
        TutorError: The file cannot be written, or a lesson file's name does not fit into a pack.
    """
    course = load(folder)
    hashes = _hashes(folder)
    for name in hashes:
        if not unpacking.is_lesson(name):
            raise TutorError(f"{folder / name} cannot be packed: rename it with letters, digits, . _ and -")
    described = PackDescription(
        title=course.title,
        id=course.id,
        version=course.version,
        tcptutor=__version__,
        sha256=lessons_digest(hashes),
        files=hashes,
    )
    with (
        files.atomic(target, "give another place with -o") as temporary,
        zipfile.ZipFile(temporary, "w") as archive,
    ):
        _add(archive, _DESCRIPTION, msgspec.json.format(msgspec.json.encode(described), indent=1))
        for name in hashes:
            _add(archive, name, (folder / name).read_bytes())
    return described


def unpacked_pack(path: Path, content: bytes) -> Path:
    """Return the folder into which a pack is unpacked.

    Raises:
        TutorError: The pack is damaged, or cannot be unpacked.
    """
    described, lessons = _read(path, content)
    return unpacking.unpack_to_cache(lessons, described.sha256, described.id)


def is_pack(content: bytes) -> bool:
    """Return whether these bytes begin as a pack does."""
    return _DESCRIPTION.encode() in content[:64]


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, _LONG_AGO)
    member.create_system = 3  # Unix, on every system
    member.external_attr = files.PRIVATE << 16
    archive.writestr(member, content)


def _read(path: Path, content: bytes) -> tuple[PackDescription, dict[str, bytes]]:
    """Return the description and the lesson files. Raises TutorError for anything but a sound pack."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            members = _members(archive)
            text, *lessons = (_content(archive, member) for member in members)
        files.check_version(text, FORMAT_VERSION, path)
        described = decoding.convert(printable.escape_tree(msgspec.json.decode(text)), PackDescription)
        found = {member.filename: lesson for member, lesson in zip(members[1:], lessons, strict=True)}
        _check(described, found)
    except _DAMAGED as error:
        reason = printable.escaped(" ".join(str(error).split()))[:200]
        raise TutorError(f"{path} is no {SUFFIX} file, or damaged ({reason}): {_ASK}") from error
    return described, found


_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    msgspec.MsgspecError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    EOFError,
)
"""Exceptions that zipfile and msgspec raise for damaged or hostile files."""


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    if not members or members[0].filename != _DESCRIPTION or len(members) > unpacking.MOST_FILES:
        raise ValueError("it does not begin as a course")
    if len({member.filename for member in members}) < len(members):
        raise ValueError("a file is in it twice")
    return members


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    most = unpacking.most_bytes(member.filename)
    with archive.open(member) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{member.filename} is larger than any lesson")
    return content


def _check(described: PackDescription, found: Mapping[str, bytes]) -> None:
    for name in found:
        if not unpacking.is_lesson(name):
            raise ValueError(f"{name} is no lesson file")
    if {name: hashlib.sha256(lesson).hexdigest() for name, lesson in found.items()} != described.files:
        raise ValueError("a lesson is not as it was packed")
    if lessons_digest(described.files) != described.sha256 or not lesson_file.is_slug(described.id):
        raise ValueError("its description is not as it was written")


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
