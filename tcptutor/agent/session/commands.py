"""What the shells say of each line that was typed at their prompts: a pipe that all of them write to.

It is read a little at a time, and what does not fit is not told: who writes to it without end disturbs nobody.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from tcptutor.wire.protocol import CommandEnded

_AT_ONCE = 1 << 14
"""Bytes that a look reads."""
_MOST = 20
"""Commands that a look tells of."""
_LONGEST = 4096
"""Bytes that a shell writes at once: the kernel does not mix such writes."""

ENVIRONMENT = "TCPTUTOR_TOLD"
"""The variable in which a shell finds the number of its end of the pipe."""
TELL = r"""
# Says what has become of each line: the terminal, the host, the exit code, the line.
_tell() {
    local status=$? line
    history -a
    [ "$_typed" ] || return
    _typed=
    line=$(HISTTIMEFORMAT= history 1)
    line=${line#"${line%%[0-9]*}"}
    line=${line#* }
    printf '%s\t%s\t%s\t%.1000s\0' "$TCPTUTOR_TERMINAL" "$TCPTUTOR_HOST" "$status" "${line# }" \
        2> /dev/null >&"$TCPTUTOR_TOLD"
}
# Done before each line that has a command in it, and shows nothing.
PS0='${PS1:$((_typed=1,0)):0}'
PROMPT_COMMAND=_tell
"""
"""For what a shell reads first."""


class Commands:
    """Owns the pipe; `close` it."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        """`writing` is the shells' end: not to be waited for where it is full."""
        self._begun = b""

    def look(self, hosts: Collection[str]) -> list[CommandEnded]:
        """Those that have ended since the last look, on `hosts`."""
        try:
            data = os.read(self._reading, _AT_ONCE)
        except BlockingIOError:
            return []
        *whole, self._begun = (self._begun + data).split(b"\0")
        if len(self._begun) > _LONGEST:
            self._begun = b""
        found = [_command(one) for one in whole[-_MOST:]]
        return [one for one in found if one is not None and one.host in hosts]

    def close(self) -> None:
        os.close(self._reading)
        os.close(self.writing)


def _command(said: bytes) -> CommandEnded | None:
    """None for what none of our shells has written."""
    terminal, *more = said.decode(errors="replace").split("\t", 3)
    if len(more) != 3 or not all(
        word.isascii() and word.isdigit() and len(word) < 7 for word in (terminal, more[1])
    ):
        return None
    host, status, line = more
    return CommandEnded(
        int(terminal), host, "".join(each if each.isprintable() else " " for each in line), int(status)
    )
