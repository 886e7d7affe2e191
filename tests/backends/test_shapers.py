"""What a session reads of every discipline that holds a rate, set up with tc's own commands."""

from __future__ import annotations

from typing import Any

import pytest

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tests.backends.play import leaving_nothing
from tests.backends.test_session import Hands, hands
from tests.conftest import Build

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("without_state")]

ROOT = "qdisc add dev s1-eth2 root handle 1:"
INSIDE = "qdisc add dev s1-eth2 parent"
CLASS = "class add dev s1-eth2 parent"
FILTER = "filter add dev s1-eth2 parent 1: protocol ip"
FRAME = 1514
TBF = "tbf rate 4mbit burst 5000 limit 30000"

READ: dict[str, tuple[list[str], dict[str, Any]]] = {
    # As Mininet's TCLink sets up bw=3, delay="20ms" and max_queue_size=50.
    "mininet": (
        [
            "qdisc add dev s1-eth2 root handle 5:0 htb default 1",
            f"{CLASS} 5:0 classid 5:1 htb rate 3mbit burst 15k",
            f"{INSIDE} 5:1 handle 10: netem delay 20ms limit 50",
        ],
        # netem's limit holds 7500 bytes that are on their way as well.
        {"rate": 3e6, "delay": 0.02, "queue_packets": 50, "queue": 50 * FRAME - 7500},
    ),
    "htb-borrows": (
        [
            f"{ROOT} htb default 20",
            f"{CLASS} 1: classid 1:1 htb rate 10mbit",
            f"{CLASS} 1:1 classid 1:20 htb rate 2mbit ceil 6mbit",
            f"{CLASS} 1:1 classid 1:30 htb rate 1mbit",
            f"{INSIDE} 1:20 pfifo limit 33",
        ],
        {"rate": 6e6, "queue_packets": 33, "queue": 33 * FRAME, "delay": 0},
    ),
    "htb-filter": (
        [
            f"{ROOT} htb default 20",
            f"{CLASS} 1: classid 1:10 htb rate 8mbit",
            f"{CLASS} 1: classid 1:20 htb rate 2mbit",
            f"{FILTER} prio 1 u32 match ip dst 10.0.0.9/32 flowid 1:20",
            f"{FILTER} prio 2 u32 match ip dst 10.0.0.2/32 flowid 1:10",
        ],
        {"rate": 8e6},
    ),
    "htb-flower": (
        [
            f"{ROOT} htb default 20",
            f"{CLASS} 1: classid 1:10 htb rate 8mbit",
            f"{CLASS} 1: classid 1:20 htb rate 2mbit",
            f"{FILTER} flower src_ip 10.0.0.1 classid 1:10",
        ],
        {"rate": 8e6},
    ),
    "htb-without-default": ([f"{ROOT} htb", f"{CLASS} 1: classid 1:10 htb rate 8mbit"], {"rate": None}),
    "hfsc": (
        [f"{ROOT} hfsc default 1", f"{CLASS} 1: classid 1:1 hfsc sc rate 3mbit ul rate 3mbit"],
        {"rate": 3e6, "queue_packets": 1000},
    ),
    "hfsc-bound-above": (
        [
            f"{ROOT} hfsc default 2",
            f"{CLASS} 1: classid 1:1 hfsc sc rate 9mbit ul rate 5mbit",
            f"{CLASS} 1:1 classid 1:2 hfsc sc rate 2mbit",
        ],
        {"rate": 5e6},
    ),
    "cake": ([f"{ROOT} cake bandwidth 3mbit"], {"rate": 3e6, "qdisc": "cake", "queue": 4 << 20}),
    "cbs": ([f"{ROOT} cbs idleslope 4000 sendslope -996000 hicredit 153 locredit -1389"], {"rate": 4e6}),
    "drr": (
        [
            f"{ROOT} drr",
            f"{CLASS} 1: classid 1:1 drr",
            "filter add dev s1-eth2 parent 1: matchall flowid 1:1",
            f"{INSIDE} 1:1 handle 2: {TBF}",
        ],
        {"rate": 4e6, "queue": 30_000, "queue_packets": None},
    ),
    "prio": ([f"{ROOT} prio", f"{INSIDE} 1:2 {TBF}"], {"rate": 4e6, "queue": 30_000}),
    "ets": (
        [
            f"{ROOT} ets bands 3 quanta 3000 2000 1000 priomap 1 1 1",
            f"{INSIDE} 1:2 {TBF}",
        ],
        {"rate": 4e6, "queue": 30_000},
    ),
    "hfsc-without-class": ([f"{ROOT} hfsc"], {"rate": None}),
    "tbf-peak": (
        [f"{ROOT} tbf rate 3mbit burst 5000 limit 50000 peakrate 4mbit minburst 1600"],
        {"rate": 3e6},
    ),
    "tbf-above-netem": (
        [f"{ROOT} {TBF}", f"{INSIDE} 1: netem delay 10ms limit 20"],
        {"rate": 4e6, "delay": 0.01, "queue_packets": 20, "queue": 20 * FRAME - 5000},
    ),
    "netem-above-tbf": (
        [f"{ROOT} netem delay 10ms", f"{INSIDE} 1: {TBF}"],
        {"rate": 4e6, "delay": 0.01, "queue_packets": None, "queue": 30_000},
    ),
    "netem-rate": (
        [f"{ROOT} netem rate 5mbit delay 10ms limit 10"],
        {"rate": 5e6, "delay": 0.01, "queue_packets": 10},
    ),
    "htb-fq_codel": (
        [f"{ROOT} htb default 1", f"{CLASS} 1: classid 1:1 htb rate 3mbit", f"{INSIDE} 1:1 fq_codel"],
        {"rate": 3e6, "qdisc": "fq_codel", "queue_packets": None},
    ),
    "least-on-the-way": (
        [f"{ROOT} {TBF}", "qdisc add dev s2-eth2 root handle 3: tbf rate 2mbit burst 5000 limit 9000"],
        {"rate": 2e6, "queue": 9000},
    ),
}
UNREAD = {
    "sfq": ([f"{ROOT} sfq"], "sfq on s1-eth2"),
    "below": (
        [f"{ROOT} htb default 1", f"{CLASS} 1: classid 1:1 htb rate 3mbit", f"{INSIDE} 1:1 sfq"],
        "sfq on s1-eth2",
    ),
    "by-port": (
        [
            f"{ROOT} htb default 20",
            f"{CLASS} 1: classid 1:10 htb rate 8mbit",
            f"{FILTER} u32 match ip dport 5201 0xffff flowid 1:10",
        ],
        "a u32 filter on s1-eth2",
    ),
    "police": (
        [
            "qdisc add dev s1-eth1 handle ffff: ingress",
            "filter add dev s1-eth1 parent ffff: protocol ip u32 match u32 0 0 police rate 5mbit burst 100k drop",
        ],
        "police",
    ),
    "police-out": (
        [
            "qdisc add dev s1-eth2 clsact",
            "filter add dev s1-eth2 egress matchall action police rate 5mbit burst 100k",
        ],
        "police",
    ),
    "corrupt": ([f"{ROOT} netem corrupt 5%"], "netem's corrupt on s1-eth2"),
    "hfsc-nowhere": (
        [f"{ROOT} hfsc", f"{CLASS} 1: classid 1:1 hfsc sc rate 3mbit ul rate 3mbit"],
        "hfsc (no class takes these packets, so it drops them) on s1-eth2",
    ),
    "nowhere": ([f"{ROOT} drr"], "drr (no class takes these packets, so it drops them) on s1-eth2"),
}
CLEAN = [
    "qdisc del dev s1-eth2 root",
    "qdisc del dev s2-eth2 root",
    "qdisc del dev s1-eth1 ingress",
    "qdisc del dev s1-eth2 clsact",
]


