"""End of a module: learning objectives, the best and the worst prediction, the error over time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tcptutor.base import ratios
from tcptutor.base.errors import TutorError
from tcptutor.course.outline import Module
from tcptutor.notebook.module_summary import ModuleSummary, Trend, summarize
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.screens.base import TALL, Tutor
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.errors import error_chart
from tcptutor.ui.widgets.page.text import hanging

_CHART_ROWS = 4
_LESS_ROWS = 1
"""Rows that the chart lacks on a low screen."""
_STEP_S = 0.07
"""Time from bar to bar while the chart grows, s."""


class ModuleEndScreen(ModalScreen[bool]):
    """Summary of a finished module, dismissed with True to go on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "dismiss(True)", "go on", priority=True, id="end.go-on"),
        Binding("escape,space", "dismiss(False)", "stay", priority=True, id="end.stay"),
        Binding("c", "certificate", "certificate", priority=True, id="end.certificate"),
    ]

    def __init__(
        self,
        tutor: Tutor,
        module: Module,
        summary: ModuleSummary,
        onward: str,
        *,
        moves: bool,
    ) -> None:
        """Create the screen.

        Args:
            tutor: The app.
            module: The module.
            summary: The student's work in it.
            onward: Where Enter leads.
            moves: True if the chart of errors may grow bar by bar.
        """
        super().__init__()
        self._tutor = tutor
        self._module, self._summary, self._onward = module, summary, onward
        self._bars = 0 if moves else len(summary.predictions)
        """Bars drawn so far."""

    def compose(self) -> ComposeResult:
        with Vertical(id="module-end") as box:
            box.border_title = f"✓ {self._module.number} {self._module.title}"
            with VerticalScroll(can_focus=False):
                yield Static(id="module-facts", markup=False)
                yield Static(id="module-errors", markup=False)
            yield KeyBar(
                FooterKey((("Enter", "enter"),), self._onward, is_next=True),
                FooterKey((("c", "c"),), "certificate"),
                FooterKey((("Esc", "escape"),), "stay here"),
            )

    def on_mount(self) -> None:
        if self._bars < len(self._summary.predictions):
            self.set_interval(_STEP_S, self._grow, repeat=len(self._summary.predictions))

    def on_resize(self) -> None:
        self.set_class(self._is_tall, "-tall")
        self.call_after_refresh(self._draw)

    def action_certificate(self) -> None:
        """Write the module's certificate into the student's home."""
        from tcptutor.notebook.certificate import certify, write_certificate  # noqa: PLC0415  # loads the analysis

        target = Path.home() / f"tcptutor-certificate-{self._module.id}.html"
        try:
            write_certificate(certify(self._tutor.course, self._module, self._tutor.journal, ""), target)
        except TutorError as error:
            self.notify(str(error), severity="warning", markup=False)
        else:
            self.notify(f"Your certificate: ~/{target.name}", timeout=15, markup=False)

    @property
    def _is_tall(self) -> bool:
        return self.app.size.height >= TALL

    def _grow(self) -> None:
        self._bars += 1
        self._draw_errors()

    def _draw(self) -> None:
        self.query_one("#module-facts", Static).update(Content("\n").join(self._facts()))
        self._draw_errors()

    @property
    def _room(self) -> int:
        return max(self.query_one(VerticalScroll).scrollable_content_region.width, 40)

    def _facts(self) -> Iterator[Content]:
        found = self._summary
        counts = [
            _count(found.runs, "run"),
            _count(len(found.predictions), "prediction"),
            f"{_count(found.answers, 'right answer')}, {found.first_tries} at the first try",
        ]
        yield Content.styled(" · ".join(counts), "$text-muted")
        if self._module.objectives:
            yield Content("")
            yield Content.styled("You can now", "bold")
        for objective in self._module.objectives:
            text = objective[:1].lower() + objective[1:]
            yield from hanging(Content.styled("✓ ", "bold $success"), text, self._room)
        if found.best is not None:
            yield Content("")
            yield Content.styled("Your predictions", "bold")
        shown = [("best", found.best), ("worst", found.worst)]
        made = [(name, each) for name, each in shown if each is not None]
        texts = [f"{each.said}, measured {each.measured}: " for _, each in made]
        widest = max(
            (cell_len(text + each.error) for text, (_, each) in zip(texts, made, strict=True)), default=0
        )
        for text, (name, each) in zip(texts, made, strict=True):
            hue = "bold $success" if name == "best" else "bold $warning"
            pad = " " * (widest - cell_len(text + each.error) + 3)
            page = (pad + each.page, "$text-muted")
            line = Content.assemble((f"{name:<7}", "$text-muted"), text, (each.error, hue), page)
            yield line.truncate(self._room, ellipsis=True)

    def _draw_errors(self) -> None:
        chart = self.query_one("#module-errors", Static)
        factors = [each.factor for each in self._summary.predictions]
        chart.display = len(factors) > 1
        if not chart.display:
            return
        rows = _CHART_ROWS - (0 if self._is_tall else _LESS_ROWS)
        lines = [error_chart(factors, self._room, rows, shown=self._bars)]
        if self._summary.trend is not None:
            lines.append(Content(_trend_sentence(self._summary.trend)))
        chart.update(Content("\n").join(lines))


def module_end(tutor: Tutor, module: Module, onward: str) -> ModuleEndScreen:
    """Return the summary of the student's work in a module; `onward` describes the target of Enter."""
    summary = summarize(tutor.journal.record, module)
    return ModuleEndScreen(tutor, module, summary, onward, moves=not tutor.motion.off_because)


def _trend_sentence(trend: Trend) -> str:
    before, after = ratios.off_by(trend.before), ratios.off_by(trend.after)
    return f"Median: {before} in the first half, {after} in the second."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
