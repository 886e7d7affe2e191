"""The pane's screen beside tmux's, of the same bytes: text, looks and cursor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyte import graphics
from wcwidth import wcswidth

from tcptutor.ui.terminal.screen import TerminalScreen

from .screens import SCREENS
from .tmux_screen import Shown, TmuxScreen


@pytest.fixture(scope="module")
def tmux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TmuxScreen]:
    screen = TmuxScreen(tmp_path_factory.mktemp("tmux"))
    yield screen
    screen.close()


PALETTE = {colour: f"256:{number}" for number, colour in enumerate(graphics.FG_BG_256)}


def colour(name: str) -> str:
    return (
        name
        if not set(name) <= set("0123456789abcdef") or len(name) != 6
        else PALETTE.get(name, f"rgb:{name}")
    )


def shown(data: bytes, columns: int, lines: int, piece: int) -> Shown:
    screen = TerminalScreen(columns, lines)
    for start in range(0, len(data), piece):
        screen.feed(data[start : start + piece])
    rows = []
    for y in range(lines):
        row = []
        for text, look in screen.row(y):
            names = {
                f"{name}=1"
                for name in ("bold", "italics", "underscore", "reverse", "strikethrough")
                if getattr(look, name)
            }
            names |= {
                f"{plane}={colour(value)}"
                for plane in ("fg", "bg")
                if (value := getattr(look, plane)) != "default"
            }
            row += [(character, frozenset(names)) for character in text]
        assert wcswidth("".join(text for text, _ in screen.row(y))) == columns
        rows.append(row)
    return Shown(rows, (screen.cursor.x, screen.cursor.y))


def trimmed(line: list[tuple[str, frozenset[str]]]) -> list[tuple[str, frozenset[str]]]:
    """Without blanks of no look at its end, which tmux leaves out."""
    line = [
        (
            character,
            look
            if character != " "
            else frozenset(each for each in look if each.startswith(("bg", "rev", "und", "str"))),
        )
        for character, look in line
    ]
    while line and line[-1] == (" ", frozenset()):
        line = line[:-1]
    return line


@pytest.mark.terminal
@pytest.mark.parametrize("name", SCREENS)
def test_it_shows_what_tmux_shows(tmux: TmuxScreen, name: str) -> None:
    data = SCREENS[name].encode()
    theirs, ours = tmux.show(data), shown(data, 80, 24, len(data))
    assert ours.text == theirs.text
    assert [trimmed(line) for line in ours.lines] == [trimmed(line) for line in theirs.lines]
    assert ours.cursor == theirs.cursor


@pytest.mark.parametrize("name", SCREENS)
def test_it_does_not_matter_in_which_pieces_the_bytes_come(name: str) -> None:
    data = SCREENS[name].encode()
    whole = shown(data, 80, 24, len(data))
    assert [shown(data, 80, 24, piece) for piece in (1, 3, 7)] == [whole] * 3
