"""The lab in a student's own hands: shells on its hosts, what is sent there, what is changed there."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tcptutor.analysis import explain
from tcptutor.backends import host
from tcptutor.backends.events import Recording
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.backends.host import HostBackend
from tcptutor.backends.replay import REQUESTED, ReplayBackend
from tcptutor.backends.selection import Backend
from tcptutor.backends.session import LabTerminal, Session
from tcptutor.base.errors import AgentDied, LabUnavailable, UsageError
from tcptutor.run import Environment, Finished, Run
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import QdiscSettings, SessionState, SysctlChange
from tcptutor.wire.protocol import Event, RunDetected, Samples
from tests import leftovers, patience
from tests.backends.play import carries, host_or_guest, leaving_nothing, too_busy
from tests.cli.command import SERVER
from tests.conftest import Build

pytestmark = pytest.mark.usefixtures("without_state")
"""What is in `~` on the lab's hosts is the test's own."""


class Hands:
    """A session that is typed into. `events` are all that came of it."""

    def __init__(self, session: Session, environment: Environment) -> None:
        self.session, self._environment = session, environment
        self.events: list[Event] = []
        self._screens: dict[LabTerminal, str] = {}
        self._news = asyncio.Condition()
        self.following = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        async for event in self.session:
            self.events.append(event)
            async with self._news:
                self._news.notify_all()

    async def until(self, holds: Callable[[], bool], seconds: float = 30) -> None:
        """Wait for events until that holds."""
        async with asyncio.timeout(patience.seconds(seconds)), self._news:
            await self._news.wait_for(holds)

    def count(self, kind: type) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    def shell(self, host: str = "h1") -> LabTerminal:
        terminal = self.session.shell(host, 24, 100)
        self._screens[terminal] = ""
        return terminal

    async def type(self, terminal: LabTerminal, line: str, until: str, seconds: float = 30) -> str:
        """Type a line, and give what was shown from then until a match of `until` in it."""
        terminal.write(line.encode() + b"\n")
        seen = ""
        try:
            async with asyncio.timeout(patience.seconds(seconds)):
                while not re.search(until, seen):
                    data = await terminal.read()
                    assert data, f"the shell ended: {seen}"
                    # Without the colours of the prompt, and without the echo of what was typed.
                    seen += re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", data.decode(errors="replace"))
                    seen = seen.replace(line, "")
        except TimeoutError:
            raise AssertionError(f"no {until!r} came of {line!r}: {seen!r}") from None
        return seen

    async def run(self, number: int = 1, seconds: float = 40) -> Run:
        """The run of that number, once it has ended."""
        await self.until(lambda: self.count(Finished) >= number, seconds)
        recording = None
        for event in self.events:
            if isinstance(event, RunDetected):
                number -= 1
                if number == 0:
                    recording = Recording(event.experiment, self._environment)
            if recording is not None:
                recording.take(event)
                if isinstance(event, Finished):
                    return recording.run
        raise AssertionError("no run")

    def states(self) -> list[SessionState]:
        return [event for event in self.events if isinstance(event, SessionState)]

    def state(self) -> SessionState:
        """The last that was told of the lab."""
        return self.states()[-1]

    def seen(self) -> Experiment:
        """The last that was told of the settings."""
        return self.state().experiment

    def qdiscs(self, interface: str) -> list[tuple[str, str]]:
        """What is on that interface: kind and handle, from the root down."""
        return [(one.kind, one.handle) for one in self._chain(interface)]

    def setting(self, interface: str, name: str) -> float:
        """Of the one discipline of that interface which has it."""
        (value,) = [one.settings[name] for one in self._chain(interface) if name in one.settings]
        return value

    def _chain(self, interface: str) -> tuple[QdiscSettings, ...]:
        (found,) = [one.qdiscs for one in self.state().interfaces if one.name == interface]
        return found


@asynccontextmanager
async def hands(backend: Backend, experiment: Experiment, trap: str = "") -> AsyncIterator[Hands]:
    environment = await backend.open()
    async with backend.session(experiment, trap) as session:
        one = Hands(session, environment)
        await one.until(lambda: one.count(SessionState) > 0)
        yield one
        await session.leave()
        async with asyncio.timeout(patience.seconds(10)):
            await one.following


@pytest.fixture(
    params=[pytest.param("host", marks=pytest.mark.host), pytest.param("guest", marks=pytest.mark.guest)]
)
async def backend(request: pytest.FixtureRequest, mark: str) -> AsyncIterator[Backend]:
    if request.param == "host":
        request.getfixturevalue("ordinary_user")
    async with leaving_nothing(host_or_guest(request, "virtual", paced=True), mark) as one:
        yield one


@pytest.mark.alone
async def test_traffic_by_hand_is_recorded_as_a_run(backend: Backend, build: Build) -> None:
    async with hands(backend, build(rate="8 Mbit/s", algorithm="reno")) as lab:
        shell = lab.shell()
        await lab.type(shell, f"{SERVER}; iperf3 -c $h2 -t 3 -P 2", "iperf Done")
        run = await lab.run()
    assert run.complete
    assert run.experiment.path.rate == 8e6
    # On a busy machine the second may be seen so late that it is not taken for one of them.
    assert run.experiment.flows.streams == 2 or (too_busy(run) and run.experiment.flows.streams == 1)
    assert run.experiment.hosts.algorithm == "reno"
    assert {flow.algorithm for flow in run.flows} == {"reno"}
    assert run.experiment.flows.duration == pytest.approx(3, abs=1.2 * patience.busy())
    assert carries(run, 7.65e6, rel=0.12)
    # Sampled from its first round trips on, as often as the machine can, with the bottleneck's queue.
    assert too_busy(run) or len(run.samples) > 2 * 3 * 10
    assert too_busy(run) or next(iter(run.samples)).bytes_acked < 1_000_000
    assert max(sample.bytes for sample in run.queue) > 10_000
    # Told at the start, with the server, with the flows and after them, of which one may be seen to begin or to end
    # before the other. How long they have gone on is counted, and no such change.
    states = [_without_counts(event) for event in lab.events if isinstance(event, SessionState)]
    assert 3 <= len([state for state, _ in itertools.groupby(states)]) <= 6
    assert {host.filtered_packets for state in states for host in state.hosts} == {0}


def _without_counts(state: SessionState) -> SessionState:
    flows = msgspec.structs.replace(state.experiment.flows, duration=1)
    return msgspec.structs.replace(state, experiment=msgspec.structs.replace(state.experiment, flows=flows))


@pytest.mark.alone
async def test_udp_by_hand_is_a_run_of_its_own(backend: Backend, build: Build) -> None:
    """Counted by the hosts' kernels: what was sent and read, not how evenly."""
    # More than the link carries. A path that loses at random may lose iperf3's greeting, which it sends once.
    async with hands(backend, build(rate="2 Mbit/s")) as lab:
        shell = lab.shell()
        said = await lab.type(shell, f"{SERVER}; iperf3 -u -c h2 -b 1.5M -t 3 -P 2", "iperf Done")
        run = await lab.run()
    sums = re.findall(r"\[SUM\].* (\S+) ([KM])bits/sec .* (\d+)/(\d+) .*receiver", said)
    assert sums, said
    number, prefix, *counts = sums[0]
    rate = float(number) / (1000 if prefix == "K" else 1)
    lost, datagrams = map(float, counts)
    (udp,) = run.udp
    assert (run.flows, run.complete, udp.flows) == ([], True, 2)
    assert (run.experiment.flows.streams, run.experiment.flows.udp_streams) == (0, 2)
    assert run.experiment.flows.udp_rate == pytest.approx(1.5e6, rel=0.15 * patience.busy())
    assert run.experiment.flows.length == 1448
    # Its greetings are two more, and of what is lost after the last that arrives iperf3's receiver is not told.
    assert udp.datagrams == pytest.approx(datagrams, abs=16)
    assert udp.lost == pytest.approx(lost, abs=16)
    # Some versions of iperf3 take the mean over a longer time than that in which anything arrived.
    assert 0.85 * rate * 1e6 < udp.received_bps < 2e6
    assert (udp.jitter_s, udp.out_of_order) == (None, None)
    assert run.udp_samples[-1].lost == udp.lost > 100
    assert all(row.jitter is None for row in run.udp_samples)


