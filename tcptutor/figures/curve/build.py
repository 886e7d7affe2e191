"""Scenes of curves from the tables of a lesson file: laws are traced, and texts become base units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

from tcptutor.base import units
from tcptutor.base.errors import TutorError, UsageError, unknown
from tcptutor.figures.curve.law import MSS, ROUND_TRIPS, TIME, Law, Points, Traced, goodput
from tcptutor.figures.curve.laws import law
from tcptutor.figures.curve.scale import Scale, parsed, scale_of
from tcptutor.figures.curve.scene import AlignedPanels, LabeledCurve, LabeledPoint, Level, Panel, Region
from tcptutor.figures.curve.tables import AxisTable, LineTable, MarkTable, PanelTable, RegionTable
from tcptutor.figures.lines import ACK, BAD, DATA, OTHER, QUEUE, RTT

_PLACES = 145
"""Places at which a law is computed."""
_ROWS = {1: 9, 2: 5, 3: 4}
"""Rows of each panel, by their number."""
_STYLES = {"queue": QUEUE, "rtt": RTT, "loss": BAD}
_FURTHER = (OTHER, ACK)
"""Styles of the second and third curve of a panel."""
_HEADROOM = 1.3
"""Top of a panel over a cap, so that the law beyond it is visible."""
_NAMES = {
    "rtt": "RTT", "round_trips": "round trips", "in_flight": "in flight", "buffer_ratio": "queue / BDP",
}  # fmt: skip


class Contradiction(UsageError):
    """A table that cannot be drawn, with its key."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


def scene_of(
    axis: AxisTable,
    panels: Sequence[PanelTable],
    lines: Sequence[LineTable],
    marks: Sequence[MarkTable],
    regions: Sequence[RegionTable],
) -> AlignedPanels:
    """Return the scene of a figure.

    Raises:
        Contradiction: A table cannot be drawn.
    """
    return _Builder(axis, panels, lines).scene(marks, regions)


