"""Rate limits for requests, with a token bucket per address or voter."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_KEYS = 8192


class RateLimit:
    """Token buckets by key, refilled at a constant rate. The longest unused keys are dropped."""

    def __init__(self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Tokens left and the time of this count, by key."""

    def take(self, key: str = "") -> float:
        """Take a token of `key` and return 0, or return the seconds until the next token."""
        now = self._clock()
        left, counted = self._buckets.pop(key, (float(self._burst), now))
        left = min(self._burst, left + (now - counted) * self._per_s)
        self._buckets[key] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _MOST_KEYS:
            self._buckets.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / self._per_s


def network_of(address: str) -> str:
    """Return the key of an address for a limit: the /64 network of an IPv6 host."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if parsed.version == 4:
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
