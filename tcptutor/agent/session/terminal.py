"""Shell on a lab host in a pseudo-terminal, for a student's own keyboard and screen."""

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
from tcptutor.agent.session import bounds, shell_commands
from tcptutor.base.errors import LabError, UsageError
from tcptutor.spec import host_names
from tcptutor.wire.protocol import OpenTerminal

_AT_ONCE = 16384
"""Bytes to read from a terminal at a time, so that a flood of output leaves time for the samples."""

_RC = r"""
PS1='\[\e[1m\]'$TCPTUTOR_HOST'\[\e[0m\]:\w# '
HISTFILE=~/.bash_history
# Not ignorespace: a command is reported as the history's last line.
HISTCONTROL=ignoredups
shopt -s histappend
cd 2> /dev/null
# The manuals write sudo; in the lab every shell already runs as root.
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
"""Startup file of each shell, passed through the environment because a file could be left behind."""


def _startup(network: Network) -> tuple[str, dict[str, str]]:
    """Return the startup file with a command per host, and each host's address as a variable of its name."""
    lines = [shell_commands.REPORT, _RC]
    for name in host_names(network.pairs):
        lines.append(f'{name}() {{ _on {name} "mnexec -a {network.process(name)}" "$@"; }}')
    addresses = {host.name: host.address for host in network.hosts}
    return "\n".join(lines), addresses


def _prepare_shell() -> None:
    """Set up job control, which needs a controlling terminal, and the shell's bounds and usual priority."""
    bounds.enter()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)


class PseudoTerminal:
    """Pseudo-terminal with a shell, which reports its commands on `report_fd`; `close` hangs up.

    Raises UsageError for an unknown host, LabError if the shell does not start.
    """

    def __init__(self, network: Network, request: OpenTerminal, home: Path, report_fd: int) -> None:
        host, known = request.host, host_names(network.pairs)
        if host not in known:
            raise UsageError(f"there is no host {host!r}: take one of {', '.join(known)}")
        startup, addresses = _startup(network)
        environment = {
            **os.environ,
            **addresses,
            "HOME": str(home),
            "TERM": os.environ.get("TCPTUTOR_TERM", "xterm-256color"),
            "TCPTUTOR_HOST": host,
            "TCPTUTOR_TERMINAL": str(request.terminal),
            shell_commands.ENVIRONMENT: str(report_fd),
            "TCPTUTOR_RC": startup,
        }
        self.descriptor, inside = pty.openpty()
        # Kept open: without any open end inside, reading here would fail at once, again and again.
        self._inside = inside
        os.set_blocking(self.descriptor, False)
        self.is_readable = True
        """False after a hangup, when select() would report it as readable for ever."""
        self._pending = b""
        self.resize(request.rows, request.columns)
        command = 'exec bash --rcfile <(echo "$TCPTUTOR_RC") -i'
        try:
            self._process = subprocess.Popen(
                ["mnexec", "-a", str(network.process(host)), "bash", "-c", command],
                stdin=inside,
                stdout=inside,
                stderr=inside,
                env=environment,
                pass_fds=(report_fd,),
                start_new_session=True,
                preexec_fn=_prepare_shell,  # noqa: PLW1509  (the agent has one thread, so this is safe)
            )
        except OSError as error:
            self._close_ends()
            raise LabError(f"no shell on {host}: {error.strerror}") from error

    @property
    def has_exited(self) -> bool:
        """True once the shell has exited; its background jobs may still hold the terminal open."""
        return self._process.poll() is not None

    def read(self) -> bytes:
        """Return the output since the last call; empty for none."""
        try:
            return os.read(self.descriptor, _AT_ONCE)
        except BlockingIOError:
            return b""
        except OSError:  # a program on it hung it up (vhangup)
            self.is_readable = False
            return b""

    def write(self, data: bytes = b"") -> None:
        """Pass input to the shell; input that it does not accept now waits for the next call."""
        self._pending += data
        if not self._pending:
            return
        try:
            self._pending = self._pending[os.write(self.descriptor, self._pending) :]
        except BlockingIOError:
            pass
        except OSError:  # the shell has just exited
            self._pending = b""

    def resize(self, rows: int, columns: int) -> None:
        """Set the size of the screen."""
        size = struct.pack("HHHH", rows, columns, 0, 0)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, size)

    def close(self) -> None:
        """Hang up on the shell and its foreground programs; safe to call twice."""
        if self.descriptor < 0:
            return
        self._close_ends()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGHUP)
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _close_ends(self) -> None:
        os.close(self.descriptor)
        os.close(self._inside)
        self.descriptor = -1
