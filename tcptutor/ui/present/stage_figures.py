"""Drawings of a run for a room: its settings, key figures, and the measurement next to predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.course.setting_line import experiment_line, senders
from tcptutor.figures.lines import DATA, MUTED, STRONG, TEXT, WARN
from tcptutor.room.model_names import room_name, shown_models
from tcptutor.room.talk import RunSource, RunView
from tcptutor.spec import Experiment
from tcptutor.study import words
from tcptutor.ui.present import stage_chart
from tcptutor.ui.present.block_raster import BOTH
from tcptutor.ui.present.large_text import Size, is_drawable
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_run import KeyFigure, StageRun

LIVE, PREPARED = "live", "prepared"
"""Styles of the two labels of a run."""
MODEL, ROOM = "expected", "you"
GROUND = "ground"
_GAP = 3
_LARGE_FROM = 24
"""Lines below the headline from which key figures are five cells high."""


class PredictionBar(NamedTuple):
    """A value next to others of its kind."""

    label: str
    value: float
    style: str


def draw_settings(canvas: StageCanvas, experiment: Experiment, row: int) -> None:
    """Draw the settings of a run that has not begun, as large as they fit."""
    figures = [*_settings(experiment)]
    if _draw_settings_in_rows(canvas, figures, words.flows_line(experiment), row):
        return
    size = _fitting_sizes(canvas, figures)
    while _figures_width(canvas, figures, size) > canvas.width and len(figures) > 1:
        figures.pop()
    line = words.flows_line(experiment)
    height = size.number + 2 * canvas.text_height(1) + 2
    row = max(row, row + (canvas.height - row - height) // 2)
    _draw_figures(canvas, figures, row, size)
    canvas.write(0, row + height - canvas.text_height(1) + 1, line, MUTED)


def _draw_settings_in_rows(canvas: StageCanvas, figures: Sequence[KeyFigure], line: str, row: int) -> bool:
    """Draw the settings in two rows with large labels, and return True; False if they do not fit."""
    middle = (len(figures) + 1) // 2
    rows, label = (figures[:middle], figures[middle:]), canvas.text_height(2)
    size = next((each for each in _SIZES[:2] if all(_fits(canvas, some, each, 2) for some in rows)), None)
    height = 2 * (size.number + 1 + label + 1) + label if size is not None else 0
    if size is None or row + height > canvas.height or not (canvas.is_scaled or is_drawable(line)):
        return False
    row += (canvas.height - row - height) // 2
    for some in rows:
        _draw_figures(canvas, some, row, size, 2)
        row += size.number + label + 2
    canvas.write(0, row, line, MUTED, 2)
    return True


def draw_run(canvas: StageCanvas, run: StageRun, view: RunView) -> None:
    """Draw network, chart and key figures of a run."""
    experiment, tall = run.live.run.experiment, canvas.text_height(1)
    end = _draw_badge(canvas, 0, run, view)
    room = (end - _GAP) // canvas.text_width("n", 1)
    canvas.write(0, 0, experiment_line(experiment, room))
    size = _fitting_sizes(canvas, run.figures, 5 if canvas.height >= _LARGE_FROM else 3)
    top = tall + (canvas.height >= 20)
    below = canvas.height - size.number - tall
    if run.scene is not None:
        stage_chart.draw(canvas, run.scene, 0, top, canvas.width, below - top - (canvas.height >= 24))
        _draw_figures(canvas, run.figures, below, size)
    else:
        canvas.write(0, top + 1, f"{run.live.phase or 'the lab is starting'} …", MUTED, 3)


def draw_verdict(canvas: StageCanvas, run: StageRun, view: RunView, room: PredictionBar | None) -> None:
    """Draw the limit of a run in large lines, and the measurement next to models and the room's prediction."""
    report, tall = run.live.report, canvas.text_height(1)
    _draw_badge(canvas, 0, run, view)
    if report is None or report.is_empty:
        canvas.write(0, tall + 1, "Nothing was measured.", WARN, 3)
        return
    first = _first_line(run)
    canvas.write(0, 0, first, DATA, 3)
    cause = CAUSE_NAMES[report.verdict.limited_by]
    second = f"limited by {cause}" if report.verdict.limited_by != "unexplained" else "limit unknown"
    row = canvas.text_height(3) + 1
    sizes: tuple[Size, ...] = (3, 2)
    size: Size = next((each for each in sizes if canvas.text_width(second, each) <= canvas.width), 1)
    canvas.write(0, row, second, STRONG, size)
    row += canvas.text_height(size) + 1
    for text in canvas.wrap(report.verdict.sentence, canvas.width, 1):
        canvas.write(0, row, text, MUTED)
        row += tall
    _draw_bars(canvas, row + 1, [*_bars(run, room)])


