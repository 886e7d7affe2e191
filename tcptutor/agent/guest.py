"""Start of the agent inside the QEMU guest: prepare the kernel, build the network, make a trial run, then serve.

All of this happens once, before the snapshot: every module is loaded, every program of a run is in the page cache, and
the network is up.
"""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tcptutor.agent import experiment as runner
from tcptutor.agent import guest_machine
from tcptutor.agent.agent import Agent
from tcptutor.agent.channel import Channel
from tcptutor.agent.network import HostNames
from tcptutor.agent.session import shells
from tcptutor.spec import Experiment, Flows, Hosts
from tcptutor.spec import Path as NetworkPath
from tcptutor.wire import home_files, memory, protocol
from tcptutor.wire.deferred import DeferredChanges
from tcptutor.wire.protocol import PORT_NAME, Event, Ready, Request
from tcptutor.wire.ring import Ring

_MODULES = """
veth bridge tcp_diag inet_diag sch_netem sch_tbf sch_fq sch_fq_codel sch_codel sch_cake sch_red ifb tcp_bbr tcp_htcp
tcp_highspeed tcp_bic tcp_dctcp tcp_vegas tcp_westwood tcp_illinois tcp_scalable tcp_hybla tcp_veno tcp_yeah tcp_lp
tcp_nv tcp_cdg
""".split()


_IPV4 = Path("/proc/sys/net/ipv4")
_TCP_MEM = _IPV4 / "tcp_mem"
_START_MEMORY = 512 << 20
"""Memory that the start of a guest touches at most, bytes; with a margin."""
_HOME_SIZE = "48m"
"""Size of the home folder, for mount: more than a session copies out, and the rest is for experiments."""
_FOLDER_SIZES = {"tmp": "64m", "run": "8m", "var/tmp": "8m", "agent": "16m", "dev": "1m", "dev/shm": "8m"}
"""Sizes of the other folders in memory. Even when all are full, experiments and shells have enough. iperf3 keeps a file
per stream in /tmp."""
_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\ntcpdump:x:0:0::/:/bin/false\n",
    "group": "root:x:0:\n",
    "nsswitch.conf": "hosts: files\n",
}
"""Files that Debian's packages create when configured. tcpdump drops root for the user of its name, which here is root
again: the guest's users may do everything."""


def main() -> None:
    """Run the agent; the image's init starts `python -m tcptutor.agent.guest CLOCK`."""
    clock = sys.argv[1]
    subprocess.run(["modprobe", "-qa", *_MODULES], check=False)
    _allow_algorithms()
    port = _open_port()
    ring = guest_machine.open_ring()
    if ring is None:
        raise SystemExit("no shared memory: the guest cannot answer")
    channel = _GuestChannel(port, ring, guest_machine.find_pause())
    _make_writable()
    shells.make_cgroup()
    agent = Agent(channel, "guest", clock, names=HostNames(), reseed=guest_machine.reseed)
    environment = agent.start()
    trial = Experiment(
        name="start",
        path=NetworkPath(rate=2e7, delay=0.005, loss=0.001),
        hosts=Hosts(algorithm="reno"),
        flows=Flows(duration=1.0, warmup=0.0, udp_streams=1),
    )
    runner.run(agent.network, trial, _SilentChannel(port, ring.write), 39000)
    _zero_free_memory()
    _give_memory_to_tcp()
    agent.channel.send(Ready(protocol.VERSION, environment))
    agent.serve()


def _allow_algorithms() -> None:
    """Let every lab host use any algorithm through `sysctl -w`, as in the manuals."""
    known = (_IPV4 / "tcp_available_congestion_control").read_text()
    (_IPV4 / "tcp_allowed_congestion_control").write_text(known)


def _open_port() -> int:
    """Open the virtio port for reading and writing; a second open would be refused."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for name in Path("/sys/class/virtio-ports").glob("*/name"):
            if name.read_text().strip() == PORT_NAME:
                return os.open(f"/dev/{name.parent.name}", os.O_RDWR)
        time.sleep(0.05)
    raise SystemExit("no virtio port named tcptutor")


def _make_writable() -> None:
    """Mount a writable /etc and home in memory over the read-only root."""
    etc, copy = Path("/etc"), Path("/run/etc")
    shutil.copytree(etc, copy, symlinks=True)
    for name, text in _ETC.items():
        (copy / name).write_text(text)
    for folder, size in _FOLDER_SIZES.items():
        subprocess.run(["mount", "-o", f"remount,size={size}", f"/{folder}"], check=True)
    for mount in (
        ["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"],
        ["mount", "--bind", str(copy), str(etc)],
        ["mount", "-t", "tmpfs", "-o", f"size={_HOME_SIZE},mode=700", "home", str(home_files.FOLDER)],
    ):
        subprocess.run(mount, check=True)
    # Links that Debian's alternatives would create.
    for name in ("iptables", "iptables-save"):
        Path("/agent/bin", name).symlink_to("/usr/sbin/xtables-nft-multi")


def _zero_free_memory() -> None:
    """Fill free memory with zeros, because the snapshot leaves out zero pages.

    In a large guest it fills only as much as the start can have touched: the kernel reuses touched pages first, unless
    it may allocate huge pages.
    """
    size = min(max(0, _free_memory() - (24 << 20)), _START_MEMORY) & ~(mmap.PAGESIZE - 1)
    if size:
        with mmap.mmap(-1, size) as block:
            block.madvise(mmap.MADV_NOHUGEPAGE)
            for offset in range(0, size, mmap.PAGESIZE):
                block[offset] = 0


def _give_memory_to_tcp() -> None:
    """Give TCP its share of the free memory before pressure begins, and a quarter more before allocations fail."""
    pressure = round(memory.SHARE * _free_memory() / mmap.PAGESIZE)
    _TCP_MEM.write_text(f"{pressure * 3 // 4} {pressure} {pressure * 5 // 4}")


def _free_memory() -> int:
    return next(
        int(line.split()[1]) << 10
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemFree")
    )


class _GuestChannel(Channel):
    """Channel that takes the first request from shared memory and all others from the virtio port.

    Until the first request the guest does not sleep: its snapshot is taken at an instruction count that an idle guest
    would take long to reach. With the watchdog it pauses its machine again and again, so that a snapshot can be taken.
    """

    def __init__(self, port: int, ring: Ring, pause: Callable[[], None] | None = None) -> None:
        super().__init__(port, ring.write)
        self._ring: Ring | None = ring
        self._pause = pause
        self.deferred = DeferredChanges(ring.deferred)

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> tuple[Request | None, list[int]]:
        if self._ring is not None and (request := self._ring.take_request()):
            self._ring = None
            self._buffer += request
        if self._ring is not None:
            timeout = 0.0
            if self._pause is not None:
                self._pause()
        return super().wait(timeout, others)


class _SilentChannel(Channel):
    def send(self, event: Event) -> None:
        pass

    def receive(self, timeout: float | None = None) -> Request | None:
        time.sleep(timeout or 0)
        return None


if __name__ == "__main__":
    main()
