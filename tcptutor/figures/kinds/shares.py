"""Shares of flows, as lanes with bars, or a bar for each case; with Jain's index or the CoV between the flows.

[[figure]]
id = "shares"
kind = "shares"
flows = ["h1", "h3", "h5", "h7"]      # the last name is also that of all further flows
index = ["jain", "cov"]               # optional: computed from the rates, below each case
stacked = true                        # optional: a bar for each case, divided among its flows
others = ["h7"]                       # optional: flows in another hue and pattern
link = "40 Mbit/s"                    # optional, with stacked rates: dots are what flows leave of it

[[figure.case]]
label = "before"                      # optional with a single case
rates = ["40 %", "30 %", "20 %", "10 %"]     # shares or rates; or, for equal shares of so many flows:
equal = 4
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Literal

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UnitError
from tcptutor.figures.figure import MIN_WIDTH, Figure, Problem
from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import DATA, MUTED, OTHER, STRONG, TEXT, Line
from tcptutor.theory import coefficient_of_variation, jain_index

_INDEXES = {
    "jain": ("J", "Jain's index is", jain_index),
    "cov": ("CoV", "the CoV is", coefficient_of_variation),
}
_FULL, _OTHER_FULL, _HALF = "█", "▒", "▌"
_IDLE = "·"
_GAP = 3
"""Columns between two cases."""
_LEAST_BAR = 10
"""Columns of the longest bar from which values are written next to bars."""
_WIDEST_BAR = 48
_LEAST_IDLE = 0.005
"""Share of a link from which it counts as idle."""
_MOST_LANES = 12


class ShareCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rates of the flows in a case: `[[figure.case]]`."""

    label: str = ""
    """Title of the case."""
    rates: tuple[str, ...] = ()
    """Rates or shares, one a flow."""
    equal: int = 0
    """Number of flows with equal shares, in place of rates."""

    @property
    def kind(self) -> Literal["ratio", "rate"]:
        return "ratio" if self.equal or self.rates[0].endswith("%") else "rate"

    @property
    def values(self) -> list[float]:
        """Shares from 0 to 1, or rates in bit/s."""
        if self.equal:
            return [1 / self.equal] * self.equal
        return [units.parse(rate, self.kind) for rate in self.rates]

    def wrong(self) -> str:
        """Return the problem of the case; empty if it is sound."""
        if bool(self.rates) == (self.equal > 0):
            return "a case has either rates or a number of equal flows"
        try:
            values = self.values
        except UnitError as error:
            return str(error)
        if self.kind == "ratio" and sum(values) > 1 + 1e-6:
            return "the shares are more than 100 % together"
        return "" if any(values) else "no flow gets anything"


