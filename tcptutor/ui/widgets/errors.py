"""Chart of the errors of predictions: a bar each, in the order in which they were made."""

from __future__ import annotations

import math
from collections.abc import Sequence

from textual.content import Content

from tcptutor.journal.day import CLOSE

_BLOCKS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = 8
_LEAST_TOP = 2.0
"""Smallest factor at the top: small errors look small."""
_LABEL = 7
"""Columns of the labels of the axis."""
_CAPTION = "how far off, in the order you made them"


def error_chart(factors: Sequence[float], width: int, rows: int, *, shown: int | None = None) -> Content:
    """Draw a bar for each factor, on a logarithmic scale: the higher, the more wrong.

    Args:
        factors: Ratios of prediction and measurement, at least 1.
        width: Columns; the first predictions are left out if not all fit.
        rows: Rows of the bars; a line with the caption follows.
        shown: Bars to draw, from the first; None for all.
    """
    room = width - _LABEL - 2
    across = 2 if len(factors) * 3 <= room else 1
    factors = factors[-(room // (across + 1)) :]
    shown = len(factors) if shown is None else shown
    top = math.log(max(_LEAST_TOP, *factors))
    heights = [max(1, round(math.log(factor) / top * rows * _EIGHTHS)) for factor in factors]
    lines = []
    for row in reversed(range(rows)):
        label = f"× {math.exp(top):.2g}" if row == rows - 1 else "right" if row == 0 else ""
        line = Content.assemble((f"{label:>{_LABEL}}", "$text-muted"), (" │" if label else "  ", "$border"))
        for factor, height in list(zip(factors, heights, strict=True))[:shown]:
            block = _BLOCKS[min(max(height - row * _EIGHTHS, 0), _EIGHTHS)]
            line += Content.styled(block * across, "$success" if factor <= 1 + CLOSE else "$flow-1") + " "
        lines.append(line)
    return Content("\n").join([*lines, Content.styled(f"{'':{_LABEL + 2}}{_CAPTION}", "$text-muted")])
