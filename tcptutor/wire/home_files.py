"""Transfer of a student's home folder: copied to the lab hosts before a session and back after it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tcptutor.wire.protocol import HomeFile, HomeFiles

FOLDER = Path("/root")
"""Home of the lab hosts in the guest, a file system of its own."""
MAX_BYTES = 16 << 20
"""Bytes to transfer in each direction."""
MAX_FILES = 256
MAX_DEPTH = 4
"""Levels of nested folders."""
PIECE = 48 << 10
"""Bytes of a file per message."""


def list_files(folder: Path) -> tuple[list[tuple[str, Path, int]], list[str]]:
    """List the files below `folder`: (name, path, size) of files to transfer, and the names of others.

    Only regular files count; links are not followed. Smaller files are transferred first.
    """
    candidates: list[tuple[int, str, Path]] = []
    for at, folders, names in os.walk(folder):
        depth = len(Path(at).relative_to(folder).parts)
        folders[:] = [] if depth >= MAX_DEPTH else sorted(folders)
        for path in (Path(at, name) for name in names):
            if path.is_file() and not path.is_symlink():
                candidates.append((path.stat().st_size, str(path.relative_to(folder)), path))
    transferred: list[tuple[str, Path, int]] = []
    omitted: list[str] = []
    total = 0
    for size, name, path in sorted(candidates):
        total += size
        if total > MAX_BYTES or len(transferred) >= MAX_FILES:
            omitted.append(name)
        else:
            transferred.append((name, path, size))
    return transferred, omitted


def pieces(folder: Path) -> Iterator[HomeFile | HomeFiles]:
    """Yield the files of `folder` in pieces, then the list of their names."""
    files, omitted = list_files(folder)
    sent = []
    for name, path, size in files:
        try:
            is_executable = bool(path.stat().st_mode & 0o100)
            with path.open("rb") as file:
                for start in range(0, max(size, 1), PIECE):
                    yield HomeFile(name, file.read(PIECE), is_executable, append=start > 0)
        except OSError:
            omitted.append(name)  # removed meanwhile, or unreadable
        else:
            sent.append(name)
    yield HomeFiles(tuple(sent), tuple(omitted))


def write_piece(folder: Path, piece: HomeFile) -> None:
    """Write a piece of a student's file into `folder`; skip a file that cannot be written."""
    path = folder / piece.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab" if piece.append else "wb") as file:
            file.write(piece.data)
        path.chmod(0o755 if piece.executable else 0o644)
    except OSError:
        return
