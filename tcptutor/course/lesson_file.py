"""A file of the course, read within bounds. Every problem is a ContentError of one line: file, key, reason."""

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
from tcptutor.course.explain import explain
from tcptutor.course.toml import SMALL, FileBounds, Untame, check_text, parsed

_LONGEST_REASON = 400
"""Characters of a problem's reason, which may quote what stands in the file."""
T = TypeVar("T")


@dataclass(frozen=True)
class LessonFile:
    """A file of the course, and how it is called in messages."""

    path: Path
    root: Path
    """The folder of all lessons."""

    def problem(self, reason: str, key: str = "") -> ContentError:
        """The error to raise: one printable line of bounded length, whatever `reason` holds."""
        name = f"{self.root.name}/{self.path.relative_to(self.root).as_posix()}"
        reason = " ".join(reason.split())
        if len(reason) > _LONGEST_REASON:
            reason = f"{reason[: _LONGEST_REASON - 4]} ..."
        return ContentError(
            escaped(": ".join(part for part in (name, key[:_LONGEST_REASON], reason) if part))
        )

    def text(self, bounds: FileBounds) -> str:
        """All of it, with `\\n` at the end of lines. Raises ContentError."""
        try:
            return read_plain(self.path, bounds.size).decode("utf-8").replace("\r\n", "\n")
        except FileNotFoundError:
            raise self.problem("the file is missing") from None
        except OSError as error:
            raise self.problem(f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise self.problem(f"cannot be read: byte {error.start + 1} is not UTF-8") from None

    def tables(self, bounds: FileBounds = SMALL) -> dict[str, Any]:
        """A TOML file as it stands. Raises ContentError."""
        return self._toml(self.text(bounds), bounds)

    def read(self, kind: type[T], bounds: FileBounds = SMALL) -> T:
        """A TOML file as `kind`. Raises ContentError."""
        return self.converted(self.tables(bounds), kind)

    def convert(self, text: str, kind: type[T], bounds: FileBounds = SMALL) -> T:
        """The TOML `text`, which stands in this file, as `kind`. Raises ContentError."""
        return self.converted(self._toml(text, bounds), kind)

    def check_text(self, text: str, key: str) -> None:
        """Raise ContentError for a text that cannot be shown."""
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

    def converted(self, table: dict[str, Any], kind: type[T]) -> T:
        """What stands in this file, as `kind`. Raises ContentError."""
        try:
            return msgspec.convert(table, kind)
        except msgspec.ValidationError as error:
            raise self.problem(*reversed(explain(str(error), table, kind))) from None
