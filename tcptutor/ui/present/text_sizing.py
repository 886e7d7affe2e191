r"""The text-sizing protocol of kitty, OSC 66: the terminal itself draws text over several cells.

`\x1b]66;s=3;text\x07` draws each character three cells high and wide. A terminal that knows it moves the cursor
accordingly, which a cursor position report shows (https://sw.kovidgoyal.net/kitty/text-sizing-protocol/).
"""

from __future__ import annotations

import os
import re
import select
import termios
import time
import tty
from collections.abc import Mapping

from tcptutor.base import glyphs

_PATIENCE_S = 1.0
"""Longest wait for the answer. Every terminal answers the last question, so that most take a few milliseconds."""
_QUESTIONS = b"\r\x1b[6n\x1b]66;s=2; \x07\x1b[6n\r\x1b[K\x1b[c"
"""Position, a blank of double size, position; then the primary device attributes, which end the answer."""
_POSITION = re.compile(rb"\x1b\[\d+;(\d+)R")
_LAST_ANSWER = re.compile(rb"\x1b\[\?[\d;]*c")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f]")


def is_supported(environment: Mapping[str, str], terminal: int = 0) -> bool:
    """Ask the terminal whether it scales text. Call before the app reads keys.

    Args:
        environment: Environment variables; TERM=dumb, NO_TEXT_SIZING and a terminal without all characters,
            such as the Linux console, forbid the question.
        terminal: File descriptor of the terminal.
    """
    if (
        not os.isatty(terminal)
        or environment.get("TERM", "dumb") == "dumb"
        or environment.get("NO_TEXT_SIZING")
        or glyphs.for_terminal(environment) != "all"
    ):
        return False
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal)
        os.write(terminal, _QUESTIONS)
        return says_supported(_answer(terminal))
    except OSError:
        return False
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def says_supported(answer: bytes) -> bool:
    """Return True if the cursor was moved by two columns between both positions."""
    columns = [int(column) for column in _POSITION.findall(answer)]
    return len(columns) == 2 and columns[1] - columns[0] == 2


def sequence(text: str, scale: int) -> str:
    """Return the sequence that draws a text at the cursor."""
    return f"\x1b]66;s={scale};{_UNPRINTABLE.sub('', text)}\x07"


def _answer(terminal: int) -> bytes:
    answer, until = b"", time.monotonic() + _PATIENCE_S
    while not _LAST_ANSWER.search(answer):
        left = until - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            break
        answer += os.read(terminal, 1024)
    return answer
