"""Keys as a user writes them, against the names that Textual gives to what a terminal sends."""

from __future__ import annotations

import pytest
from textual.keys import _character_to_key

from tcptutor.base.errors import UsageError
from tcptutor.ui.configuration.spelling import character_of, parse_key, shown_key, written_key


def test_every_character_has_the_name_that_textual_gives_it() -> None:
    for code in range(0x21, 0x7F):
        key = parse_key(chr(code))
        assert key == _character_to_key(chr(code))
        assert (character_of(key), written_key(key), shown_key(key)) == (chr(code),) * 3


@pytest.mark.parametrize(
    ("written", "key", "shown"),
    [
        ("F5", "f5", "F5"),
        ("Ctrl+R", "ctrl+r", "ctrl+r"),
        ("control+r", "ctrl+r", "ctrl+r"),
        ("shift+r", "R", "R"),
        ("Shift+Tab", "shift+tab", "shift+Tab"),
        ("alt+X", "alt+X", "alt+X"),
        ("PgUp", "pageup", "PgUp"),
        ("right", "right", "→"),
        ("+", "plus", "+"),
        ("é", "é", "é"),
    ],
)
def test_names_may_be_written_in_many_ways(written: str, key: str, shown: str) -> None:
    assert parse_key(written) == key
    assert shown_key(key) == shown
    assert parse_key(written_key(key)) == key


@pytest.mark.parametrize(
    ("written", "remedy"),
    [
        ("enterr", "did you mean enter?"),
        ("foo", "such as f5"),
        ("", "such as f5"),
        ("\x1b", "such as f5"),
        ("cmd+x", "use ctrl, alt or a function key"),
        ("ctrl+i", "sends Tab"),
        ("ctrl+m", "sends Enter"),
        ("ctrl+1", "ctrl needs a letter"),
        ("shift+1", "the character that it types"),
    ],
)
def test_a_key_that_cannot_be_pressed_is_refused_with_a_remedy(written: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=remedy.replace("?", r"\?")):
        parse_key(written)
