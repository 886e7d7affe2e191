"""Limit for a shell without keys while other students of a server wait for its lab."""

from __future__ import annotations

import time
from collections.abc import Callable

from tcptutor.backends.lab_turn import LabDemand

GRACE_S = 60.0
"""Seconds from the warning to the end."""


class IdleLimit:
    """State of the limit for a session.

    A shell ends after `LabDemand.idle_s` without a key, but not before a grace period since others began to wait, so
    that a student who has been away for an hour also gets a warning.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wanted_since: float | None = None

    def seconds_left(self, demand: LabDemand, last_key: float) -> float | None:
        """Return the seconds until the shell has to end; None before its last minute, or if no student waits.

        Args:
            demand: Demand of other students now.
            last_key: Monotonic time of the last key, or of the start.
        """
        now = self._clock()
        if not (demand.waiting and demand.idle_s):
            self._wanted_since = None
            return None
        if self._wanted_since is None:
            self._wanted_since = now
        grace = min(GRACE_S, demand.idle_s)
        left = max(last_key + demand.idle_s, self._wanted_since + grace) - now
        return max(left, 0.0) if left <= grace else None
