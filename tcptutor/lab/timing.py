"""How well the samples kept to their times, counted while they are taken."""

from __future__ import annotations

LATE = 0.002
"""How late a sample may be before its timer counts as late, s."""


class Timing:
    """Begins with the traffic; `woke` and `took` are called in order of time."""

    def __init__(self, period: float) -> None:
        self.period = period
        """Between two samples, s."""
        self.longest_gap = 0.0
        """The longest time without a sample, s."""
        self.last = 0.0
        """When the last sample was taken, s after the traffic began."""
        self._taken = self._woken = self._late = 0

    def woke(self, late: float) -> None:
        """A timer went off, `late` seconds after its time."""
        self._woken += 1
        self._late += late > LATE

    def took(self, t: float) -> None:
        """A sample was taken, `t` seconds after the traffic began."""
        self.longest_gap = max(self.longest_gap, t - self.last)
        self.last = t
        self._taken += 1

    @property
    def late(self) -> float:
        """The share of the timers that were late, 0 to 1."""
        return self._late / self._woken if self._woken else 0.0

    @property
    def missing(self) -> float:
        """The share of the samples that should have been taken until the last one and were not, 0 to 1.

        Late timers do not tell of these: work that takes longer than a period leaves samples out, and the next one may
        be in time.
        """
        if not self._taken:
            return 0.0
        due = int(self.last / self.period) + 1
        return max(0.0, 1 - self._taken / due)
