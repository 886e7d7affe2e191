"""Parser of terminal output into text, control characters and control sequences.

It replaces pyte's stream, which takes `CSI > 4 ; 2 m` for an underline and prints the rest of sequences it
does not know. Unknown sequences are discarded here, so only text becomes text. Grammar: ECMA-48 and xterm's
"Control Sequences".
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from typing import Protocol

MAX_SEQUENCE = 1024
"""Maximum length of a control sequence, in characters; the parser discards longer sequences."""

_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_BODY = re.compile(r"[\x00-\x17\x19\x1c-\x3f\x7f]*")
_CSI = re.compile(r"\x1b\[([\x00-\x17\x19\x1c-\x3f\x7f]*)([\x40-\x7e])")
_ESCAPE = re.compile(r"\x1b([\x20-\x2f]*)([\x30-\x7e])")
_INCOMPLETE = re.compile(r"\x1b(\[[\x00-\x17\x19\x1c-\x3f\x7f]*|[\x20-\x2f]*)\Z")
"""Incomplete sequence at the end of the input."""
_PARAMETERS = re.compile(r"([<=>?]?)([0-9:;]*)([\x20-\x2f]*)")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")

_STRING_OPENERS = "]PX^_"
"""Second characters of ESC that open a string (OSC, DCS, SOS, PM, APC); all strings are discarded."""
_BEL_STRING_END = {"]": re.compile(r"[\x07\x18\x1a\x1b]")}
_STRING_END = re.compile(r"[\x18\x1a\x1b]")


class Actions(Protocol):
    """Receiver of the parsed parts: `ui.terminal.screen.TerminalScreen`, which imports this module."""

    def draw(self, text: str) -> None:
        """Write text without control characters."""

    def control(self, character: str) -> None:
        """Execute a C0 control character other than ESC."""

    def escape(self, intermediates: str, final: str) -> None:
        """Execute an escape sequence."""

    def sequence(self, private: str, parameters: Sequence[int | None], kind: str) -> None:
        """Execute a control sequence (CSI).

        Args:
            private: A character of `<=>?`, or empty.
            parameters: None for an omitted parameter; only the first subparameter of `4:3`.
            kind: Intermediates and final character.
        """


class Parser:
    """Incremental parser of UTF-8 output in chunks of any size; never raises on any input."""

    def __init__(self, actions: Actions) -> None:
        self._actions = actions
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pending = ""
        """Incomplete sequence, continued by the next chunk."""
        self._string = ""
        """Opening character of the string being discarded; empty outside strings."""

    def feed(self, data: bytes, *, skim: bool = False) -> None:
        """Parse a chunk; `skim` drops text and cursor movement but keeps modes and attributes."""
        text, self._pending = self._pending + self._decoder.decode(data), ""
        at, end = 0, len(text)
        while at < end:
            if skim and not self._string and (at := text.find("\x1b", at)) < 0:
                return
            if self._string:
                at = self._string_end(text, at)
            elif match := _TEXT.match(text, at):
                self._actions.draw(match[0])
                at = match.end()
            elif text[at] == "\x1b":
                at = self._escape(text, at)
            else:
                if text[at] < "\x20":  # C1 characters have no function in UTF-8
                    self._actions.control(text[at])
                at += 1

    def _escape(self, text: str, at: int) -> int:
        """Execute the sequence that starts at `at`, and return its end."""
        if match := _CSI.match(text, at):
            self._control_sequence(match[1], match[2])
        elif match := _INCOMPLETE.match(text, at):
            if len(match[0]) <= MAX_SEQUENCE:
                self._pending = match[0]
        elif text.startswith("[", at + 1):
            match = _BODY.match(text, at + 2)  # interrupted by a control character
        elif match := _ESCAPE.match(text, at):
            if not match[1] and match[2] in _STRING_OPENERS:
                self._string = match[2]
            else:
                self._actions.escape(match[1], match[2])
        return match.end() if match else at + 1

    def _string_end(self, text: str, at: int) -> int:
        match = _BEL_STRING_END.get(self._string, _STRING_END).search(text, at)
        if match is None:
            return len(text)
        self._string = ""
        # ESC starts the next sequence, usually ST.
        return match.start() if match[0] == "\x1b" else match.end()

    def _control_sequence(self, body: str, final: str) -> None:
        # Control characters inside a sequence are executed first, as in a real terminal.
        for control in _CONTROLS.findall(body):
            if control < "\x20":
                self._actions.control(control)
        match = _PARAMETERS.fullmatch(_CONTROLS.sub("", body))
        if match is not None:
            private, numbers, intermediates = match.groups()
            self._actions.sequence(private, _parse_parameters(numbers), intermediates + final)


def _parse_parameters(text: str) -> list[int | None]:
    """Return the first subparameter of each parameter: 1, None, 38 for "1;;38:2:1:2:3"."""
    if not text:
        return []
    firsts = (part.partition(":")[0] for part in text.split(";"))
    return [min(int(first[:6]), 65535) if first else None for first in firsts][:32]
