"""The student's last run on the home screen: its throughput as a small chart, and its result."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from tcptutor.base import ratios, units
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.course.outline import Course
from tcptutor.course.page_record import PREDICT
from tcptutor.journal import Journal
from tcptutor.study import pages
from tcptutor.ui.widgets.home.text import LABEL, name_of
from tcptutor.ui.workers import start_worker

_MOST_COLUMNS, _FEWEST_COLUMNS = 60, 16
"""Columns of the chart next to the modules, and below them."""
_TEXT_LINES = 3
"""Lines above the chart next to the modules."""
_LINES, _MOST_LINES = 3, 16
"""Fewest and most lines of the chart."""


class _Finished(NamedTuple):
    file: Path
    place: str
    points: tuple[tuple[float, float], ...]
    throughput: str
    """Throughput, and the rate of the link if it is limited."""
    link: float | None
    cause: str
    prediction: str
    """Accuracy of the page's prediction; empty without a prediction."""


class LastRun(Static):
    """Chart of the last run; hidden until it is loaded, or if no run exists."""

    def __init__(self) -> None:
        super().__init__(id="last-run", markup=False)
        self.display = False
        self._finished: _Finished | None = None
        self._is_squeezed = False

    @property
    def is_squeezed(self) -> bool:
        """True while a longer text takes its lines."""
        return self._is_squeezed

    @is_squeezed.setter
    def is_squeezed(self, squeezed: bool) -> None:
        self._is_squeezed = squeezed
        self.display = self._finished is not None and not squeezed

    def load(self, journal: Journal, course: Course) -> None:
        """Load the student's last run and draw it, unless it is shown already."""
        runs = [run for run in journal.record.runs.values() if run.ended and run.file]
        if not runs or journal.run_folder is None:
            return
        last = runs[-1]
        target = pages.find_page(course, f"{last.module}/{last.step}")
        file = journal.run_folder / last.file
        if target is None or (self._finished is not None and self._finished.file == file):
            return
        prediction = journal.record.page(last.module, last.step).activity(PREDICT)
        of_last = name_of(*target), last.module, last.step, file, prediction.factor
        start_worker(self, self._load, *of_last, exclusive=True, group="last-run")

    async def _load(self, place: str, module: str, step: str, file: Path, factor: float | None) -> None:
        """Read the run in `file` of a page; `factor` is how far the page's prediction was off."""
        from tcptutor.study import background  # noqa: PLC0415  # not for the first frame

        run = await background.first_readable([str(file)])
        if run is None or not run.complete:
            return
        live = await background.measured(module, step, run)
        if live.report is None or not live.rates or not self.is_attached:
            return
        prediction = ""
        if factor is not None:
            prediction = "predicted right" if factor < 1.005 else f"prediction {ratios.off_by(factor)}"
        link = run.experiment.path.rate
        self._finished = _Finished(
            file,
            place,
            tuple(live.rates),
            units.rate(live.report.throughput_bps) + (f" of {units.rate(link)}" if link else ""),
            link,
            f"limited by {CAUSE_NAMES[live.report.verdict.limited_by]}",
            prediction,
        )
        self.is_squeezed = self._is_squeezed
        self._draw()

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002
        self._draw()

    def _draw(self) -> None:
        from tcptutor.ui.widgets.home.pictures import throughput  # noqa: PLC0415  # not for the first frame

        last, width = self._finished, self.content_size.width
        if last is None:
            return
        label = Content.styled(f"{'Last run':<{LABEL}}", "$text-muted")
        if not (self.screen.has_class("-tall") and self.screen.has_class("-wide")):
            chart = throughput(last.points, last.link, _FEWEST_COLUMNS, 1)
            figures = ", ".join(filter(None, (last.throughput, last.prediction)))
            self.update(label + chart + Content(f"  {figures}"))
            return
        has_room = self.size.height >= _TEXT_LINES + _LINES
        lines = min(self.size.height - _TEXT_LINES, _MOST_LINES) if has_room else 1
        columns = max(_FEWEST_COLUMNS, min(width, _MOST_COLUMNS))
        chart = throughput(last.points, last.link, columns, lines)
        room = width - LABEL
        verdict = ", ".join(filter(None, (last.cause, last.prediction)))
        bold, plain = last.throughput, verdict
        if len(verdict) > width and last.prediction:
            bold, plain = f"{last.throughput}, {last.prediction}", last.cause
        head = label + Content(last.place).truncate(room, ellipsis=True) if room > 0 else label
        # Next to long objectives there is room for three lines.
        cause = [Content(plain)] if has_room else []
        self.update(Content("\n").join([head, Content.styled(bold, "bold"), *cause, chart]))
