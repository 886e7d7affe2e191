"""Panels of the workbench: knobs, and a chart that shows the forecast until a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from textual import events

from tcptutor.base.columns import wrapped
from tcptutor.figures.lines import BAD, GOOD, MUTED, STRONG, TEXT, Line, Piece, paragraph
from tcptutor.spec import PARAMETERS
from tcptutor.study.background import Forecast
from tcptutor.study.live import ComparisonRun, Live
from tcptutor.ui.knobs import GROUPS, SEED, SYSCTL, can_turn
from tcptutor.ui.widgets.chart.line_panel import LinePanel
from tcptutor.ui.widgets.chart.scene import OwnPrediction
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.widgets.workbench.picture import render
from tcptutor.ui.workbench import Workbench


class KnobPanel(LinePanel):
    """Knobs of a workbench; a click selects a knob."""

    def __init__(self, bench: Workbench, chosen: Callable[[str], None]) -> None:
        super().__init__()
        self._bench, self._chosen = bench, chosen
        self._rows: list[KnobLine] = []

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if not self._bench.ready:
            return []
        stacked = self.screen.has_class("-wide")
        self._rows = (
            lay_out_narrow(self._bench, width, height) if stacked else lay_out_wide(self._bench, width)
        )
        # A constant number of lines: only changed cells are written.
        return [row.line for row in self._rows] + [Line()] * (height - len(self._rows))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        row = int(event.screen_y) - self.content_region.y
        if 0 <= row < len(self._rows) and self._rows[row].knob:
            self._chosen(self._rows[row].knob)


class WorkbenchPanel(RunPanel):
    """Panel of a run that can show a forecast instead."""

    def __init__(self) -> None:
        super().__init__()
        self._forecast: Forecast | None = None
        self._comparisons: tuple[ComparisonRun, ...] = ()
        self._is_stale = self._shows_forecast = False
        self._forecast_message = ""

    @property
    def shows_forecast(self) -> bool:
        """Whether the forecast is shown instead of a run."""
        return self._shows_forecast

    @property
    def forecast(self) -> Forecast | None:
        """Latest forecast, shown or not."""
        return self._forecast

    def show_forecast(
        self, forecast: Forecast | None, comparisons: tuple[ComparisonRun, ...], is_stale: bool
    ) -> None:
        """Show the forecast; None leaves the previous forecast on display until the next."""
        self._forecast = forecast or self._forecast
        self._comparisons, self._is_stale, self._forecast_message = comparisons, is_stale, ""
        if not self._shows_forecast:
            self._shows_forecast = True
            self._end_inspection()
            self.changed()
        self.draw()

    def next_view(self) -> bool:
        """Show the next view of the run; return False after the last view."""
        self.cycle_view()
        return self._view != "chart"

    def show_message(self, text: str) -> None:
        self._forecast_message = text
        super().show_message(text)

    def show(self, live: Live, own: OwnPrediction | None) -> None:
        self._shows_forecast, self._forecast_message = False, ""
        super().show(live, own)

    @property
    def displayed_run(self) -> Live | None:
        return None if self._shows_forecast else super().displayed_run

    @property
    def can_inspect(self) -> bool:
        return not self._shows_forecast and super().can_inspect

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if not self._shows_forecast:
            return super().waiting(width, height)
        return None if self._forecast else paragraph("", TEXT, self._forecast_message, width)

    def picture(self) -> Callable[[int, int], list[Line]]:
        if not self._shows_forecast:
            return super().picture()
        assert self._forecast is not None
        return partial(render, self._forecast, self._comparisons, self._is_stale, self._forecast_message)


CHANGED = "•"
"""Mark of a knob that differs from the experiment's file."""
LIST_COLUMNS = 40
"""Columns of the list of knobs with help at its right."""
_NAME_COLUMNS = 17


class KnobLine(NamedTuple):
    """Line, and the knob that a click on the line selects; empty for none."""

    line: Line
    knob: str = ""


def lay_out_wide(bench: Workbench, width: int) -> list[KnobLine]:
    """Lay out for a wide and low panel: groups in a line, list below, help at its right."""
    tabs = _group_names(bench, width)
    height = max(len(GROUPS[group]) for group in GROUPS)
    knobs = bench.knobs(bench.group)
    end = max(height, knobs.index(bench.selected) + 1 if bench.selected in knobs else 0)
    rows = [KnobLine(_row(bench, knob), knob) for knob in knobs[end - height : end]]
    help_lines = _help_lines(bench, width - LIST_COLUMNS)[:height]
    lines = []
    for number in range(height):
        row = rows[number] if number < len(rows) else KnobLine(Line())
        if number < len(help_lines):
            row = KnobLine(
                row.line.fit(LIST_COLUMNS - 2).append_at(LIST_COLUMNS, help_lines[number]), row.knob
            )
        lines.append(row)
    return [*(KnobLine(line) for line in tabs), *lines]


