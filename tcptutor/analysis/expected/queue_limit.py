"""Expected queueing delay of a loaded bottleneck: a full queue, or the target of CoDel."""

from __future__ import annotations

import msgspec

from tcptutor import theory
from tcptutor.analysis.bottleneck import CODEL, CODEL_TARGET
from tcptutor.analysis.case import Case


class QueueLimit(msgspec.Struct, frozen=True, kw_only=True):
    """Queueing delay that the bottleneck's queue discipline allows or aims at."""

    delay_s: float
    label: str
    """Noun phrase for `delay_s`, such as "a full queue"."""


def queue_limit(case: Case) -> QueueLimit | None:
    """Return the delay of a full fifo (`theory.queueing_delay`), or CoDel's target (RFC 8289, section 4.2).

    None without a rate, if rate or queue change during the run, and for other queue disciplines.
    """
    changed = {change.name for change in case.experiment.path.all_changes}
    if not case.rate or case.is_reverse or changed & {"rate", "queue", "link"}:
        return None
    if case.qdisc == "fifo":
        return QueueLimit(delay_s=theory.queueing_delay(case.queue, case.rate), label="a full queue")
    if case.qdisc in CODEL:
        return QueueLimit(delay_s=CODEL_TARGET, label="CoDel's target")
    return None
