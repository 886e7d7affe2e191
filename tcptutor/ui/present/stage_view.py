"""Widget that shows a canvas of the stage."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.geometry import Region

from tcptutor.figures.lines import STYLES
from tcptutor.ui.present import stage_chart, stage_figures, stage_question
from tcptutor.ui.present.block_raster import BOTH
from tcptutor.ui.present.stage_canvas import ScaledText, StageCanvas
from tcptutor.ui.widgets.chart.chart import FLOW_PATTERNS, flow_style
from tcptutor.ui.widgets.slices import SlicedLines

_SLICES = 8
_NAMES = (
    *STYLES,
    *(flow_style(number) for number in range(len(FLOW_PATTERNS))),
    *(stage_chart.AXIS, stage_chart.BAND, "expected", "you"),
    *(stage_figures.LIVE, stage_figures.PREPARED, stage_figures.GROUND, stage_question.LETTER),
)


class StageView(SlicedLines):
    """Part of the stage: headline, body or foot."""

    ALLOW_SELECT = False
    STYLE_PREFIX = "stage--"
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"stage--{name}" for name in _NAMES}

    def __init__(self, id: str) -> None:
        super().__init__(_SLICES, id=id)
        self.scaled: list[ScaledText] = []
        """Texts that the terminal scales, over blank cells."""

    def show(self, canvas: StageCanvas) -> None:
        """Show a canvas of this widget's size."""
        for text in {*self.scaled} ^ {*canvas.scaled}:
            self._refresh_cells(text)
        self.scaled = canvas.scaled
        self.show_lines([line.fit(canvas.width) for line in canvas.lines()])

    def cell_style(self, name: str) -> Style:
        front, _, back = name.partition(BOTH)
        style = super().cell_style(front)
        return style + Style(bgcolor=super().cell_style(back).color) if back else style

    def _refresh_cells(self, text: ScaledText) -> None:
        """Redraw the blank cells below a text, which erases the text's scaled image."""
        area = Region(text.column, text.row, text.width, text.scale)
        for part in self._slices:
            start, end = self._borders[part.number : part.number + 2]
            if covered := area.intersection(Region(start, 0, end - start, text.row + text.scale)):
                part.refresh(covered.translate((-start, 0)))
