"""Rules that map findings to the limiting cause; the first that holds decides."""

from __future__ import annotations

from tcptutor.analysis.case import FULL
from tcptutor.analysis.compared.findings import BUSY, MOSTLY, Condition, Findings
from tcptutor.theory.models import LimitedBy

RULES: tuple[tuple[LimitedBy, Condition], ...] = (
    # Limits of the sender come before effects of the network.
    ("timeout", lambda it: it.stalls),
    ("application", lambda it: it.evidence.busy < BUSY),
    ("pacing", lambda it: it.paced_by_application or it.paced_by_fq),
    # ACKs clock the window, however full it is.
    ("bottleneck", lambda it: it.full_of_acks or it.behind_return_queue),
    ("pacing", lambda it: it.held_by_host),
    ("receive-window", lambda it: it.alone and it.windowed),
    ("send-buffer", lambda it: it.alone and it.buffered),
    ("reordering", lambda it: it.losses == "reordering" and it.reordering and it.used < FULL),
    ("bottleneck", lambda it: it.gains_nothing),
    ("bottleneck", lambda it: it.full and not (it.windowed or it.buffered)),
    ("receive-window", lambda it: it.windowed),
    ("send-buffer", lambda it: it.buffered),
    ("application", lambda it: it.evidence.app_limited >= MOSTLY),
    ("bottleneck", lambda it: it.blind),
    ("reordering", lambda it: it.reordering),
    ("random-loss", lambda it: it.underestimates),
    ("random-loss", lambda it: it.losses == "random-loss"),
    ("bottleneck", lambda it: it.losses == "bottleneck"),
    ("reordering", lambda it: it.losses == "reordering"),
    ("growing", lambda it: it.growing),
    ("bottleneck", lambda it: it.computer),
)
"""Rules in order of precedence."""


def cause(it: Findings) -> LimitedBy:
    """Return the limiting cause; `unexplained` if the samples show none."""
    return next((limited_by for limited_by, holds in RULES if holds(it)), "unexplained")
