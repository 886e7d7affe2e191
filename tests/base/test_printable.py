"""Text from elsewhere before a terminal sees it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base.printable import escaped, is_printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("100 Mbit/s, ±9 % → 日本 ▁▂▃", "100 Mbit/s, ±9 % → 日本 ▁▂▃"),
        ("\x1b]52;c;eA==\x07", r"\x1b]52;c;eA==\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\u202egnol\ud800", r"\u202egnol\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert is_printable(text) == (text == shown)


@given(st.text(st.characters()))
def test_what_is_escaped_is_printable_and_can_be_written(text: str) -> None:
    shown = escaped(text)
    shown.encode()
    assert is_printable(shown)
    assert not any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in shown)
    assert len(shown.splitlines()) <= 1


def test_a_text_of_lines_keeps_them() -> None:
    assert escaped("a\n\tb\r\x1b", lines=True) == "a\n\tb\\r\\x1b"
    assert is_printable("a\n\tb", lines=True)
