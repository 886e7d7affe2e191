"""What `played` and `kernel` say of the loss laws' cells, kept in results/simulated.json: they take a minute."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.validation import kernel, played

FILE = Path(__file__).parent / "results/simulated.json"
_MSS = 1448
_WAYS: dict[str, Callable[[str, int, float, float], float]] = {
    "law": played.throughput,
    "kernel": kernel.throughput,
}


class Simulated:
    """Owns what was computed."""

    def __init__(self) -> None:
        self.windows: dict[str, float] = json.loads(FILE.read_text()) if FILE.exists() else {}
        """Mean windows in segments, by "way algorithm loss RTT"."""

    def throughput(self, way: str, algorithm: str, mss: int, rtt: float, loss: float) -> float:
        """Payload that arrives, bit/s, by the law played or by the kernel's code played."""
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