class SharesFigure(Figure, frozen=True, kw_only=True, tag_field="kind", tag="shares"):
    """Shares of flows in one or more cases."""

    flows: tuple[str, ...]
    """Names of the flows."""
    cases: tuple[ShareCase, ...] = msgspec.field(name="case", default=())
    index: tuple[Literal["jain", "cov"], ...] = ()
    """Indexes to compute from the rates."""
    stacked: bool = False
    """Whether the flows of a case share one bar."""
    others: tuple[str, ...] = ()
    """Flows in another hue."""
    link: str = ""
    """Rate of the link that the flows share."""

    def contradiction(self) -> Problem | None:
        if not (self.flows and self.cases):
            return "case", "shares need names of flows and at least one case"
        for number, case in enumerate(self.cases, start=1):
            if reason := case.wrong() or (
                "write shares or rates in all cases" if case.kind != self.cases[0].kind else ""
            ):
                return f"case[{number}]", reason
        if not self.stacked and len({len(case.values) for case in self.cases}) > 1:
            return "case", "lanes need the same flows in all cases: set stacked"
        return self._wrong_link()

    def _wrong_link(self) -> Problem | None:
        if not self.link:
            return None
        if not self.stacked or self.cases[0].kind != "rate":
            return "link", "needs stacked bars of rates"
        try:
            rate = units.parse(self.link, "rate")
        except UnitError as error:
            return "link", str(error)
        most = max(sum(case.values) for case in self.cases)
        return ("link", "is less than what the flows get together") if rate < most else None

    @property
    def _whole(self) -> float:
        """Rate or share of a bar over the full width."""
        if self.link:
            return units.parse(self.link, "rate")
        return max(sum(case.values) for case in self.cases)

    def _idle(self, case: ShareCase) -> str:
        """Return the idle part of the link; empty for a busy link, or without a link."""
        rest = 1 - sum(case.values) / self._whole
        return f"{units.percent(rest, 2)} idle" if self.link and rest > _LEAST_IDLE else ""

    def problems(self) -> Iterator[Problem]:
        if not self.stacked and len(self.cases) > 1:
            _, columns = self._lane_columns(MIN_WIDTH)
            for text in (each for case in self.cases for each in (case.label, *self._indexes(case))):
                if len(text) >= columns + _GAP:
                    yield "case", f"has no place for {text!r} in {MIN_WIDTH} columns: shorten it"
        if len(self.cases[0].values) > _MOST_LANES:
            yield "case", f"has too many flows to tell apart: at most {_MOST_LANES}"

    def draw(self, width: int, t: float = 0.0) -> list[Line]:  # noqa: ARG002
        return self._draw_stacked(width) if self.stacked else self._draw_lanes(width)

    def describe(self) -> str:
        return " ".join(self._in_words(case) for case in self.cases)

    def _in_words(self, case: ShareCase) -> str:
        named = [(self._name(number), self._written(value, case)) for number, value in enumerate(case.values)]
        flows = []
        for (name, value), group in groupby(named):
            count = len(list(group))
            flows.append(f"{name} {value}" if count == 1 else f"{name} {count} × {value}")
        label = case.label or "The flows get"
        sentence = f"{label[0].upper()}{label[1:]}: {', '.join(flows)}."
        indexes = [f"{_INDEXES[each][1]} {self._computed(each, case)}" for each in self.index]
        if idle := self._idle(case):
            indexes.append(f"of the link of {self.link}, {idle.replace(' idle', ' is idle')}")
        return f"{sentence} {_capital('; '.join(indexes))}." if indexes else sentence

    def _name(self, number: int) -> str:
        return self.flows[min(number, len(self.flows) - 1)]

    def _written(self, value: float, case: ShareCase) -> str:
        return units.percent(value, 2) if case.kind == "ratio" else units.rate(value)

    def _computed(self, index: str, case: ShareCase) -> str:
        return units.number(_INDEXES[index][2](case.values))

    def _indexes(self, case: ShareCase) -> list[str]:
        return [f"{_INDEXES[each][0]} = {self._computed(each, case)}" for each in self.index]

    def _style(self, name: str) -> tuple[str, str]:
        return (OTHER, _OTHER_FULL) if name in self.others else (DATA, _FULL)

    # Lanes: a row for each flow, cases side by side

    def _lane_columns(self, width: int) -> tuple[int, int]:
        """Return the column of the first case, and the columns of each."""
        names = max(len(self._name(number)) for number in range(len(self.cases[0].values))) + 1
        count = len(self.cases)
        return names, min((width - names - _GAP * (count - 1)) // count, _WIDEST_BAR)

    def _draw_lanes(self, width: int) -> list[Line]:
        first, columns = self._lane_columns(width)
        lanes = len(self.cases[0].values)
        top = int(any(case.label for case in self.cases))
        grid = Grid(width, top + lanes + len(self.index))
        for lane in range(lanes):
            grid.put(0, top + lane, self._name(lane), STRONG)
        most = max(value for case in self.cases for value in case.values)
        labels = max(len(self._written(value, case)) for case in self.cases for value in case.values) + 1
        has_values = columns - labels >= _LEAST_BAR
        for number, case in enumerate(self.cases):
            left = first + number * (columns + _GAP)
            grid.put(left, 0, case.label[: columns + _GAP - 1], TEXT)
            for lane, value in enumerate(case.values):
                style, fill = self._style(self._name(lane))
                bar = _bar((columns - labels * has_values) * value / most, fill)
                grid.put(left, top + lane, bar, style)
                if has_values:
                    grid.put(left + len(bar) + bool(bar), top + lane, self._written(value, case), MUTED)
            for row, index in enumerate(self._indexes(case), start=top + lanes):
                grid.put(left, row, index, TEXT)
        return grid.lines()

    # Stacked: a row for each case

    def _draw_stacked(self, width: int) -> list[Line]:
        labels = max(len(case.label) for case in self.cases) + 1
        notes = [self._note(case) for case in self.cases]
        room = min(width - labels - 1 - max(map(len, notes)), _WIDEST_BAR)
        grid = Grid(width, 1 + len(self.cases))
        column = labels
        for name in dict.fromkeys(self.flows):
            style, fill = self._style(name)
            grid.put(column, 0, f"{fill}{fill} {name}", style)
            column += len(name) + 6
        most = self._whole
        for row, (case, note) in enumerate(zip(self.cases, notes, strict=True), start=1):
            grid.put(0, row, case.label, STRONG)
            grid.put(labels, row, _IDLE * (room if self.link else 0), MUTED)
            passed = 0.0
            for number, value in enumerate(case.values):
                style, fill = self._style(self._name(number))
                start, end = (labels + round(room * each / most) for each in (passed, passed + value))
                # A blank column divides the flows.
                grid.put(start, row, (fill * max(end - start - 1, 1)).ljust(end - start), style)
                passed += value
            grid.put(labels + room + 1, row, note, self._style(self._name(0))[0])
        return grid.lines()

    def _note(self, case: ShareCase) -> str:
        first = "" if self.link else self._written(case.values[0], case)
        return "  ".join(filter(None, [first, self._idle(case), *self._indexes(case)]))


KIND = SharesFigure


def _bar(columns: float, fill: str) -> str:
    """Return a bar of so many columns, to half a column; only zero has no bar."""
    whole = int(columns)
    if fill == _FULL and columns - whole >= 0.5:
        return fill * whole + _HALF
    return fill * (whole if whole or not columns else 1)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
