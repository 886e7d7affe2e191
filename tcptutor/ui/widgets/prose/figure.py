"""Widget that draws a figure at the available width."""

from __future__ import annotations

from typing import ClassVar

from textual.geometry import Size
from textual.strip import Strip

from tcptutor.base.columns import wrapped
from tcptutor.figures.figure import MIN_WIDTH, Figure
from tcptutor.figures.lines import MUTED, STYLES, TEXT, Line, Piece
from tcptutor.journal.saved import Settings
from tcptutor.ui.widgets.slices import SlicedLines

MAX_WIDTH = 78
"""Maximum columns of a figure: wider figures are harder to take in."""


class FigureView(SlicedLines):
    """A figure, with its caption below."""

    ALLOW_SELECT = False
    STYLE_PREFIX = "figure--"
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"figure--{style}" for style in STYLES}

    def __init__(self, figure: Figure, slices: int = 0) -> None:
        super().__init__(slices, classes="figure")
        self.figure = figure
        self._drawn_width = 0
        self.is_in_words = False
        """True if sentences take the place of the drawing."""

    def on_mount(self) -> None:
        settings: Settings | None = getattr(self.app, "settings", None)
        self.show_in_words(settings is not None and settings.figures_in_words)

    def show_in_words(self, in_words: bool) -> None:
        """Describe the figure, or draw it."""
        if in_words != self.is_in_words:
            self.is_in_words, self._drawn_width = in_words, 0
            self.refresh(layout=True)

    @property
    def description(self) -> str:
        """Sentences that describe the figure."""
        return self.figure.describe()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        self._fit(width)
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        self._fit(width)
        return self.strip(y, 0, width)

    def pieces(self, line: Line) -> list[Piece]:
        """Return the pieces of a line, with blanks joined to the piece before them: each piece costs output."""
        pieces: list[Piece] = []
        for text, style in line.pieces():
            if pieces and (style == pieces[-1][1] or text.isspace()):
                pieces[-1] = pieces[-1][0] + text, pieces[-1][1]
            else:
                pieces.append((text, style))
        return pieces

    def _fit(self, width: int) -> None:
        width = max(MIN_WIDTH, min(width, MAX_WIDTH))
        if width != self._drawn_width:
            self._lines = self._words(width) if self.is_in_words else self._draw(width)
            self._drawn_width = width

    def _words(self, width: int) -> list[Line]:
        return [Line.of((text, TEXT)) for text in wrapped(f"Figure: {self.description}", width)]

    def _draw(self, width: int, t: float = 0.0) -> list[Line]:
        caption = [Line.of((text, MUTED)) for text in wrapped(self.figure.caption, width)]
        return [*self.figure.draw(width, t), *caption]