async def _set_up(lab: Hands, shell: Any, commands: list[str]) -> None:
    line = " && ".join(f"tc {command}" for command in commands)
    said = await lab.type(shell, f"{line}; echo over=$?", r"over=\d+")
    assert "over=0" in said, said


def _unread(lab: Hands) -> tuple[str, ...]:
    path = lab.state().path
    assert path is not None
    return path.unread


async def test_every_shaper_is_read(mark: str, snapshots: Snapshots, build: Build) -> None:
    wrong = []
    async with leaving_nothing(GuestBackend("real", snapshots), mark) as guest, hands(guest, build()) as lab:
        shell = lab.shell("s1")
        empty = "; ".join(f"tc {command} 2> /dev/null" for command in CLEAN)
        for name, (commands, wanted) in READ.items():
            await _set_up(lab, shell, commands)

            def differs(wanted: dict[str, Any] = wanted) -> dict[str, Any]:
                path = lab.state().path
                return {
                    key: getattr(path, key)
                    for key, value in wanted.items()
                    if getattr(path, key)
                    != (value if value is None else pytest.approx(value, rel=1e-3, abs=1e-5))
                }

            try:
                await lab.until(lambda differs=differs: not differs() and not _unread(lab), 8)  # type: ignore[misc]
            except TimeoutError:
                wrong.append((name, differs(), _unread(lab)))
            await lab.type(shell, f"{empty}; echo clean=$?", r"clean=\d")
            await lab.until(lambda: lab.state().path is not None and lab.state().path.rate is None)
        for name, (commands, unread) in UNREAD.items():
            await _set_up(lab, shell, commands)
            try:
                await lab.until(lambda unread=unread: any(unread in one for one in _unread(lab)), 8)  # type: ignore[misc]
            except TimeoutError:
                wrong.append((name, lab.state().path, _unread(lab)))
            await lab.type(shell, f"{empty}; echo clean=$?", r"clean=\d")
            await lab.until(lambda: not _unread(lab))
    assert not wrong
