"""One model's answer for one case, before it is compared with the others'."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tcptutor import units
from tcptutor.analysis.model import LimitedBy, Prediction

BIASES = frozenset({"slow start", "changes"})
"""Parts of a tolerance that pull one way, so that they add up; the others are independent of each other."""


@dataclass(frozen=True)
class Candidate:
    """What a model gives, and how far it may be trusted."""

    model: str
    label: str
    throughput: float
    """Of all flows, not capped by the link, bit/s; infinite where some flow has no such limit."""
    formula: str
    sure: Mapping[str, float]
    """Relative errors by where they come from: "model", "losses", "slow start" ..."""
    limited_by: LimitedBy
    best: bool = True
    """Whether this is the model of its kind that we believe for these flows and this path."""
    each: tuple[float, ...] = field(default=(), compare=False)
    """Of each flow, bit/s; empty for what all share."""

    @property
    def tolerance(self) -> float:
        return total(self.sure)

    def prediction(self, link: float | None) -> Prediction:
        """As shown: many lossy flows together get at most the link (Hacker 2001)."""
        capped = link is not None and self.throughput > link and self.limited_by == "random-loss"
        return Prediction(
            model=self.model,
            label=self.label,
            throughput_bps=link if capped and link else self.throughput,
            formula=f"min({units.rate(link)}, {self.formula})" if capped and link else self.formula,
            tolerance=min(1.0, self.tolerance),
            tolerance_from={name: min(1.0, value) for name, value in self.sure.items()},
            limited_by="bottleneck" if capped else self.limited_by,
        )


def total(sure: Mapping[str, float]) -> float:
    """All parts of a tolerance together: independent ones by the root of their squares, biases on top."""
    independent = (value for name, value in sure.items() if name not in BIASES)
    return math.hypot(*independent) + sum(value for name, value in sure.items() if name in BIASES)