class _Builder:
    def __init__(self, axis: AxisTable, panels: Sequence[PanelTable], lines: Sequence[LineTable]) -> None:
        if not lines:
            raise Contradiction("line", "a curve needs at least one line")
        self.axis, self.lines = axis, lines
        self.panels = panels or [PanelTable()] * max(line.panel for line in lines)
        self.x = self._x_scale()
        self.kinds: dict[int, str] = {}
        self.curves: dict[int, LabeledCurve] = {}
        self.levels: dict[int, Level] = {}
        for number, line in enumerate(lines, start=1):
            with _at(f"line[{number}]"):
                self._trace(number, line)
        for number, line in enumerate(lines, start=1):
            with _at(f"line[{number}].level"):
                if line.level:
                    self.levels[number] = Level(parsed(line.level, self._kind(line.panel)), line.label)

    def scene(self, marks: Sequence[MarkTable], regions: Sequence[RegionTable]) -> AlignedPanels:
        points, guides, areas = self._marks(marks), [], self._regions(regions)
        for number, mark in enumerate(marks, start=1):
            with _at(f"mark[{number}].at"):
                if mark.guide:
                    guides.append(LabeledPoint(parsed(mark.at, self.x.kind), mark.text))
        panels = tuple(
            self._panel(number, table, points, areas) for number, table in enumerate(self.panels, start=1)
        )
        stops = {x for curve in self.curves.values() for x in curve.events}
        stops |= {mark.x for _, mark in points} | {mark.x for mark in guides}
        return AlignedPanels(
            x=self.x,
            x_name=self.axis.name or _NAMES.get(self.axis.of, self.axis.of),
            panels=panels,
            guides=tuple(guides),
            moves=self.axis.of in (TIME, ROUND_TRIPS),
            stops=tuple(sorted(x for x in stops if self.x.low < x < self.x.high)),
        )

    def _x_scale(self) -> Scale:
        kind = next((self._x_kind(line) for line in self.lines if line.law), None)
        if kind is None:
            raise Contradiction("line", "a curve needs at least one law")
        with _at("x"):
            low = parsed(self.axis.start, kind) if self.axis.start else 0.0
            high = parsed(self.axis.to, kind)
            if not low < high:
                raise UsageError("to must be above from")
            is_log = self.axis.scale == "log"
            if is_log and low <= 0:
                raise UsageError("a logarithmic axis needs from, above 0")
        return Scale(low, high, kind, is_log)

    def _x_kind(self, line: LineTable) -> str:
        number = self.lines.index(line) + 1
        with _at(f"line[{number}]"):
            found = law(line.law)
            if self.axis.of not in found.over:
                raise UsageError(unknown(f"axis of {line.law}", self.axis.of, found.over))
        return found.over[self.axis.of]

    def _trace(self, number: int, line: LineTable) -> None:
        if not 1 <= line.panel <= len(self.panels):
            raise UsageError(f"panel {line.panel} does not exist")
        if bool(line.law) + bool(line.level) + bool(line.points) != 1:
            raise UsageError("needs a law, a level, or points")
        if line.level:
            return
        if line.points:
            quantity, kind, traced = self._measured(line)
        else:
            found = law(line.law)
            quantity = line.shows or next(iter(found.gives))
            if quantity not in found.gives:
                raise UsageError(unknown(f"result of {line.law}", quantity, found.gives))
            kind, traced = found.gives[quantity], self._traced(found, quantity, line)
        if self.kinds.setdefault(line.panel, kind) != kind:
            raise UsageError(f"shows {quantity}, which has another unit than its panel: give it its own")
        self.curves[number] = self._curve(line, quantity, kind, traced)

    def _measured(self, line: LineTable) -> tuple[str, str, Traced]:
        kind = self.kinds.get(line.panel)
        if kind is None or not line.shows:
            raise UsageError("points need shows, and a law in the same panel before them")
        points = tuple((parsed(x, self.x.kind), parsed(y, kind)) for x, y in line.points)
        return line.shows, kind, Traced(points)

    def _traced(self, found: Law, quantity: str, line: LineTable) -> Traced:
        values = found.values(line.set, self.axis.of)
        start = parsed(line.start, self.x.kind) if line.start else self.x.low
        end = parsed(line.to, self.x.kind) if line.to else self.x.high
        scale = self.x._replace(low=start, high=end)
        return found.trace(self.axis.of, quantity, values, scale.places(_PLACES))

    def _curve(self, line: LineTable, quantity: str, kind: str, traced: Traced) -> LabeledCurve:
        before = [each for number, each in self.curves.items() if self.lines[number - 1].panel == line.panel]
        style = _STYLES.get(quantity, DATA)
        if before:
            style = _FURTHER[min(len(before), len(_FURTHER)) - 1]
        curve = LabeledCurve(traced.points, quantity, style, line.label, traced.events, rank=len(before))
        if not line.link:
            return curve
        if kind != "rate":
            raise UsageError("only a throughput has a link")
        mss = units.parse(line.set["mss"], "size", "bytes") if "mss" in line.set else MSS
        return _capped(curve, goodput(units.parse(line.link, "rate"), mss))

    def _panel(
        self,
        number: int,
        table: PanelTable,
        marks: Sequence[tuple[int, LabeledPoint]],
        regions: Sequence[tuple[int, Region]],
    ) -> Panel:
        kind = self._kind(number)
        curves = [each for at, each in self.curves.items() if self.lines[at - 1].panel == number]
        levels = [each for at, each in self.levels.items() if self.lines[at - 1].panel == number]
        heights = [y for curve in curves for _, y in curve.points] + [level.value for level in levels]
        heights += [_HEADROOM * curve.cap for curve in curves if curve.cap is not None]
        with _at(f"panel[{number}]"):
            low, high = (parsed(text, kind) if text else None for text in (table.start, table.to))
            scale = scale_of(heights, kind, low, high, table.scale == "log")
            if not scale.low < scale.high:
                raise UsageError("to must be above from")
        quantity = curves[0].quantity
        return Panel(
            name=table.name or _NAMES.get(quantity, quantity),
            scale=scale,
            rows=table.lines or _ROWS.get(len(self.panels), 3),
            curves=tuple(_with_one_cap(curves)),
            levels=tuple(levels),
            marks=tuple(mark for at, mark in marks if at == number),
            regions=tuple(region for at, region in regions if at == number),
        )

    def _kind(self, panel: int) -> str:
        if panel not in self.kinds:
            raise Contradiction(f"panel[{panel}]", "has no law: each panel needs one")
        return self.kinds[panel]

    def _marks(self, marks: Sequence[MarkTable]) -> list[tuple[int, LabeledPoint]]:
        found = []
        for number, mark in enumerate(marks, start=1):
            if mark.guide:
                continue
            with _at(f"mark[{number}]"):
                if mark.line not in self.curves:
                    raise UsageError(f"line {mark.line} is no curve")
                x = parsed(mark.at, self.x.kind)
                y = self.curves[mark.line].at(x)
                if y is None:
                    raise UsageError(f"at {mark.at} line {mark.line} has no point")
                found.append((self.lines[mark.line - 1].panel, LabeledPoint(x, mark.text, y)))
        return found

    def _regions(self, regions: Sequence[RegionTable]) -> list[tuple[int, Region]]:
        found = []
        for number, region in enumerate(regions, start=1):
            with _at(f"region[{number}]"):
                start = parsed(region.start, self.x.kind) if region.start else self.x.low
                end = parsed(region.to, self.x.kind) if region.to else self.x.high
                if not region.line:
                    found.append((region.panel, Region(region.text, start, end)))
                    continue
                if region.line not in self.curves or bool(region.below) == bool(region.above):
                    raise UsageError("needs the number of a curve, and either below or above")
                panel = self.lines[region.line - 1].panel
                level = parsed(region.below or region.above, self._kind(panel))
                curve = self.curves[region.line]
                found.append(
                    (
                        panel,
                        Region(region.text, start, end, curve, level, bool(region.below)),
                    )
                )
        return found


