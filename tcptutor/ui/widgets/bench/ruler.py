"""A ruler of throughput: what was measured, what each model allows, what the student said, and the runs before.

Everything stands on one axis. The heavy line is the measurement; a model explains the run where it crosses its band.

    Mathis          ├──────────╂┼──────────┤            8.96 ±21 % ✓
    you                        ┃          ◆       12 33 % too high
    Mbit/s          7.5        ▲ measured 9           15
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tcptutor.analysis import Compared, Report
from tcptutor.base import units
from tcptutor.ui import words
from tcptutor.ui.live import EarlierRun
from tcptutor.ui.widgets.bench.lines import BAD, GOOD, MUTED, STRONG, TEXT, Line
from tcptutor.ui.widgets.bench.scales import rate_unit
from tcptutor.ui.widgets.bench.scene import OwnPrediction

LEAST = 3
"""Lines that say something: a model, the student, the axis."""

WITHIN, BEYOND = "✓", "✗"
_YOU, _BEFORE = "◆", "○"
_CENTRE, _BEYOND_LEFT, _BEYOND_RIGHT = "┼", "◂", "▸"
_NAME, _TOLD = 22, 20
"""Columns of the names and of the numbers, at most."""

_WIDE = 5
"""From this ratio of the largest to the smallest on the axis is logarithmic."""


@dataclass(frozen=True)
class RulerRow:
    """One line of the ruler, in bit/s."""

    name: str
    marks: tuple[tuple[float, str, str], ...]
    """(where, sign, style)."""
    told: str
    band: tuple[float, float] | None = None
    style: str = TEXT
    judged: str = ""
    """The style of the last character."""
    said: str = ""
    """A sentence in place of marks and numbers."""


def leading(compared: Sequence[Compared], formula: str = "") -> list[Compared]:
    """The page's own `formula` first, then the others as they are: the binding one first."""
    named = [one for one in compared if one.prediction.model == formula]
    return [*named, *(one for one in compared if one not in named)]


def least(report: Report, formula: str = "") -> int:
    """Lines that it asks for: one more where the page's `formula` allows what something else takes, the binding one."""
    named = next((one for one in report.comparisons if one.prediction.model == formula), None)
    return LEAST + (named is not None and named.judgement in ("capped", "not-the-limit"))