def lay_out_narrow(bench: Workbench, width: int, height: int) -> list[KnobLine]:
    """Lay out for a narrow and high panel: groups below each other, the current group open, help below."""
    help_lines = _help_lines(bench, width)
    lines: list[KnobLine] = []
    for group in GROUPS:
        knobs = bench.knobs(group)
        is_current = group == bench.group
        changed = [f"{knob} {bench.text(knob)}" for knob in knobs if bench.is_changed(knob)]
        changes_text = "" if is_current or not changed else f"  {CHANGED} {', '.join(changed)}"
        head = Line.of(
            (f"{'▾' if is_current else '▸'} {group}", STRONG if is_current else TEXT), (changes_text, MUTED)
        )
        lines.append(KnobLine(head.part(0, width), knobs[0]))
        if is_current:
            lines += [KnobLine(_row(bench, knob, "  "), knob) for knob in knobs]
    if len(lines) + 1 + len(help_lines) > height:
        lines = [
            *(KnobLine(line) for line in _group_names(bench, width)),
            *(KnobLine(_row(bench, knob), knob) for knob in bench.knobs(bench.group)),
        ]
    return [*lines, KnobLine(Line()), *map(KnobLine, help_lines)][:height]


def _group_names(bench: Workbench, width: int) -> list[Line]:
    lines: list[list[Piece]] = [[]]
    for group in GROUPS:
        changed = CHANGED if any(bench.is_changed(knob) for knob in bench.knobs(group)) else ""
        is_current = group == bench.group
        text = f"[{group}{changed}]" if is_current else f" {group}{changed} "
        if sum(len(piece) for piece, _ in lines[-1]) + len(text) > width:
            lines.append([])
        lines[-1].append((text, STRONG if is_current else MUTED))
    return [Line.of(*pieces) for pieces in lines]


def _row(bench: Workbench, knob: str, indent: str = "") -> Line:
    is_current, is_invalid = knob == bench.selected, knob in bench.invalid
    value = bench.text(knob) or ("…" if knob == SYSCTL else "none")
    room = LIST_COLUMNS - len(indent) - _NAME_COLUMNS - 7
    if len(value) > room:
        value = f"{value[: room - 1]}…"
    name = "add a sysctl" if knob == SYSCTL else knob
    return Line.of(
        (f"{indent}{'→' if is_current else ' '} ", STRONG),
        (f"{name:<{_NAME_COLUMNS}}", STRONG if is_current else TEXT),
        ("✗ " if is_invalid else "  ", BAD),
        (value, BAD if is_invalid else STRONG if is_current else TEXT),
        (f" {CHANGED}" if bench.is_changed(knob) else "", GOOD),
    )


def _help_lines(bench: Workbench, width: int) -> list[Line]:
    """Return help, bounds and problem of the selected knob."""
    knob = bench.selected
    description, bounds = describe(knob)
    lines = paragraph(f"{knob}: ", STRONG, description, width)
    lines += [Line.of((line, MUTED)) for line in wrapped(bounds, width)]
    if bench.problem is not None:
        lines += paragraph("✗ ", BAD, bench.problem.reason, width)
    if bench.is_changed(knob):
        original = bench.original_text(knob)
        lines += [Line.of((line, MUTED)) for line in wrapped(f"own value: {original} (d resets it)", width)]
    known = PARAMETERS.get(knob)
    if known is not None and not can_turn(known):
        lines.append(Line.of(("Enter types it", MUTED)))
    return lines


def describe(knob: str) -> tuple[str, str]:
    """Return description and bounds of a knob."""
    if knob == SEED:
        return "start of the random numbers of the path", "0 to 4294967295"
    if knob == SYSCTL:
        return "another setting of the hosts' TCP", "Enter types a name and a value, like tcp_sack=0"
    known = PARAMETERS.get(knob)
    if known is None:
        return "a sysctl of all hosts", "as the kernel takes it; Enter types it"
    return known.help, known.bounds
