"""Lines under the chart, on its time axis: cause of limitation and phases of congestion control.

A stretch shows its name where it fits, so no color is needed, otherwise its mark: a letter for a cause, a sign
for a phase. The marks are explained next to a name or by `key`.

    limited by g random loss ── g: slow growth ─── 92 % of time
    flow 1 of 4//vv avoidance ·····················vv·······
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from tcptutor.figures.lines import STRONG, TEXT, Line, Piece
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.chart.margin import Column
from tcptutor.ui.widgets.readout.cursor import TimeSpan

if TYPE_CHECKING:
    from tcptutor.analysis import FlowVerdict, LimitedBy, PhaseName

CAUSES: dict[LimitedBy, tuple[str, str]] = {
    "application": ("application", "a"),
    "receive-window": ("window", "w"),
    "send-buffer": ("send buffer", "s"),
    "pacing": ("pacing", "p"),
    "random-loss": ("random loss", "r"),
    "bottleneck": ("bottleneck", "b"),
    "growing": ("slow growth", "g"),
    "reordering": ("reordering", "o"),
    "timeout": ("timeout", "t"),
    "unexplained": ("not explained", "?"),
}
"""Name and mark of each cause."""

PHASES: dict[PhaseName, tuple[str, str]] = {
    "timeout": ("timeout", "x"),
    "hystart-exit": ("HyStart exit", "|"),
    "recovery": ("recovery", "v"),
    "slow-start": ("slow start", "/"),
    "congestion-avoidance": ("avoidance", "·"),
}
"""Name and mark of each phase, by priority within a column; no mark equals a mark of a cause."""

_BLANK = ("", " ")
_RULE = "─"
"""Fills the rest of a named stretch."""

_GAP = "   "
_FILL = "limit"

_Kind = tuple[str, str]
_Stretch = tuple[_Kind, int]


def causes(
    live: Live,
    width: int,
    span: TimeSpan | None = None,
    column: Column = Column(),  # noqa: B008
) -> Line:
    """Return the cause that limited most flows in each second, and its share of the measured time.

    The line is empty before the verdict is known. `span` limits the visible time, but the share is that of
    all measured time; its figure is aligned in `column`.
    """
    if not _flows(live):
        return Line()
    stretches = _cause_stretches(live, axes.columns(width), _visible_span(live, span))
    words = [kind[0] for kind, _ in stretches]
    if words:
        at = max(range(len(stretches)), key=lambda place: stretches[place][1])
        marks = _explain_marks(_unnamed_kinds(stretches))
        explanation = _with_marks(words[at], marks)
        if marks and _fits(explanation, stretches[at][1]):
            words[at] = explanation
    line = _line(
        "limited by", [(word, _RULE, *stretch) for word, stretch in zip(words, stretches, strict=True)]
    )
    return line.append_at(axes.GUTTER + axes.columns(width), column.line(_share_text(live), STRONG))


def phases(live: Live, width: int, span: TimeSpan | None = None, flow: int | None = None) -> Line:
    """Return the phases of a flow, by default the first; empty before the verdict is known."""
    flows = _flows(live)
    number = next((at for at, each in enumerate(flows) if each.flow == flow), 0)
    if not flows:
        return Line()
    stretches = _phase_stretches(live, axes.columns(width), _visible_span(live, span), number)
    name = "phases" if len(flows) == 1 else f"of flow {flows[number].flow + 1}"
    return _line(name, [(kind[0], kind[1], kind, length) for kind, length in stretches])


def key(live: Live, width: int, full: bool) -> str:
    """Explain the marks not explained next to a name; `full` includes the marks of phases."""
    explanation = []
    if _flows(live):
        stretches = _cause_stretches(live, axes.columns(width), _visible_span(live, None))
        marks = _explain_marks(_unnamed_kinds(stretches))
        longest = max((length for _, length in stretches), default=0)
        if stretches and not _fits(_with_marks(_longest_name(stretches), marks), longest):
            explanation.append(marks)
        if full:
            stretches = _phase_stretches(live, axes.columns(width), _visible_span(live, None))
            written = {kind for kind, length in stretches if _fits(kind[0], length)}
            explanation.append(
                _explain_marks(kind for kind in _unnamed_kinds(stretches) if kind not in written)
            )
    return _GAP.join(part for part in explanation if part)


def _longest_name(stretches: list[_Stretch]) -> str:
    return max(stretches, key=lambda stretch: stretch[1])[0][0]


def _share_text(live: Live) -> str:
    assert live.report is not None
    shares = [flow.shares.get(live.report.verdict.limited_by, 0.0) for flow in _flows(live)]
    return f"{100 * sum(shares) / len(shares):.0f} % of time"


def _unnamed_kinds(stretches: list[_Stretch]) -> list[_Kind]:
    return [kind for kind, length in stretches if kind != _BLANK and not _fits(kind[0], length)]


def _explain_marks(kinds: Iterable[_Kind]) -> str:
    return ", ".join(f"{mark}: {word}" for word, mark in dict.fromkeys(kinds))


def _with_marks(word: str, marks: str) -> str:
    return f"{word} {_RULE * 2} {marks}"


def _fits(word: str, length: int) -> bool:
    return bool(word) and len(word) + 2 <= length


def _line(name: str, stretches: Iterable[tuple[str, str, _Kind, int]]) -> Line:
    """Render stretches of (name, fill, kind, columns) after the label `name`."""
    parts: list[Piece] = [(name.ljust(axes.GUTTER), TEXT)]
    for word, fill, (_, mark), length in stretches:
        if _fits(word, length):
            label = f"{word} " if len(parts) == 1 else f" {word} "
            parts += [(label, TEXT), (fill * (length - len(label)), _FILL)]
        else:
            parts.append((mark * length, _FILL))
    return Line.of(*parts)


def _flows(live: Live) -> tuple[FlowVerdict, ...]:
    return live.report.verdict.flows if live.report else ()


def _visible_span(live: Live, span: TimeSpan | None) -> TimeSpan:
    return span or TimeSpan(0.0, live.run.experiment.seconds)


def _cause_stretches(live: Live, columns: int, span: TimeSpan) -> list[_Stretch]:
    by_column: list[Counter[LimitedBy]] = [Counter() for _ in range(columns)]
    for flow in _flows(live):
        for second in flow.seconds:
            for column in _columns_between(span, columns, second.start, second.end):
                by_column[column][second.limited_by] += 1
    return _stretches([CAUSES[counted.most_common(1)[0][0]] if counted else _BLANK for counted in by_column])


def _phase_stretches(live: Live, columns: int, span: TimeSpan, number: int = 0) -> list[_Stretch]:
    """Find the phase of each column; the rarest phase wins, as a recovery may be shorter than a column."""
    by_column: list[set[PhaseName]] = [set() for _ in range(columns)]
    for phase in _flows(live)[number].phases:
        for column in _columns_between(span, columns, phase.start, phase.end):
            by_column[column].add(phase.name)
    order = list(PHASES)
    return _stretches([PHASES[min(counted, key=order.index)] if counted else _BLANK for counted in by_column])


def _columns_between(span: TimeSpan, columns: int, start: float, end: float) -> range:
    """Return the columns centered in an interval, at least one column if the interval is visible."""
    if end < span.start or start > span.end:
        return range(0)
    scale = columns / span.seconds
    first = min(columns, max(0, round((start - span.start) * scale)))
    return range(first, min(columns, max(first + 1, round((end - span.start) * scale))))


def _stretches(columns: list[_Kind]) -> list[_Stretch]:
    return [(kind, len(list(group))) for kind, group in groupby(columns)]
