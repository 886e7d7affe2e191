"""Doctor's checks of the terminal: size, colors, encoding."""

from __future__ import annotations

import contextlib
import curses
import os
import sys
from collections.abc import Mapping

from rich.console import Console

from tcptutor.base.glyphs import locale_encoding
from tcptutor.install.findings import Finding, ok, warn

_SMALLEST = (80, 24)
_WIDE = 100


def check_terminal() -> list[Finding]:
    """Check the terminal, even if only one standard stream is connected to it, and the locale."""
    return [_terminal(), locale_finding(os.environ)]


def _terminal() -> Finding:
    here = next((each.fileno() for each in (sys.stdout, sys.stderr, sys.stdin) if each.isatty()), None)
    if here is None:
        return warn(
            "terminal",
            "none",
            "the app needs one (over SSH: ssh -t); `tcptutor run ... --json` does not",
        )
    kind = os.environ.get("TERM", "")
    if kind in ("", "dumb", "unknown"):
        return warn("terminal", f"TERM is {kind or 'not set'}", "export TERM=xterm-256color")
    size = os.get_terminal_size(here)
    colors = _color_count(kind, here)
    text = f"{kind}, {size.columns} x {size.lines}, {colors} colors"
    if size.columns < _SMALLEST[0] or size.lines < _SMALLEST[1]:
        return warn(
            "terminal",
            text,
            f"make it larger: {_SMALLEST[0]} x {_SMALLEST[1]} at least, {_WIDE} columns for a chart next to the text",
        )
    if kind == "linux":
        return warn(
            "terminal",
            f"{text}: the console's font has no fine dots, so charts are drawn in blocks",
            "use a terminal window, an SSH session, or `fbterm` on this console",
        )
    if colors == "no":
        return warn(
            "terminal", text, "export TERM=xterm-256color if it supports colors: curves differ by hue"
        )
    if os.environ.get("NO_COLOR"):
        text += ", turned off (NO_COLOR)"
    return ok("terminal", text)


def _color_count(kind: str, terminal: int) -> str:
    with contextlib.suppress(curses.error):  # not in the terminfo database: rich judges by the name
        curses.setupterm(kind, terminal)
        if curses.tigetnum("colors") < 8:
            return "no"
    # Independent of NO_COLOR and of redirected output.
    system = Console(force_terminal=True, no_color=False).color_system
    return {"truecolor": "16 million", "256": "256", "standard": "16"}.get(system or "", "no")


def locale_finding(environment: Mapping[str, str]) -> Finding:
    """Check that the locale in `environment` is UTF-8, which the charts need."""
    named = next((environment[key] for key in ("LC_ALL", "LC_CTYPE", "LANG") if environment.get(key)), "")
    encoding = locale_encoding()
    if not encoding:
        return warn("locale", f"{named} is not installed here", "export LC_ALL=C.UTF-8")
    if encoding != "utf-8":
        return warn(
            "locale",
            f"{named or 'not set'}: the encoding is {encoding}",
            "export LC_ALL=C.UTF-8, or charts will look broken",
        )
    return ok("locale", f"{named or 'C'}, UTF-8")
