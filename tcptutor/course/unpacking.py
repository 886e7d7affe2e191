"""Unpacking of lesson files from an archive by an unknown author into a folder."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import TutorError, refused
from tcptutor.course import lesson_file, trace_files

MOST_BYTES = 64 << 20
"""Bytes of all lesson files of a course; the shipped course has 1.5 MB."""
MOST_FILES = 4096
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_PATH = re.compile(rf"(?:{_WORD}/){{0,4}}{_WORD}\.(?:md|toml)")
_TRACE = re.compile(rf"[0-9][0-9]-{_WORD}/experiments/{_WORD}(?<!\.bak)(?<!\.orig)(?<!\.swp)")


def is_lesson(path: str) -> bool:
    """Return whether `path`, relative to a course with / between its parts, can be a file of the course."""
    return _PATH.fullmatch(path) is not None or is_trace(path)


def is_trace(path: str) -> bool:
    """Return whether `path` can be a rate trace, which is next to the experiment that names it."""
    return _TRACE.fullmatch(path) is not None and not path.endswith((".md", ".toml"))


def most_bytes(path: str) -> int:
    """Return the bytes of the largest file of a course with this path."""
    return trace_files.MOST_BYTES if is_trace(path) else lesson_file.MOST_BYTES


def folder_name(text: str) -> str:
    """Return a folder's name made from `text`."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", PurePosixPath(text).name).strip("-")[:60] or "course"


def unpack_to_cache(lessons: Mapping[str, bytes], digest: str, name: str) -> Path:
    """Unpack lesson files once, and return their folder.

    Args:
        lessons: Content of each file, by its path in the course.
        digest: Digest of all files, see `lessons_digest`.
        name: Name of the course's folder.

    Raises:
        TutorError: They cannot be written.
    """
    folder = places.cache() / "courses" / digest[:32] / name
    unpack(lessons, folder)
    return folder


def lessons_digest(hashes: Mapping[str, str]) -> str:
    """Return the digest of all lesson files, from the SHA-256 of each by its path."""
    return hashlib.sha256(msgspec.json.encode(hashes, order="deterministic")).hexdigest()


def unpack(lessons: Mapping[str, bytes], folder: Path) -> None:
    """Write lesson files to `folder`, all or none, unless they are there already.

    Raises:
        TutorError: They cannot be written.
    """
    if all((folder / name).is_file() for name in lessons):
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".new", dir=folder.parent))
        try:
            for name, content in lessons.items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(content)
            shutil.rmtree(folder, ignore_errors=True)  # an incomplete one
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        if not (folder / "course.toml").is_file():  # another program unpacked it meanwhile
            raise TutorError(f"cannot unpack the course to {folder}: {refused(error)}") from error
