"""Curves, marks and regions to draw, in base units."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

from tcptutor.figures.curve.law import Points
from tcptutor.figures.curve.scale import Scale


@dataclass(frozen=True)
class LabeledCurve:
    """A line of a panel, with its label."""

    points: Points
    quantity: str
    """Quantity, such as "throughput"."""
    style: str
    label: str = ""
    events: tuple[float, ...] = ()
    """Places at which something happens, such as losses."""
    rank: int = 0
    """Index among the panel's curves of the same style, which selects the pattern of dots."""
    uncapped: Points = ()
    """Value of the law without its cap; empty if no cap cuts it."""
    cap: float | None = None
    cap_label: str = ""
    is_alone: bool = True
    """Whether no other curve of its panel has a cap."""
    law_label: str = ""
    """Label of the part below the cap, if the curve continues beyond it."""

    def at(self, x: float) -> float | None:
        """Return the height at `x`, after any jump at `x`; None outside of the curve."""
        if not self.points or not self.points[0][0] - 1e-12 <= x <= self.points[-1][0] * (1 + 1e-9):
            return None
        after = bisect_right(self.points, x, key=itemgetter(0))
        if after in (0, len(self.points)):
            return self.points[min(after, len(self.points) - 1)][1]
        (x0, y0), (x1, y1) = self.points[after - 1], self.points[after]
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


@dataclass(frozen=True)
class Level:
    """A height with a name, drawn across the panel."""

    value: float
    label: str


@dataclass(frozen=True)
class LabeledPoint:
    """A point of a curve with its label, or a guide through all panels."""

    x: float
    text: str
    y: float | None = None
    """None for a guide."""
    name: str = ""
    """Position of the guide in the description, such as "10 streams"."""


@dataclass(frozen=True)
class Region:
    """A shaded area between a curve and a level, or a stretch of the horizontal axis."""

    text: str
    start: float
    end: float
    curve: LabeledCurve | None = None
    level: float = 0.0
    is_below: bool = True
    """Whether the curve is below the level in the area."""

    def spans(self) -> list[tuple[float, float]]:
        """Return the stretches of the horizontal axis that it covers."""
        if self.curve is None:
            return [(self.start, self.end)]
        sign = 1 if self.is_below else -1
        found: list[list[float]] = []
        for (x0, y0), (x1, y1) in pairwise(self.curve.points):
            inside = [sign * (self.level - y) > 0 for y in (y0, y1)]
            if not any(inside) or x1 <= x0:
                continue
            crossing = x0 + (self.level - y0) / (y1 - y0) * (x1 - x0) if inside[0] != inside[1] else 0.0
            start, end = (x0 if inside[0] else crossing), (x1 if inside[1] else crossing)
            start, end = max(start, self.start), min(end, self.end)
            if end <= start:
                continue
            if found and abs(found[-1][1] - start) <= 1e-9 * max(1.0, end):
                found[-1][1] = end
            else:
                found.append([start, end])
        return [(start, end) for start, end in found]


@dataclass(frozen=True)
class Panel:
    """Curves over the common horizontal axis."""

    name: str
    scale: Scale
    rows: int
    curves: tuple[LabeledCurve, ...] = ()
    levels: tuple[Level, ...] = ()
    marks: tuple[LabeledPoint, ...] = ()
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True)
class AlignedPanels:
    """Panels over each other with a common horizontal axis."""

    x: Scale
    x_name: str
    panels: tuple[Panel, ...]
    guides: tuple[LabeledPoint, ...] = ()
    moves: bool = False
    """Whether it is drawn as time passes."""
    stops: tuple[float, ...] = field(default=())
