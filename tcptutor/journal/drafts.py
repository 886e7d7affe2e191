"""Text and choices that the student has entered on pages but not submitted, in a file next to the journal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from tcptutor.base import files, places
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.base.printable import is_printable

Draft: TypeAlias = str | list[int] | dict[str, str]
"""A typed text, the indexes of chosen entries, or the values of knobs by their names."""

LONGEST = 1000
"""Characters of the longest text that is saved."""
_FORMAT = 1
_MOST_BYTES = 1 << 20


class _DraftFile(msgspec.Struct, kw_only=True):
    format_version: int
    pages: dict[str, dict[str, Draft]]
    """By `module/step` and the activity's id."""


class Drafts:
    """The drafts of all pages. `folder` None keeps them in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / "drafts.json" if folder else None
        self._pages: dict[str, dict[str, Draft]] | None = None

    def page(self, module: str, step: str) -> Mapping[str, Draft]:
        """Return the page's drafts by the activities' ids; none from an unreadable file."""
        return self._read().get(f"{module}/{step}", {})

    def save(self, module: str, step: str, drafts: Mapping[str, Draft]) -> bool:
        """Replace the page's drafts, and return whether the file was written.

        Raises:
            JournalError: The file cannot be written; the drafts stay in memory.
        """
        pages, name = self._read(), f"{module}/{step}"
        sound = {id: draft for id, draft in drafts.items() if _is_sound(draft)}
        if sound == pages.get(name, {}):
            return False
        pages.pop(name, None)
        if sound:
            pages[name] = sound
        return self._write(pages)

    def _read(self) -> dict[str, dict[str, Draft]]:
        if self._pages is None:
            self._pages = {}
            if self._file is not None and os.path.lexists(self._file):
                # A damaged file, or one of a newer version, costs only the drafts.
                with contextlib.suppress(
                    OSError, TutorError, ValueError, msgspec.MsgspecError, RecursionError
                ):
                    data = files.read_plain(self._file, _MOST_BYTES)
                    files.check_version(data, _FORMAT, self._file)
                    self._pages = {
                        name: {id: draft for id, draft in page.items() if _is_sound(draft)}
                        for name, page in msgspec.json.decode(data, type=_DraftFile).pages.items()
                    }
        return self._pages

    def _write(self, pages: dict[str, dict[str, Draft]]) -> bool:
        if self._file is None:
            return False
        data = msgspec.json.encode(_DraftFile(format_version=_FORMAT, pages=pages))
        try:
            with files.atomic(self._file, places.STATE_ELSEWHERE, private=True) as temporary:
                temporary.write_bytes(data + b"\n")
        except TutorError as error:
            raise JournalError(str(error)) from error
        return True


def _is_sound(draft: Draft) -> bool:
    match draft:
        case str():
            texts = [draft]
        case dict():
            texts = [*draft, *draft.values()]
        case _:
            texts = []
    return bool(draft) and all(len(text) <= LONGEST and is_printable(text) for text in texts)
