"""Shells on the lab hosts in pseudo-terminals, their bounds in the guest, and reports of the lines typed.

On the host a shell is unbounded, like the user's other shells.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import time
import tty
from collections.abc import Collection
from pathlib import Path

from tcptutor.agent.network import Network
from tcptutor.base.errors import LabError, UsageError
from tcptutor.spec import host_names
from tcptutor.wire.protocol import CommandEnded, OpenTerminal

_MAX_READ = 16384
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
# Without -Z, tcpdump gives its files to another user.
tcpdump() { command tcpdump -Z root "$@"; }
# The programs of a list that this machine has.
_present() {
    local name
    for name; do command -v "$name" > /dev/null && printf ' %s' "$name"; done
}
help() {
    if [ $# -gt 0 ]; then builtin help "$@"; return; fi
    cat << END
This is a shell on $TCPTUTOR_HOST, in a network of its own.
  hosts    $TCPTUTOR_HOSTS; \`h2 COMMAND\` runs a command on h2, \`h2\` alone opens a shell there
  here     $(cd /sys/class/net && echo *) (ip address)
  traffic  start a server with \`h2 iperf3 -s -D\`, then \`iperf3 -c h2\`; also$(_present iperf ping curl socat nc)
  path     tc qdisc show; \`tc\` reads mbit as bits and mbps as bytes; also$(_present ip ethtool sysctl iptables)
  watch    ss -tin;$(_present nstat tcpdump tshark mtr traceroute watch)
  work    $(_present bc jq nano vi less python3)
  files    ~ is saved on your machine when the last shell of this lab ends
  packets  on your machine, in another terminal: tcptutor capture | wireshark -k -i -
Your traffic is saved as runs. \`exit\` ends the shell, \`help NAME\` explains one of bash's own commands.
END
}
if ! command -v tshark > /dev/null; then
    tshark() {
        echo "tshark: not in the lab; on your machine, in another terminal: tcptutor capture | tshark -r -" >&2
        return 127
    }
fi
# `h2 iperf3 -s &` runs a command on h2, `h2` alone opens a shell there.
_on() {
    local host=$1 enter=$2
    shift 2
    [ "$1" != sudo ] || shift
    [ "$1" != tcpdump ] || set -- tcpdump -Z root "${@:2}"
    if [ $# -gt 0 ]; then $enter "$@"; return; fi
    history -a
    TCPTUTOR_HOST=$host $enter bash --rcfile <(echo "$TCPTUTOR_RC") -i
}
"""
"""Startup file of each shell, passed through the environment because a file could be left behind."""
_READ_PER_POLL = 1 << 14
"""Bytes read per poll."""
_MAX_COMMANDS = 20
"""Commands reported per poll."""
_MAX_REPORT = 4096
"""Bytes that a shell writes at once: the kernel does not interleave such writes."""

_REPORTS_FD = "TCPTUTOR_REPORTS"
"""Variable with the file descriptor of the shells' end."""
_REPORT = r"""
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
_ROOT = Path("/sys/fs/cgroup")
_SHELLS = _ROOT / "tcptutor-shells"
MAX_PROCESSES = 400
"""Processes and threads of all shells in total: a hundred or more streams of iperf3, with a thread at each end."""
_AGENT_MEMORY = 24 << 20
"""Bytes reserved for the agent. Without a bound of their own for the shells, the kernel would reclaim the pages of all
programs, read them again and again, and stall for minutes."""
_INTERVAL = 1.0
_MAX_REFUSALS = 4
"""Checks in a row with refused processes that indicate an endless loop."""
_OVERRUN = (
    f"the shells started more than {MAX_PROCESSES} processes and went on: the lab has ended, open it again"
)
_OOM = Path("/proc/self/oom_score_adj")
_MEMINFO = Path("/proc/meminfo")


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
            "TCPTUTOR_HOSTS": ", ".join(known),
            "TCPTUTOR_TERMINAL": str(request.terminal),
            _REPORTS_FD: str(report_fd),
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
        if request.command:
            tty.setraw(inside)
        command = request.command or 'exec bash --rcfile <(echo "$TCPTUTOR_RC") -i'
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
            return os.read(self.descriptor, _MAX_READ)
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


def _startup(network: Network) -> tuple[str, dict[str, str]]:
    """Return the startup file with a command per host, and each host's address as a variable of its name."""
    lines = [_REPORT, _RC]
    for name in host_names(network.pairs):
        lines.append(f'{name}() {{ _on {name} "mnexec -a {network.process(name)}" "$@"; }}')
    addresses = {host.name: host.address for host in network.hosts}
    return "\n".join(lines), addresses


def _prepare_shell() -> None:
    """Set up job control, which needs a controlling terminal, and the shell's bounds and usual priority."""
    _enter_cgroup()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)


class Commands:
    """Pipe for the reports; `close` it."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        """`writing` is the shells' end, where a write to a full pipe fails instead of waiting."""
        self._partial = b""

    def poll(self, hosts: Collection[str]) -> list[CommandEnded]:
        """Return the commands on `hosts` that have ended since the last call."""
        try:
            data = os.read(self._reading, _READ_PER_POLL)
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


def make_cgroup() -> None:
    """Create the shells' cgroup in the guest, and make the agent the last process to be killed for memory."""
    _OOM.write_text("-1000")
    (_ROOT / "cgroup.subtree_control").write_text("+pids +memory")
    _SHELLS.mkdir()
    (_SHELLS / "pids.max").write_text(str(MAX_PROCESSES))


def _enter_cgroup() -> None:
    """Move this process into the shells' cgroup, if `make_cgroup` has created it."""
    if _SHELLS.exists():
        with contextlib.suppress(OSError):
            (_SHELLS / "cgroup.procs").write_text("0")
            _OOM.write_text("0")


class Bounds:
    """Memory limit of the shells, and check of their number of processes."""

    def __init__(self) -> None:
        self._exists = _SHELLS.exists()
        if self._exists:
            (_SHELLS / "memory.max").write_text(str(_available() - _AGENT_MEMORY))
        self._refused = 0
        self._in_a_row = 0
        self._next_check = 0.0

    def overrun(self) -> str:
        """Return the reason to end the session, as a line; empty if it may go on."""
        now = time.monotonic()
        if not self._exists or now < self._next_check:
            return ""
        self._next_check = now + _INTERVAL
        # The file has one line: "max" and the number of refused processes.
        refused = int((_SHELLS / "pids.events").read_text().split()[1])
        self._in_a_row = self._in_a_row + 1 if refused > self._refused else 0
        self._refused = refused
        return _OVERRUN if self._in_a_row >= _MAX_REFUSALS else ""


def _available() -> int:
    (line,) = (line for line in _MEMINFO.read_text().splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) << 10
