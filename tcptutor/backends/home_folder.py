"""The student's `~` on the lab's hosts, stored between sessions in a folder of the user's data.

Its files are copied into the guest, and back when the session ends. Data from the guest is not trusted: only plain
names below the folder, no symbolic links, and no more than the student could have copied in.
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

__all__ = ["MAX_BYTES", "Home", "is_plain_path"]

_LONGEST_NAME = 100


class Home:
    """The home folder, and the transfer of its files for a session."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or places.home()
        self.omitted: tuple[str, ...] = ()
        """Files that were not copied: too large, or too many."""
        self._brought: set[str] = set()
        self._total = 0
        self._names: set[str] = set()
        self._part: tuple[str, Path] | None = None

    def make(self) -> Path | None:
        """Return the folder, created if necessary; None where it cannot be created."""
        try:
            files.make_private(self.folder.parent)
            self.folder.mkdir(exist_ok=True)
        except OSError:
            return None
        return self.folder

    def export(self) -> Iterator[HomeFile]:
        """Yield the files to copy into the lab, in pieces."""
        for piece in pieces(self.folder) if self.make() else ():
            if isinstance(piece, HomeFile):
                self._brought.add(piece.path)
                yield piece

    def receive(self, event: HomeFile | HomeFiles) -> None:
        """Store a file from the lab, or finish with the list of files.

        Never raises: a file that cannot be written is skipped.
        """
        with contextlib.suppress(OSError):
            if isinstance(event, HomeFile):
                self._receive(event)
            else:
                self._finish()
                self.omitted = tuple(name for name in event.omitted if is_plain_path(name))
                # Files that were copied in and no longer exist were deleted by the student.
                for name in self._brought - set(event.names) - set(event.omitted):
                    with contextlib.suppress(OSError):
                        (self.folder / name).unlink()

    def _receive(self, piece: HomeFile) -> None:
        self._total += len(piece.data)
        self._names.add(piece.path)
        if not is_plain_path(piece.path) or self._total > MAX_BYTES or len(self._names) > MAX_FILES:
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
        """Move the completed file into place; an existing symbolic link is replaced, not followed."""
        if self._part is not None:
            (name, part), self._part = self._part, None
            try:
                part.replace(self.folder / name)
            except OSError:
                part.unlink(missing_ok=True)

    def abandon(self) -> None:
        """Discard a partly received file after the lab has ended."""
        if self._part is not None:
            self._part[1].unlink(missing_ok=True)
            self._part = None


def is_plain_path(name: str) -> bool:
    """Check that `name` is a relative path of few printable names without ".."."""
    parts = name.split("/")
    return len(parts) <= MAX_DEPTH + 1 and all(
        part not in ("", ".", "..") and len(part) <= _LONGEST_NAME and part.isprintable() for part in parts
    )
