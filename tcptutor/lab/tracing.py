"""A flow's window at every arriving packet, from the kernel's tracepoint tcp:tcp_probe.

The tracepoint is the whole machine's, not a namespace's: it needs root, and a buffer (instance) of our own keeps it
apart from other tracing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import subprocess
from pathlib import Path

from tcptutor.errors import KernelLacks
from tcptutor.lab.netlink import Address
from tcptutor.run import AckSample

_TRACEFS = Path("/sys/kernel/tracing")
_BUFFER_KB = 4096
_LINE = re.compile(
    rb"\s(\d+\.\d+): tcp_probe: .*?src=[\[:\]af.]*([\d.]+)\]?:(\d+) .*?snd_cwnd=(\d+) ssthresh=(\d+) .*?srtt=(\d+)"
)


class Tracing:
    """Owns an instance of the kernel's trace buffers; `close` it."""

    def __init__(self, flows: dict[Address, int]) -> None:
        """`flows`: their numbers. Raises KernelLacks, with the reason, where the tracepoint cannot be used."""
        self._flows = {address[:2]: number for address, number in flows.items()}
        self._rest = b""
        self._instance = _TRACEFS / "instances" / f"tcptutor-{os.getpid()}"
        self._pipe = -1
        try:
            if not (_TRACEFS / "events").exists():
                subprocess.run(
                    ["mount", "-t", "tracefs", "tracefs", str(_TRACEFS)], check=False, capture_output=True
                )
            self._instance.mkdir(exist_ok=True)
            self._write("trace_clock", "mono")
            self._write("buffer_size_kb", str(_BUFFER_KB))
            ports = [address.source_port for address in flows] or [0]
            self._write("events/tcp/tcp_probe/filter", f"sport >= {min(ports)} && sport <= {max(ports)}")
            self._write("events/tcp/tcp_probe/enable", "1")
            self._pipe = os.open(self._instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            self.close()
            raise KernelLacks(
                f"this kernel's tcp_probe cannot be traced here ({error.strerror}): take acks=off, or --backend guest"
            ) from error

    def _write(self, name: str, value: str) -> None:
        (self._instance / name).write_text(value)

    def take(self, began: float) -> list[AckSample]:
        """What has come since the last call; `began` is the monotonic time of the traffic's start."""
        data = self._rest
        while True:
            try:
                more = os.read(self._pipe, 1 << 16)
            except OSError as error:
                if error.errno == errno.EAGAIN:
                    break
                raise
            if not more:
                break
            data += more
        whole, _, self._rest = data.rpartition(b"\n")
        rows = []
        for line in whole.splitlines():
            match = _LINE.search(line)
            flow = self._flows.get((match[2].decode(), int(match[3]))) if match else None
            if match and flow is not None:
                t, cwnd, ssthresh, srtt = float(match[1]), int(match[4]), int(match[5]), int(match[6])
                rows.append(
                    AckSample(flow, round(t - began, 6), cwnd, min(ssthresh, 0x7FFFFFFF), srtt * 1e-6)
                )
        return rows

    @property
    def lost(self) -> int:
        """Events that the buffer had no room for."""
        found = 0
        with contextlib.suppress(OSError):
            for cpu in self._instance.glob("per_cpu/cpu*/stats"):
                for line in cpu.read_text().splitlines():
                    if line.startswith(("overrun:", "dropped events:")):
                        found += int(line.rpartition(":")[2])
        return found

    def close(self) -> None:
        """Stop tracing and give the buffers back; safe to call twice."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        with contextlib.suppress(OSError):
            self._write("events/tcp/tcp_probe/enable", "0")
        with contextlib.suppress(OSError):
            self._instance.rmdir()
