"""Terminals whose font or locale has few characters: every cell stays where it is, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tcptutor.base import glyphs, places
from tcptutor.ui.screens.base import TutorScreen

from .screen import text, until, until_text

_ALL = (
    "".join(map(chr, range(0x2800, 0x2900)))
    + "─×▪√·²═│▶✗✓–┤−±↑↓›┼━┐┴└Δ○┘→”┈▲├“⚠┃█┌✂●³■□▸≤▏┬µ▇◇▼╂◆◂Σ≥☐☑↕…△‰▁▂▃▄▅▆╋┠┨┲┱┺┹┢┡┪┩╆╅╄╃★◐▷"
)


@pytest.mark.parametrize("shown", ["console", "ascii"])
def test_each_character_takes_as_many_cells_as_before(shown: glyphs.Glyphs) -> None:
    for character in f"{_ALL}é漢🔎\N{NO-BREAK SPACE}":
        drawn = glyphs.substitute(character, shown)
        assert cell_len(drawn) == cell_len(character), character
        assert shown != "ascii" or drawn.isascii()
    assert glyphs.substitute("plain", shown) == "plain"
    assert glyphs.substitute(_ALL, "all") == _ALL


def test_the_consoles_font_has_every_sign() -> None:
    texts = (
        path.read_text()
        for root in (places.lessons(), Path(glyphs.__file__).parents[1])
        for path in root.rglob("*")
        if path.suffix in (".py", ".md", ".toml")
    )
    used = {sign for text in texts for sign in text if not sign.isascii() and not sign.isalpha()}
    assert len(used) > 100
    shown = set(glyphs.substitute("".join(sorted(used)), "console"))
    assert not {sign for sign in shown if not sign.isascii()} - glyphs.CONSOLE_FONT
    assert not {sign for sign in used if glyphs.substitute(sign, "console") == "?"}


@pytest.mark.parametrize(
    ("line", "console", "ascii_"),
    [
        (["1.22 / √p", "      "], ["1.22 / sqrt p", "  "], ["1.22 / sqrt p", "  "]),
        (["¾ of W²", "     "], ["3/4 of W²", "   "], ["3/4 of W^2", "  "]),
        (["│ ¾ │"], ["│ 3 │"], ["| 3 |"]),
        (["a", " ", "¾    "], ["a", " ", "3/4  "], ["a", " ", "3/4  "]),
    ],
)
def test_a_sign_becomes_a_word_where_the_line_has_room(
    line: list[str], console: list[str], ascii_: list[str]
) -> None:
    assert glyphs.substitute_line(line, "console") == console
    assert glyphs.substitute_line(line, "ascii") == ascii_
    assert glyphs.substitute_line(line, "all") == line


@pytest.mark.parametrize(
    ("environment", "initial", "wanted"),
    [
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, {"LANG": "C"}, "ascii"),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, {"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "all"),
        ({"LC_CTYPE": "C.UTF-8"}, {}, "all"),
    ],
)
def test_a_c_locale_that_python_replaces_is_seen(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], initial: dict[str, str], wanted: str
) -> None:
    monkeypatch.setattr(glyphs, "is_utf8", lambda: True)
    assert glyphs.for_terminal(environment, initial) == wanted


def test_what_has_dots_is_seen_and_what_has_none_is_not() -> None:
    for shown in ("console", "ascii"):
        assert glyphs.substitute("\u2800", shown) == " "
        assert all(glyphs.substitute(chr(0x2800 + dots), shown).strip() for dots in range(1, 256))
    assert glyphs.substitute("⠉⠤⣀⣿⡇⡠⠢", "console") == '"-_█│/\\', "heights, a block, slopes"


@pytest.mark.parametrize(
    ("environment", "is_utf8", "wanted"),
    [
        ({"TERM": "xterm-256color"}, True, "all"),
        ({"TERM": "xterm-256color"}, False, "ascii"),
        ({"TERM": "linux"}, True, "console"),
        ({"TERM": "linux"}, False, "ascii"),
        ({"TERM": "screen", "STY": "1.tty"}, True, "all"),
        ({"TERM": "screen", "STY": "1.tty"}, False, "ascii"),
        ({"TERM": "screen.xterm-256color"}, False, "ascii"),
        ({}, True, "all"),
    ],
)
def test_what_a_terminal_can_show(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], is_utf8: bool, wanted: str
) -> None:
    monkeypatch.setattr(glyphs, "is_utf8", lambda: is_utf8)
    assert glyphs.for_terminal(environment) == wanted


@pytest.mark.parametrize("shown", ["console", "ascii"])
async def test_pages_and_their_keys_are_whole(make_app: Any, shown: glyphs.Glyphs) -> None:
    app = make_app("many-flows")
    app.glyphs = shown
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Eight flows share")
        await until_text(pilot, "? keys")
        await pilot.press("r")
        await until_text(pilot, "why: random loss")
        screen = text(app)
        assert not any(0x2800 <= ord(character) < 0x2900 for character in screen)
        assert shown != "ascii" or screen.isascii()
        assert "? keys" in screen.split("\n")[-1], "the line of keys"
        assert any("charts are drawn in" in each.message for each in app._notifications)
        await app.bench.close()


async def test_ctrl_z_suspends(make_app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    app, asked = make_app("many-flows"), []
    monkeypatch.setattr(type(app), "action_suspend_process", lambda _self: asked.append(True))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, TutorScreen))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: bool(asked))
