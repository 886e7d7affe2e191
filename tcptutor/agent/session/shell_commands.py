"""Reports of the lines typed at the shells' prompts, through a pipe that all shells write to.

It is read in small parts, and reports that do not fit are dropped, so that a flood of them does no harm.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from tcptutor.wire.protocol import CommandEnded

_AT_ONCE = 1 << 14
"""Bytes read per poll."""
_MAX_COMMANDS = 20
"""Commands reported per poll."""
_MAX_REPORT = 4096
"""Bytes that a shell writes at once: the kernel does not interleave such writes."""

ENVIRONMENT = "TCPTUTOR_REPORTS"
"""Variable with the file descriptor of the shells' end."""
REPORT = r"""
# Report each line: the terminal, the host, the exit code, the line.
_report() {
    local status=$? line
    history -a
    [ "$_typed" ] || return
    _typed=
    line=$(HISTTIMEFORMAT= history 1)
    line=${line#"${line%%[0-9]*}"}
    line=${line#* }
    printf '%s\t%s\t%s\t%.1000s\0' "$TCPTUTOR_TERMINAL" "$TCPTUTOR_HOST" "$status" "${line# }" \
        2> /dev/null >&"$TCPTUTOR_REPORTS"
}
# Runs before each line that contains a command, and prints nothing.
PS0='${PS1:$((_typed=1,0)):0}'
PROMPT_COMMAND=_report
"""


class Commands:
    """Pipe for the reports; `close` it."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        """`writing` is the shells' end, where a write to a full pipe fails instead of waiting."""
        self._partial = b""

    def poll(self, hosts: Collection[str]) -> list[CommandEnded]:
        """Return the commands on `hosts` that have ended since the last call."""
        try:
            data = os.read(self._reading, _AT_ONCE)
        except BlockingIOError:
            return []
        *reports, self._partial = (self._partial + data).split(b"\0")
        if len(self._partial) > _MAX_REPORT:
            self._partial = b""
        commands = [_decode(report) for report in reports[-_MAX_COMMANDS:]]
        return [command for command in commands if command is not None and command.host in hosts]

    def close(self) -> None:
        os.close(self._reading)
        os.close(self.writing)


def _decode(report: bytes) -> CommandEnded | None:
    """Decode a report; None if a lab shell cannot have written it."""
    terminal, *more = report.decode(errors="replace").split("\t", 3)
    if len(more) != 3 or not all(
        word.isascii() and word.isdigit() and len(word) < 7 for word in (terminal, more[1])
    ):
        return None
    host, status, line = more
    return CommandEnded(
        int(terminal), host, "".join(each if each.isprintable() else " " for each in line), int(status)
    )
