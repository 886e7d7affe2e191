"""Curves of laws over a range: the sawtooth, a response function, a knee; panels over a common axis.

[[figure]]
id = "knee"
kind = "curve"
x = { of = "window", from = "10 kB", to = "200 kB" }   # an axis of the law; scale = "log"; name = "…"

[[figure.panel]]                     # optional, from the top; a line says to which it belongs
name = "throughput"
to = "50 Mbit/s"                     # also: from, scale = "log", lines = 8

[[figure.line]]
law = "window-limited"               # a law of "Laws of curves"
set = { rtt = "18 ms" }
link = "40 Mbit/s"                   # optional: the law holds up to what this link carries
label = "window / RTT"
# panel = 2, shows = "queue" (one of the law's results), from = "…", to = "…"

[[figure.line]]
level = "90 kB"                      # a height with a name, in place of a law
label = "BDP"

[[figure.line]]
points = [["10 kB", "4 Mbit/s"]]     # measured, each height claimed on the page
shows = "throughput"

[[figure.mark]]                      # a point of the line with that number, the first by default
at = "90 kB"
text = "knee"
line = 1
# guide = true                       # a guide through all panels, in place of a point

[[figure.region]]                    # a stretch of the horizontal axis, or an area between a line and a level
text = "link idle"
line = 1
below = "83"                         # or: above; without a line: from, to, panel

Along `time` and `round_trips` the figure is drawn as time passes, with stops at losses and marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from tcptutor.base import decoding
from tcptutor.figures.curve import words
from tcptutor.figures.curve.build import Contradiction, scene_of
from tcptutor.figures.curve.law import TIME
from tcptutor.figures.curve.plot import Plot
from tcptutor.figures.curve.scene import AlignedPanels
from tcptutor.figures.curve.tables import AxisTable, LineTable, MarkTable, PanelTable, RegionTable
from tcptutor.figures.figure import MIN_WIDTH, Figure, Motion, Problem
from tcptutor.figures.lettering import PLAIN, Lettering
from tcptutor.figures.lines import Line


class CurveFigure(Figure, frozen=True, kw_only=True, tag_field="kind", tag="curve"):
    """Curves of laws, in panels over a common horizontal axis."""

    x: AxisTable
    lines: tuple[LineTable, ...] = msgspec.field(name="line", default=())
    panels: tuple[PanelTable, ...] = msgspec.field(name="panel", default=())
    marks: tuple[MarkTable, ...] = msgspec.field(name="mark", default=())
    regions: tuple[RegionTable, ...] = msgspec.field(name="region", default=())

    @property
    def scene(self) -> AlignedPanels:
        """Shown value, in base units."""
        return _scene(msgspec.json.encode(self))

    def contradiction(self) -> Problem | None:
        try:
            _ = self.scene
        except Contradiction as error:
            return error.key, str(error)
        return None

    def problems(self) -> Iterator[Problem]:
        for text in _plot(msgspec.json.encode(self), MIN_WIDTH).draw(self.scene.x.high).crowded:
            yield "", f"has no free place for {text!r} in {MIN_WIDTH} columns: shorten it, or leave it out"

    def measured(self) -> Iterator[str]:
        for line in self.lines:
            yield from (height for _, height in line.points)

    @property
    def motion(self) -> Motion | None:
        scene = self.scene
        if not scene.moves:
            return None
        unit = "" if self.x.of == TIME else scene.x_name
        return Motion(scene.x.high, scene.stops, scene.x.high, _WATCH_S, unit)

    def draw(self, width: int, t: float = 0.0) -> list[Line]:
        return _plot(msgspec.json.encode(self), width).draw(t).lines

    def draw_large(self, width: int, t: float, letters: Lettering) -> list[Line]:
        is_low = min(panel.rows for panel in self.scene.panels) < _LETTERS * letters.height
        return _plot(msgspec.json.encode(self), width, PLAIN if is_low else letters).draw(t).lines

    def taller(self, rows: int) -> Figure:
        tables = self.panels or (PanelTable(),) * len(self.scene.panels)
        more = rows // len(tables)
        panels = tuple(
            msgspec.structs.replace(table, lines=panel.rows + more)
            for table, panel in zip(tables, self.scene.panels, strict=True)
        )
        return msgspec.structs.replace(self, panels=panels)

    def describe(self) -> str:
        return words.describe(self.scene)


KIND = CurveFigure
_WATCH_S = 10.0
_LETTERS = 3
"""Rows of a panel with large numbers, as a multiple of their height."""


@lru_cache(maxsize=64)
def _scene(encoded: bytes) -> AlignedPanels:
    figure = decoding.decode_json(encoded, CurveFigure)
    return scene_of(figure.x, figure.panels, figure.lines, figure.marks, figure.regions)


@lru_cache(maxsize=16)
def _plot(encoded: bytes, width: int, letters: Lettering = PLAIN) -> Plot:
    return Plot(_scene(encoded), width, letters)
