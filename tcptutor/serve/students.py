"""Students of a server, with their folders and the environment of their apps."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import ContentError, quoted
from tcptutor.base.files import read_plain
from tcptutor.base.printable import is_printable
from tcptutor.grading.roster import read_roster

OWNER = "you"
"""Name of the only user of a server without a list of students: its owner."""
_MOST_STUDENTS = 2000
_LONGEST_NAME = 80
_MOST_BYTES = 1 << 20

_INHERITED = re.compile(
    r"PATH|TZ|LANG|LANGUAGE|LC_[A-Z]+|TMPDIR|SSL_CERT_(FILE|DIR)|NO_MOTION|TCPTUTOR_[A-Z_]+"
)
"""Variables of the server that are passed to every app: no credentials, no variables that load code."""
_OWN = re.compile(r"HOME|XDG_[A-Z_]+|USER|LOGNAME")
"""Further variables that are passed to the app of the server's owner."""


class Student(msgspec.Struct, frozen=True):
    """Student of a server, or its owner."""

    name: str
    folder: Path
    """Folder of all data of the student."""
    is_owner: bool = False
    """True for the server's owner: the app uses the default journal."""

    @property
    def files(self) -> Path:
        """Working folder of the app: the student's exported files."""
        return self.folder / "files"

    @property
    def log(self) -> Path:
        """Log file with the standard error of the app."""
        return self.folder / "app.log"

    def environment(self, server: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of the student's app.

        Args:
            server: The server's environment; only a fixed set of harmless variables is passed on.
        """
        kept = {name: value for name, value in server.items() if _INHERITED.fullmatch(name)}
        if self.is_owner:
            kept |= {name: value for name, value in server.items() if _OWN.fullmatch(name)}
        else:
            kept |= {
                "HOME": str(self.folder / "home"),
                "XDG_DATA_HOME": str(self.folder / "data"),
                "XDG_STATE_HOME": str(self.folder / "state"),
                "XDG_CONFIG_HOME": str(self.folder / "config"),
                # The guest is shared: it is too large for a copy per student.
                "XDG_CACHE_HOME": str(places.cache().parent),
            }
        return kept | {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "TEXTUAL_COLOR_SYSTEM": "truecolor",
            "LANG": server.get("LANG", "C.UTF-8"),
        }


def server_folder() -> Path:
    """Return the folder of the server's logins and its students' folders. It may not exist yet."""
    return places.state() / "serve"


def owner() -> Student:
    """Return the server's owner as the only student."""
    return Student(OWNER, server_folder() / "own", is_owner=True)


def numbered(count: int) -> tuple[Student, ...]:
    """Return `count` students named "seat 1", "seat 2" and so on."""
    return tuple(map(_student, (f"seat {number}" for number in range(1, count + 1))))


def read_students(file: Path) -> tuple[Student, ...]:
    """Read students from a CSV roster (.csv), or from a text file with a name on each line.

    Raises:
        ContentError: The file cannot be read, or a name is repeated, too long, or has control characters.
    """
    names = _roster_names(file) if file.suffix.lower() == ".csv" else _line_names(file)
    if not names:
        raise ContentError(f"{file} names no students: write one on each line")
    if len(names) > _MOST_STUDENTS:
        raise ContentError(f"{file} names {len(names)} students: {_MOST_STUDENTS} at most")
    seen: dict[str, int] = {}
    for line, name in names:
        if not is_printable(name) or len(name) > _LONGEST_NAME:
            raise ContentError(
                f"{file}: line {line}: {quoted(name)} has control characters or more than {_LONGEST_NAME} letters"
            )
        if name.casefold() in seen:
            raise ContentError(f"{file}: line {line} repeats {quoted(name)} of line {seen[name.casefold()]}")
        seen[name.casefold()] = line
    return tuple(_student(name) for _, name in names)


def _roster_names(file: Path) -> list[tuple[int, str]]:
    return [(row.line, row.name) for row in read_roster(file).students]


def _line_names(file: Path) -> list[tuple[int, str]]:
    try:
        text = read_plain(file, _MOST_BYTES).decode()
    except OSError as error:
        raise ContentError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ContentError(f"{file} is not UTF-8: save it as UTF-8") from None
    lines = ((number, line.strip("\ufeff \t\r")) for number, line in enumerate(text.split("\n"), 1))
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def _student(name: str) -> Student:
    """Return a student with a folder name that is stable and valid on any file system."""
    word = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:24]
    digest = hashlib.sha256(name.casefold().encode()).hexdigest()[:10]
    return Student(name, server_folder() / "students" / f"{word or 'student'}-{digest}")
