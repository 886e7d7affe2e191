"""Ruler of throughput: measurement, models' bands, the student's prediction, and earlier runs.

All share an axis. The heavy line is the measurement; a model explains the run if the line crosses its band.

    Mathis          ├──────────╂┼──────────┤            8.96 ±21 % ✓
    you                        ┃          ◆       12 33 % too high
    Mbit/s          7.5        ▲ measured 9           15
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tcptutor.analysis import ModelComparison, Report
from tcptutor.base import ratios, units
from tcptutor.figures.lines import BAD, GOOD, MUTED, STRONG, TEXT, Line
from tcptutor.study import words
from tcptutor.study.live import EarlierRun
from tcptutor.ui.widgets.chart.axes import rate_unit
from tcptutor.ui.widgets.chart.scene import OwnPrediction

MIN_LINES = 3
"""Minimum lines: a model, the student, the axis."""

WITHIN, BEYOND = "✓", "✗"
_YOU, _BEFORE = "◆", "○"
_CENTER, _BEYOND_LEFT, _BEYOND_RIGHT = "┼", "◂", "▸"
_NAME_COLUMNS, _FIGURE_COLUMNS = 22, 20
"""Maximum columns of names and figures."""

_LOG_RATIO = 5
"""Ratio of the largest to the smallest value from which the axis is logarithmic."""


@dataclass(frozen=True)
class RulerRow:
    """Line of the ruler, in bit/s."""

    name: str
    marks: tuple[tuple[float, str, str], ...]
    """(value, sign, style)."""
    figure: str
    """Number, in the unit of the measurement."""
    remark: str
    """Text after the number: tolerance and verdict, or a deviation."""
    band: tuple[float, float] | None = None
    style: str = TEXT
    verdict_style: str = ""
    """Style of the last character."""
    sentence: str = ""
    """Sentence in place of marks and figures."""


def order_models(compared: Sequence[ModelComparison], formula: str = "") -> list[ModelComparison]:
    """Order models: the page's own `formula`, the binding model, the rest."""
    named = [model for model in compared if model.prediction.model == formula]
    return [*named, *(model for model in compared if model not in named)]


def lines_needed(report: Report, formula: str = "") -> int:
    """Return the lines needed: an extra line if the page's `formula` is not the binding model."""
    named = next((model for model in report.comparisons if model.prediction.model == formula), None)
    return MIN_LINES + (named is not None and named.judgement in ("capped", "not-the-limit"))


def figure(value: float) -> str:
    """Format with three digits, without exponent."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def ruler(
    report: Report,
    own: OwnPrediction | None,
    earlier: Sequence[EarlierRun],
    width: int,
    room: int,
    formula: str = "",
) -> list[Line]:
    """Return at most `room` lines; models that do not fit are dropped from the end."""
    others = [*_own_row(own, report.throughput_bps), *_earlier_row(earlier)]
    left = max(1, room - 1 - len(others))
    ordered = order_models(report.comparisons, formula)
    if left == 1 and ordered and ordered[0].judgement in ("capped", "not-the-limit"):
        ordered = list(report.comparisons[:1])  # a single model must be the binding one
    models = [_model(model, report) for model in ordered]
    if not models and not others:
        return [_measured(report)]
    rows = [*models[:left], *others][: max(1, room - 1)]
    return _render(rows, report.throughput_bps, width)


def _measured(report: Report) -> Line:
    scale, unit = rate_unit(report.throughput_bps)
    return Line.of(("measured ", TEXT), (f"{report.throughput_bps / scale:.3g} {unit}", STRONG))


def uncapped_sum(uncapped: float, flows: int, scale: float) -> str:
    """Return e.g. "8 × 8.96 = 71.6": a formula's throughput per flow and in total, in units of `scale` bit/s."""
    times = f"{flows} × {figure(uncapped / flows / scale)} = " if flows > 1 else ""
    return f"{times}{figure(uncapped / scale)}"


