"""What somebody keeps in `~` on the lab's hosts: put there when a session begins, told when it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tcptutor.wire.protocol import HomeFile, HomeFiles

FOLDER = Path("/root")
"""In the guest, where it is a file system of its own."""
TOTAL = 16 << 20
"""Bytes that are carried each way, at most."""
MOST = 256
"""Files that are carried each way, at most."""
DEEPEST = 4
"""Folders inside each other."""
PIECE = 48 << 10
"""Bytes of a file that go in one message."""


def files(folder: Path) -> tuple[list[tuple[str, Path, int]], list[str]]:
    """Name, place and size of each file below `folder` that can be carried, and the names of those that cannot.

    Ordinary files only: no link is followed. The small ones come first.
    """
    found: list[tuple[int, str, Path]] = []
    for at, folders, names in os.walk(folder):
        depth = len(Path(at).relative_to(folder).parts)
        folders[:] = [] if depth >= DEEPEST else sorted(folders)
        for path in (Path(at, name) for name in names):
            if path.is_file() and not path.is_symlink():
                found.append((path.stat().st_size, str(path.relative_to(folder)), path))
    carried: list[tuple[str, Path, int]] = []
    left: list[str] = []
    total = 0
    for size, name, path in sorted(found):
        total += size
        if total > TOTAL or len(carried) >= MOST:
            left.append(name)
        else:
            carried.append((name, path, size))
    return carried, left


def pieces(folder: Path) -> Iterator[HomeFile | HomeFiles]:
    """All that is carried of `folder`, and last the list of it."""
    carried, left = files(folder)
    told = []
    for name, path, size in carried:
        try:
            runs = bool(path.stat().st_mode & 0o100)
            with path.open("rb") as file:
                for start in range(0, max(size, 1), PIECE):
                    yield HomeFile(name, file.read(PIECE), runs, append=start > 0)
        except OSError:
            left.append(name)  # gone, or not to be read
        else:
            told.append(name)
    yield HomeFiles(tuple(told), tuple(left))


def put(folder: Path, piece: HomeFile) -> None:
    """Write a piece of a file that the student brings; what cannot be written is left out."""
    path = folder / piece.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab" if piece.append else "wb") as file:
            file.write(piece.data)
        path.chmod(0o755 if piece.executable else 0o644)
    except OSError:
        return
