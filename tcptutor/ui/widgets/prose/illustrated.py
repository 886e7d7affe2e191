"""Markdown with its figures: widgets in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.widget import Widget

from tcptutor.course.figure_places import split
from tcptutor.figures.figure import Figure
from tcptutor.figures.kinds.network import NetworkFigure
from tcptutor.ui.widgets.prose.figure import FigureView
from tcptutor.ui.widgets.prose.markdown import Prose
from tcptutor.ui.widgets.prose.moving import MovingView
from tcptutor.ui.widgets.prose.network import NetworkView


def illustrated(text: str, figures: Sequence[Figure], head: str = "") -> Iterator[Widget]:
    """Yield the texts and figures of `text`, with `head` above the first text."""
    parts = list(split(text, figures)) if figures else [text]
    if not parts or not isinstance(parts[0], str):
        parts = ["", *parts]
    for number, part in enumerate(parts):
        if isinstance(part, Figure):
            yield _view(part)
        elif part or head:
            yield Prose(f"{head}{part}" if number == 0 else part)


def _view(figure: Figure) -> FigureView:
    if isinstance(figure, NetworkFigure):
        return NetworkView(figure)
    return MovingView(figure, figure.motion) if figure.motion else FigureView(figure)
