"""The terminal's window around the app or a command: its title, the progress of a run in its tab, and a bell.

Each sequence is sent only to terminals that are known to understand it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

LONG_S = 10.0
"""Seconds from which a run counts as long: its end is worth a bell."""
_TITLED = (
    "xterm",
    "tmux",
    "screen",
    "rxvt",
    "alacritty",
    "foot",
    "st-",
    "konsole",
    "vte",
    "wezterm",
    "ghostty",
)
_PTYXIS = 48
"""First version of Ptyxis that shows progress."""


def has_title(environment: Mapping[str, str]) -> bool:
    """Check whether the terminal takes a title (OSC 2). The Linux console would print it."""
    return not environment.get("TEXTUAL_DRIVER") and environment.get("TERM", "").startswith(_TITLED)


def shows_progress(environment: Mapping[str, str]) -> bool:
    """Check whether the terminal is known to show progress (OSC 9;4), as cargo does.

    iTerm2 before 3.6.6 and kitty take OSC 9 for a notification. tmux and GNU screen keep the variables of the terminal
    that they were started in.
    """
    if environment.get("TEXTUAL_DRIVER") or {"TMUX", "STY"} & environment.keys():
        return False
    ptyxis = environment.get("PTYXIS_VERSION", "").partition(".")[0]
    return (
        "WT_SESSION" in environment
        or environment.get("ConEmuANSI") == "ON"
        or environment.get("TERM_PROGRAM") in ("WezTerm", "ghostty")
        or "P" in _features(environment.get("TERM_FEATURES", ""))
        or (ptyxis.isdecimal() and int(ptyxis) >= _PTYXIS)
    )


def _features(reported: str) -> set[str]:
    """Return the names of iTerm2's feature report: each a capital with small letters, some with a number."""
    spaced = "".join(f" {each}" if each.isupper() else each for each in reported)
    return {name.rstrip("0123456789") for name in spaced.split()}


class Window:
    """The window of one terminal."""

    def __init__(
        self,
        environment: Mapping[str, str],
        write: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._has_title, self._shows_progress = has_title(environment), shows_progress(environment)
        self._write, self._clock = write, clock
        self._percent: int | None = None
        """Progress on display; None for none."""
        self._began: float | None = None

    def open(self, title: str) -> None:
        """Store the window's title, and set another, of printable ASCII."""
        if self._has_title:
            self._write(f"\x1b[22;2t\x1b]2;{title}\x1b\\")

    def close(self) -> None:
        """Restore the window's title, and end its progress."""
        self._show(None)
        if self._has_title:
            self._write("\x1b[23;2t")

    def show_progress(self, share: float) -> None:
        """Show the progress of a run or a sweep, 0 to 1."""
        if self._began is None:
            self._began = self._clock()
        self._show(min(100, max(0, int(100 * share))))

    def end_progress(self, *, rings: bool) -> None:
        """End the progress of a run or a sweep; ring the bell if it was long and `rings` is set."""
        self._show(None)
        if rings and self._began is not None and self._clock() - self._began >= LONG_S:
            self._write("\x07")
        self._began = None

    def _show(self, percent: int | None) -> None:
        if self._shows_progress and percent != self._percent:
            self._write("\x1b]9;4;0;\x1b\\" if percent is None else f"\x1b]9;4;1;{percent}\x1b\\")
        self._percent = percent
