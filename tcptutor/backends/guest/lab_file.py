"""The guest's image as a file for machines without a network: a tar archive of manifest, kernel and system.

Snapshots are not included: the same QEMU makes the same snapshots from the same image.
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
"""Maximum size of a member, bytes."""
_PIECE = 1 << 20


def pack(image: Image, target: Path) -> None:
    """Pack `image` into the file `target`.

    Raises ImageDamaged for a damaged image, TutorError when the file cannot be written.
    """
    image.check(thorough=True)
    with files.atomic(target, "choose another place") as part, part.open("wb") as packed:
        for path in image.files:
            with path.open("rb") as content:
                size = os.fstat(content.fileno()).st_size
                packed.write(archive.header(path.name, size))
                shutil.copyfileobj(content, packed, _PIECE)
                packed.write(archive.padding(size))
        packed.write(archive.end())


def install(file: Path, image: Image, waiting: Callable[[], None]) -> None:
    """Install the image packed in `file` in place of `image`, atomically. Raises SetupError.

    `waiting` is called before waiting for a concurrent build.
    """
    try:
        with locks.hold(image.lock, waiting), image.replacement() as folder:
            packed = Image(folder, image.architecture)
            _unpack(file, packed)
            packed.check(thorough=True)
    except ImageDamaged as error:
        problem = "of another version" if "version" in str(error) else "damaged"
        raise SetupError(
            f"the lab in {file} is {problem}: pack it again with this tcptutor (`tcptutor lab pack`)"
        ) from error
    except OSError as error:
        raise SetupError(f"the lab in {file} cannot be installed: {refused(error, ELSEWHERE)}") from error


def _unpack(file: Path, image: Image) -> None:
    """Extract the files of `image` in their order. Raises OSError and SetupError."""
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
    return SetupError(f"{file} is not a packed lab: make one with `tcptutor lab pack FILE`")
