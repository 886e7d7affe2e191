"""What a session says of queue disciplines, also of those that nobody foresaw."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from tcptutor.agent import shaping
from tcptutor.agent.netlink import ROOT, QdiscState, QueueLength, Route, TrafficControl
from tcptutor.agent.network import Interface

LOOPBACK = """
set -e
ip link set lo up
echo $$
read -r _
tc qdisc add dev lo root handle 1: $QDISC
echo there
read -r _
$PYTHON -c 'import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b"x" * 1000, ("127.0.0.1", 9))'
echo sent
read -r _
tc qdisc del dev lo root
echo gone
read -r _ || true
"""


def test_a_root_that_would_be_inside_itself_is_there_once() -> None:
    root = QdiscState("pfifo", {}, handle=0xFFFF0000, parent=ROOT)
    inside = QdiscState("netem", {}, handle=0x00100000, parent=0xFFFF0001)
    assert shaping.chain_of([root, inside]) == (root, inside)


@pytest.mark.host
@pytest.mark.parametrize("qdisc", ["htb", "tbf rate 5mbit burst 20000 limit 60000", "pfifo limit 50"])
async def test_what_is_only_counted_is_no_change(qdisc: str) -> None:
    unshared = await asyncio.create_subprocess_exec(
        "unshare", "-Urn", "sh", "-c", LOOPBACK, env={**os.environ, "QDISC": qdisc, "PYTHON": sys.executable},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert unshared.stdin is not None
    assert unshared.stdout is not None

    async def reached(what: str) -> None:
        assert unshared.stdin is not None
        assert unshared.stdout is not None
        unshared.stdin.write(b"\n")
        assert (await unshared.stdout.readline()).decode().strip() == what

    inside = int(await unshared.stdout.readline())
    with Route(inside) as route:
        route.refresh()
        await reached("there")
        assert route.refresh(), "it was added"
        await reached("sent")
        assert not route.refresh(), "it has only counted"
        await reached("gone")
        assert route.refresh(), "it was taken away"
    unshared.stdin.close()
    assert await unshared.wait() == 0


@pytest.mark.host
async def test_asking_for_the_length_of_a_queue_is_no_change_of_it() -> None:
    """The kernel multicasts its answer: heard as news, a session read everything anew five times a second."""
    unshared = await asyncio.create_subprocess_exec(
        "unshare", "-Urn", "sh", "-c", LOOPBACK,
        env={**os.environ, "QDISC": "pfifo limit 50", "PYTHON": sys.executable},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert unshared.stdin is not None
    assert unshared.stdout is not None
    inside = int(await unshared.stdout.readline())
    with TrafficControl(inside) as notifications:
        unshared.stdin.write(b"\n")
        assert await unshared.stdout.readline() == b"there\n"
        assert notifications.poll(), "it was added"
        with QueueLength(Interface("lo", inside)) as queue:
            assert queue.read().packets == 0
            assert not notifications.poll()
            queue.read()
        assert not notifications.poll(), "nor what was asked before the end"
        unshared.stdin.write(b"\n\n")
        assert await unshared.stdout.readline() == b"sent\n"
        assert await unshared.stdout.readline() == b"gone\n"
        assert notifications.poll(), "it was taken away"
    unshared.stdin.close()
    assert await unshared.wait() == 0
