"""A shell on a lab host, in a pseudo-terminal: the bytes of a student's own keyboard and screen."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from pathlib import Path

from tcptutor.agent.network import Network
from tcptutor.agent.session import bounds, commands
from tcptutor.base.errors import LabError, UsageError
from tcptutor.spec import host_names
from tcptutor.wire.protocol import OpenTerminal

_AT_ONCE = 16384
"""Bytes taken from a terminal at a time, so that a flood of text leaves time for the samples."""

_RC = r"""
PS1='\[\e[1m\]'$TCPTUTOR_HOST'\[\e[0m\]:\w# '
HISTFILE=~/.bash_history
# Not ignorespace: a command is told as the history's last line.
HISTCONTROL=ignoredups
shopt -s histappend
cd 2> /dev/null
# The manuals write sudo; whoever types here is root already, in the lab and nowhere else.
sudo() { "$@"; }
# `h2 iperf3 -s &` runs a command on h2, `h2` alone opens a shell there.
_on() {
    local host=$1 enter=$2
    shift 2
    [ "$1" != sudo ] || shift
    if [ $# -gt 0 ]; then $enter "$@"; return; fi
    history -a
    TCPTUTOR_HOST=$host $enter bash --rcfile <(echo "$TCPTUTOR_RC") -i
}
"""
"""What each shell reads first. It comes through the environment: a file could be left behind."""


def _startup(network: Network) -> tuple[str, dict[str, str]]:
    """The commands that lead to each host, and each host's address as a variable of its name."""
    lines = [commands.TELL, _RC]
    for name in host_names(network.pairs):
        lines.append(f'{name}() {{ _on {name} "mnexec -a {network.process(name)}" "$@"; }}')
    addresses = {host.name: host.address for host in network.hosts}
    return "\n".join(lines), addresses


def _own_terminal() -> None:
    """Job control needs a terminal of the session's own; and what runs there has the usual priority, and its bounds."""
    bounds.enter()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)


class PseudoTerminal:
    """Owns the pseudo-terminal and the shell in it; `close` hangs up."""

    def __init__(self, network: Network, asked: OpenTerminal, home: Path, told: int) -> None:
        """`told`: where its shell says what has become of each command.

        Raises UsageError when there is no such host, LabError when the shell does not start.
        """
        host, known = asked.host, host_names(network.pairs)
        if host not in known:
            raise UsageError(f"there is no host {host!r}: take one of {', '.join(known)}")
        startup, addresses = _startup(network)
        environment = {
            **os.environ,
            **addresses,
            "HOME": str(home),
            "TERM": os.environ.get("TCPTUTOR_TERM", "xterm-256color"),
            "TCPTUTOR_HOST": host,
            "TCPTUTOR_TERMINAL": str(asked.terminal),
            commands.ENVIRONMENT: str(told),
            "TCPTUTOR_RC": startup,
        }
        self.descriptor, inside = pty.openpty()
        # Kept open: once a shell has closed all its ends, reading here would fail at once, again and again.
        self._inside = inside
        os.set_blocking(self.descriptor, False)
        self.is_readable = True
        """False once it is hung up: select() would then report it ready for ever."""
        self._waiting = b""
        self.resize(asked.rows, asked.columns)
        command = 'exec bash --rcfile <(echo "$TCPTUTOR_RC") -i'
        try:
            self._process = subprocess.Popen(
                ["mnexec", "-a", str(network.process(host)), "bash", "-c", command],
                stdin=inside,
                stdout=inside,
                stderr=inside,
                env=environment,
                pass_fds=(told,),
                start_new_session=True,
                preexec_fn=_own_terminal,  # noqa: PLW1509  (the agent has one thread, so this is safe)
            )
        except OSError as error:
            self._let_go()
            raise LabError(f"no shell on {host}: {error.strerror}") from error

    @property
    def over(self) -> bool:
        """Whether the shell has ended; what it started in the background may still hold the terminal open."""
        return self._process.poll() is not None

    def read(self) -> bytes:
        """Return output written since the last call; empty for none."""
        try:
            return os.read(self.descriptor, _AT_ONCE)
        except BlockingIOError:
            return b""
        except OSError:  # somebody there hung the terminal up (vhangup)
            self.is_readable = False
            return b""

    def write(self, data: bytes = b"") -> None:
        """Give the shell input; what it does not take now waits for the next call, without any as well."""
        self._waiting += data
        if not self._waiting:
            return
        try:
            self._waiting = self._waiting[os.write(self.descriptor, self._waiting) :]
        except BlockingIOError:
            pass
        except OSError:  # it has just ended
            self._waiting = b""

    def resize(self, rows: int, columns: int) -> None:
        """Tell it the size of the screen."""
        size = struct.pack("HHHH", rows, columns, 0, 0)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, size)

    def close(self) -> None:
        """Hang up on the shell and what runs in its foreground; safe to call twice."""
        if self.descriptor < 0:
            return
        self._let_go()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGHUP)
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _let_go(self) -> None:
        os.close(self.descriptor)
        os.close(self._inside)
        self.descriptor = -1
