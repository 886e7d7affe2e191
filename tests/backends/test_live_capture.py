"""Packets of an open lab for other programs, while they pass."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.backends import live_capture
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.backends.live_capture import LiveCapture, listening
from tcptutor.base import sockets
from tcptutor.base.errors import LabError, LabUnavailable
from tests import patience
from tests.backends.play import leaving_nothing
from tests.backends.test_session import hands
from tests.cli.command import TCPTUTOR
from tests.conftest import Build

_HEADER, _PACKET = 24, 16
"""Bytes before the packets of a pcap file, and before each packet (draft-ietf-opsawg-pcap)."""


@pytest.fixture(autouse=True)
def _own_sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:  # shorter than a test's own: a socket's path has a limit
        monkeypatch.setattr(sockets, "_SHARED", Path(folder))
        yield


@pytest.mark.guest
async def test_packets_arrive_while_the_lab_is_open(
    mark: str, snapshots: Snapshots, build: Build, without_state: Path
) -> None:
    captured = bytearray()

    def read(capture: LiveCapture) -> None:
        while data := capture.read():
            captured.extend(data)

    async with leaving_nothing(GuestBackend("virtual", snapshots, paced=True), mark) as backend:
        async with hands(backend, build(rate="8 Mbit/s")) as lab, listening(lab.session):
            shell = lab.shell()
            with await asyncio.to_thread(LiveCapture, "", 96) as capture:
                reading = asyncio.create_task(asyncio.to_thread(read, capture))
                async with asyncio.timeout(patience.seconds(30)):
                    while len(captured) < _HEADER:  # noqa: ASYNC110  (a thread reads)
                        await asyncio.sleep(0.05)
                await lab.type(shell, "ping -c 3 -i 0.2 h2", "3 received")
                async with asyncio.timeout(patience.seconds(30)):
                    while len(_packets(captured)) < 6:  # noqa: ASYNC110  (a thread reads)
                        await asyncio.sleep(0.05)
            for interface, reason in (("h9-eth0", "no host 'h9'"), ("s1-eth2;id", "not an interface")):
                with pytest.raises(LabError, match=reason):
                    await asyncio.to_thread(LiveCapture, interface, 96)
        await reading
    with pytest.raises(LabUnavailable, match="no lab is open"):
        LiveCapture("", 96)
    assert captured[:4] == b"\xd4\xc3\xb2\xa1"
    # Requests leave the bottleneck's interface, answers enter it.
    addresses = [(packet[26:30], packet[30:34]) for packet in _packets(captured)]
    assert addresses.count((bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))) == 3
    assert addresses.count((bytes([10, 0, 0, 2]), bytes([10, 0, 0, 1]))) == 3


def _packets(file: bytes) -> list[bytes]:
    """The echo packets of a pcap file, which may end within a packet."""
    packets, at = list[bytes](), _HEADER
    while at + _PACKET <= len(file):
        size = int.from_bytes(file[at + 8 : at + 12], "little")
        packets.append(bytes(file[at + _PACKET : at + _PACKET + size]))
        at += _PACKET + size
    return [packet for packet in packets if packet[12:14] == b"\x08\x00" and packet[23] == 1]


class _Refusing:
    """A session that has no interface; what listens for captures asks it for nothing else."""

    def capture(self, interface: str, snap_length: int) -> object:
        raise LabError(f"no {interface} of {snap_length}")


@pytest.mark.parametrize(
    "request_line",
    [b"\n", b"x y\n", b"0 s1-eth2\n", b"99999999999999999999\n", b"\xff" * 4096],
    ids=["empty", "words", "zero", "huge", "endless"],
)
async def test_a_bad_request_gets_a_line_and_the_next_is_served(request_line: bytes) -> None:
    async with listening(_Refusing()):  # type: ignore[arg-type]
        (path,) = sockets.path("session").parent.glob("session-*")

        def ask() -> bytes:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
                client.sendall(request_line)
                return client.makefile("rb").readline()

        assert b"not a number of bytes and an interface" in await asyncio.to_thread(ask)
        with pytest.raises(LabError, match="no s1-eth2 of 96"):
            await asyncio.to_thread(LiveCapture, "s1-eth2", 96)


async def test_the_socket_of_a_killed_program_is_removed() -> None:
    dead = sockets.path("session").with_name(f"{sockets.path('session').name}-1")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(dead))
    with pytest.raises(LabUnavailable):
        LiveCapture("", live_capture.MOST_BYTES)
    assert not dead.exists()


def test_packets_are_not_written_to_a_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        ["script", "-qec", f"{TCPTUTOR} capture", "/dev/null"], capture_output=True, text=True, check=False,
        timeout=patience.seconds(30), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 2
    assert "wireshark" in done.stdout
