"""The agent's start inside the QEMU guest: bring the kernel up, build the network, make one run, then serve the port.

What happens here happens once, before the snapshot is taken: every module is loaded, every program that a run
starts has been read, and the network stands.
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

from tcptutor.agent import entropy, pause
from tcptutor.agent import experiment as runner
from tcptutor.agent.agent import Agent
from tcptutor.agent.channel import Channel
from tcptutor.agent.names import HostNames
from tcptutor.agent.session import bounds
from tcptutor.spec import Experiment, Flows, Hosts
from tcptutor.spec import Path as NetworkPath
from tcptutor.wire import home_files, memory, protocol
from tcptutor.wire.deferred import DeferredChanges
from tcptutor.wire.protocol import PORT_NAME, Event, Ready, Request
from tcptutor.wire.ring import Ring, in_guest

_MODULES = (
    "veth",
    "bridge",
    "tcp_diag",
    "inet_diag",
    "sch_netem",
    "sch_tbf",
    "sch_fq",
    "sch_fq_codel",
    "sch_codel",
    "sch_cake",
    "sch_red",
    "ifb",
    "tcp_bbr",
    "tcp_htcp",
    "tcp_highspeed",
    "tcp_bic",
    "tcp_dctcp",
    "tcp_vegas",
    "tcp_westwood",
    "tcp_illinois",
    "tcp_scalable",
    "tcp_hybla",
    "tcp_veno",
    "tcp_yeah",
    "tcp_lp",
    "tcp_nv",
    "tcp_cdg",
)


_IPV4 = Path("/proc/sys/net/ipv4")
_TCP_MEM = _IPV4 / "tcp_mem"
_USED = 512 << 20
"""What the start of a guest has used of its memory at one time or another, bytes; with room."""


def _port() -> int:
    """The virtio port, opened once, for reading and writing: a second open is refused."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for name in Path("/sys/class/virtio-ports").glob("*/name"):
            if name.read_text().strip() == PORT_NAME:
                return os.open(f"/dev/{name.parent.name}", os.O_RDWR)
        time.sleep(0.05)
    raise SystemExit("no virtio port named tcptutor")


def _allow_algorithms() -> None:
    """Let every lab host make any algorithm its own, by `sysctl -w` as the manuals print it."""
    known = (_IPV4 / "tcp_available_congestion_control").read_text()
    (_IPV4 / "tcp_allowed_congestion_control").write_text(known)


def _free() -> int:
    """Memory that nothing uses, bytes."""
    return next(
        int(line.split()[1]) << 10
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemFree")
    )


def _give_memory_to_tcp() -> None:
    """Let TCP have its share of what is free, and a quarter of that again before nothing more is given."""
    pressure = round(memory.SHARE * _free() / mmap.PAGESIZE)
    _TCP_MEM.write_text(f"{pressure * 3 // 4} {pressure} {pressure * 5 // 4}")


def _zero_free_memory() -> None:
    """Take free memory and give it back as zeros: the snapshot leaves zero pages out.

    Nearly all of it; of a large guest's, what the start can have used: the kernel takes that before what was never
    used, unless it may take whole large pages.
    """
    size = min(max(0, _free() - (24 << 20)), _USED) & ~(mmap.PAGESIZE - 1)
    if size:
        with mmap.mmap(-1, size) as taken:
            taken.madvise(mmap.MADV_NOHUGEPAGE)
            for offset in range(0, size, mmap.PAGESIZE):
                taken[offset] = 0


_HOME_SIZE = "48m"
"""Of what is in `~`, for mount: what is carried out is less, and the rest of the memory is the experiments'."""

_ROOM = {"tmp": "64m", "run": "8m", "var/tmp": "8m", "agent": "16m", "dev": "1m", "dev/shm": "8m"}
"""Of what is in memory elsewhere: all of them full leave enough to the experiments and to what runs in the shells.
iperf3, typed there, has a file in /tmp a stream."""

_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\ntcpdump:x:0:0::/:/bin/false\n",
    "group": "root:x:0:\n",
    "nsswitch.conf": "hosts: files\n",
}
"""Files that Debian's packages would make when they are configured. tcpdump leaves root for the user of its name, which
is root again here: whoever types in the guest may do everything there."""


def _writable() -> None:
    """An /etc and a home that can be written, in memory, beside a root that cannot."""
    etc, beside = Path("/etc"), Path("/run/etc")
    shutil.copytree(etc, beside, symlinks=True)
    for name, text in _ETC.items():
        (beside / name).write_text(text)
    for folder, size in _ROOM.items():
        subprocess.run(["mount", "-o", f"remount,size={size}", f"/{folder}"], check=True)
    for mount in (
        ["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"],
        ["mount", "--bind", str(beside), str(etc)],
        ["mount", "-t", "tmpfs", "-o", f"size={_HOME_SIZE},mode=700", "home", str(home_files.FOLDER)],
    ):
        subprocess.run(mount, check=True)
    # What Debian's alternatives would link.
    for name in ("iptables", "iptables-save"):
        Path("/agent/bin", name).symlink_to("/usr/sbin/xtables-nft-multi")


class _Guest(Channel):
    """Takes the first request out of the shared memory, where it is before the guest moves; all others off the port.

    Until it is there the guest does not sleep: its snapshot is taken at a count of instructions that an idle guest
    would be long to reach. Where it can stop its machine, it does so again and again, for whoever takes the snapshot.
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


class _Silent(Channel):
    """Takes a run's events to nowhere."""

    def send(self, event: Event) -> None:
        pass

    def receive(self, timeout: float | None = None) -> Request | None:
        time.sleep(timeout or 0)
        return None


def main() -> None:
    """`python -m tcptutor.agent.guest CLOCK`, started by the image's init."""
    clock = sys.argv[1]
    subprocess.run(["modprobe", "-qa", *_MODULES], check=False)
    _allow_algorithms()
    port = _port()
    ring = in_guest()
    if ring is None:
        raise SystemExit("no shared memory: the guest has no way to answer")
    channel = _Guest(port, ring, pause.in_guest())
    _writable()
    bounds.make()
    agent = Agent(channel, "guest", clock, names=HostNames(), reseed=entropy.reseed)
    environment = agent.start()
    trial = Experiment(
        name="start",
        path=NetworkPath(rate=2e7, delay=0.005, loss=0.001),
        hosts=Hosts(algorithm="reno"),
        flows=Flows(duration=1.0, warmup=0.0, udp_streams=1),
    )
    runner.run(agent.network, trial, _Silent(port, ring.write), 39000)
    _zero_free_memory()
    _give_memory_to_tcp()
    agent.channel.send(Ready(protocol.VERSION, environment))
    agent.serve()


if __name__ == "__main__":
    main()
