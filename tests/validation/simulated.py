"""Throughput by the simulated laws and code, stored in results/simulated.json: computing it takes a minute."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.validation import kernel, law

FILE = Path(__file__).parent / "results/simulated.json"
_MSS = 1448
_WAYS: dict[str, Callable[[str, int, float, float], float]] = {
    "law": law.throughput,
    "kernel": kernel.throughput,
}


class Simulated:
    """Owns what was computed."""

    def __init__(self) -> None:
        self.windows: dict[str, float] = json.loads(FILE.read_text()) if FILE.exists() else {}
        """Mean windows in segments, by "way algorithm loss RTT"."""

    def throughput(self, way: str, algorithm: str, mss: int, rtt: float, loss: float) -> float:
        """Payload that arrives, bit/s, by the simulated law or the simulated code."""
        key = f"{way} {algorithm} {loss:g} {rtt:g}"
        if key not in self.windows:
            self.windows[key] = float(f"{window(way, algorithm, rtt, loss):.5g}")
        return 8 * mss * self.windows[key] / rtt

    def keep(self) -> None:
        FILE.write_text(json.dumps(self.windows, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def window(way: str, algorithm: str, rtt: float, loss: float) -> float:
    """Segments that arrive in a round trip, computed."""
    return _WAYS[way](algorithm, _MSS, rtt, loss) * rtt / 8 / _MSS


KEPT = Simulated()
