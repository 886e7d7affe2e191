"""The guest's image as one file, for machines without a network: a tar archive of its description, kernel and system.

Snapshots are not in it: from an equal image an equal QEMU makes equal ones.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path

from tcptutor.backends import locks
from tcptutor.backends.guest.image import ELSEWHERE, Image
from tcptutor.base import archive, files
from tcptutor.base.errors import ImageDamaged, SetupError, refused

_MOST = 1 << 30
"""Bytes of one of its files."""
_PIECE = 1 << 20


def write(image: Image, target: Path) -> None:
    """Pack `image` into `target`. Raises ImageDamaged where it is not whole, TutorError where it cannot be written."""
    image.check(whole=True)
    with files.atomic(target, "give another place") as beside, beside.open("wb") as packed:
        for path in image.files:
            with path.open("rb") as content:
                size = os.fstat(content.fileno()).st_size
                packed.write(archive.header(path.name, size))
                shutil.copyfileobj(content, packed, _PIECE)
                packed.write(archive.padding(size))
        packed.write(archive.end())


def take(file: Path, image: Image, waiting: Callable[[], None]) -> None:
    """Put what is packed in `file` in the place of `image`, whole or not at all; `waiting` is called when another
    program builds there. Raises SetupError.
    """
    try:
        with locks.held(image.lock, waiting), image.replaced() as beside:
            packed = Image(beside, image.architecture)
            _unpack(file, packed)
            packed.check(whole=True)
    except ImageDamaged as error:
        what = "of another version" if "version" in str(error) else "damaged"
        raise SetupError(
            f"the lab in {file} is {what}: pack it again with this tcptutor (`tcptutor lab pack`)"
        ) from error
    except OSError as error:
        raise SetupError(f"the lab in {file} cannot be taken: {refused(error, ELSEWHERE)}") from error


def _unpack(file: Path, image: Image) -> None:
    """Write the files of `image`, as they come. Raises OSError and SetupError."""
    with files.open_regular(file) as source:
        members = archive.members(source, _MOST)
        for target in image.files:
            try:
                member = next(members, None)
            except archive.NotAnArchive as error:
                raise _no_lab(file) from error
            if member is None or member.name != target.name:
                raise _no_lab(file)
            _copy(source, target, member.size)


def _copy(source: BufferedReader, target: Path, left: int) -> None:
    with target.open("wb") as copy:
        while left and (piece := source.read(min(left, _PIECE))):
            copy.write(piece)
            left -= len(piece)


def _no_lab(file: Path) -> SetupError:
    return SetupError(f"{file} is not a packed lab: `tcptutor lab pack FILE` makes one, where there is a lab")
