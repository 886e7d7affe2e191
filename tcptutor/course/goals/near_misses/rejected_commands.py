"""Rejected commands, explained by the command line and its host where the printed message is not enough."""

from __future__ import annotations

import re
from collections.abc import Callable

from tcptutor.course.goals.board import NearMiss
from tcptutor.course.goals.interfaces import chain
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import CommandEnded

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


def mends(ended: CommandEnded, failed: CommandEnded | None) -> bool:
    """Return True if the command succeeded where `failed` did not: the same program, and not only a query."""
    if failed is None or ended.status or _LOOKS.search(ended.command):
        return False
    words = [_WORD.match(one.command) for one in (ended, failed)]
    return all(words) and len({word["name"] for word in words if word}) == 1
