"""What the pane's screen knows beside what is on it, and what no bytes can make of it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from tcptutor.ui.terminal.cells import SCROLLBACK_LINES
from tcptutor.ui.terminal.parser import MAX_SEQUENCE
from tcptutor.ui.terminal.screen import TerminalScreen


def fed(data: str, columns: int = 20, lines: int = 5) -> TerminalScreen:
    screen = TerminalScreen(columns, lines)
    screen.feed(data.encode())
    return screen


def rows(screen: TerminalScreen, back: int = 0) -> list[str]:
    return ["".join(text for text, _ in screen.row(y, back)).rstrip() for y in range(screen.lines)]


LINES = "".join(f"{number}\r\n" for number in range(1, 13))


def test_what_a_program_wants_of_keys_and_mouse() -> None:
    screen = fed("")
    assert not (screen.application_keys or screen.bracketed_paste or screen.mouse or screen.wheel_is_arrows)
    screen.feed(b"\x1b[?1h\x1b[?2004h\x1b[?1000;1006h\x1b[?1049h")
    assert screen.application_keys
    assert screen.bracketed_paste
    assert screen.mouse
    assert screen.sgr_mouse
    assert screen.wheel_is_arrows
    screen.feed(b"\x1b[?1l\x1b[?2004l\x1b[?1000;1006l\x1b[?1049l")
    assert not (screen.application_keys or screen.bracketed_paste or screen.mouse or screen.wheel_is_arrows)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("\x1b[c", b"\x1b[?1;2c"),
        ("\x1b[>c", b"\x1b[>0;0;0c"),
        ("\x1b[5n", b"\x1b[0n"),
        ("\x1b[3;7H\x1b[6n", b"\x1b[3;7R"),
        ("x" * 20 + "\x1b[6n", b"\x1b[1;20R"),
        ("\x1b[?6h\x1b[6n", b"\x1b[1;1R"),
        ("\x1b[?6n\x1bP+q544e\x1b\\\x1b]10;?\x07\x1b[18t\x1b[?2026$p", b""),
    ],
)
def test_what_it_answers(asked: str, answer: bytes) -> None:
    screen = fed(asked)
    assert screen.take_replies() == answer
    assert screen.take_replies() == b""


def test_who_asks_without_end_is_answered_within_bounds() -> None:
    assert len(fed("\x1b[c" * 10_000).take_replies()) < 1000


def test_what_scrolled_off_is_kept() -> None:
    screen = fed(LINES)
    assert rows(screen) == ["9", "10", "11", "12", ""]
    assert rows(screen, 3) == ["6", "7", "8", "9", "10"]
    assert (len(screen.history), screen.scrolled) == (8, 8)
    screen.feed(b"\x1b[?1049h" + LINES.encode() + b"\x1b[?1049l")
    assert len(screen.history) == 8, "of a program that has the screen for itself nothing is kept"
    screen.feed(b"\x1b[3J")
    assert len(screen.history) == 0
    screen.feed(b"\n" * (2 * SCROLLBACK_LINES))
    assert len(screen.history) == SCROLLBACK_LINES


def test_a_smaller_screen_keeps_the_cursors_line_and_what_is_above_it() -> None:
    screen = fed("1\r\n2\r\n3")
    screen.resize(3, 10)
    assert rows(screen) == ["1", "2", "3"]
    screen.resize(2, 10)
    assert (rows(screen), rows(screen, 1)) == (["2", "3"], ["1", "2"])
    assert screen.cursor.y == 1
    screen.resize(4, 30)
    screen.feed(b"\r\n4\t\t\tx")
    assert rows(screen) == ["2", "3", "4                       x", ""]


def test_a_program_with_the_screen_for_itself_is_resized_and_left() -> None:
    screen = fed("1\r\n2\r\n3\r\n4\x1b[?1049h\x1b[Hother\x1b[5;1H")
    screen.resize(3, 20)
    assert screen.cursor.y == 2
    screen.feed(b"\x1b[?1049l")
    assert rows(screen) == ["2", "3", "4"]
    assert rows(screen, 1) == ["1", "2", "3"]
    assert (screen.cursor.x, screen.cursor.y) == (1, 2)


def test_tabs_forward_and_a_soft_reset() -> None:
    assert rows(fed("\x1b[2Ix"))[0] == " " * 16 + "x"
    screen = fed(f"{LINES}\x1b[2;4r\x1b[?6h\x1b[1;31m\x1b[4h\x1b[?25l\x1b[!p\x1b[HA")
    assert rows(screen)[0] == "A"
    assert not screen.cursor.hidden
    assert screen.row(0)[0].look.fg == "default"


def test_a_sequence_without_an_end_is_given_up() -> None:
    screen = fed("\x1b[" + "1" * (MAX_SEQUENCE + 10))
    screen.feed(b"\x1b[H\x1b[Jback")
    assert rows(screen)[0] == "back"


ODD = st.sampled_from(
    [b"\x1b", b"\x1b[", b"\x1b]52;c;", b"\x1bP", b"\x07", b"\x9b", b"\x1b[?", b"h", b"l", b"m", b";", b"9999999999",
     b"\x1b[?1049", b"r", b"H",
     "\u202e\u2066\u200b".encode(), "\u4f60".encode(), "e\u0301\u0301".encode(), b"\x1b[38;5;999m",
     b"\x1b[38;2;1m", b"@", b"P", b"L", b"M", b"b", b"\n"]
)  # fmt: skip


@given(st.lists(ODD | st.binary(max_size=8), max_size=60), st.integers(2, 30), st.integers(1, 8))
def test_only_cells_come_out_whatever_goes_in(pieces: list[bytes], columns: int, lines: int) -> None:
    screen = TerminalScreen(columns, lines)
    for piece in pieces:
        screen.feed(piece)
    assert 0 <= screen.cursor.x <= columns
    assert 0 <= screen.cursor.y < lines
    for y in range(lines):
        text = "".join(text for text, _ in screen.row(y))
        assert wcswidth(text) == columns
        assert not {unicodedata.category(character) for character in text} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    screen.resize(max(1, lines - 2), columns + 3)
    assert wcswidth("".join(text for text, _ in screen.row(0))) == columns + 3
