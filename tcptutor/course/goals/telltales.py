"""Words by which a text gives away what is wrong with a network, before a student has found it."""

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
"""By the names of `agent.traps.TRAPS`, which belongs to the lab and is not read here: a test holds the two together."""


def telltale(trap: str, text: str) -> str:
    """The first word in `text` that gives `trap` away; empty for none, and for a name that is no trap."""
    found = TELLTALES[trap].search(text) if trap in TELLTALES else None
    return found[0] if found else ""
