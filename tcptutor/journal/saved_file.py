"""Small files of the student's next to the journal: read with damage set aside, written atomically."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from tcptutor.base import decoding, files, places
from tcptutor.base.errors import JournalError, TutorError, refused
from tcptutor.base.printable import escaped

FORMAT = 1
MOST_BYTES = 1 << 20

_T = TypeVar("_T")


def read_or_set_aside(path: Path | None, kind: type[_T], what: str, loss: str) -> _T | None:
    """Read a file; return None if it does not exist.

    Args:
        path: The file.
        kind: Struct of its content, with a `format_version`.
        what: Noun for messages: "saved benches".
        loss: Consequence of damage, for messages: "no bench is saved now".

    Raises:
        JournalError: It cannot be read, or it was damaged and has been set aside; a second call returns None.
    """
    if path is None or not os.path.lexists(path):
        return None
    try:
        data = files.read_plain(path, MOST_BYTES)
        files.check_version(data, FORMAT, path)
        return decoding.decode_json(data, kind)
    except FileNotFoundError:  # a link that leads nowhere
        return None
    except TutorError as error:  # the file is of a newer version
        raise JournalError(str(error)) from error
    except OSError as error:
        if error.errno not in files.NOT_A_FILE:
            raise JournalError(f"cannot read {path}: {error.strerror}: make it readable for you") from error
        raise _set_aside(path, error.strerror or str(error), what, loss) from error
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise _set_aside(path, str(error), what, loss) from error


def write(path: Path, data: bytes) -> None:
    """Replace a file. Raises JournalError."""
    try:
        with files.atomic(path, places.STATE_ELSEWHERE, private=True) as temporary:
            temporary.write_bytes(data + b"\n")
    except TutorError as error:
        raise JournalError(str(error)) from error


def _set_aside(path: Path, reason: str, what: str, loss: str) -> JournalError:
    try:
        aside = files.set_aside(path)
    except OSError as error:
        return JournalError(f"cannot rename {path}: {refused(error, places.STATE_ELSEWHERE)}")
    return JournalError(
        f"the file of {what} was damaged ({escaped(reason)[:200]}): it is kept as {aside}, and {loss}"
    )
