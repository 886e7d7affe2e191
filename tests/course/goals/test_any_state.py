"""Whatever somebody does to the lab, the watch has an answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tcptutor.course.goals.watch import GoalWatch
from tcptutor.wire.kernel_state import QdiscSettings, SysctlChange
from tcptutor.wire.protocol import RunDetected

from .made import asked, carried, netem, state, tbf

GOALS = [
    asked("delay", {"path.delay": "20 ms", "path.loss": "1 %"}, interface="s1-eth2"),
    asked("rate", {"path.rate": "10 Mbit/s", "path.queue": "60 kB", "path.qdisc": "fifo"}),
    asked("gone", {"path.rate": "none", "path.delay": "0 s"}),
    asked("hosts", {"hosts.algorithm": ["reno", "htcp"], "sysctl.tcp_rmem": "10240 87380 1000000"}),
    asked("fq", {"hosts.maxrate": "5 Mbit/s"}),
    asked(
        "run", {"path.delay": "20 ms", "flow.bytes": ">= 1 MB", "run.streams": 4, "run.limited-by": "pacing"}
    ),
]
AMOUNTS = st.sampled_from([0.0, 2e-8, 2e-5, 1e-4, 0.01, 0.02, 0.04, 20.0, 1e3, 1e4, 1e7, 8e7, 1e12])
QDISCS = st.one_of(
    st.builds(lambda delay, loss: netem(delay=delay, loss=min(loss, 1.0)), AMOUNTS, AMOUNTS),
    st.builds(
        tbf,
        st.sampled_from([1e4, 1e7, 8e7]),
        st.sampled_from([1, 40, 60_000]),
        st.sampled_from([1, 1600, 20_000]),
    ),
    st.sampled_from(
        [
            QdiscSettings("htb", "1:", "root"),
            QdiscSettings("fq", "8001:", "root", {"limit": 100}),
            QdiscSettings("fq", "8001:", "root", {"limit": 100, "maxrate": 5e6}),
            QdiscSettings("ingress", "ffff:", "ffff:fff1"),
        ]
    ),
)
INTERFACES = st.sampled_from(["h1-eth0", "h2-eth0", "s1-eth1", "s1-eth2", "s2-eth1", "s2-eth2", "s1", "s2"])
SYSCTLS = st.builds(
    SysctlChange,
    st.sampled_from(["h1", "h2", "s1"]),
    st.sampled_from(["tcp_congestion_control", "tcp_rmem", "tcp_wmem"]),
    st.just("cubic"),
    st.sampled_from(["reno", "", "1000000", "1000000 87380 1000000", "10240 87380 1000000"]),
)
PATHS = st.fixed_dictionaries(
    {},
    optional={
        "delay": AMOUNTS, "reverse_delay": AMOUNTS, "loss": AMOUNTS.map(lambda each: min(each, 1.0)),
        "rate": st.sampled_from([None, 1e4, 1e7, 8e7]), "queue": st.sampled_from([1, 40, 60_000]),
    },
)  # fmt: skip
STATES = st.builds(
    state,
    PATHS,
    st.dictionaries(INTERFACES, st.lists(QDISCS, max_size=3).map(tuple), max_size=4),
    st.lists(SYSCTLS, max_size=3).map(tuple),
)


@given(st.lists(STATES, min_size=1, max_size=5), st.integers(0, 2_000_000))
def test_any_history_has_a_board(states: list, carried_bytes: int) -> None:
    watch = GoalWatch(GOALS)
    for place, each in enumerate(states):
        board = watch.take(each)
        if place == 1:
            watch.take(RunDetected(each.experiment))
            watch.take(carried(1.0, carried_bytes))
        assert all(goal.near is None or not goal.ticked for goal in board.goals)
        assert all("\n" not in goal.near.text for goal in board.goals if goal.near)
    assert not board.done, "two of the goals exclude each other"