def _capped(curve: LabeledCurve, cap: float) -> LabeledCurve:
    points: list[tuple[float, float]] = []
    for (x0, y0), (x1, y1) in pairwise(curve.points):
        points.append((x0, min(y0, cap)))
        if (y0 - cap) * (y1 - cap) < 0:
            points.append((x0 + (cap - y0) / (y1 - y0) * (x1 - x0), cap))
    x, y = curve.points[-1]
    points.append((x, min(y, cap)))
    ends_at_cap = y >= cap
    return LabeledCurve(
        tuple(points),
        curve.quantity,
        curve.style,
        "" if ends_at_cap else curve.label,
        curve.events,
        curve.rank,
        uncapped=_above(curve.points, cap),
        cap=cap,
        cap_label="link",
        law_label=curve.label if ends_at_cap else "",
    )


def _with_one_cap(curves: Sequence[LabeledCurve]) -> Iterator[LabeledCurve]:
    """Yield the curves; of several with a cap, none is drawn beyond it, and the first names it."""
    capped = [curve for curve in curves if curve.cap is not None]
    for curve in curves:
        if curve.cap is None or len(capped) == 1:
            yield curve
        else:
            label = curve.cap_label if curve is capped[0] else ""
            yield replace(curve, uncapped=(), cap_label=label, is_alone=False)


def _above(points: Points, cap: float) -> Points:
    return tuple(point for point in points if point[1] >= cap)


@contextmanager
def _at(key: str) -> Iterator[None]:
    """Add the key of a table to an error."""
    try:
        yield
    except Contradiction:
        raise
    except TutorError as error:
        raise Contradiction(key, str(error)) from None
