"""What a program writes to its terminal, taken apart: text, control characters, control sequences.

Not pyte's own stream: that takes `CSI > 4 ; 2 m` for an underline and prints the rest of what it does not know. Here
what is not known is swallowed whole, so that nothing but text ever becomes text. The grammar is that of ECMA-48 and of
xterm's "Control Sequences".
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from typing import Protocol

LONGEST = 1024
"""Characters of a control sequence; a longer one is given up."""

_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_BODY = re.compile(r"[\x00-\x17\x19\x1c-\x3f\x7f]*")
_CSI = re.compile(r"\x1b\[([\x00-\x17\x19\x1c-\x3f\x7f]*)([\x40-\x7e])")
_ESCAPE = re.compile(r"\x1b([\x20-\x2f]*)([\x30-\x7e])")
_OPEN = re.compile(r"\x1b(\[[\x00-\x17\x19\x1c-\x3f\x7f]*|[\x20-\x2f]*)\Z")
"""The beginning of a sequence, at the end of what has arrived."""
_PARAMETERS = re.compile(r"([<=>?]?)([0-9:;]*)([\x20-\x2f]*)")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")

_STRINGS = "]PX^_"
"""ESC with one of them begins a string: OSC, DCS, SOS, PM, APC. All are swallowed."""
_END = {"]": re.compile(r"[\x07\x18\x1a\x1b]")}
_END_OTHERS = re.compile(r"[\x18\x1a\x1b]")


class Actions(Protocol):
    """What is done with each part."""

    def draw(self, text: str) -> None:
        """Text without control characters."""

    def control(self, character: str) -> None:
        """A control character, C0 without ESC."""

    def escape(self, intermediates: str, final: str) -> None:
        """ESC and what follows it."""

    def sequence(self, private: str, parameters: Sequence[int | None], kind: str) -> None:
        """CSI: `private` is one of `<=>?` or empty, `kind` the final character after its intermediates.

        None stands for a parameter that was left out, also for one with parts (`4:3`), whose first is given.
        """


class Parser:
    """Takes bytes in any pieces. Never raises, whatever they are."""

    def __init__(self, actions: Actions) -> None:
        self._actions = actions
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""
        """The beginning of a sequence whose end has not come."""
        self._string = ""
        """Of `_STRINGS`, while one goes on."""

    def feed(self, data: bytes, *, skim: bool = False) -> None:
        """Do what they say; `skim`: text and characters that only concern where it stands are left out."""
        text, self._rest = self._rest + self._decoder.decode(data), ""
        at, end = 0, len(text)
        while at < end:
            if skim and not self._string and (at := text.find("\x1b", at)) < 0:
                return
            if self._string:
                at = self._skipped(text, at)
            elif found := _TEXT.match(text, at):
                self._actions.draw(found[0])
                at = found.end()
            elif text[at] == "\x1b":
                at = self._escaped(text, at)
            else:
                if text[at] < "\x20":  # C1 as characters of UTF-8 mean nothing
                    self._actions.control(text[at])
                at += 1

    def _escaped(self, text: str, at: int) -> int:
        """Do what begins with an ESC; where it ends."""
        if found := _CSI.match(text, at):
            self._control_sequence(found[1], found[2])
        elif found := _OPEN.match(text, at):
            if len(found[0]) <= LONGEST:
                self._rest = found[0]
        elif text.startswith("[", at + 1):
            found = _BODY.match(text, at + 2)  # something interrupts it
        elif found := _ESCAPE.match(text, at):
            if not found[1] and found[2] in _STRINGS:
                self._string = found[2]
            else:
                self._actions.escape(found[1], found[2])
        return found.end() if found else at + 1

    def _skipped(self, text: str, at: int) -> int:
        """Where the string ends, or all of it."""
        found = _END.get(self._string, _END_OTHERS).search(text, at)
        if found is None:
            return len(text)
        self._string = ""
        # ESC begins the next sequence, most often ST.
        return found.start() if found[0] == "\x1b" else found.end()

    def _control_sequence(self, body: str, final: str) -> None:
        # What is a character of its own is done on the way, as a real terminal does.
        for control in _CONTROLS.findall(body):
            if control < "\x20":
                self._actions.control(control)
        found = _PARAMETERS.fullmatch(_CONTROLS.sub("", body))
        if found is not None:
            private, numbers, intermediates = found.groups()
            self._actions.sequence(private, _numbers(numbers), intermediates + final)


def _numbers(text: str) -> list[int | None]:
    """Of "1;;38:2:1:2:3": 1, None, 38. No parameter at all is an empty list."""
    if not text:
        return []
    firsts = (part.partition(":")[0] for part in text.split(";"))
    return [min(int(first[:6]), 65535) if first else None for first in firsts][:32]