def _model(model: ModelComparison, report: Report) -> RulerRow:
    prediction = model.prediction
    value, tolerance = prediction.throughput_bps, prediction.tolerance
    band = value * max(0.0, 1 - tolerance), value * (1 + tolerance)
    scale, _ = rate_unit(report.throughput_bps)
    if model.judgement == "capped":
        uncapped = uncapped_sum(prediction.uncapped_bps or value, len(report.flows), scale)
        return RulerRow(prediction.label, (), "", "", style=MUTED, sentence=f"{uncapped}, capped by the link")
    number, spread = figure(value / scale), words.tolerance(tolerance)
    marks = ((value, _CENTER, "model"),)
    match model.judgement:
        case "explains":
            return RulerRow(prediction.label, marks, number, f" {spread} {WITHIN}", band, verdict_style=GOOD)
        case "misses":
            return RulerRow(prediction.label, marks, number, f" {spread} {BEYOND}", band, verdict_style=BAD)
        case "not-the-limit" | "other-algorithm":
            return RulerRow(prediction.label, marks, number, f" {spread} –", band, MUTED, MUTED)
    return RulerRow(prediction.label, marks, number, f" {spread} –", style=MUTED, verdict_style=MUTED)


def _own_row(own: OwnPrediction | None, measured: float) -> Iterator[RulerRow]:
    if own is None:
        return
    deviation = ratios.too_high_or_low(own.bps / measured) if measured else ""
    marks = ((own.bps, _YOU, "you"),) if own.bps > 0 else ()
    scale, _ = rate_unit(measured)
    yield RulerRow("you", marks, figure(own.bps / scale), f", {deviation}" if deviation else "")


