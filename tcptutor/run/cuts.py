"""When a sender answered the network by a smaller window: told from its samples, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tcptutor.run.samples import CA_STATES

_CWR, _RECOVERY, _LOSS = (CA_STATES.index(name) for name in ("cwr", "recovery", "loss"))


class Cut(Enum):
    """Why a sender's window became smaller."""

    LOSS = "loss"
    """A loss event, however many segments it took."""
    MARK = "mark"
    """An ECN mark, with nothing lost."""


class CutFinder:
    """Follows the samples of one flow.

    A loss event is an entry into recovery or loss; or a new one inside of it: ssthresh changes again while segments are
    sent again, or a timeout comes after bytes were acknowledged since the last. A recovery that was over between two
    samples is seen by its retransmissions. A mark's cut is an entry into CWR by a mark, or another change of ssthresh
    inside of it. A change of ssthresh alone is neither: HyStart, BBR, Vegas and YeAH set it without a loss, Westwood
    when a recovery ends. Nor is CWR without a mark, which CDG enters for a longer delay, and any flow when its own
    host's queue is full. Two of a kind between two samples count as one.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int, int, int, int] | None = None
        self._marked = False  # whether the CWR that goes on was entered by a mark
        self._timed_out = -1  # bytes that were acknowledged at the last timeout

    def at(
        self,
        ca_state: int,
        ssthresh: int,
        retransmits: int,
        delivered_ce: int,
        total_rto: int,
        bytes_acked: int,
    ) -> Cut | None:
        """What had begun between the sample before and this one; None for nothing."""
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
    """The samples of one flow at which an answer of its sender to the network had begun since the one before."""

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
    """Where one flow lost segments, and where marks alone cut its window, as CutFinder finds it."""
    finder = CutFinder()
    rows = zip(ca_state, ssthresh, retransmits, delivered_ce, total_rto, bytes_acked, strict=True)
    found = [finder.at(*row) for row in rows]
    return Cuts(
        losses=tuple(at for at, cut in enumerate(found) if cut is Cut.LOSS),
        marks=tuple(at for at, cut in enumerate(found) if cut is Cut.MARK),
    )
