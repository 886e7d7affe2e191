"""Choice between the dialogue and the app. Imported before the app's first frame."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def reason(is_chosen: bool | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return the reason to use the dialogue instead of the app; empty to use the app.

    Args:
        is_chosen: True for --plain, False for --no-plain, None without either.
        environment: Environment variables.
    """
    if is_chosen is not None:
        return "--plain" if is_chosen else ""
    if environment.get("ACCESSIBLE", "") not in ("", "0"):
        return f"ACCESSIBLE={environment['ACCESSIBLE']}"
    if environment.get("TERM", "") == "dumb":
        return "TERM=dumb"
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return "a terminal without a size" if is_terminal and not columns() else ""


def columns() -> int:
    """Return the width of the terminal in columns; 0 without a terminal or a size."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0