def _earlier_row(earlier: Sequence[EarlierRun]) -> Iterator[RulerRow]:
    if earlier:
        runs = "run" if len(earlier) == 1 else "runs"
        marks = tuple((run.throughput_bps, _BEFORE, "before") for run in earlier if run.throughput_bps > 0)
        scale, _ = rate_unit(earlier[-1].throughput_bps)
        yield RulerRow(
            f"{len(earlier)} {runs} before",
            marks,
            figure(earlier[-1].throughput_bps / scale),
            " the last",
            style=MUTED,
        )


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    columns: int
    log: bool

    @classmethod
    def of(cls, values: Sequence[float], columns: int) -> _Axis:
        low, high = min(values), max(values)
        log = high > _LOG_RATIO * low
        if log:
            margin = (high / low) ** 0.04
            return cls(low / margin, high * margin, columns, log)
        margin = 0.06 * (high - low) or 0.1 * high
        return cls(max(0.0, low - margin), high + margin, columns, log)

    def at(self, value: float) -> int:
        """Return the column of a value; below 0 or beyond the last column outside the axis."""
        if self.log:
            if value <= 0:
                return -1
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        # Clamped: far values may exceed the range of columns.
        return round(min(max(share, -1.0), 2.0) * (self.columns - 1))

    def ticks(self, number: int) -> list[float]:
        first, last = (math.floor(math.log10(v)) if v > 0 else -3 for v in (self.low, self.high))
        powers = range(min(first, last) - 2, last + 1)
        if self.log:
            for mantissas in ((1, 2, 5), (1, 3), (1,)):
                positions = [
                    m * 10.0**p for p in powers for m in mantissas if self.low <= m * 10.0**p <= self.high
                ]
                if len(positions) <= number:
                    return positions
            return positions[:: math.ceil(len(positions) / number)]
        steps = (m * 10.0**p for p in powers for m in (1, 2, 2.5, 5))
        step = next((s for s in steps if (self.high - self.low) / s <= number), self.high)
        return [step * k for k in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def _render(rows: Sequence[RulerRow], measured: float, width: int) -> list[Line]:
    name = max(10, min(_NAME_COLUMNS, max(len(row.name) for row in rows))) + 1
    texts = _aligned(rows)
    figures = min(_FIGURE_COLUMNS, max(map(len, texts))) + 1
    if width - name - figures < 20:
        name = max(11, width - figures - 20)
    columns = max(10, width - name - figures)
    # A limit far away is irrelevant here: its row stays, its band lies beyond the axis.
    near = [end for row in rows if row.style != MUTED for end in row.band or ()]
    near += [v for row in rows for v, sign, _ in row.marks if sign != _CENTER or row.style != MUTED]
    near = [value for value in [*near, measured] if value > 0 and measured / 30 < value < measured * 300] or [
        measured or 1
    ]
    axis = _Axis.of(near, columns)
    measured_column = axis.at(measured) if measured > 0 else -1
    lines = [
        _sentence(row, measured_column, name, columns + figures)
        if row.sentence
        else _row(row, axis, measured_column, name).append_at(
            name + columns, _figures_line(row, text, figures)
        )
        for row, text in zip(rows, texts, strict=True)
    ]
    return [*lines, _scale(axis, measured_column, measured, name, figures)]


def _row(row: RulerRow, axis: _Axis, measured_column: int, name: int) -> Line:
    cells = [(" ", TEXT)] * axis.columns
    if row.band:
        low, high = axis.at(row.band[0]), axis.at(row.band[1])
        style = MUTED if row.style == MUTED else "model"
        for at in range(max(low, 0), min(high, axis.columns - 1) + 1):
            cells[at] = ("├" if at == low else "┤" if at == high else "─", style)
        if low == high and 0 <= low < axis.columns:
            cells[low] = ("│", style)
    for value, sign, style in row.marks:
        at = axis.at(value)
        faint = MUTED if row.style == MUTED and sign == _CENTER else style
        if 0 <= at < axis.columns:
            cells[at] = (sign, faint)
        else:
            cells[0 if at < 0 else -1] = (_BEYOND_LEFT if at < 0 else _BEYOND_RIGHT, faint)
    if 0 <= measured_column < axis.columns:
        crossed = {"─": "╂", "┼": "╋", "├": "┠", "┤": "┨", " ": "┃", "│": "┃"}
        sign = cells[measured_column][0]
        if sign in crossed:
            cells[measured_column] = (crossed[sign], STRONG)
    return Line.of((_padded_name(row, name), row.style), *cells)


def _padded_name(row: RulerRow, name: int) -> str:
    text = row.name if len(row.name) < name else f"{row.name[: name - 2]}…"
    return text.ljust(name)


def _sentence(row: RulerRow, measured_column: int, name: int, room: int) -> Line:
    """Right-align a row's sentence, crossed by the heavy line where that leaves room."""
    text = row.sentence[:room].rjust(room)
    style = row.style
    if 0 <= measured_column < room - len(row.sentence) - 1:
        return Line.of(
            (_padded_name(row, name) + text[:measured_column], style),
            ("┃", STRONG),
            (text[measured_column + 1 :], style),
        )
    return Line.of((_padded_name(row, name) + text, style))


def _aligned(rows: Sequence[RulerRow]) -> list[str]:
    """Return number and remark of each row, with the decimal points and the models' verdicts below each other."""
    parts = [row.figure.partition(".") for row in rows]
    whole = max(len(part[0]) for part in parts)
    decimals = max(len(point + after) for _, point, after in parts)
    models = [len(row.remark) for row in rows if row.verdict_style]
    return [
        f"{before:>{whole}}{point + after:<{decimals}}{row.remark:>{max(models)}}"
        if row.verdict_style
        else f"{before:>{whole}}{point}{after}{row.remark}"
        for row, (before, point, after) in zip(rows, parts, strict=True)
    ]


def _figures_line(row: RulerRow, text: str, width: int) -> Line:
    text = f" {text}"[:width]
    return Line.of((text[:-1], row.style), (text[-1:], row.verdict_style or row.style))


def _scale(axis: _Axis, measured_column: int, measured: float, name: int, more: int) -> Line:
    """Return the scale with the measurement at its place, which may reach `more` columns beyond the axis."""
    scale, unit = rate_unit(measured)
    text = [" "] * (axis.columns + more)
    start, label_text = _place_rate(units.rate(measured), measured_column, len(text))
    text[start : start + len(label_text)] = label_text
    styles = [MUTED] * len(text)
    styles[start : start + len(label_text)] = [STRONG] * len(label_text)
    for value in axis.ticks(max(2, axis.columns // 7)):
        tick = figure(value / scale)
        at = axis.at(value) - len(tick) // 2
        around = text[max(0, at - 1) : at + len(tick) + 1]
        if at >= 0 and at + len(tick) <= axis.columns and not "".join(around).strip():
            text[at : at + len(tick)] = tick
    log = " log" if axis.log else ""
    label = f"{unit}{log}"
    return Line.of(
        (label[: name - 1].ljust(name), MUTED),
        *zip(text, styles, strict=True),
    )


def _place_rate(rate: str, measured_column: int, columns: int) -> tuple[int, str]:
    """Return column and text of the measured rate, with its sign under the heavy line."""
    for number in (f"measured {rate}", rate):
        if measured_column + len(number) + 2 <= columns:
            return measured_column, f"▲ {number}"
        if measured_column >= len(number) + 1:
            return measured_column - len(number) - 1, f"{number} ▲"
    return measured_column, "▲"
