"""Compression of terminal output: only changed cells are sent, and colors only where they change.

Textual sets all colors before each run of cells and resets them after it, 45 bytes for each change of color. It also
writes complete screens several times for a single key.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from rich.cells import cell_len
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual.app import App
from textual.driver import Driver

from tcptutor.base.window import Window
from tcptutor.ui.line_meter import LineMeter

_TOKEN = re.compile(
    r"\x1b\[(?P<row>\d+);(?P<column>\d+)H"
    r"|\x1b\[(?P<codes>[0-9;]*)m"
    r"|(?P<aside>\x1b\[\?(?!1049|1047|47)[0-9]+[hl]|\x1b\[[0-9]*n|\x1b\](?!8;|66;)[^\x07\x1b]*(?:\x07|\x1b\\)|\x07)"
    r"|(?P<text>[^\x00-\x1f\x7f\x1b]+)"
    r"|(?P<other>[\x00-\x1f\x7f])"
)
"""Parts of Textual's output. `aside` changes no cell."""
_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_MOVES = re.compile(r"(?:\x1b\[[0-9;]*H|\n)*")
"""Output on which colors have no effect."""


@lru_cache
def lean(driver: type[Driver]) -> type[Driver]:
    """Return a subclass of `driver` with less output, which uses the app's `line` and `window` if present."""

    class LeanDriver(driver):  # type: ignore[misc, valid-type]
        _app: App[object]

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._cells = ShownCells()
            self._opening = ""
            """Begin of a frame, to be written with its first cells."""

        def write(self, data: str) -> None:
            if data == SYNC_START:
                self._opening = data
                return
            if self._is_cut_off():
                return
            opening, self._opening = self._opening, ""
            if opening and data == SYNC_END:
                return  # an empty frame
            changes = self._cells.changes(data)
            if not changes:
                self._opening = opening
                return
            output, line = opening + changes, getattr(self._app, "line", None)
            super().write(line.with_question(output) if isinstance(line, LineMeter) else output)

        def start_application_mode(self) -> None:
            super().start_application_mode()
            if isinstance(window := getattr(self._app, "window", None), Window):
                window.open(self._app.title)

        def stop_application_mode(self) -> None:
            if isinstance(window := getattr(self._app, "window", None), Window):
                window.close()
            super().stop_application_mode()

        def close(self) -> None:
            if not self._is_cut_off():
                super().close()

        def _is_cut_off(self) -> bool:
            """Return whether the terminal is gone: Textual's writer thread has ended, and its queue would fill up."""
            writer = getattr(self, "_writer_thread", None)
            return writer is not None and not writer.is_alive()

        def forget(self) -> None:
            """Send every cell of the next frame, since the terminal's content is unknown."""
            self._cells = ShownCells()

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


class ShownCells:
    """Cells that the terminal shows, by row, from 1."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[int, _Cell]] = {}
        self._cursor: tuple[int, int] | None = None

    def changes(self, output: str) -> str:
        """Return `output` without parts of rows that the terminal shows already.

        All is returned, and all forgotten, if it contains anything but text at known places.
        """
        kept: list[str] = []
        part: list[str] = []
        at, style, is_new = None, _NONE, True
        for token in _TOKEN.finditer(output):
            match token.lastgroup:
                case "column":
                    kept += part if is_new else ()
                    at, part, is_new = (int(token["row"]), int(token["column"])), [], False
                    part += token[0], "\x1b[0m", _change(_NONE, style)
                case "codes":
                    style = _parse(token["codes"], style)
                    part.append(token[0])
                case "aside":
                    kept.append(token[0])
                case "text" if at is not None:
                    part.append(token[0])
                    is_new |= self._take(token[0], style, at)
                    at = at[0], at[1] + cell_len(token[0])
                case "other" if token[0] == "\n":
                    at = None  # a move follows
                case _:
                    self._rows.clear()
                    return compact(output)
        if is_new or kept or at != self._cursor:
            kept += part  # ends with a move of the cursor
        self._cursor = at
        return compact("".join(kept))

    def _take(self, text: str, style: _Style, at: tuple[int, int]) -> bool:
        """Record the cells of `text`, and return whether any cell has changed."""
        shown, column, is_new = self._rows.setdefault(at[0], {}), at[1], False
        for character in text if text.isascii() else _clusters(text):
            cell = _Cell(character, style)
            width = 1 if character.isascii() else cell_len(character)
            if (before := shown.get(column)) != cell:
                if before == _COVERED:
                    shown.pop(column - 1, None)
                shown[column], is_new = cell, True
            if width > 1:
                shown[column + 1] = _COVERED
            column += width
        return is_new


class _Style(NamedTuple):
    attributes: tuple[str, ...] = ()
    foreground: str = ""
    background: str = ""


_NONE = _Style()


class _Cell(NamedTuple):
    character: str
    style: _Style


_COVERED = _Cell("", _NONE)
"""Right half of a wide character."""


def _clusters(text: str) -> list[str]:
    """Return the characters of `text`, each with the marks that combine with it."""
    clusters: list[str] = []
    for character in text:
        if clusters and cell_len(character) == 0:
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


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
