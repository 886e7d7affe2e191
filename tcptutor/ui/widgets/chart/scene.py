"""Scene of a run to draw, in seconds, segments and bit/s, independent of cells, colors and widgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tcptutor.figures.lines import DATA

WINDOW = "cwnd, segments"
"""Label of the axis of cwnd."""

Kind = Literal["limit", "expected", "trajectory", "forecast", "mean", "you", "now"]
Points = Sequence[tuple[float, float]]


class OwnPrediction(NamedTuple):
    """Throughput predicted by the student."""

    text: str
    """As typed."""
    bps: float


@dataclass(frozen=True)
class FlowCurve:
    """Curve of a flow, or band of all flows, by step; NaN where no sample exists."""

    name: str
    low: Sequence[float]
    high: Sequence[float]
    last: Sequence[float]
    figure: str = ""
    """Text after the label, e.g. "13 %"."""
    faint: bool = False
    """Whether the curve serves only as comparison."""


@dataclass(frozen=True)
class GuideLine:
    """Reference line: a limit, an expectation of the models, a mean."""

    name: str
    kind: Kind
    points: Points

    @property
    def value(self) -> float:
        """Value at the right end, where the label is."""
        return self.points[-1][1]


QUEUE_SERIES = "queue", "queue2"
"""Names of the series of the bottlenecks' queues."""


@dataclass(frozen=True)
class Series:
    """Strip under the chart: a value per step."""

    name: str
    """With unit."""
    values: Sequence[float]
    upper: float
    """Value that fills the strip to its upper edge."""
    summary: str
    """A figure and its kind: "9.02 mean", "8.7 now"."""
    lower: float = 0.0
    """Value that leaves the strip empty."""
    aggregation: Literal["mean", "most", "sum", "signs"] = "mean"
    drops: Sequence[float] = ()
    """Packets dropped by the queue, per step."""
    marks: Sequence[float] = ()
    """Window reductions by ECN marks without loss, per step."""
    earlier: tuple[Points, ...] = ()
    """Points of earlier runs, in the unit of `values`."""
    upper_text: str = ""
    """`upper` with its unit."""
    style: str = DATA
    """Hue of the quantity."""


@dataclass(frozen=True)
class Scene:
    """Moment of a run."""

    seconds: float
    """Length of the visible time."""
    warmup: float
    until: float
    """End of the measured data, s."""
    quantity: str
    """Quantity of the chart's axis, with unit."""
    top: float
    curves: tuple[FlowCurve, ...]
    band: FlowCurve | None
    """Range of all flows, if they are too many to distinguish."""
    references: tuple[GuideLine, ...]
    series: dict[str, Series]
    peak: float = 0.0
    """Highest value if the axis cuts it off, otherwise 0."""
    flows: int = 1
    ended: bool = False
    start: float = 0.0
    """Start of the visible time, s."""
    hue: str = ""
    """Style of the only flow's curve if its quantity has a hue of its own."""
    original: tuple[FlowCurve, ...] = ()
    """Curves of the original run of a what-if."""
    host_changes: tuple[tuple[float, str], ...] = ()
    """Changes of all hosts during the run: time, s, and text."""
    warmup_events: str = ""
    """Events of the warm-up, which no figure counts; empty until the run has ended."""

    def share(self, t: float) -> float:
        """Return the position of `t` in the visible time: 0 at its start, 1 at its end."""
        return (t - self.start) / self.seconds

    def reference(self, kind: Kind) -> GuideLine | None:
        return next((each for each in self.references if each.kind == kind), None)
