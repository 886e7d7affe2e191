"""Bounded reading of a course file; every problem is a one-line ContentError with file, key and reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tcptutor.base.errors import ContentError
from tcptutor.base.files import read_plain
from tcptutor.base.printable import escaped
from tcptutor.course.toml import SMALL, FileBounds, Untame, check_text, parsed
from tcptutor.course.validation_messages import explain

_LONGEST_REASON = 400
"""Most characters of a reason, which may quote the file."""
T = TypeVar("T")


@dataclass(frozen=True)
class LessonFile:
    """File of the course, with its name in messages."""

    path: Path
    root: Path
    """Folder of all lessons."""

    def problem(self, reason: str, key: str = "") -> ContentError:
        """Return the error to raise: one printable line of bounded length."""
        name = f"{self.root.name}/{self.path.relative_to(self.root).as_posix()}"
        reason = " ".join(reason.split())
        if len(reason) > _LONGEST_REASON:
            reason = f"{reason[: _LONGEST_REASON - 4]} ..."
        return ContentError(
            escaped(": ".join(part for part in (name, key[:_LONGEST_REASON], reason) if part))
        )

    def text(self, bounds: FileBounds) -> str:
        """Return the text with LF line ends.

        Raises:
            ContentError: The file is missing, too large, or not UTF-8.
        """
        try:
            return read_plain(self.path, bounds.size).decode("utf-8").replace("\r\n", "\n")
        except FileNotFoundError:
            raise self.problem("the file is missing") from None
        except OSError as error:
            raise self.problem(f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise self.problem(f"cannot be read: byte {error.start + 1} is not UTF-8") from None

    def tables(self, bounds: FileBounds = SMALL) -> dict[str, Any]:
        """Parse the file as TOML.

        Raises:
            ContentError: The file cannot be read or exceeds `bounds`.
        """
        return self._toml(self.text(bounds), bounds)

    def read(self, kind: type[T], bounds: FileBounds = SMALL) -> T:
        """Parse the TOML file as `kind`.

        Raises:
            ContentError: The file cannot be read, exceeds `bounds`, or does not match `kind`.
        """
        return self.convert_table(self.tables(bounds), kind)

    def parse_text(self, text: str, kind: type[T], bounds: FileBounds = SMALL) -> T:
        """Parse TOML `text` from this file as `kind`.

        Raises:
            ContentError: The text exceeds `bounds` or does not match `kind`.
        """
        return self.convert_table(self._toml(text, bounds), kind)

    def check_text(self, text: str, key: str) -> None:
        """Check that a text can be shown on a terminal.

        Raises:
            ContentError: It cannot.
        """
        with self._tame():
            check_text(text, key)

    def _toml(self, text: str, bounds: FileBounds) -> dict[str, Any]:
        with self._tame():
            return parsed(text, bounds)

    @contextmanager
    def _tame(self) -> Iterator[None]:
        try:
            yield
        except Untame as error:
            raise self.problem(error.reason, error.key) from None

    def convert_table(self, table: dict[str, Any], kind: type[T]) -> T:
        """Convert a table from this file to `kind`.

        Raises:
            ContentError: The table does not match `kind`.
        """
        try:
            return msgspec.convert(table, kind)
        except msgspec.ValidationError as error:
            raise self.problem(*reversed(explain(str(error), table, kind))) from None
