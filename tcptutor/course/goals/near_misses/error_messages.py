"""Explanations of error messages that tc, sysctl and iperf3 print, and of rejected command lines.

A session does not report rejected commands, because they have no effect; their messages are found in the
terminal's bytes. They explain, and tick no goal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tcptutor.course.goals.goal import NearMiss
from tcptutor.course.goals.lab_view import chain
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import CommandEnded


class _Message(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    text: str
    """May contain the groups of the pattern."""


def _message(kind: str, pattern: str, text: str) -> _Message:
    return _Message(kind, re.compile(pattern), text)


_MESSAGES = (
    _message(
        "added-twice",
        r"Exclusivity flag on, cannot modify|NLM_F_REPLACE needed to override|RTNETLINK answers: File exists",
        "that place already has a qdisc: change its settings with `tc qdisc change`,"
        " or `replace` or `del` it",
    ),
    _message(
        "nothing-there",
        r"Cannot delete qdisc with handle of zero|Qdisc not found\. To create specify NLM_F_CREATE"
        r"|RTNETLINK answers: No such file or directory",
        "that place has no qdisc to change or delete: `tc qdisc show` lists them",
    ),
    _message(
        "no-parent",
        r"Failed to find specified qdisc|Parent Qdisc doesn'?t exist",
        "no qdisc has the handle given as parent: add the root first, with handle 1:",
    ),
    _message(
        "no-interface",
        r"Cannot find device \"(?P<name>[^\"]+)\"",
        "this host has no {name}: h1 has h1-eth0, s1 has s1-eth1 and s1-eth2; `ip link` lists them",
    ),
    _message(
        "unit-apart",
        r"What is \"(?P<name>[mu]?s|[kmg]?(?:bit|bps)|%)\"\?|unknown parameter \"(?P<other>[kKmMgG]?bit|%)\"",
        "tc takes a number and its unit as one word: 20ms, 10mbit, 1%",
    ),
    _message(
        "unknown-word",
        r"What is \"(?P<name>[^\"]+)\"\?|unknown parameter \"(?P<other>[^\"]+)\"",
        "tc does not know {name} there: the lines below list the valid words",
    ),
    _message(
        "no-limit",
        r"either \"limit\" or \"latency\" is required",
        "tbf needs a buffer: limit in bytes, or latency as a time",
    ),
    _message(
        "no-burst",
        r"the \"burst\" parameter is mandatory",
        "tbf needs a bucket: burst in bytes, at least a millisecond of the rate",
    ),
    _message(
        "no-qdisc",
        r"Specified qdisc kind is unknown",
        "this kernel has no qdisc of that name: try netem, tbf, fq or pfifo",
    ),
    _message(
        "no-algorithm",
        r"setting key \"net\.ipv4\.tcp_congestion_control\": No such file",
        "this kernel has no algorithm of that name: `sysctl net.ipv4.tcp_available_congestion_control` lists them",
    ),
    _message(
        "restricted",
        r"setting key \"net\.ipv4\.tcp_congestion_control\": Operation not permitted",
        "a lab host may only select algorithms in tcp_allowed_congestion_control; `iperf3 -C NAME` uses any"
        " other for a flow",
    ),
    _message(
        "commas",
        r"setting key \"net\.ipv4\.(?P<name>tcp_[rw]mem)\": Invalid argument",
        "{name} takes three numbers without commas, in quotes: '4096 131072 6291456'",
    ),
    _message(
        "no-sysctl",
        r"cannot stat /proc/sys/(?P<name>\S+):",
        "no sysctl {name}: `sysctl -a | grep tcp` lists them",
    ),
    _message(
        "no-users",
        r"tcpdump: Couldn't change to '",
        "tcpdump needs more users than this lab has: install uidmap with `tcptutor setup` and a line for you in"
        " /etc/subuid with `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER`",
    ),
    _message(
        "no-server",
        r"unable to connect to server.*Connection refused",
        "no server is listening: start `iperf3 -s` on h2 first",
    ),
    _message(
        "from-switch",
        r"(?:unable to connect to server.*|connect: )Network is unreachable",
        "a switch has no address: run ping and iperf3 on a host such as h1",
    ),
    _message(
        "no-answer",
        r"unable to connect to server.*(?:timed out|No route to host)|Destination Host Unreachable",
        "no host has that address: the address of hN is 10.0.0.N",
    ),
)

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_LONGEST = 4096
"""Longest buffered line, in characters: messages are shorter, and longer output is not parsed."""


def means(line: str) -> NearMiss | None:
    """Return the explanation of a printed line, or None if it is not a known message."""
    for message in _MESSAGES:
        if found := message.pattern.search(line):
            groups = {name: value for name, value in found.groupdict().items() if value}
            name = groups.get("name", groups.get("other", ""))
            return NearMiss(message.kind, message.text.replace("{name}", name))
    return None


class PrintedLines:
    """Line buffer of a terminal."""

    def __init__(self) -> None:
        self._begun = ""

    def take(self, data: bytes) -> NearMiss | None:
        """Return the explanation of the last known message among the lines completed by `data`."""
        *lines, begun = (self._begun + data.decode(errors="replace")).split("\n")
        self._begun = begun[-_LONGEST:]
        found = None
        for line in lines:
            # Skip most lines cheaply.
            if len(line) <= _LONGEST and any(word in line for word in _SIGNS):
                found = means(_ESCAPES.sub("", line)) or found
        return found


_SIGNS = (
    "Error", "error", "RTNETLINK", "Cannot find", "What is", "tbf:", "unknown", "sysctl:", "Unreachable", "connect:",
    "Failed", "Parent",
)  # fmt: skip
"""Substrings that cover every known message."""


_NO_COMMAND = 127
"""Exit status of bash for an unknown command."""
_LOOKS = re.compile(r"\b(?:show|ls|list)\b|\s-a\b")
"""Command lines that only display something."""
_SEVERAL = re.compile(r"[;|&\n]")
"""Separators: in a line with several commands the rejected command is unknown."""
_ALREADY = re.compile(r"\s*(?:sudo\s+)?(?P<host>[hs]\d)\s")
_DEVICE = re.compile(r"\b(?P<name>(?P<node>[hs]\d)-eth\d)\b")
_AT_ROOT = re.compile(
    r"\btc\s+qdisc\s+(?:add|replace|change)\s+dev\s+(?P<name>[hs]\d-eth\d)\s+(?:\S+\s+)*?root\s+(?:handle\s+\S+\s+)?"
    r"(?P<kind>[a-z_]+)"
)
_ADDED = re.compile(
    r"\btc\s+qdisc\s+add\s+dev\s+(?P<name>[hs]\d-eth\d)\s+(?:root|parent\s+(?P<parent>[0-9a-f]+:[0-9a-f]*))"
)
_WORD = re.compile(r"\s*(?:sudo\s+|[hs]\d\s+)*(?P<name>[\w.+-]+)")


def _below_root(ended: CommandEnded, state: SessionState | None) -> str:
    """Explain a second qdisc at the root, which must be attached below the first."""
    found = _AT_ROOT.search(ended.command)
    there = chain(state, found["name"]) if found and state is not None else ()
    root = next((one for one in there if one.parent == "root"), None)
    if found is None or root is None or root.kind == found["kind"]:
        return ""
    return (
        f"{found['name']} has {root.kind} at its root, and {found['kind']} must go below it: write parent"
        f" {root.handle} instead of root, or `tc qdisc del dev {found['name']} root` first"
    )


def _elsewhere(ended: CommandEnded, _state: SessionState | None) -> str:
    """Explain an interface that belongs to a different host or switch."""
    already = _ALREADY.match(ended.command)
    host = already["host"] if already else ended.host
    names = list(_DEVICE.finditer(ended.command))
    # The switches share a namespace.
    others = [one for one in names if one["node"] != host and not one["node"][0] == host[0] == "s"]
    if not names or len(others) < len(names):
        return ""
    name, node = others[0]["name"], others[0]["node"]
    return f"{host} has no {name}, which belongs to {node}: use a shell on {node}, or prefix the command with {node}"


def _no_command(ended: CommandEnded, _state: SessionState | None) -> str:
    word = _WORD.match(ended.command)
    if ended.status != _NO_COMMAND or word is None:
        return ""
    return f"{word['name']} is not a command on the lab's hosts: check its spelling"


_RULES: tuple[tuple[str, Callable[[CommandEnded, SessionState | None], str]], ...] = (
    ("no-interface", _elsewhere),
    ("no-command", _no_command),
    ("below-root", _below_root),
)


def refused(ended: CommandEnded, state: SessionState | None = None) -> NearMiss | None:
    """Explain a command line rejected while the kernel had `state`; None without an explanation."""
    if not ended.status or _SEVERAL.search(ended.command):
        return None
    return next((NearMiss(kind, text) for kind, says in _RULES if (text := says(ended, state))), None)


def is_taken(command: str, state: SessionState | None) -> bool:
    """Return True if tc would reject the new qdisc because its place is occupied."""
    found = _ADDED.search(command)
    if found is None or state is None:
        return False
    there = {one.parent for one in chain(state, found["name"])}
    if found["parent"] is None:
        return "root" in there
    major = found["parent"].partition(":")[0]
    return any(parent in (found["parent"], f"{major}:1") for parent in there)


def is_correction(ended: CommandEnded, failed: CommandEnded | None) -> bool:
    """Return True if the command succeeded where `failed` did not: the same program, and not only a query."""
    if failed is None or ended.status or _LOOKS.search(ended.command):
        return False
    words = [_WORD.match(one.command) for one in (ended, failed)]
    return all(words) and len({word["name"] for word in words if word}) == 1
