"""What was refused and why, where the line and the host that it was typed on say more than what was printed."""

from __future__ import annotations

import re
from collections.abc import Callable

from tcptutor.course.goals.board import NearMiss
from tcptutor.lab.protocol import CommandEnded

_NO_COMMAND = 127
"""What bash gives for a command that there is not."""
_SEVERAL = re.compile(r"[;|&\n]")
"""Of a line with several commands it is not known which was refused."""
_ALREADY = re.compile(r"\s*(?:sudo\s+)?(?P<host>[hs]\d)\s")
_DEVICE = re.compile(r"\b(?P<name>(?P<node>[hs]\d)-eth\d)\b")
_WORD = re.compile(r"\s*(?:sudo\s+|[hs]\d\s+)*(?P<name>[\w.+-]+)")


def _elsewhere(ended: CommandEnded) -> str:
    """An interface of another host or switch."""
    already = _ALREADY.match(ended.command)
    host = already["host"] if already else ended.host
    names = list(_DEVICE.finditer(ended.command))
    # The switches are in one namespace.
    others = [one for one in names if one["node"] != host and not one["node"][0] == host[0] == "s"]
    if not names or len(others) < len(names):
        return ""
    name, node = others[0]["name"], others[0]["node"]
    return f"{host} has no {name}, it is one of {node}: type it in a shell on {node}, or put {node} before it"


def _no_command(ended: CommandEnded) -> str:
    word = _WORD.match(ended.command)
    if ended.status != _NO_COMMAND or word is None:
        return ""
    return f"there is no command {word['name']} on the lab's hosts: look at its spelling"


_RULES: tuple[tuple[str, Callable[[CommandEnded], str]], ...] = (
    ("no-interface", _elsewhere),
    ("no-command", _no_command),
)


def refused(ended: CommandEnded) -> NearMiss | None:
    """What a line that was refused means; None for one that was done, and where nothing more is known."""
    if not ended.status or _SEVERAL.search(ended.command):
        return None
    return next((NearMiss(kind, text) for kind, says in _RULES if (text := says(ended))), None)
