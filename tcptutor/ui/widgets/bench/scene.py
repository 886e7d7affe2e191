"""What is to be drawn of a run, in seconds, segments and bit/s: no cells, no colours, no widgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

WINDOW = "cwnd, segments"
"""The quantity of a chart of windows."""

Kind = Literal["limit", "expected", "course", "forecast", "mean", "you"]
Points = Sequence[tuple[float, float]]


class OwnPrediction(NamedTuple):
    """The throughput that the student predicted."""

    text: str
    """As typed."""
    bps: float


@dataclass(frozen=True)
class FlowCurve:
    """One flow, or the band of all: its lowest, highest and last value by step; NaN where nothing was measured."""

    name: str
    low: Sequence[float]
    high: Sequence[float]
    last: Sequence[float]
    figure: str = ""
    """What is told beside the name, "13 %"."""
    faint: bool = False
    """Whether it is only there to be compared with another one."""


@dataclass(frozen=True)
class GuideLine:
    """A line that was not measured in this place: a limit, what models expect, a mean."""

    name: str
    kind: Kind
    points: Points

    @property
    def value(self) -> float:
        """Where its name stands."""
        return self.points[-1][1]


@dataclass(frozen=True)
class Series:
    """A strip under the chart: a value for each step."""

    name: str
    """With its unit."""
    values: Sequence[float]
    full: float
    """What fills the strip to its upper edge."""
    said: str
    """One number, and which one: "mean 9.02", "now 8.7"."""
    base: float = 0.0
    """What leaves it empty."""
    how: Literal["mean", "most", "sum", "signs"] = "mean"
    over: Sequence[float] = ()
    """Packets that the queue dropped."""
    marked: Sequence[float] = ()
    """Windows that were cut by ECN marks, with nothing lost."""
    before: tuple[Points, ...] = ()
    """What earlier runs had in its place, in the unit of `values`."""
    scale: str = ""
    """What `full` is, with its unit."""


@dataclass(frozen=True)
class Scene:
    """One moment of a run."""

    seconds: float
    """Of the time that is shown."""
    warmup: float
    until: float
    """What was measured so far, s."""
    quantity: str
    """Of the chart's axis, with its unit."""
    top: float
    curves: tuple[FlowCurve, ...]
    band: FlowCurve | None
    """From the lowest to the highest of all flows, where these are too many to be told apart."""
    references: tuple[GuideLine, ...]
    series: dict[str, Series]
    peak: float = 0.0
    """The highest value where the axis cuts it off, else 0."""
    flows: int = 1
    ended: bool = False
    start: float = 0.0
    """When the time that is shown begins, s."""
    earlier: tuple[FlowCurve, ...] = ()
    """Of the run that this one was changed from."""
    early: str = ""
    """What happened in the warm-up, which no figure counts; known once the run has ended."""

    def share(self, t: float) -> float:
        """Where `t` lies in the time that is shown: 0 at its start, 1 at its end."""
        return (t - self.start) / self.seconds

    def reference(self, kind: Kind) -> GuideLine | None:
        return next((each for each in self.references if each.kind == kind), None)