def _first_line(run: StageRun) -> str:
    assert run.live.report is not None
    rate = units.rate(run.live.report.throughput_bps)
    flows = len(run.live.report.flows) + len(run.live.report.udp)
    return f"{rate}, {flows} flows" if flows > 1 else rate


def _bars(run: StageRun, room: PredictionBar | None) -> Iterator[PredictionBar]:
    report = run.live.report
    assert report is not None
    yield PredictionBar("measured", report.throughput_bps, DATA)
    for each in shown_models((model.prediction for model in report.comparisons), run.live.formula):
        yield PredictionBar(room_name(each), each.throughput_bps, MODEL)
    if room is not None:
        yield room


def _draw_bars(canvas: StageCanvas, row: int, bars: Sequence[PredictionBar]) -> None:
    """Draw bars from zero on a common scale, each with its value, as thick as they fit."""
    rows = canvas.height - row
    # A bar is at least as high as its text.
    thick = next((each for each in (3, 2) if len(bars) * (each + 1) - 1 <= rows), 1)
    tall = canvas.text_height(1)
    thick = max(thick, tall)
    gap = int(len(bars) * (thick + 1) - 1 <= rows)
    size: Size = 3 if thick >= 3 else 1
    name = max(canvas.text_width(bar.label, 1) for bar in bars) + 2
    number = max(canvas.text_width(units.rate(bar.value), size) for bar in bars) + 2
    across, top = canvas.width - name - number, max(bar.value for bar in bars)
    if across < 8 or top <= 0:
        return
    for bar in bars:
        if row + thick > canvas.height:
            return
        halves = max(1, round(2 * across * bar.value / top))
        for at in range(thick):
            canvas.put(name, row + at, "█" * (halves // 2) + "▌" * (halves % 2), bar.style)
        canvas.write(0, row + (thick - tall) // 2, bar.label, STRONG if bar.style == DATA else TEXT)
        after = name + (halves + 1) // 2 + 1
        canvas.write(
            after, row + (thick - canvas.text_height(size)) // 2, units.rate(bar.value), STRONG, size
        )
        row += thick + gap


def _draw_badge(canvas: StageCanvas, row: int, run: StageRun, view: RunView) -> int:
    """Draw source and progress of the run at the right end, and return their first column."""
    total, now = run.live.run.experiment.seconds, run.live.run.experiment_s
    progress = f"{now:.0f} of {total:g} s  " if run.live.in_progress or view.is_stopped else ""
    if view.is_stopped:
        progress = f"stopped at {progress}"
    start = write_label(canvas, row, view.source)
    start -= canvas.text_width(progress, 1)
    canvas.write(start, row, progress, MUTED)
    return start


def write_label(canvas: StageCanvas, row: int, source: RunSource) -> int:
    """Write at the right whether a run is live or prepared, and return the first column."""
    label = label_of(source)
    start = canvas.width - canvas.text_width(f" {label} ", 1)
    style = LIVE if source == "live" else PREPARED
    if canvas.is_scaled:
        canvas.write(start, row, f" {label} ", style)
    else:
        # Reversed: a dark word on the label's color.
        canvas.put(start, row, f" {label} ".replace(" ", "\N{NO-BREAK SPACE}"), f"{GROUND}{BOTH}{style}")
    return start


def label_of(source: RunSource) -> str:
    """Return the label of a run on screen."""
    return "LIVE" if source == "live" else "PREPARED"


def _settings(experiment: Experiment) -> Iterator[KeyFigure]:
    path = experiment.path
    if path.rate:
        yield _figure(units.rate(path.rate), "link")
    if path.delay:
        yield _figure(units.seconds(path.delay), "RTT without a queue")
    if path.loss:
        yield _figure(units.percent(path.loss), "random loss")
    if experiment.hosts.window:
        yield _figure(units.size(experiment.hosts.window), "receive window")
    if experiment.hosts.send_buffer:
        yield _figure(units.size(experiment.hosts.send_buffer), "send buffer")
    if experiment.flows.pacing:
        yield _figure(units.rate(experiment.flows.pacing), "pacing of each flow")
    if experiment.hosts.maxrate:
        yield _figure(units.rate(experiment.hosts.maxrate), "fq maxrate")
    yield KeyFigure(senders(experiment), "", "congestion control")


def _figure(text: str, label: str) -> KeyFigure:
    number, _, unit = text.partition(" ")
    return KeyFigure(number, unit, label, DATA)


class _Sizes(NamedTuple):
    number: Size
    unit: Size


_SIZES = (_Sizes(5, 3), _Sizes(5, 2), _Sizes(5, 1), _Sizes(3, 3), _Sizes(3, 2), _Sizes(3, 1))


def _fitting_sizes(canvas: StageCanvas, figures: Sequence[KeyFigure], largest: Size = 5) -> _Sizes:
    """Return the largest sizes of numbers and units with which all figures fit."""
    tried = [each for each in _SIZES if each.number <= largest]
    return next((each for each in tried if _figures_width(canvas, figures, each) <= canvas.width), tried[-1])


def _fits(canvas: StageCanvas, figures: Sequence[KeyFigure], size: _Sizes, label: Size) -> bool:
    return _figures_width(canvas, figures, size, label) <= canvas.width


def _figure_width(canvas: StageCanvas, figure: KeyFigure, size: _Sizes, label: Size = 1) -> int:
    number = canvas.text_width(figure.number, size.number)
    unit = canvas.text_width(figure.unit, size.unit) + _unit_gap(size) if figure.unit else 0
    return max(number + unit, canvas.text_width(figure.label, label))


def _unit_gap(size: _Sizes) -> int:
    return 1 if size.unit == 1 else 2


def _figures_width(canvas: StageCanvas, figures: Sequence[KeyFigure], size: _Sizes, label: Size = 1) -> int:
    return sum(_figure_width(canvas, figure, size, label) + _GAP for figure in figures) - _GAP


def _draw_figures(
    canvas: StageCanvas, figures: Sequence[KeyFigure], row: int, size: _Sizes, label: Size = 1
) -> None:
    """Draw numbers with unit and label, spread over the width; trailing numbers that do not fit are left out."""
    shown = list(figures)
    while shown and not _fits(canvas, shown, size, label):
        shown.pop()
    if not shown:
        return
    spare = canvas.width - _figures_width(canvas, shown, size, label)
    gap = _GAP + min(spare // len(shown), 16)
    column = 0
    for figure in shown:
        canvas.write(column, row, figure.number, figure.style, size.number)
        after = column + canvas.text_width(figure.number, size.number) + _unit_gap(size)
        above = size.number - canvas.text_height(size.unit)
        if figure.unit:
            canvas.write(after, row + above, figure.unit, figure.style, size.unit)
        canvas.write(column, row + size.number + (label > 1), figure.label, MUTED, label)
        column += _figure_width(canvas, figure, size, label) + gap