async def test_names_a_home_and_tcpdump(backend: Backend, build: Build, without_state: Path) -> None:
    home = without_state / "tcptutor" / "home"
    # A lab of an ordinary user without more users in /etc/subuid has only root, and tcpdump refuses to stay root there.
    captures = isinstance(backend, GuestBackend) or (
        shutil.which("tcpdump") and shutil.which("ping") and "--map-auto" in host.privilege()
    )
    home.mkdir(parents=True)
    (home / "brought.txt").write_text("from outside")
    async with hands(backend, build(pairs=2)) as lab:
        shell = lab.shell()
        await lab.type(shell, "cat ~/brought.txt; echo", "from outside")
        await lab.type(shell, "getent hosts h4", r"10\.0\.0\.4 +h4")
        await lab.type(shell, "h3 getent hosts h1; s1 getent hosts h2", r"(?s)0\.1 +h1.*0\.2 +h2")
        if captures:
            await lab.type(shell, "tcpdump -c 2 -w caps.pcap -ni h1-eth0 icmp & sleep 1", "listening")
            await lab.type(shell, "ping -c 2 h2; wait", "2 received")
        await lab.type(shell, "getent hosts h2 > names.txt; echo over=$?", r"over=\d")
        await lab.type(shell, "ln -s /etc/passwd link; rm brought.txt", "")
        # What has been typed is in the history before the next command runs: no line is lost to a hang-up.
        await lab.type(shell, "echo $((20 + 3)); sleep 60", r"[\r\n]23")
    names = {path.name for path in home.iterdir() if not path.is_symlink()}
    assert names == {".bash_history", "names.txt"} | ({"caps.pcap"} if captures else set())
    if captures:
        assert (home / "caps.pcap").read_bytes()[:4] in (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4")
    assert "10.0.0.2" in (home / "names.txt").read_text()
    assert "rm brought.txt" in (home / ".bash_history").read_text()
    # On the host it is the student's own folder; out of the guest no link comes.
    assert isinstance(backend, HostBackend) or not (home / "link").is_symlink()


@pytest.mark.guest
async def test_fq_by_hand_is_pacing(mark: str, snapshots: Snapshots, build: Build) -> None:
    backend = GuestBackend("virtual", snapshots, paced=True)
    async with hands(backend, build(rate="8 Mbit/s", delay="10 ms")) as lab:
        shell = lab.shell()
        await lab.type(shell, "tc qdisc add dev h1-eth0 root fq maxrate 3mbit; echo done=$?", "done=0")
        await lab.until(lambda: lab.seen().hosts.maxrate == 3e6)
        await lab.type(shell, f"{SERVER}; iperf3 -c h2 -t 3", "iperf Done")
        run = await lab.run()
        await lab.type(shell, "tc qdisc del dev h1-eth0 root; echo gone=$?", "gone=0")
        await lab.until(lambda: lab.seen().hosts.maxrate is None)
    await backend.close()
    assert run.experiment.hosts.maxrate == 3e6
    assert too_busy(run) or explain(run).limited_by == "pacing"
    # What fq holds back waits on the sender, and is told.
    assert set(run.senders.column("host")) == {1}
    assert sum(run.senders.column("packets")) > 0


async def test_settings_changed_by_hand_are_seen(backend: Backend, build: Build) -> None:
    async with hands(backend, build()) as lab:
        shell = lab.shell("s1")
        await lab.type(
            shell,
            "tc qdisc add dev s1-eth2 root handle 10: tbf rate 6mbit burst 20000 limit 60000; echo done=$?",
            "done=0",
        )
        await lab.until(lambda: lab.seen().path.rate is not None)
        assert (lab.seen().path.rate, lab.seen().path.queue) == (6e6, 60_000)
        await lab.type(shell, "h1 sudo sysctl -w net.ipv4.tcp_wmem='4096 65536 131072'", "131072")
        long = round(patience.seconds(3))
        await lab.type(
            shell, f"{SERVER}; h1 iperf3 -c $h2 -t {long} > /dev/null & echo ready=$?", r"ready=\d"
        )
        await lab.until(lambda: lab.count(RunDetected) == 1)
        await lab.until(lambda: any(isinstance(event, Samples) and event.t > 1 for event in lab.events))
        await lab.type(
            shell,
            "tc qdisc change dev s1-eth2 root handle 10: tbf rate 3mbit burst 20000 limit 60000; echo done=$?",
            "done=0",
        )
        run = await lab.run(seconds=40 + long)
    assert run.experiment.path.rate == 6e6
    assert run.experiment.hosts.sysctls == {"tcp_wmem": "4096 65536 131072"}
    (change,) = run.experiment.path.changes
    assert (change.name, change.value) == ("rate", 3e6)
    assert 0.5 < change.at < long


@pytest.mark.guest
async def test_changes_to_netem_are_seen_and_doubted(mark: str, snapshots: Snapshots, build: Build) -> None:
    """A queue of two packets drops most of a first window, which nobody planned to lose."""
    backend = GuestBackend("virtual", snapshots, paced=True)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(backend.close)
        lab = await stack.enter_async_context(hands(backend, build(rate="8 Mbit/s")))
        shell = lab.shell()
        await lab.type(
            shell, "tc qdisc add dev h1-eth0 root netem delay 30ms loss 0%; echo done=$?", "done=0"
        )
        await lab.type(
            shell, "s2 tc qdisc add dev s2-eth2 root netem delay 20ms limit 3; echo done=$?", "done=0"
        )
        await lab.type(shell, f"{SERVER}; iperf3 -c $h2 -t 3", "iperf Done")
        run = await lab.run()
        assert run.experiment.path.delay == pytest.approx(0.05, abs=1e-5)
        # The same at the bottleneck, where the lab counts on its own netem.
        await lab.type(
            shell,
            "s1 tc qdisc del dev s1-eth2 root; s1 tc qdisc add dev s1-eth2 root handle 1: netem delay 10ms limit 2;"
            " s1 tc qdisc add dev s1-eth2 parent 1:1 handle 2: tbf rate 8mbit burst 20000 limit 60000; echo done=$?",
            "done=0",
        )
        await lab.type(shell, "iperf3 -c $h2 -t 3", "iperf Done")
        run = await lab.run(2)
    assert run.experiment.path.delay == pytest.approx(0.06, abs=1e-5)
    assert run.fidelity.status == "invalid"
    assert any("its queue is too short" in reason for reason in run.fidelity.reasons)


@pytest.mark.guest
async def test_which_interface_does_what_is_told_as_it_changes(
    mark: str, snapshots: Snapshots, build: Build
) -> None:
    backend = GuestBackend("virtual", snapshots, paced=True)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(backend.close)
        lab = await stack.enter_async_context(hands(backend, build(rate="8 Mbit/s", queue="60 kB")))
        assert {one.name for one in lab.state().interfaces} == {
            "h1-eth0", "h2-eth0", "s1-eth1", "s1-eth2", "s2-eth1", "s2-eth2", "s1", "s2",
        }  # fmt: skip
        assert lab.qdiscs("s1-eth2") == [("tbf", "1:")]
        assert lab.setting("s1-eth2", "rate") == 8e6
        assert lab.setting("s1-eth2", "limit") == 60_000
        assert lab.setting("s1-eth2", "burst") == pytest.approx(15_140, abs=2)
        shell = lab.shell("s1")

        async def do(command: str) -> None:
            await lab.type(shell, f"{command}; echo done=$?", "done=0")

        # On the interface that faces h1, where it delays the acknowledgements; then on the right one as well.
        await do("tc qdisc add dev s1-eth1 root handle 5: netem delay 20ms 2ms loss 1%")
        await lab.until(lambda: lab.qdiscs("s1-eth1") != [])
        assert lab.qdiscs("s1-eth1") == [("netem", "5:")]
        assert lab.setting("s1-eth1", "delay") == pytest.approx(0.02, abs=1e-6)
        assert lab.setting("s1-eth1", "jitter") == pytest.approx(0.002, abs=1e-6)
        assert lab.setting("s1-eth1", "loss") == pytest.approx(0.01, abs=1e-6)
        assert lab.qdiscs("s1-eth2") == [("tbf", "1:")]
        assert (lab.seen().path.delay, lab.seen().path.reverse_delay) == (0, pytest.approx(0.02, abs=1e-6))
        # After the shaper, with the handle that the kernel gives.
        await do("tc qdisc add dev s1-eth2 parent 1:1 handle 10: netem delay 30ms")
        await lab.until(lambda: lab.qdiscs("s1-eth2") != [("tbf", "1:")])
        assert lab.qdiscs("s1-eth2") == [("tbf", "1:"), ("netem", "10:")]
        assert lab.setting("s1-eth2", "delay") == pytest.approx(0.03, abs=1e-6)
        assert lab.seen().path.delay == pytest.approx(0.03, abs=1e-6)
        assert lab.setting("s1-eth1", "delay") == pytest.approx(0.02, abs=1e-6)
        await do("tc qdisc del dev s1-eth1 root")
        await lab.until(lambda: lab.qdiscs("s1-eth1") == [])
        assert lab.seen().path.reverse_delay == 0
        await do("h2 tc qdisc add dev h2-eth0 root fq maxrate 5mbit limit 200")
        await lab.until(lambda: lab.qdiscs("h2-eth0") != [])
        assert [kind for kind, _ in lab.qdiscs("h2-eth0")] == ["fq"]
        assert (lab.setting("h2-eth0", "maxrate"), lab.setting("h2-eth0", "limit")) == (5e6, 200)
        # A kind of which we know nothing more.
        await do("tc qdisc add dev s2-eth1 root handle 7: pfifo limit 10")
        await lab.until(lambda: lab.qdiscs("s2-eth1") == [("pfifo", "7:")])


async def test_a_changed_sysctl_is_reported_until_restored(backend: Backend, build: Build) -> None:
    async with hands(backend, build()) as lab:
        assert lab.state().sysctls == ()
        shell = lab.shell("h1")
        await lab.type(shell, "sudo sysctl -w net.ipv4.tcp_sack=0; echo done=$?", "done=0")
        await lab.until(lambda: lab.state().sysctls != ())
        assert lab.state().sysctls == (SysctlChange("h1", "tcp_sack", "1", "0"),)
        assert lab.seen().hosts.sysctls == {"tcp_sack": "0"}
        await lab.type(shell, "h2 sysctl -w net.ipv4.tcp_rmem='4096 8192 16384'; echo done=$?", "done=0")
        await lab.until(lambda: len(lab.state().sysctls) == 2)
        assert [(one.host, one.name, one.now) for one in lab.state().sysctls] == [
            ("h1", "tcp_sack", "0"),
            ("h2", "tcp_rmem", "4096 8192 16384"),
        ]
        await lab.type(shell, "sysctl -w net.ipv4.tcp_sack=1; echo done=$?", "done=0")
        await lab.until(lambda: len(lab.state().sysctls) == 1)
        assert lab.state().sysctls[0].host == "h2"
        # The switches have theirs in common: there it changes nothing for a flow.
        await lab.type(shell, "s1 sysctl -w net.ipv4.tcp_ecn=0; echo done=$?", "done=0")
        await lab.until(lambda: len(lab.state().sysctls) == 3)
        assert [one.host for one in lab.state().sysctls if one.name == "tcp_ecn"] == ["s1", "s2"]
        assert "tcp_ecn" not in lab.seen().hosts.sysctls


@pytest.mark.host
@pytest.mark.usefixtures("ordinary_user")
async def test_a_switch_is_always_the_switch(mark: str, build: Build) -> None:
    """The agent goes into the hosts' namespaces all the time; a command on s1 must not follow it there."""
    backend = HostBackend()
    async with hands(backend, build()) as lab:
        shell = lab.shell()
        # In two words, so that it is not what is typed that is found.
        looking = "for i in $(seq 300); do s1 ip link show s1-eth2 > /dev/null 2>&1 || echo go''ne; done; echo done=$?"
        assert "gone" not in await lab.type(shell, looking, r"done=\d", seconds=60)
    await backend.close()


@pytest.mark.host
@pytest.mark.usefixtures("ordinary_user")
async def test_a_session_has_the_experiments_window_and_outlives_its_queue(mark: str, build: Build) -> None:
    backend = HostBackend()
    async with hands(backend, build(rate="8 Mbit/s", window="16 KiB")) as lab:
        shell = lab.shell("s1")
        await lab.type(
            shell,
            f"{SERVER}; h1 iperf3 -c $h2 -t {round(patience.seconds(4))} > /dev/null & sleep 2; echo ready=1",
            "ready=1",
        )
        await lab.type(shell, "tc qdisc del dev s1-eth2 root; echo done=$?", "done=0")
        run = await lab.run()
        await lab.until(lambda: lab.seen().path.rate is None)
    await backend.close()
    assert max(run.samples.column("snd_wnd")) == pytest.approx(16384, rel=0.1)
    assert run.complete
    assert run.queue[-1].t < run.samples[-1].t - 0.3
    assert run.experiment.path.rate == 8e6


async def test_a_terminal_has_a_size_and_job_control(backend: Backend, build: Build) -> None:
    async with hands(backend, build()) as lab:
        shell = lab.shell("h2")
        assert "24 100" in await lab.type(shell, "stty size", r"\d+ \d+")
        shell.resize(40, 132)
        assert "40 132" in await lab.type(shell, "stty size", r"\d+ \d+")
        # One job: a ^C between two commands of the shell itself would be lost.
        await lab.type(shell, "sh -c \"echo be''gun; exec sleep 1000\"", "begun")
        # Bash throws away what is typed before it has its prompt again.
        await lab.type(shell, "\x03", r"\^C\s+h2:\S*# ")
        assert "130" in await lab.type(shell, "echo done=$?", r"done=\d+")
        assert "10.0.0.2" in await lab.type(shell, "ip -br address show h2-eth0", r"10\.\S+")
        # Bytes, not text: what is no UTF-8 arrives as well.
        other = lab.shell("h1")
        other.write(b"printf '\\377\\001'; exit\n")
        data = b""
        async with asyncio.timeout(patience.seconds(20)):
            while part := await other.read():
                data += part
        assert b"\xff\x01" in data
        assert await other.read() == b""
        shell.close()
        async with asyncio.timeout(patience.seconds(10)):
            while await shell.read():
                pass


async def test_a_session_that_is_left_keeps_the_run_that_goes_on(backend: Backend, build: Build) -> None:
    async with hands(backend, build(rate="8 Mbit/s")) as lab:
        shell = lab.shell()
        shell.write(f"{SERVER}; iperf3 -c $h2 -t 60\n".encode())
        await lab.until(lambda: lab.count(Samples) >= 5)
        await lab.session.leave()
        run = await lab.run()
    assert not run.complete
    assert run.flows[0].throughput_bps > (5e6 if patience.busy() < 2 else 0)


@pytest.mark.host
@pytest.mark.usefixtures("ordinary_user")
async def test_an_agent_that_is_killed_ends_the_session_with_a_reason(mark: str, build: Build) -> None:
    backend = HostBackend()
    await backend.open()
    async with backend.session(build()) as session:
        shell = session.shell("h1")
        await shell.read()
        agent = next(
            line for line in leftovers.marked(mark) if "python" in line and "tcptutor.agent.agent" in line
        )
        os.kill(int(agent.split()[0]), signal.SIGKILL)
        with pytest.raises(AgentDied, match="run the experiment again"):
            async for _ in session:
                pass
        async with asyncio.timeout(patience.seconds(5)):
            while await shell.read():
                pass
        shell.write(b"nobody listens\n")
    await backend.close()


@pytest.mark.host
@pytest.mark.usefixtures("ordinary_user")
async def test_only_a_host_that_is_there_has_a_shell(mark: str, build: Build) -> None:
    backend = HostBackend()
    async with backend.session(build()) as session:
        with pytest.raises(UsageError, match="no host 'h3': use one of h1, h2, s1, s2"):
            session.shell("h3")
    await backend.close()


async def test_root_has_no_shell_on_the_hosts_kernel(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(LabUnavailable, match="use --backend guest"):
        async with HostBackend().session(build()):
            pass


async def test_there_is_no_typing_on_a_clock_that_jumps_nor_in_a_recording(
    snapshots: Snapshots, build: Build
) -> None:
    for backend in (GuestBackend("virtual", snapshots), ReplayBackend(REQUESTED)):
        with pytest.raises(LabUnavailable, match=r"idle time|no terminal"):
            async with backend.session(build()):
                pass
        with contextlib.suppress(Exception):
            await backend.close()
