"""Networks that are broken from the beginning: the fault can be found, and only what mends it ticks the goals."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from tcptutor.agent.traps import TRAPS
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import UsageError
from tcptutor.course import load
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.run import Finished
from tcptutor.wire.kernel_state import SessionState
from tests.backends.play import leaving_nothing, too_busy
from tests.backends.test_goals import WatchedHands, settled
from tests.backends.test_session import Hands, hands
from tests.cli.command import SERVER
from tests.conftest import Build

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("without_state")]

BROKEN: dict[str, ShellActivity] = {
    step.shell.fault: step.shell
    for module in load().modules
    for step in module.steps
    if step.shell is not None and step.shell.fault
}
TRIES = 3
"""Runs that a busy machine may take to show what the network can do."""


class Fault(NamedTuple):
    """What a student types on s1."""

    evidence: dict[str, str]
    """Commands, with what their output has to match."""
    wrong: tuple[str, ...]
    """Mendings that are none, one after the other."""
    mending: tuple[str, ...]
    seconds: int = 10
    """Of the run that shows it."""


TBF = "tc qdisc change dev s1-eth2 parent 1: handle 2: tbf"
PING = "h1 ping -c 4 -i 0.2 -W 1"
FAULTS = {
    "late-acks": Fault(
        {
            f"{PING} 10.0.0.2": r"min/avg/max/mdev = (7\d|8\d|9\d)\.",
            "tc qdisc show": "dev s2-eth1 .*delay 60",
        },
        (
            f"{TBF} rate 20mbit burst 20000 limit 50000",
            "tc qdisc change dev s1-eth2 root handle 1: netem delay 1ms",
        ),
        (
            f"{TBF} rate 5mbit burst 15000 limit 50000",
            "tc qdisc change dev s1-eth2 root handle 1: netem delay 20ms",
            "tc qdisc del dev s2-eth1 root",
        ),
    ),
    "lost-acks": Fault(
        {
            "h1 ping -q -c 40 -i 0.05 10.0.0.2": r" [1-6]\d(\.\d+)?% packet loss",
            "tc qdisc show": "dev s2-eth1 .*loss 30%",
        },
        ("h1 sysctl -w net.ipv4.tcp_sack=0", "tc qdisc change dev s2-eth1 root handle 1: netem loss 3%"),
        ("h1 sysctl -w net.ipv4.tcp_sack=1", "tc qdisc del dev s2-eth1 root"),
    ),
    "small-bucket": Fault(
        {
            f"{PING} 10.0.0.2": "4 received",
            f"{PING} -s 1400 10.0.0.2": "0 received",
            "tc -s -d qdisc show dev s1-eth2": r"burst 1000b",
        },
        (f"{TBF} rate 5mbit burst 1400 limit 50000", "tc qdisc del dev s1-eth2 parent 1:"),
        ("tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 5mbit burst 15000 limit 50000",),
    ),
    "short-buffer": Fault(
        {"tc -s qdisc show dev s1-eth2": "limit 4000b", f"{PING} -s 1400 10.0.0.2": "4 received"},
        (f"{TBF} rate 5mbit burst 15000 limit 5000", f"{TBF} rate 50mbit burst 50000 limit 50000"),
        (f"{TBF} rate 5mbit burst 15000 limit 50000",),
    ),
    "narrow-hop": Fault(
        {
            f"{PING} -s 1372 10.0.0.2": "4 received",
            f"{PING} -s 1400 10.0.0.2": "0 received",
            "ip link show dev s1-eth2": "mtu 1400",
        },
        ("ip link set dev s1 mtu 1500", "ip link set dev s2-eth1 mtu 1500"),
        ("ip link set dev s1-eth2 mtu 1500",),
    ),
    "no-window-scaling": Fault(
        {"h2 sysctl net.ipv4.tcp_window_scaling": "= 0", "h1 sysctl net.ipv4.tcp_window_scaling": "= 1"},
        ("h1 sysctl -w net.ipv4.tcp_window_scaling=0", "h2 sysctl -w net.ipv4.tcp_rmem='4096 900000 900000'"),
        ("h1 sysctl -w net.ipv4.tcp_window_scaling=1", "h2 sysctl -w net.ipv4.tcp_window_scaling=1"),
        seconds=12,
    ),
    "fixed-receive-buffer": Fault(
        {"h2 sysctl net.ipv4.tcp_moderate_rcvbuf": "= 0", "h1 sysctl net.ipv4.tcp_moderate_rcvbuf": "= 1"},
        ("h2 sysctl -w net.ipv4.tcp_rmem='4096 131072 16000000'",),
        ("h2 sysctl -w net.ipv4.tcp_moderate_rcvbuf=1",),
        seconds=12,
    ),
    "capped-send-buffer": Fault(
        {"h1 sysctl net.ipv4.tcp_wmem": r"\s32768"},
        (
            "h2 sysctl -w net.ipv4.tcp_wmem='4096 16384 6000000'",
            "h1 sysctl -w net.ipv4.tcp_rmem='4096 131072 6000000'",
            "h1 sysctl -w net.ipv4.tcp_wmem='4096 16384 65536'",
        ),
        ("h1 sysctl -w net.ipv4.tcp_wmem='4096 16384 6000000'",),
        seconds=12,
    ),
    "duplicate-address": Fault(
        {
            f"{PING} 10.0.0.2": r"min/avg/max/mdev = \d\.",
            "ip -br address": r"s1 .*10\.0\.0\.2/8",
            "h2 ip -br address": r"h2-eth0.*10\.0\.0\.2/8",
        },
        ("h1 ip neighbour flush dev h1-eth0",),
        ("ip address del 10.0.0.2/8 dev s1", "h1 ip neighbour flush dev h1-eth0"),
    ),
    "netem-limit": Fault(
        {
            f"{PING} -s 1400 10.0.0.2": "4 received",
            "tc -s qdisc show dev s1-eth2": r"netem 1: root .*limit 25 delay 200ms",
        },
        (
            "tc qdisc change dev s1-eth2 root handle 1: netem delay 200ms limit 100",
            "tc qdisc change dev s1-eth2 root handle 1: netem delay 20ms limit 1000",
        ),
        ("tc qdisc change dev s1-eth2 root handle 1: netem delay 200ms limit 1000",),
        seconds=12,
    ),
    "cached-metrics": Fault(
        {"h1 ip tcp_metrics": "10.0.0.2 .*ssthresh 2 ", "h1 sysctl net.ipv4.tcp_no_metrics_save": "= 0"},
        ("h1 sysctl -w net.ipv4.tcp_no_metrics_save=1", "h2 ip tcp_metrics flush all"),
        ("h1 ip tcp_metrics flush all",),
        seconds=12,
    ),
    "super-packets": Fault(
        {"h1 ethtool -k h1-eth0": "tcp-segmentation-offload: on", "tc qdisc show dev s1-eth2": "loss 0.2%"},
        ("h2 ethtool -K h2-eth0 tso off gso off gro off", "h1 ethtool -K h1-eth0 tso off"),
        ("h1 ethtool -K h1-eth0 tso off gso off gro off",),
        seconds=20,
    ),
}


@pytest.fixture
async def backend(mark: str, snapshots: Snapshots) -> AsyncIterator[GuestBackend]:
    async with leaving_nothing(GuestBackend("virtual", snapshots, paced=True), mark) as one:
        yield one


def test_every_trap_is_one_of_a_page() -> None:
    assert set(BROKEN) == set(TRAPS) == set(FAULTS)


async def opened(lab: Hands, shell: ShellActivity) -> WatchedHands:
    return WatchedHands(lab, lab.shell("s1"), *shell.parsed_goals, in_order=shell.in_order, broken=True)


async def run(lab: Hands, watched: WatchedHands, seconds: int) -> bool:
    """Whether a run from h1 to h2 came to its end, and the goals have seen it."""
    ended = lab.count(Finished)
    await watched.type(f"h1 iperf3 -c h2 -t {seconds} --connect-timeout 3000 > /dev/null")
    await settled(lab, lab.count(SessionState))
    if lab.count(Finished) == ended:
        return False
    assert watched.board
    return True


@pytest.mark.parametrize("trap", FAULTS)
async def test_only_the_fix_of_a_fault_ticks_the_goals(backend: GuestBackend, trap: str) -> None:
    shell, fault = BROKEN[trap], FAULTS[trap]
    async with hands(backend, shell.experiment, trap) as lab:
        watched = await opened(lab, shell)
        assert watched.board.reached == ()
        for command, pattern in fault.evidence.items():
            said = await lab.type(watched.shell, f"{command}; echo over=$?", r"over=\d+", seconds=40)
            assert re.search(pattern, said), said
        # Nothing tells a student what to find: neither as the network is given, nor once it was looked at.
        assert [goal.near for goal in watched.board.goals] == [None, None]
        for line in fault.wrong:
            await watched.type(line)
            await settled(lab, lab.count(SessionState))
            assert watched.board.reached == (), line
        for line in fault.mending:
            await watched.type(line)
        await watched.until(lambda board: board.reached == (0,))
        await watched.type(SERVER)
        for _ in range(TRIES):
            await run(lab, watched, fault.seconds)
            if watched.board.done:
                return
        assert too_busy(await lab.run(lab.count(Finished))), watched.board


async def test_a_mended_network_that_is_broken_again_is_not_mended(backend: GuestBackend) -> None:
    shell = BROKEN["no-window-scaling"]
    async with hands(backend, shell.experiment, shell.fault) as lab:
        watched = await opened(lab, shell)
        await watched.type("h2 sysctl -w net.ipv4.tcp_window_scaling=1")
        await watched.until(lambda board: board.reached == (0,))
        await watched.type("h2 sysctl -w net.ipv4.tcp_window_scaling=0")
        await watched.until(lambda board: board.reached == ())


async def test_an_unknown_trap_is_refused_with_those_that_there_are(
    backend: GuestBackend, build: Build
) -> None:
    with pytest.raises(UsageError, match=r"no trap 'small-buckets': did you mean small-bucket"):
        async with hands(backend, build(), "small-buckets"):
            pass
