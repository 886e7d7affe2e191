"""The student's `~` on the lab's hosts, kept in a folder of the user's data between sessions.

Into the guest its files are carried, and out of it when the session ends. What a guest sends is not trusted: only plain
names below the folder, no link is followed, and no more than the student could have carried in.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tcptutor.base import files, places
from tcptutor.wire.home_files import MAX_BYTES, MAX_DEPTH, MAX_FILES, pieces
from tcptutor.wire.protocol import HomeFile, HomeFiles

__all__ = ["MAX_BYTES", "Home", "plain"]

_LONGEST_NAME = 100


class Home:
    """The folder, and what one session makes of it."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or places.home()
        self.left: tuple[str, ...] = ()
        """Files that stayed behind: too large, or too many."""
        self._brought: set[str] = set()
        self._total = 0
        self._names: set[str] = set()
        self._part: tuple[str, Path] | None = None

    def make(self) -> Path | None:
        """The folder, made if it is not there; None where it cannot be."""
        try:
            files.make_private(self.folder.parent)
            self.folder.mkdir(exist_ok=True)
        except OSError:
            return None
        return self.folder

    def bring(self) -> Iterator[HomeFile]:
        """What goes into the lab."""
        for piece in pieces(self.folder) if self.make() else ():
            if isinstance(piece, HomeFile):
                self._brought.add(piece.path)
                yield piece

    def take(self, event: HomeFile | HomeFiles) -> None:
        """What comes out of it. Never raises: what cannot be kept is left out."""
        with contextlib.suppress(OSError):
            if isinstance(event, HomeFile):
                self._take(event)
            else:
                self._finish()
                self.left = tuple(name for name in event.left_out if plain(name))
                # Those that were brought and are there no longer, somebody has removed.
                for name in self._brought - set(event.names) - set(event.left_out):
                    with contextlib.suppress(OSError):
                        (self.folder / name).unlink()

    def _take(self, piece: HomeFile) -> None:
        self._total += len(piece.data)
        self._names.add(piece.path)
        if not plain(piece.path) or self._total > MAX_BYTES or len(self._names) > MAX_FILES:
            return
        if piece.append:
            if self._part is not None and self._part[0] == piece.path:
                with self._part[1].open("ab") as file:
                    file.write(piece.data)
            return
        self._finish()
        place = self.folder
        for part in Path(piece.path).parts[:-1]:
            place /= part
            if place.is_symlink():
                return
            place.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.folder, prefix=".carried-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(piece.data)
            os.fchmod(file.fileno(), 0o755 if piece.executable else 0o644)
        self._part = (piece.path, Path(name))

    def _finish(self) -> None:
        """Put the file that is whole in its place; a link that was there is replaced, not followed."""
        if self._part is not None:
            (name, part), self._part = self._part, None
            try:
                part.replace(self.folder / name)
            except OSError:
                part.unlink(missing_ok=True)

    def abandon(self) -> None:
        """The lab has ended in the middle of it: half a file is none."""
        if self._part is not None:
            self._part[1].unlink(missing_ok=True)
            self._part = None


def plain(name: str) -> bool:
    """Whether `name` is a path of a few printable names, going nowhere but down."""
    parts = name.split("/")
    return len(parts) <= MAX_DEPTH + 1 and all(
        part not in ("", ".", "..") and len(part) <= _LONGEST_NAME and part.isprintable() for part in parts
    )
