"""Fewer bytes for the same picture: colors are sent only where they change.

Textual sets all colors before each run of cells and resets them after it, 45 bytes for each change of color.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from textual.driver import Driver

_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_MOVES = re.compile(r"(?:\x1b\[[0-9;]*H|\n)*")
"""Output on which colors have no effect."""


@lru_cache
def lean(driver: type[Driver]) -> type[Driver]:
    """Return `driver` with output of fewer bytes."""

    class LeanDriver(driver):  # type: ignore[misc, valid-type]
        def write(self, data: str) -> None:
            super().write(compact(data))

    return LeanDriver


def compact(output: str) -> str:
    """Return terminal output that draws the same with fewer bytes. It begins and ends without colors."""
    parts = _STYLE.split(output)
    result, now, wanted = [parts[0]], _NONE, _NONE
    for codes, text in zip(parts[1::2], parts[2::2], strict=True):
        wanted = _parse(codes, wanted)
        if text and not _MOVES.fullmatch(text):
            result.append(_change(now, wanted))
            now = wanted
        result.append(text)
    result.append(_change(now, wanted))
    return "".join(result)


class _Style(NamedTuple):
    attributes: tuple[str, ...] = ()
    foreground: str = ""
    background: str = ""


_NONE = _Style()


@lru_cache(4096)
def _parse(codes: str, before: _Style) -> _Style:
    """Return the style after an escape sequence with `codes`."""
    style, rest = before, (codes or "0").split(";")
    while rest:
        code = rest.pop(0)
        if code in ("38", "48"):
            length = 4 if rest[:1] == ["2"] else 2
            code, rest = ";".join([code, *rest[:length]]), rest[length:]
        if code in ("", "0"):
            style = _NONE
        elif code.startswith("38;") or code[:-1] in ("3", "9"):
            style = style._replace(foreground="" if code == "39" else code)
        elif code.startswith("48;") or code[:-1] in ("4", "10"):
            style = style._replace(background="" if code == "49" else code)
        else:
            style = style._replace(attributes=(*style.attributes, code))
    return style


@lru_cache(4096)
def _change(now: _Style, wanted: _Style) -> str:
    """Return the shortest escape sequence between two styles."""
    if now == wanted:
        return ""
    whole = [*wanted.attributes, *filter(None, wanted[1:])]
    if wanted == _NONE:
        codes = "0"
    elif now == _NONE:
        codes = ";".join(whole)
    elif now.attributes != wanted.attributes:
        codes = ";".join(["0", *whole])
    else:
        pairs = ((now.foreground, wanted.foreground, "39"), (now.background, wanted.background, "49"))
        codes = ";".join(new or default for old, new, default in pairs if new != old)
    return f"\x1b[{codes}m"
