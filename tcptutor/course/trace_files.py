"""Files with the rate of a bottleneck over time, which an experiment takes in as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcptutor.base.errors import ParameterError, quoted
from tcptutor.base.files import read_plain
from tcptutor.spec import rate_trace

_KEY = "rate_trace"
MOST_BYTES = 16 << 20
"""Bytes of the largest file: an hour of mahimahi's opportunities at 20 Mbit/s."""


def read_trace_file(settings: Mapping[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """Return `settings` with the steps of a rate trace in place of the name of its file.

    Args:
        settings: Parameters by name.
        folder: Folder that the file must be in, for a course; by default any file that the user may read.

    Raises:
        ParameterError: The file is missing, too large or no trace.
    """
    text = settings.get(_KEY)
    if not isinstance(text, str) or text.strip().lower() in ("", "none") or rate_trace.is_inline(text):
        return dict(settings)
    path = Path(text.strip()).expanduser()
    if folder is not None:
        path = folder / text.strip()
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ParameterError(
                f"{_KEY}: {quoted(text)} is outside the course: put the file next to the experiment"
            )
    try:
        content = read_plain(path, MOST_BYTES).decode()
    except FileNotFoundError:
        raise ParameterError(f"{_KEY}: no file {quoted(text)}: write {rate_trace.EXAMPLE}") from None
    except OSError as error:
        raise ParameterError(
            f"{_KEY}: cannot read {quoted(text)} ({error.strerror}): choose another file"
        ) from None
    except ValueError:
        raise ParameterError(f"{_KEY}: {quoted(text)} is not a text: choose another file") from None
    try:
        steps = rate_trace.parse(content)
    except ParameterError as error:
        raise ParameterError(f"{_KEY}: {quoted(text)}: {str(error).removeprefix(f'{_KEY}: ')}") from None
    if not steps:
        raise ParameterError(f"{_KEY}: {quoted(text)} is empty: write {rate_trace.EXAMPLE}")
    return {**settings, _KEY: rate_trace.text_of(steps)}
