"""What a student types that is nearly right: made in a real shell in `tests/backends/test_goals.py`, and what a session
reported of it then is played again in `test_near.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.cli.command import SERVER

LINK = (
    "tc qdisc add dev s1-eth2 root handle 1: netem delay 20ms",
    "tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 10mbit burst 20000 limit 60000",
)


class NearCase(NamedTuple):
    """A slip: the goal, what is there before, what is typed on s1, and what is said of it."""

    kind: str
    when: dict[str, Any]
    typed: tuple[str, ...]
    says: str
    given: tuple[str, ...] = ()
    interface: str = ""
    then: tuple[str, ...] = ()
    """What mends it."""


DELAY = {"path.delay": "20 ms"}
RATE = {"path.rate": "10 Mbit/s"}
RENO = {"hosts.algorithm": "reno"}
CASES = [
    NearCase(
        "acks-way",
        DELAY,
        ("tc qdisc add dev s1-eth1 root handle 1: netem delay 20ms",),
        "s1-eth1 delays the reverse path, which carries ACKs: .* data leaves s1 through s1-eth2",
        then=("tc qdisc del dev s1-eth1 root", LINK[0]),
    ),
    NearCase(
        "both-ways",
        DELAY,
        (LINK[0], "s2 tc qdisc add dev s2-eth1 root netem delay 20ms"),
        "s1-eth2 has this setting, and s2-eth1 as well, which means 20 ms more RTT; remove it from s2-eth1",
        then=("tc qdisc del dev s2-eth1 root",),
    ),
    NearCase(
        "twice",
        DELAY,
        (LINK[0], "tc qdisc add dev s2-eth2 root netem delay 20ms"),
        "s1-eth2 and s2-eth2 have this setting on the same path: they add up to 40 ms; remove all but one",
        then=("tc qdisc del dev s2-eth2 root",),
    ),
    NearCase(
        "twice",
        DELAY,
        (LINK[0], "tc qdisc add dev s1-eth2 parent 1: handle 2: netem delay 20ms"),
        "s1-eth2 has this setting twice, one qdisc inside the other: they add up to 40 ms; delete one",
    ),
    NearCase(
        "elsewhere",
        DELAY,
        ("h1 tc qdisc add dev h1-eth0 root netem delay 20ms",),
        "h1-eth0 has the effect, but the page asks for s1-eth2; on the sender's own interface netem delays TCP",
        interface="s1-eth2",
        then=("h1 tc qdisc del dev h1-eth0 root", LINK[0]),
    ),
    NearCase(
        "time-unit",
        DELAY,
        ("tc qdisc add dev s1-eth2 root handle 1: netem delay 20",),
        "the delay is 20 (ns|µs): tc does not read a plain number as milliseconds",
        then=("tc qdisc change dev s1-eth2 root handle 1: netem delay 20ms",),
    ),
    NearCase(
        "half",
        DELAY,
        ("tc qdisc add dev s1-eth2 root handle 1: netem delay 10ms",),
        "10 ms is half of the goal",
    ),
    NearCase(
        "percent",
        {"path.loss": "1 %"},
        ("tc qdisc add dev s1-eth2 root netem loss 0.01",),
        "0.01 % is a hundredth of the goal: tc reads a number without % as percent",
    ),
    NearCase(
        "bytes-for-bits",
        RATE,
        ("tc qdisc add dev s1-eth2 root tbf rate 10mbps burst 20000 limit 60000",),
        "80 Mbit/s is eight times too much: in tc, mbps is megabytes per second and mbit megabits",
        then=("tc qdisc change dev s1-eth2 root tbf rate 10mbit burst 20000 limit 60000",),
    ),
    NearCase(
        "prefix",
        RATE,
        ("tc qdisc add dev s1-eth2 root tbf rate 10kbit burst 20000 limit 60000",),
        "10 kbit/s is a thousandth of the goal: write kbit, mbit or gbit",
    ),
    NearCase(
        "small-burst",
        RATE,
        ("tc qdisc add dev s1-eth2 root tbf rate 10mbit burst 1000 limit 60000",),
        "burst on s1-eth2 is .* bytes, but a full packet has 1514: it never fits",
        then=("tc qdisc change dev s1-eth2 root tbf rate 10mbit burst 20000 limit 60000",),
    ),
    NearCase(
        "small-burst",
        {"path.rate": "100 Mbit/s"},
        ("tc qdisc add dev s1-eth2 root tbf rate 100mbit burst 2000 limit 600000",),
        "lasts 160 µs at 100 Mbit/s: .* set it to 12.5 kB or more",
    ),
    NearCase(
        "small-limit",
        RATE,
        ("tc qdisc add dev s1-eth2 root tbf rate 10mbit burst 20000 limit 100",),
        "limit on s1-eth2 is its buffer in bytes: 100 hold 0.066 packets of 1514, and almost every queued packet",
        then=("tc qdisc change dev s1-eth2 root tbf rate 10mbit burst 20000 limit 60000",),
    ),
    NearCase(
        "packets-for-bytes",
        {"path.queue": "60 kB"},
        ("tc qdisc add dev s1-eth2 root tbf rate 10mbit burst 20000 limit 40",),
        "limit is in bytes, not packets: 40 packets take 60.6 kB",
    ),
    NearCase(
        "netem-inside",
        {**DELAY, **RATE},
        (
            "tc qdisc add dev s1-eth2 root handle 1: tbf rate 10mbit burst 20000 limit 60000",
            "tc qdisc add dev s1-eth2 parent 1: handle 2: netem delay 20ms",
        ),
        "netem is inside tbf on s1-eth2 .*: tbf's limit no longer applies, netem's 1000 packets does",
        then=("tc qdisc del dev s1-eth2 root", *LINK),
    ),
    NearCase(
        "netem-limit",
        {"path.delay": "200 ms", "path.rate": "100 Mbit/s"},
        (
            "tc qdisc add dev s1-eth2 root handle 1: netem delay 200ms",
            "tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 100mbit burst 20000 limit 600000",
        ),
        "netem on s1-eth2 holds at most 1000 packets, but 200 ms at 100 Mbit/s are 1651",
        then=("tc qdisc change dev s1-eth2 root handle 1: netem delay 200ms limit 4000",),
    ),
    NearCase(
        "undone",
        {**DELAY, "path.loss": "1 %"},
        (LINK[0], "tc qdisc change dev s1-eth2 root handle 1: netem loss 1%"),
        "tc replaces all settings of netem on s1-eth2, so the delay set before is gone",
        then=("tc qdisc change dev s1-eth2 root handle 1: netem delay 20ms loss 1%",),
    ),
    NearCase(
        "undone",
        {"path.delay": "30 ms", **RATE},
        (*LINK, "tc qdisc replace dev s1-eth2 root handle 7: netem delay 30ms"),
        "the new root on s1-eth2 removed tbf, .* add it again with parent 7:",
        then=("tc qdisc add dev s1-eth2 parent 7: tbf rate 10mbit burst 20000 limit 60000",),
    ),
    NearCase(
        "fq-elsewhere",
        {"hosts.maxrate": "5 Mbit/s"},
        ("h2 tc qdisc add dev h2-eth0 root fq maxrate 5mbit",),
        "fq on h2-eth0 paces the ACKs leaving there: put it on h1-eth0",
        then=("h1 tc qdisc add dev h1-eth0 root fq maxrate 5mbit",),
    ),
    NearCase(
        "another-host",
        RENO,
        ("h2 sysctl -w net.ipv4.tcp_congestion_control=reno",),
        "h2 receives: the sender chooses a flow's algorithm; set it on h1",
        then=("h1 sysctl -w net.ipv4.tcp_congestion_control=reno",),
    ),
    NearCase(
        "another-host",
        RENO,
        ("sudo sysctl -w net.ipv4.tcp_congestion_control=reno",),
        "s1 forwards packets and has no connections",
    ),
    NearCase(
        "another-host",
        {"sysctl.tcp_rmem": "10240 87380 1000000"},
        ("h1 sysctl -w net.ipv4.tcp_rmem='10240 87380 1000000'",),
        "it is set on h1 but not yet on h2: every host has its own value",
        then=("h2 sysctl -w net.ipv4.tcp_rmem='10240 87380 1000000'",),
    ),
    NearCase(
        "twin",
        {"sysctl.h1.tcp_wmem": "10240 87380 1000000"},
        ("h1 sysctl -w net.ipv4.tcp_rmem='10240 87380 1000000'",),
        "h1 has the value in tcp_rmem, which limits the receive window: the goal needs tcp_wmem",
    ),
    NearCase(
        "first-of-three",
        {"sysctl.h1.tcp_rmem": "10240 87380 1000000"},
        ("h1 sysctl -w net.ipv4.tcp_rmem=1000000",),
        "a single one sets the minimum, which is now 1000000 on h1",
    ),
    NearCase(
        "older-connection",
        {**RENO, "flow.bytes": ">= 100 kB"},
        (
            f"{SERVER}; h1 iperf3 -c h2 -t 6 > /dev/null & sleep 2",
            "h1 sysctl -w net.ipv4.tcp_congestion_control=reno",
        ),
        "the setting applies to new connections, and your flow started before the change",
        given=LINK,
    ),
    NearCase(
        "streams",
        {"run.streams": 4},
        (f"{SERVER}; h1 iperf3 -c h2 -t 2 > /dev/null",),
        "your run has 1 stream: set their number with -P",
        given=LINK,
    ),
    NearCase(
        "reversed",
        {"run.throughput": ">= 50 Mbit/s"},
        (f"{SERVER}; h1 iperf3 -R -c h2 -t 2 > /dev/null",),
        "with -R h2 sends",
        given=(*LINK, "s2 tc qdisc add dev s2-eth1 root tbf rate 10mbit burst 20000 limit 60000"),
    ),
    NearCase(
        "too-short",
        {"flow.bytes": ">= 50 MB"},
        (f"{SERVER}; h1 iperf3 -c h2 -t 2 > /dev/null; sleep 2",),
        "carried .* MB of 50 MB: iperf3 sends for -t seconds",
        given=LINK,
    ),
    NearCase(
        "changed-meanwhile",
        {"path.rate": "10 Mbit/s", "run.throughput": "<= 10 Mbit/s"},
        (
            f"{SERVER}; h1 iperf3 -c h2 -t 10 > /dev/null & sleep 2",
            "tc qdisc change dev s1-eth2 parent 1: handle 2: tbf rate 5mbit burst 20000 limit 60000; sleep 1",
            "tc qdisc change dev s1-eth2 parent 1: handle 2: tbf rate 10mbit burst 20000 limit 60000",
        ),
        "the rate changed during the run",
        given=LINK,
    ),
    NearCase(
        "added-twice",
        {"path.delay": "30 ms"},
        (LINK[0], "tc qdisc add dev s1-eth2 root handle 1: netem delay 30ms"),
        "that place already has a qdisc",
        then=("tc qdisc change dev s1-eth2 root handle 1: netem delay 30ms",),
    ),
    NearCase(
        "nothing-there",
        DELAY,
        ("tc qdisc change dev s1-eth2 root netem delay 20ms",),
        "that place has no qdisc to change or delete",
        then=(LINK[0],),
    ),
    NearCase("no-parent", RATE, (LINK[1],), "no qdisc has the handle given as parent"),
    NearCase(
        "no-interface",
        DELAY,
        ("tc qdisc add dev h1-eth0 root netem delay 20ms",),
        "s1 has no h1-eth0, which belongs to h1: use a shell on h1, or prefix the command with h1",
    ),
    NearCase(
        "unit-apart",
        DELAY,
        ("tc qdisc add dev s1-eth2 root netem delay 20 ms",),
        "tc takes a number and its unit as one word",
    ),
    NearCase(
        "no-limit",
        RATE,
        ("tc qdisc add dev s1-eth2 root tbf rate 10mbit burst 20000",),
        "tbf needs a buffer",
    ),
    NearCase(
        "no-algorithm",
        RENO,
        ("h1 sysctl -w net.ipv4.tcp_congestion_control=rino",),
        "tcp_available_congestion_control",
    ),
    NearCase(
        "no-command",
        DELAY,
        ("tcc qdisc add dev s1-eth2 root netem delay 20ms",),
        "tcc is not a command on the lab's hosts",
    ),
    NearCase(
        "commas",
        {"sysctl.h1.tcp_wmem": "10240 87380 1000000"},
        ("h1 sysctl -w net.ipv4.tcp_wmem='10,240 87,380 1,000,000'",),
        "tcp_wmem takes three numbers without commas",
    ),
    NearCase("no-server", {"flow.bytes": ">= 1 MB"}, ("h1 iperf3 -c h2 -p 5999",), "start `iperf3 -s` on h2"),
    NearCase(
        "unclassified",
        RATE,
        (
            "tc qdisc add dev s1-eth2 root handle 1: htb",
            "tc class add dev s1-eth2 parent 1: classid 1:10 htb rate 10mbit",
        ),
        r"htb on s1-eth2 does not limit these packets: .*classes \(1:10\).* add htb again with default 10",
        then=(
            "tc qdisc del dev s1-eth2 root",
            "tc qdisc add dev s1-eth2 root handle 1: htb default 10",
            "tc class add dev s1-eth2 parent 1: classid 1:10 htb rate 10mbit",
        ),
    ),
    NearCase(
        "unclassified",
        RATE,
        ("tc qdisc add dev s1-eth2 root handle 1: htb default 10",),
        "htb on s1-eth2 has no class yet, and rates belong to classes: tc class add dev s1-eth2 parent 1:",
        then=("tc class add dev s1-eth2 parent 1: classid 1:10 htb rate 10mbit",),
    ),
    NearCase(
        "unclassified",
        RATE,
        (
            "tc qdisc add dev s1-eth2 root handle 1: hfsc",
            "tc class add dev s1-eth2 parent 1: classid 1:10 hfsc sc rate 10mbit ul rate 10mbit",
        ),
        r"hfsc on s1-eth2 drops these packets: .*classes \(1:10\).* add hfsc again with default 10",
    ),
]
"""Each kind once or more."""

CLEAN = (
    "for i in s1-eth1 s1-eth2 s2-eth1 s2-eth2; do tc qdisc del dev $i root; done 2> /dev/null;"
    " for h in h1 h2; do $h tc qdisc del dev $h-eth0 root 2> /dev/null;"
    ' $h sysctl -q -w net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="$RMEM" net.ipv4.tcp_wmem="$WMEM";'
    " done; sysctl -q -w net.ipv4.tcp_congestion_control=cubic"
)
"""Has it all as it was, with the buffers of before in RMEM and WMEM."""
