"""Sources of courses: a folder, a pack, an archive, a git repository, or the id of a known course."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tcptutor.base import files, places, printable
from tcptutor.base.errors import TutorError, UsageError, refused, unknown
from tcptutor.base.places import ChosenCourse
from tcptutor.course import unpacking
from tcptutor.course.archives import is_archive, read_archive
from tcptutor.course.checkout import checkout_folder, parse_address
from tcptutor.course.known_courses import known_courses
from tcptutor.course.lesson_file import is_slug
from tcptutor.course.outline import OpenedCourse
from tcptutor.course.pack import SUFFIX, is_pack, unpacked_pack

_MOST_PACKED = 64 << 20
"""Bytes of a pack or an archive."""
_ASK = "ask your teacher for it again"
_KINDS = f"give a folder with a course.toml, a {SUFFIX} or .zip file, or the URL of a git repository"


def choose(given: str) -> ChosenCourse | None:
    """Resolve the argument `given` to a course; None for the id of the shipped course.

    Raises:
        UsageError: `given` is no course.
        TutorError: The course is damaged, or cannot be unpacked or fetched.
    """
    if not given.strip():
        raise UsageError(f"no course is named: {_KINDS}")
    path = Path(given).expanduser()
    if not path.exists() and is_slug(given):
        if given == places.SHIPPED_ID:
            return None
        found = {each.id: each.given for each in known_courses()}
        if given not in found:
            raise UsageError(unknown("course", given, [places.SHIPPED_ID, *found], _KINDS))
        given = found[given]
    folder = course_folder(given)
    opened = OpenedCourse(folder)
    if opened.own_problems:
        raise opened.own_problems[0]
    return ChosenCourse(_lasting(given), folder, opened.course.id)


def course_folder(given: str | Path) -> Path:
    """Return the folder of a course, which is unpacked or fetched if it was not yet.

    Args:
        given: A folder, a pack, an archive, or the address of a git repository with @REVISION or without.

    Raises:
        UsageError: It is none of them.
        TutorError: It is damaged, or cannot be unpacked or fetched.
    """
    path = Path(given).expanduser()
    if (path / "course.toml").is_file():
        return path
    if path.is_file():
        return _unpacked(path)
    if isinstance(given, str) and (address := parse_address(given)):
        if address.url.endswith((".zip", ".tar.gz", ".tgz", SUFFIX)):
            raise UsageError(f"{address.url} is a file, not a repository: download it, and give the file")
        return checkout_folder(address)
    if path.is_dir():
        raise UsageError(f"{given} is no course: a course's folder has a course.toml")
    if path.exists():
        raise UsageError(f"{given} is no course: {_KINDS}")
    raise UsageError(f"no course {printable.escaped(str(given))}: {_KINDS}")


def _unpacked(path: Path) -> Path:
    try:
        content = files.read_plain(path, _MOST_PACKED)
    except OSError as error:
        raise TutorError(f"cannot read {path}: {refused(error, _ASK)}") from error
    if path.suffix == SUFFIX or is_pack(content):
        return unpacked_pack(path, content)
    if not is_archive(content):
        raise UsageError(f"{path} is no course: {_KINDS}")
    found = read_archive(path, content)
    hashes = {name: hashlib.sha256(lesson).hexdigest() for name, lesson in found.lessons.items()}
    name = unpacking.folder_name(found.name or path.name.partition(".")[0])
    return unpacking.unpack_to_cache(found.lessons, unpacking.lessons_digest(hashes), name)


def _lasting(given: str) -> str:
    """Return the course's source independent of the working folder: an existing path becomes absolute."""
    path = Path(given).expanduser()
    return str(path.absolute()) if path.exists() else given