def figure(value: float) -> str:
    """Three digits, and no power of ten."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def ruler(
    report: Report,
    own: OwnPrediction | None,
    before: Sequence[EarlierRun],
    width: int,
    room: int,
    formula: str = "",
) -> list[Line]:
    """At most `room` lines; the models that do not fit are left out, the last ones first."""
    others = [*_you(own, report.throughput_bps), *_earlier(before)]
    left = max(1, room - 1 - len(others))
    ordered = leading(report.comparisons, formula)
    if left == 1 and ordered and ordered[0].judgement in ("capped", "not-the-limit"):
        ordered = list(report.comparisons[:1])  # one alone is what binds
    models = [_model(one, report) for one in ordered]
    if not models and not others:
        return [_measured(report)]
    rows = [*models[:left], *others][: max(1, room - 1)]
    return _drawn(rows, report.throughput_bps, width)


def _measured(report: Report) -> Line:
    scale, unit = rate_unit(report.throughput_bps)
    return Line.of(("measured ", TEXT), (f"{report.throughput_bps / scale:.3g} {unit}", STRONG))


def uncapped_sum(uncapped: float, flows: int, scale: float) -> str:
    """ "8 × 8.96 = 71.6": what a formula gives to each of `flows`, and together, by `scale` bit/s."""
    times = f"{flows} × {figure(uncapped / flows / scale)} = " if flows > 1 else ""
    return f"{times}{figure(uncapped / scale)}"


def _model(one: Compared, report: Report) -> RulerRow:
    prediction = one.prediction
    value, tolerance = prediction.throughput_bps, prediction.tolerance
    band = value * max(0.0, 1 - tolerance), value * (1 + tolerance)
    scale, _ = rate_unit(report.throughput_bps)
    if one.judgement == "capped":
        uncapped = uncapped_sum(prediction.uncapped_bps or value, len(report.flows), scale)
        return RulerRow(prediction.label, (), "", style=MUTED, said=f"{uncapped}, capped by the link")
    number = f"{figure(value / scale)} {words.tolerance(tolerance)}"
    marks = ((value, _CENTRE, "model"),)
    match one.judgement:
        case "explains":
            return RulerRow(prediction.label, marks, f"{number} {WITHIN}", band, judged=GOOD)
        case "misses":
            return RulerRow(prediction.label, marks, f"{number} {BEYOND}", band, judged=BAD)
        case "not-the-limit" | "of-others":
            return RulerRow(prediction.label, marks, f"{number} –", band, MUTED, MUTED)
    return RulerRow(prediction.label, marks, f"{number} –", style=MUTED, judged=MUTED)


def _you(own: OwnPrediction | None, measured: float) -> Iterator[RulerRow]:
    if own is None:
        return
    off = words.too_high_or_low(own.bps / measured) if measured else ""
    marks = ((own.bps, _YOU, "you"),) if own.bps > 0 else ()
    scale, _ = rate_unit(measured)
    yield RulerRow("you", marks, f"{figure(own.bps / scale)}, {off}".rstrip(", "))


def _earlier(before: Sequence[EarlierRun]) -> Iterator[RulerRow]:
    if before:
        runs = "run" if len(before) == 1 else "runs"
        marks = tuple((run.throughput_bps, _BEFORE, "before") for run in before if run.throughput_bps > 0)
        scale, _ = rate_unit(before[-1].throughput_bps)
        yield RulerRow(
            f"{len(before)} {runs} before",
            marks,
            f"last {before[-1].throughput_bps / scale:.3g}",
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
        log = high > _WIDE * low
        if log:
            margin = (high / low) ** 0.04
            return cls(low / margin, high * margin, columns, log)
        margin = 0.06 * (high - low) or 0.1 * high
        return cls(max(0.0, low - margin), high + margin, columns, log)

    def at(self, value: float) -> int:
        """The column of a value; below 0 or beyond the last one for what lies outside."""
        if self.log:
            if value <= 0:
                return -1
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        # However far away it lies, also when that is no number of columns any more.
        return round(min(max(share, -1.0), 2.0) * (self.columns - 1))

    def ticks(self, number: int) -> list[float]:
        first, last = (math.floor(math.log10(v)) if v > 0 else -3 for v in (self.low, self.high))
        powers = range(min(first, last) - 2, last + 1)
        if self.log:
            for mantissas in ((1, 2, 5), (1, 3), (1,)):
                found = [
                    m * 10.0**p for p in powers for m in mantissas if self.low <= m * 10.0**p <= self.high
                ]
                if len(found) <= number:
                    return found
            return found[:: math.ceil(len(found) / number)]
        steps = (m * 10.0**p for p in powers for m in (1, 2, 2.5, 5))
        step = next((s for s in steps if (self.high - self.low) / s <= number), self.high)
        return [step * k for k in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def _drawn(rows: Sequence[RulerRow], measured: float, width: int) -> list[Line]:
    name = max(10, min(_NAME, max(len(row.name) for row in rows))) + 1
    told = min(_TOLD, max(len(row.told) for row in rows)) + 1
    if width - name - told < 20:
        name = max(11, width - told - 20)
    columns = max(10, width - name - told)
    # A limit far away says nothing about this run: its row stays, its band lies beyond the axis.
    near = [end for row in rows if row.style != MUTED for end in row.band or ()]
    near += [v for row in rows for v, sign, _ in row.marks if sign != _CENTRE or row.style != MUTED]
    near = [value for value in [*near, measured] if value > 0 and measured / 30 < value < measured * 300] or [
        measured or 1
    ]
    axis = _Axis.of(near, columns)
    here = axis.at(measured) if measured > 0 else -1
    lines = [
        _sentence(row, here, name, columns + told)
        if row.said
        else _row(row, axis, here, name).and_at(name + columns, _told(row, told))
        for row in rows
    ]
    return [*lines, _scale(axis, here, measured, name, told)]


def _row(row: RulerRow, axis: _Axis, here: int, name: int) -> Line:
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
        faint = MUTED if row.style == MUTED and sign == _CENTRE else style
        if 0 <= at < axis.columns:
            cells[at] = (sign, faint)
        else:
            cells[0 if at < 0 else -1] = (_BEYOND_LEFT if at < 0 else _BEYOND_RIGHT, faint)
    if 0 <= here < axis.columns:
        crossed = {"─": "╂", "┼": "╋", "├": "┠", "┤": "┨", " ": "┃", "│": "┃"}
        sign = cells[here][0]
        if sign in crossed:
            cells[here] = (crossed[sign], STRONG)
    return Line.of((_named(row, name), row.style), *cells)


def _named(row: RulerRow, name: int) -> str:
    text = row.name if len(row.name) < name else f"{row.name[: name - 2]}…"
    return text.ljust(name)


def _sentence(row: RulerRow, here: int, name: int, room: int) -> Line:
    """To the right, with the heavy line where that leaves it room."""
    text = row.said[:room].rjust(room)
    style = row.style
    if 0 <= here < room - len(row.said) - 1:
        return Line.of((_named(row, name) + text[:here], style), ("┃", STRONG), (text[here + 1 :], style))
    return Line.of((_named(row, name) + text, style))


def _told(row: RulerRow, width: int) -> Line:
    text = row.told.rjust(width)[-width:]
    return Line.of((text[:-1], row.style), (text[-1:], row.judged or row.style))


def _scale(axis: _Axis, here: int, measured: float, name: int, more: int) -> Line:
    """Numbers, and the measurement at its place; it may reach `more` columns beyond the axis."""
    scale, unit = rate_unit(measured)
    text = [" "] * (axis.columns + more)
    start, said = _at_its_place(units.rate(measured), here, len(text))
    text[start : start + len(said)] = said
    styles = [MUTED] * len(text)
    styles[start : start + len(said)] = [STRONG] * len(said)
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


def _at_its_place(rate: str, here: int, columns: int) -> tuple[int, str]:
    """Where the measurement's number begins, and the number, with its sign under the heavy line."""
    for number in (f"measured {rate}", rate):
        if here + len(number) + 2 <= columns:
            return here, f"▲ {number}"
        if here >= len(number) + 1:
            return here - len(number) - 1, f"{number} ▲"
    return here, "▲"
