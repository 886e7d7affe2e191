"""Telltale words, which reveal a network's fault before the student has found it."""

from __future__ import annotations

import re
from collections.abc import Mapping

TELLTALES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "capped-send-buffer": r"wmem|send(er's|ing)? buffer|\bcap(ped)?\b",
        "no-window-scaling": r"window.scal|wscale|scaling",
        "fixed-receive-buffer": r"rcvbuf|rmem|receive buffer|auto-?tun",
        "late-acks": r"way back|s2-eth1|\backs?\b|acknowledg|one side|revers",
        "lost-acks": r"way back|s2-eth1|\backs?\b|acknowledg|one side|revers",
        "small-bucket": r"bucket|burst",
        "short-buffer": r"\blimit|overflow|too (short|small)|no room",
        "narrow-hop": r"\bmtu\b|frame size|1400|black hole",
        "super-packets": r"offload|super-?packet|\b[tg]so\b|\bgro\b|64 KB",
        "duplicate-address": r"duplicate|address|\barp\b|twice|neighbou?r",
    }.items()
}
"""Patterns by name of `agent.traps.TRAPS`; a test keeps the two in step, because the agent is not imported.
"""


def telltale(trap: str, text: str) -> str:
    """Return the first word in `text` that reveals `trap`, or an empty string."""
    found = TELLTALES[trap].search(text) if trap in TELLTALES else None
    return found[0] if found else ""
