"""The terminal's window: title, progress and bell, for those terminals that know them."""

from __future__ import annotations

from typing import Any

import pytest

from tcptutor.base.window import Window

from .screen import keys, until, until_text


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-256color", "WT_SESSION": "1"}, True),
        ({"TERM": "xterm-256color", "ConEmuANSI": "ON"}, True),
        ({"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM": "xterm-256color", "TERM_FEATURES": "T3LrMSc7UUw9Ts3BFGsSyHNoSxF"}, False),
        ({"TERM": "xterm-256color", "TERM_FEATURES": "T3LrMSc7PTs3"}, True),
        ({"TERM": "xterm-256color", "PTYXIS_VERSION": "47.9"}, False),
        ({"TERM": "xterm-256color", "PTYXIS_VERSION": "48.1"}, True),
        ({"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}, False),
        ({"TERM": "tmux-256color", "WT_SESSION": "1", "TMUX": "/tmp/t"}, False),
        ({"TERM": "linux"}, False),
    ],
)
def test_progress_goes_to_terminals_that_show_it(environment: dict[str, str], wanted: bool) -> None:
    written: list[str] = []
    window = Window(environment, written.append)
    for share in (0.1, 0.104, 0.2):
        window.show_progress(share)
    window.end_progress(rings=False)
    progress = ["\x1b]9;4;1;10\x1b\\", "\x1b]9;4;1;20\x1b\\", "\x1b]9;4;0;\x1b\\"]
    assert written == (progress if wanted else [])


@pytest.mark.parametrize(("seconds", "rings", "wanted"), [(60, True, 1), (60, False, 0), (3, True, 0)])
def test_the_bell_rings_after_a_long_run_where_wanted(seconds: int, rings: bool, wanted: int) -> None:
    written: list[str] = []
    now = [0.0]
    window = Window({}, written.append, lambda: now[0])
    window.show_progress(0)
    now[0] += seconds
    window.end_progress(rings=rings)
    window.end_progress(rings=rings)
    assert written == ["\x07"] * wanted


@pytest.mark.parametrize("terminal", ["linux", "dumb", "vt220"])
def test_a_terminal_without_titles_gets_none(terminal: str) -> None:
    written: list[str] = []
    window = Window({"TERM": terminal}, written.append)
    window.open("tcptutor")
    window.close()
    assert written == []


async def test_the_bell_is_a_setting(make_app: Any) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+p", *keys("bell"))
        await until_text(pilot, "Bell at the end of a long run")
        await pilot.press("enter")
        await until(pilot, lambda: app.settings.bell)
    assert make_app().settings.bell
