"""Goals about one host or one interface, and what a session tells as it is."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tcptutor.base.errors import UsageError
from tcptutor.course.goals.goal import Goal, read_goal
from tcptutor.course.goals.terms import term
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.spec import host_names
from tcptutor.wire.kernel_state import HostState, SessionState
from tcptutor.wire.protocol import CommandEnded, RunDetected

from .made import asked, carried, netem, reno_on, state

HOSTS = host_names(1)


def on(name: str, **changes: Any) -> SessionState:
    """With that interface as it is said."""
    made = state()
    interfaces = tuple(
        structs.replace(one, **changes) if one.name == name else one for one in made.interfaces
    )
    return structs.replace(made, interfaces=interfaces)


def with_hosts(*hosts: HostState, of: SessionState | None = None) -> SessionState:
    return structs.replace(of or state(), hosts=hosts)


def ticks(when: dict[str, Any], *states: SessionState) -> bool:
    watch = GoalWatch([asked("a", when)])
    for each in states:
        watch.take(each)
    return watch.board.done


@pytest.mark.parametrize(
    ("when", "no", "yes"),
    [
        ({"mtu.h1": 1400}, state(), on("h1-eth0", mtu=1400)),
        ({"mtu.s1-eth2": "<= 1000"}, on("s1-eth1", mtu=1000), on("s1-eth2", mtu=1000)),
        ({"mtu": 1500}, on("h2-eth0", mtu=1400), on("s1-eth2", mtu=1400)),
        ({"offload.h1": "on"}, on("h2-eth0", offloads=("gso",)), on("h1-eth0", offloads=("gso",))),
        ({"tso.h1": "on"}, on("h1-eth0", offloads=("gso",)), on("h1-eth0", offloads=("tso", "gso"))),
        ({"offload": "off"}, on("h2-eth0", offloads=("gro",)), state()),
        ({"link.s1-eth2": "down"}, state(), on("s1-eth2", up=False)),
        (
            {"address.h2": "10.0.0.2"},
            on("h2-eth0", addresses=("10.0.0.2/8", "10.0.0.1/8")),
            on("h2-eth0", addresses=("10.0.0.2/8",)),
        ),
        (
            {"server.h2": "on"},
            with_hosts(HostState("h2")),
            with_hosts(HostState("h2", listening_ports=(5201,))),
        ),
        (
            {"filtered.h2": ">= 1"},
            with_hosts(HostState("h1", filtered_packets=5)),
            with_hosts(HostState("h2", filtered_packets=5)),
        ),
        (
            {"capture.h1": "on"},
            with_hosts(HostState("h1"), HostState("h2", captures=True)),
            with_hosts(HostState("h1", captures=True)),
        ),
        (
            {"captured.h1": ">= 1"},
            with_hosts(HostState("h1", captures=True)),
            with_hosts(HostState("h1", captured_connections=1)),
        ),
        (
            {"path.netem-limit": ">= 165"},
            state(on={"s1-eth2": (netem(limit=1000),), "h1-eth0": (netem(limit=100),)}),
            state(on={"s1-eth2": (netem(limit=1000),), "s2-eth1": (netem(limit=100),)}),
        ),
        (
            {"hosts.algorithm": "cubic"},
            with_hosts(HostState("h1", {"tcp_congestion_control": "reno"})),
            with_hosts(HostState("h1", {"tcp_congestion_control": "cubic"})),
        ),
        (
            {"sysctl.h1.ip_forward": 1},
            with_hosts(HostState("h1", {"ip_forward": "0"})),
            with_hosts(HostState("h1", {"ip_forward": "1"})),
        ),
    ],
)
def test_a_goal_about_a_place_is_judged_by_that_place(
    when: dict[str, Any], no: SessionState, yes: SessionState
) -> None:
    quiet = with_hosts(HostState("h1"), HostState("h2"))
    assert not ticks(when, quiet, structs.replace(no, hosts=no.hosts or quiet.hosts))
    assert ticks(when, quiet, yes)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mtu.h3", "no host or interface 'h3'"),
        ("mtu.s1-eth3", "no host or interface 's1-eth3'"),
        ("ping", "name the host: ping.h1"),
        ("ping.s1", "no host 's1'"),
        ("address", "name the host"),
        ("offloads", "choose from path.rate.*mtu, offload.*with a host or interface"),
        ("sysctl.ip_forwarding", "no quantity"),
    ],
)
def test_what_is_of_no_place_is_refused(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        term(name, HOSTS)


def test_an_address_is_one() -> None:
    key, reason = read_goal(Goal(id="a", text="It is so", when={"address": {"h2": "10.0.0"}}), HOSTS)[:2]
    assert (key, "write 10.0.0.2" in str(reason)) == ("when.address.h2", True)


def test_a_cached_threshold_is_gone_once_the_host_has_none() -> None:
    watch = GoalWatch([asked("a", {"cached-ssthresh.h1": "none"})])
    assert not watch.take(with_hosts(HostState("h1", cached_ssthresh=2))).done
    assert watch.take(with_hosts(HostState("h1"))).done


def test_pings_count_from_the_last_change_on() -> None:
    watch = GoalWatch([asked("a", {"path.delay": "20 ms", "ping.h1": ">= 2"})])
    delayed = state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)})
    watch.take(with_hosts(HostState("h1")))
    watch.take(with_hosts(HostState("h1", echo_replies=5)))
    assert not watch.take(with_hosts(HostState("h1", echo_replies=5), of=delayed)).done
    assert not watch.take(with_hosts(HostState("h1", echo_replies=6), of=delayed)).done
    assert watch.take(with_hosts(HostState("h1", echo_replies=7), of=delayed)).done


def test_the_way_back_ticks_while_a_flow_goes_on_and_is_no_longer_that_of_the_run() -> None:
    begun = structs.replace(state(), path=state().experiment.path)
    watch = GoalWatch(
        [
            asked("now", {"path.reverse_delay": "20 ms"}),
            asked("run", {"path.reverse_delay": "0 s", "flow.bytes": ">= 1 kB"}),
        ]
    )
    watch.take(begun)
    watch.take(RunDetected(begun.experiment))
    assert watch.take(carried(1.0, 10_000)).reached == (1,)
    back = state({"reverse_delay": 0.02}, {"s2-eth1": (netem(delay=0.02),)})
    board = watch.take(structs.replace(back, experiment=begun.experiment, path=back.experiment.path))
    assert board.reached == (0,)
    assert board.goals[1].near is not None
    assert board.goals[1].near.kind == "changed-meanwhile"


@pytest.mark.parametrize(
    ("host", "command", "status", "says"),
    [
        ("h1", "tc qdisc add dev s1-eth2 root netem delay 20ms", 1, "h1 has no s1-eth2, which belongs to s1"),
        (
            "h1",
            "sudo tc qdisc add dev s1-eth2 root netem delay 20ms",
            1,
            "a shell on s1, or prefix the command with s1",
        ),
        ("s1", "h1 tc qdisc add dev h2-eth0 root fq", 1, "h1 has no h2-eth0"),
        ("s1", "h1 tc qdisc add dev h1-eth0 root fq", 2, ""),
        ("s2", "tc qdisc add dev s1-eth2 root netem delay 20ms", 2, ""),
        ("h1", "for i in 1 2; do h2 tc qdisc del dev h2-eth0 root; done", 2, ""),
        ("h1", "tc qdisc add dev s1-eth2 root netem delay 20ms", 0, ""),
        ("h1", "ipref3 -c h2", 127, "ipref3 is not a command"),
        ("h1", "false", 1, ""),
    ],
)
def test_a_line_that_was_refused_is_explained_and_ticks_nothing(
    host: str, command: str, status: int, says: str
) -> None:
    watch = GoalWatch([asked("a", {"path.delay": "20 ms"})])
    watch.take(state())
    board = watch.take(CommandEnded(1, host, command, status))
    assert not board.done
    assert (board.printed is not None) == bool(says)
    assert board.printed is None or says in board.printed.text
    assert watch.take(state(sysctls=(reno_on("h1"),))).printed == board.printed, "told late, of before"
