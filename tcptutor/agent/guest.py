"""Start of the agent inside the QEMU guest: prepare the kernel, build the network, make a trial run, then serve.

All of this happens once, before the snapshot: every module is loaded, every program of a run is in the page cache, and
the network is up.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tcptutor.agent import experiment as runner
from tcptutor.agent.agent import Agent
from tcptutor.agent.channel import Channel
from tcptutor.agent.network import HostNames
from tcptutor.agent.session import shells
from tcptutor.spec import Experiment, Flows, Hosts
from tcptutor.spec import Path as NetworkPath
from tcptutor.wire import home_files, memory, protocol
from tcptutor.wire.protocol import PORT_NAME, Event, Ready, Request
from tcptutor.wire.ring import SIZE, DeferredChanges, Ring

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
_SHARED_MEMORY = ("0x1af4", "0x1110")
"""PCI vendor and device of QEMU's shared memory (docs/specs/ivshmem-spec)."""
_WATCHDOG = ("0x8086", "0x25ab")
"""PCI vendor and device of Intel's 6300ESB."""
_CONFIG, _LOCK = 0x60, 0x68
"""Offsets in its configuration space (Intel 6300ESB datasheet, section 16)."""
_MICROSECONDS_NO_INTERRUPT = b"\x07\x00"
_ENABLE = b"\x02"
_RELOAD = 0x0C
_KEYS = (0x80, 0x86)
"""Values to write to the reload register before each other write."""
_TICKS = 25_000
"""Length of each of the two stages; a tick is 32/33 µs."""
_AWAKE = 0.053
"""Time to stay awake, s, longer than both stages: a sleeping guest's clock would be advanced. On a busy host QEMU stops
the guest 20 ms or more after its timer has expired."""
_RESEED = 0x5207
"""RNDRESEEDCRNG, linux/random.h."""
_POOL = Path("/dev/urandom")


def main() -> None:
    """Run the agent; the image's init starts `python -m tcptutor.agent.guest CLOCK`."""
    clock = sys.argv[1]
    subprocess.run(["modprobe", "-qa", *_MODULES], check=False)
    _allow_algorithms()
    port = _open_port()
    ring = open_ring()
    if ring is None:
        raise SystemExit("no shared memory: the guest cannot answer")
    channel = _GuestChannel(port, ring, find_pause())
    _make_writable()
    shells.make_cgroup()
    agent = Agent(channel, "guest", clock, names=HostNames(), reseed=reseed)
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


def open_ring() -> Ring | None:
    """Open the guest's end of the ring; None if the machine has no shared memory device."""
    device = _find_device(*_SHARED_MEMORY)
    return Ring(_map_resource(device, 2, SIZE)) if device else None


def find_pause() -> Callable[[], None] | None:
    """Return a function that pauses this machine until QEMU resumes it; None without the watchdog.

    QEMU is configured to pause the machine when the watchdog expires. A stop requested from outside takes effect after
    an instruction that depends on the host, and a stop by one of the guest's instructions leaves a moment in which its
    clock may run on. A timer of QEMU's on the guest's clock interrupts the guest in an idle loop, so its next steps do
    not depend on where exactly it stopped. If it stops later, the poll count in shared memory shows it.
    """
    device = _find_device(*_WATCHDOG)
    if device is None:
        return None
    memory = memoryview(_map_resource(device, 0, 16))
    longs, words = memory.cast("I"), memory.cast("H")
    config = os.open(device / "config", os.O_RDWR)

    def pause() -> None:
        os.pwrite(config, _MICROSECONDS_NO_INTERRUPT, _CONFIG)
        for stage in (0, 1):
            for key in _KEYS:
                words[_RELOAD // 2] = key
            longs[stage] = _TICKS
        end = time.monotonic() + _AWAKE
        os.pwrite(config, _ENABLE, _LOCK)
        while time.monotonic() < end:
            pass

    return pause


def reseed(seed: int) -> None:
    """Reseed the kernel's random numbers, as used by iptables' statistic and hashed queues, from `seed`.

    The numbers also depend on earlier draws. Needs root, and a kernel that serves a single lab, as in the guest.
    """
    pool = os.open(_POOL, os.O_WRONLY)
    try:
        os.write(pool, seed.to_bytes(16, "little", signed=True))
        fcntl.ioctl(pool, _RESEED)
    finally:
        os.close(pool)


def _find_device(vendor: str, device: str) -> Path | None:
    """Enable the first device of these ids (as in /sys, "0x1af4"), and return its folder; None without the device."""
    for folder in sorted(Path("/sys/bus/pci/devices").glob("*")):
        if (_text(folder / "vendor"), _text(folder / "device")) == (vendor, device):
            (folder / "enable").write_text("1")
            return folder
    return None


def _map_resource(device: Path, resource: int, size: int) -> mmap.mmap:
    """Map the first `size` bytes of a device's memory resource. Raises OSError."""
    handle = os.open(device / f"resource{resource}", os.O_RDWR)
    try:
        return mmap.mmap(handle, size)
    finally:
        os.close(handle)


def _text(path: Path) -> str:
    return path.read_text().strip()


if __name__ == "__main__":
    main()
