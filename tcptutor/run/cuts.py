"""Window reductions of a sender in response to the network, found in the sequence of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tcptutor.run.samples import CA_STATES

_CWR, _RECOVERY, _LOSS = (CA_STATES.index(name) for name in ("cwr", "recovery", "loss"))


class Cut(Enum):
    """Cause of a window reduction."""

    LOSS = "loss"
    """A loss event, with any number of lost segments."""
    MARK = "mark"
    """An ECN mark without loss."""


class CutFinder:
    """Follows the samples of a flow and reports its window reductions.

    A loss event is an entry into recovery or loss, or a new event inside of it: ssthresh changes again during
    retransmissions, or a timeout follows after new acknowledgments. A recovery that fits between two samples
    shows in its retransmissions. A reduction by a mark is an entry into CWR by a mark, or another change of
    ssthresh inside of it. A change of ssthresh alone is neither: HyStart, BBR, Vegas and YeAH set it without
    a loss, Westwood when a recovery ends. CWR without a mark is neither: CDG enters it for a longer delay,
    and any flow when its own host's queue is full. Two reductions of a kind between two samples count as one.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int, int, int, int] | None = None
        self._marked = False  # True while in CWR because of a mark
        self._timed_out = -1  # bytes acknowledged at the last timeout

    def at(
        self,
        ca_state: int,
        ssthresh: int,
        retransmits: int,
        delivered_ce: int,
        total_rto: int,
        bytes_acked: int,
    ) -> Cut | None:
        """Return the reduction that began since the previous sample; None if none did."""
        if self._before is None:
            self._before = ca_state, ssthresh, retransmits, delivered_ce, total_rto
            return None
        state, limit, sent, marks, timeouts = self._before
        self._before = ca_state, ssthresh, retransmits, delivered_ce, total_rto
        resent, marked = retransmits > sent, delivered_ce > marks
        if ca_state < _CWR > state and not resent and not marked:
            return None
        cut, timeout = ssthresh != limit, total_rto > timeouts
        lost = by_mark = False
        if ca_state >= _LOSS:
            lost = state < _LOSS or (timeout and bytes_acked > self._timed_out)
        elif ca_state >= _RECOVERY:
            lost = state < _RECOVERY or (cut and resent)
        elif ca_state >= _CWR:
            by_mark = marked and (state != _CWR or cut)
        elif state < _RECOVERY:
            lost = resent
            by_mark = not lost and not self._marked and cut and marked
        if timeout or (ca_state >= _LOSS > state):
            self._timed_out = bytes_acked
        self._marked = ca_state == _CWR and (by_mark or self._marked)
        return Cut.LOSS if lost else Cut.MARK if by_mark else None


class Cuts(NamedTuple):
    """Indexes of the samples of a flow at which a loss event or a reduction by a mark had begun."""

    losses: tuple[int, ...]
    marks: tuple[int, ...]


def cuts_at(
    ca_state: Sequence[int],
    ssthresh: Sequence[int],
    retransmits: Sequence[int],
    delivered_ce: Sequence[int],
    total_rto: Sequence[int],
    bytes_acked: Sequence[int],
) -> Cuts:
    """Return where a flow lost segments, and where only marks reduced its window, see CutFinder."""
    finder = CutFinder()
    rows = zip(ca_state, ssthresh, retransmits, delivered_ce, total_rto, bytes_acked, strict=True)
    found = [finder.at(*row) for row in rows]
    return Cuts(
        losses=tuple(at for at, cut in enumerate(found) if cut is Cut.LOSS),
        marks=tuple(at for at, cut in enumerate(found) if cut is Cut.MARK),
    )
