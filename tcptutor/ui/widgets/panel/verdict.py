"""Verdict of a finished run: the measured value, in large digits if they fit, its limit, the prediction.

┓ ┏━┓  ┓    Mbit/s
┃ ┗━┫  ┃    limited by the bottleneck
┻ ╺━┛▪ ┻    you said 8.5, 56 % too low
"""

from __future__ import annotations

from tcptutor.base import ratios
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.course.measures import MEASURES
from tcptutor.figures.lines import STRONG, TEXT, Line, Piece
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.axes import rate_unit
from tcptutor.ui.widgets.chart.scene import OwnPrediction
from tcptutor.ui.widgets.panel.ruler import figure

LARGE_HEIGHT = 3
"""Lines of the large form."""

_DIGITS = {
    "0": ("┏━┓", "┃ ┃", "┗━┛"), "1": (" ┓ ", " ┃ ", " ┻ "), "2": ("╺━┓", "┏━┛", "┗━╸"), "3": ("╺━┓", " ━┫", "╺━┛"),
    "4": ("╻ ╻", "┗━┫", "  ╹"), "5": ("┏━╸", "┗━┓", "╺━┛"), "6": ("┏━╸", "┣━┓", "┗━┛"), "7": ("╺━┓", "  ┃", "  ╹"),
    "8": ("┏━┓", "┣━┫", "┗━┛"), "9": ("┏━┓", "┗━┫", "╺━┛"), ".": (" ", " ", "▪"),
}  # fmt: skip
"""Digits of three lines."""


def small(live: Live, own: OwnPrediction | None, width: int) -> list[Line]:
    """Return the verdict as a sentence on at most two lines; empty without a measurement."""
    parts = _parts(live, own)
    if parts is None:
        return []
    number, unit, cause, said = parts
    head: list[Piece] = [(f"{number} {unit}", STRONG)]
    if cause:
        head.append((f", {cause}", TEXT))
    whole = Line.of(*head, *([("; ", TEXT), said] if said else []))
    if whole.width <= width or said is None:
        return [whole.fit(min(width, whole.width))]
    return [Line.of(*head).fit(min(width, Line.of(*head).width)), Line.of(said).fit(min(width, len(said[0])))]


def large(live: Live, own: OwnPrediction | None, width: int) -> list[Line]:
    """Return the verdict with large digits; empty if they do not fit."""
    parts = _parts(live, own)
    if parts is None:
        return []
    number, unit, cause, said = parts
    if any(character not in _DIGITS for character in number):
        return []
    beside: list[Piece] = [(unit, STRONG), *([(cause, TEXT)] if cause else []), *([said] if said else [])]
    lines = [
        Line.of(("".join(_DIGITS[character][row] for character in number), STRONG))
        for row in range(LARGE_HEIGHT)
    ]
    start = max(line.width for line in lines) + 3
    drawn = [
        line.append_at(start, Line.of(piece)) for line, piece in zip(lines, beside, strict=False)
    ] + lines[len(beside) :]
    return drawn if max(line.width for line in drawn) <= width else []


def _parts(live: Live, own: OwnPrediction | None) -> tuple[str, str, str, Piece | None] | None:
    """Return number, unit, limit and prediction of a complete run; None if no claim about it is allowed."""
    report = live.report
    if (
        report is None
        or live.in_progress
        or live.hides_fault
        or not live.run.complete
        or not report.throughput_bps
    ):
        return None
    measured = report.throughput_bps
    scale, unit = rate_unit(measured)
    number = figure(measured / scale)
    cause = ""
    if not live.awaits_observation and report.verdict.limited_by != "unexplained":
        cause = f"limited by {CAUSE_NAMES[report.verdict.limited_by]}"
    asked = live.said[0] if live.said else "rtt" if live.charted == "rtt" else "throughput"
    if asked != "throughput" and (value := MEASURES[asked].compute(report)):
        throughput = f"{number} {unit}"
        number, _, unit = MEASURES[asked].written(value).partition(" ")
        cause = f"{throughput}, {cause}" if cause else throughput
        said = _said(live.said[1] / value, MEASURES[asked].written(live.said[1])) if live.said else None
        return number, f"{unit} {MEASURES[asked].label}".strip(), cause, said
    if own is not None and own.bps:
        return number, unit, cause, _said(own.bps / measured, figure(own.bps / scale))
    if live.changed_from is not None and live.earlier:
        return (
            number,
            unit,
            cause,
            (f"before the change {figure(live.earlier[-1].throughput_bps / scale)}", "before"),
        )
    return number, unit, cause, None


def _said(ratio: float, text: str) -> Piece:
    deviation = ratios.too_high_or_low(ratio)
    return f"you said {text}{': ' if deviation == 'right' else ', '}{deviation}", "you"
