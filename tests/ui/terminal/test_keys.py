"""Keys, pastes and the wheel as xterm sends them; keys come from Textual's own reading of a terminal's bytes."""

from __future__ import annotations

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from tcptutor.ui.terminal import keys


def read(data: str) -> list[events.Key]:
    return [event for event in XTermParser().feed(data) if isinstance(event, events.Key)]


AS_THEY_CAME = [
    "a", "A", "é", "€", "1", " ", "~", "+", "\\", "|", "\r", "\t", "\x7f",
    "\x01", "\x03", "\x04", "\x12", "\x1a", "\x00", "\x1c", "\x1d", "\x1f",
    "\n", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[H", "\x1b[F", "\x1b[2~", "\x1b[3~",
    "\x1b[5~", "\x1b[6~", "\x1b[Z", "\x1bOP", "\x1bOQ",
    "\x1bOR", "\x1bOS", "\x1b[15~", "\x1b[17~", "\x1b[20~", "\x1b[21~", "\x1b[23~", "\x1b[24~",
    "\x1b[1;5C", "\x1b[1;5D", "\x1b[1;2A",
    "\x1b[1;3B", "\x1b[1;6D", "\x1b[3;5~",
]  # fmt: skip


@pytest.mark.parametrize("data", AS_THEY_CAME)
def test_what_a_terminal_sends_goes_to_the_shell_as_it_came(data: str) -> None:
    (key,) = read(data)
    assert keys.encode_key(key.key, key.character) == data.encode()


@pytest.mark.parametrize(
    ("data", "sent"),
    [
        ("\x1bOA", b"\x1b[A"),
        ("\x1b[1~", b"\x1b[H"),
        ("\x1b[11~", b"\x1bOP"),
        ("\x1b[97;5u", b"\x01"),
        ("\x1b[98;3u", b"\x1bb"),
        ("\x1b[13;2u", b"\r"),
        ("\x1b[47;5u", b"\x1f"),
        # As Textual tells it: readline goes a word back at both.
        ("\x1bb", b"\x1b[1;5D"),
    ],
)
def test_other_terminals_keys_are_sent_as_xterms(data: str, sent: bytes) -> None:
    (key,) = read(data)
    assert keys.encode_key(key.key, key.character) == sent


def test_alt_is_an_escape_before_it() -> None:
    assert keys.encode_key("alt+shift+b", "B") == b"\x1bB"
    assert keys.encode_key("alt+é", "é") == "\x1bé".encode()
    assert keys.encode_key("alt+enter") == b"\x1b\r"


def test_cursor_keys_are_others_for_an_application_that_wants_it() -> None:
    sent = [
        keys.encode_key(name, application=True) for name in ("up", "down", "right", "left", "home", "end")
    ]
    assert sent == [b"\x1bOA", b"\x1bOB", b"\x1bOC", b"\x1bOD", b"\x1bOH", b"\x1bOF"]
    assert keys.encode_key("ctrl+up", application=True) == b"\x1b[1;5A"


def test_what_no_terminal_sends_is_nothing() -> None:
    assert [
        keys.encode_key(name) for name in ("caps_lock", "left_shift", "ctrl+media_play", "f25", "<ignore>")
    ] == [b""] * 5


def test_a_paste_types_text_and_no_keys() -> None:
    text = "ip a\r\necho \x1b[201~; rm x\n\x03\tend\x7f"
    assert keys.encode_paste(text, bracketed=False) == b"ip a\recho [201~; rm x\r\tend"
    assert keys.encode_paste(text, bracketed=True) == b"\x1b[200~ip a\recho [201~; rm x\r\tend\x1b[201~"


def test_the_wheel() -> None:
    assert keys.encode_wheel(True, 4, 9, sgr=True) == b"\x1b[<64;5;10M"
    assert keys.encode_wheel(False, 4, 9, sgr=False) == b"\x1b[Ma%*"
    assert keys.encode_wheel(False, 300, 9, sgr=False) == b""
    assert keys.encode_wheel_as_arrows(True, application=False) == b"\x1b[A" * 3
    assert keys.encode_wheel_as_arrows(False, application=True) == b"\x1bOB" * 3
