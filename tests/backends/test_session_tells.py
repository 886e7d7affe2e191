"""What a session tells of the lab beside its queue disciplines, and what ends it, by real shells in the real guest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tcptutor.agent.session import observers
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import AgentDied, LabError
from tcptutor.wire.kernel_state import HostState, InterfaceState
from tcptutor.wire.protocol import CommandEnded, RunDetected
from tests import patience
from tests.backends.play import leaving_nothing
from tests.backends.test_session import Hands, hands
from tests.cli.command import SERVER
from tests.conftest import Build

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("without_state")]


@pytest.fixture
async def backend(mark: str, snapshots: Snapshots, without_state: Path) -> AsyncIterator[GuestBackend]:
    async with leaving_nothing(GuestBackend("virtual", snapshots, paced=True), mark) as one:
        yield one


def host(lab: Hands, name: str) -> HostState:
    return next(one for one in lab.state().hosts if one.name == name)


def interface(lab: Hands, name: str) -> InterfaceState:
    return next(one for one in lab.state().interfaces if one.name == name)


def ended(lab: Hands) -> list[tuple[str, str, int]]:
    return [(one.host, one.command, one.status) for one in lab.events if isinstance(one, CommandEnded)]


@pytest.mark.alone
async def test_hosts_and_interfaces_are_reported(backend: GuestBackend, build: Build) -> None:
    async with hands(backend, build()) as lab:
        assert host(lab, "h1").sysctls["tcp_congestion_control"] == "cubic"
        assert (host(lab, "h1").sysctls["ip_forward"], host(lab, "s1").sysctls["rmem_max"]) == (
            "0",
            "16777216",
        )
        assert interface(lab, "h1-eth0") == InterfaceState("h1-eth0", (), 1500, True, (), ("10.0.0.1/8",))
        shell = lab.shell("h1")

        async def do(line: str, holds: str, within: float = 0.5) -> None:
            await lab.type(shell, f"{line} > /dev/null; echo over=$?", "over=0")
            began = time.monotonic()
            await lab.until(lambda: bool(eval(holds, {**globals(), "lab": lab})))
            assert time.monotonic() - began < patience.seconds(within), line

        # As the manuals print it: no algorithm is kept from a lab host.
        await do("sysctl -w net.ipv4.tcp_congestion_control=htcp",
                 "host(lab, 'h1').sysctls['tcp_congestion_control'] == 'htcp'")  # fmt: skip
        await do("sysctl -w net.ipv4.ip_forward=1", "host(lab, 'h1').sysctls['ip_forward'] == '1'")
        await do("h2 iperf3 -s -D", "host(lab, 'h2').listening_ports == (5201,)")
        await do("ping -c 3 -i 0.2 h2", "host(lab, 'h1').echo_replies == 3")
        assert host(lab, "h2").echo_replies == 0
        assert not any(host.captures for state in lab.states() for host in state.hosts)
        await do("ip link set h1-eth0 mtu 1400", "interface(lab, 'h1-eth0').mtu == 1400")
        assert lab.seen().hosts.mtu == 1400
        await do("ethtool -K h1-eth0 gso on", "interface(lab, 'h1-eth0').offloads == ('gso',)")
        await do("ip addr add 10.0.0.2/8 dev h1-eth0", "'10.0.0.2/8' in interface(lab, 'h1-eth0').addresses")
        await do("ip addr del 10.0.0.2/8 dev h1-eth0", "len(interface(lab, 'h1-eth0').addresses) == 1")
        await do("s1 ip link set s1-eth2 down", "not interface(lab, 's1-eth2').up")
        await do("s1 ip link set s1-eth2 up", "interface(lab, 's1-eth2').up")
        await do("tcpdump -n -i h1-eth0 -w capture &", "host(lab, 'h1').captures", within=5)
        await do("iperf3 -c h2 -n 10K", "host(lab, 'h1').captured_connections == 2")
        await do("kill %%", "not host(lab, 'h1').captures")
        assert (host(lab, "h1").captured_connections, host(lab, "h2").captured_connections) == (2, 0)
        assert host(lab, "h2").filtered_packets == 0
        await do("h2 iptables -A INPUT -p icmp -j DROP; ping -c 2 -i 0.2 -W 0.3 h2; true",
                 "host(lab, 'h2').filtered_packets == 2", within=0.5 + observers._IN_TRANSIT)  # fmt: skip


async def test_reverse_path_changes_are_reported_during_a_flow(backend: GuestBackend, build: Build) -> None:
    async with hands(backend, build(rate="2 Mbit/s")) as lab:
        shell = lab.shell("s1")
        await lab.type(shell, f"{SERVER}; h1 iperf3 -c h2 -t 8 > /dev/null & echo ready=$?", r"ready=\d")
        await lab.until(lambda: lab.count(RunDetected) == 1)
        await lab.type(shell, "tc qdisc add dev s2-eth1 root netem delay 20ms; echo over=$?", "over=0")
        await lab.until(
            lambda: (path := lab.state().path) is not None and abs(path.reverse_delay - 0.02) < 1e-5
        )
        assert lab.seen().path.reverse_delay == 0
        assert not (await lab.run()).experiment.path.reverse_delay


async def test_the_fate_of_each_line_is_reported(backend: GuestBackend, build: Build) -> None:
    async with hands(backend, build()) as lab:
        shell = lab.shell("h1")
        for line in ("tc qdisc add dev s1-eth2 root fq", " nosuch -x", "true", "# nothing", "", "h2"):
            await lab.type(shell, line, r"# $")
        await lab.type(shell, "false", "# $")
        # Of a line without end its beginning is told.
        await lab.type(shell, ": " + "x" * 3000, "# $")
        # Of what other hands write to the pipe nothing is told, nor what does not fit beside it; then all is as before.
        await lab.type(shell, "yes | head -c 300000 >&$TCPTUTOR_REPORTS; sleep 1", "# $")
        await lab.type(shell, "sleep 1", "# $")
        await lab.type(shell, "echo over=$?", r"over=\d")
        await lab.until(lambda: ended(lab)[-1][1].startswith("echo over"))
    assert ended(lab)[:4] == [
        ("h1", "tc qdisc add dev s1-eth2 root fq", 1), ("h1", " nosuch -x", 127), ("h1", "true", 0),
        ("h2", "false", 1),
    ]  # fmt: skip
    assert len(ended(lab)[4][1]) == 1000
    assert all(len(command) <= 1000 for _, command, _ in ended(lab))


async def test_a_flood_a_full_disk_and_a_memory_hog_leave_the_lab_usable(
    backend: GuestBackend, build: Build
) -> None:
    async with hands(backend, build()) as lab:
        shell, other = lab.shell("h1"), lab.shell("h2")
        shell.write(b"yes 'a flood of text without an end'\n")
        flood = 0
        while flood < 500_000:
            data = await shell.read()
            assert data
            flood += len(data)
        assert "10.0.0.2" in await lab.type(other, "hostname -i; ip -br addr show h2-eth0", r"10\.0\.0\.2")
        shell.write(b"\x03")
        shell.close()
        for place in ("~", "/tmp", "/dev/shm", "/run", "/var/tmp", "/agent", "/dev"):
            said = await lab.type(
                other, f"cat /dev/zero > {place}/full; echo over=$?", r"over=\d", seconds=60
            )
            assert "No space left" in said
        await lab.type(other, "tail /dev/zero; echo over=$?", r"over=1\d\d", seconds=90)
        await lab.type(other, "sysctl -w net.ipv4.tcp_sack=0", "tcp_sack = 0")
        await lab.until(lambda: host(lab, "h2").sysctls["tcp_sack"] == "0")


@pytest.mark.parametrize(
    ("line", "error", "says"),
    [
        ("kill -9 -1", AgentDied, "the guest ended"),
        ("f() { f | f & f; }; f", LabError, "more than 400 processes"),
    ],
)
async def test_a_dead_lab_is_reported_and_the_next_is_fresh(
    backend: GuestBackend, build: Build, line: str, error: type[LabError], says: str
) -> None:
    await backend.open()
    async with backend.session(build()) as session:
        shell = session.shell("h1")
        await shell.read()
        shell.write(f"echo kept > kept.txt; {line}\n".encode())
        with pytest.raises(error, match=says) as raised:
            async with asyncio.timeout(patience.seconds(90)):
                async for _ in session:
                    pass
    assert "\n" not in str(raised.value)
    async with hands(backend, build()) as lab:
        assert "10.0.0.1" in await lab.type(lab.shell(), "ip -br addr show h1-eth0", r"10\.0\.0\.1")
